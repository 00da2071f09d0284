// SPDX-License-Identifier: Apache-2.0
// aclrtDestroyStream executes every task whose submission succeeded, including a task that another thread could submit
// only during the destruction because the queue was full.
#include "concurrent.h"
#include "latch.h"
#include "stall_reports.h"

namespace {

void what_was_submitted_meanwhile_is_done() {
    constexpr std::uint64_t kDelay_us = 1'000'000;
    const aclrtStream stream = new_stream();
    aclrtContext context = nullptr;
    aclrtEvent event = nullptr;
    LatchedCallback first;
    LatchedCallback second;
    CHECK_OK(aclrtGetCurrentContext(&context));
    CHECK_OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
    CHECK_OK(aclrtLaunchHostFunc(stream, LatchedCallback::run, &first));
    CHECK_OK(aclrtLaunchHostFunc(stream, LatchedCallback::run, &second));
    auto recording = std::future<aclError>();
    {
        StallReports reports;
        recording = begin([=] {
            CHECK_OK(aclrtSetCurrentContext(context));
            aclError code = ACL_SUCCESS;
            while (code == ACL_SUCCESS) {
                code = aclrtRecordEvent(event, stream);
            }
            return code;
        });
        reports.wait_for("aclrtRecordEvent has waited");  // the queue is full
    }
    auto destruction = begin([=] {
        CHECK_OK(aclrtSetCurrentContext(context));
        CHECK_OK(aclrtDestroyStream(stream));
    });
    std::int32_t id = 0;
    while (aclrtStreamGetId(stream, &id) == ACL_SUCCESS) {
        std::this_thread::yield();
    }
    // Delay the record that gets the next place in the queue, so that it does not end together with those before it.
    CHECK_OK(aclsimDelayTasks(nullptr, kDelay_us));
    first.released.open();
    CHECK(returns(recording));
    CHECK(recording.get() == ACL_ERROR_RT_INVALID_HANDLE);
    CHECK_OK(aclsimClearFaults());
    second.released.open();
    CHECK(returns(destruction));
    CHECK_OK(aclrtSynchronizeEvent(event));  // the newest record whose submission succeeded
    CHECK_OK(aclrtDestroyEvent(event));
}

}  // namespace

int main() {
    setenv("ASCEND_RT_SIM_STALL_MS", "1", 1);
    CHECK_OK(aclrtSetDevice(0));
    what_was_submitted_meanwhile_is_done();
    CHECK_OK(aclrtResetDevice(0));
    return 0;
}
