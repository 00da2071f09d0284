// SPDX-License-Identifier: Apache-2.0
// Calls with a time limit return when the limit has passed, also while there is work that the calling thread could do,
// and while another thread runs an exception callback. A later call reports the failure.
#include <cstdint>
#include <vector>

#include "concurrent.h"
#include "latch.h"

namespace {

constexpr std::int32_t kLimit_ms = 5;
constexpr aclError kFailure = ACL_ERROR_RT_AICORE_EXCEPTION;

// Many addresses mapped to the same few pages: filling all of them takes long, but needs hardly any memory.
class LongMemory {
  public:
    explicit LongMemory(std::uint32_t device) {
        const aclrtPhysicalMemProp properties = {
            ACL_MEM_HANDLE_TYPE_NONE,
            ACL_MEM_ALLOCATION_TYPE_PINNED,
            ACL_HBM_MEM_HUGE,
            {device, ACL_MEM_LOCATION_TYPE_DEVICE},
            0,
        };
        CHECK_OK(aclrtMallocPhysical(&pages_, kPages, &properties, 0));
        CHECK_OK(aclrtReserveMemAddress(&address_, kSize, 0, nullptr, 1));
        for (std::size_t at = 0; at < kSize; at += kPages) {
            CHECK_OK(aclrtMapMem(static_cast<char *>(address_) + at, kPages, 0, pages_, 0));
        }
    }
    ~LongMemory() {
        for (std::size_t at = 0; at < kSize; at += kPages) {
            CHECK_OK(aclrtUnmapMem(static_cast<char *>(address_) + at));
        }
        CHECK_OK(aclrtReleaseMemAddress(address_));
        CHECK_OK(aclrtFreePhysical(pages_));
    }
    LongMemory(const LongMemory &) = delete;
    LongMemory &operator=(const LongMemory &) = delete;
    void fill(aclrtStream stream) const { CHECK_OK(aclrtMemsetAsync(address_, kSize, 1, kSize, stream)); }

  private:
    static constexpr std::size_t kPages = 64ULL << 20;
    static constexpr std::size_t kSize = 4ULL << 30;  // no processor writes as much within the limit
    aclrtDrvMemHandle pages_ = nullptr;
    void *address_ = nullptr;
};

// A fill takes longer than the limit. The calling thread could run the fill of its stream while no worker has taken it,
// but must not.
void work_that_the_caller_could_do_does_not_outlast_the_limit() {
    CHECK_OK(aclrtSetDevice(1));
    const LongMemory busy_memory(1);
    const aclrtStream busy = new_stream();
    CHECK_OK(aclrtSetDevice(0));
    const LongMemory memory(0);
    const aclrtStream stream = new_stream();
    aclrtEvent event = nullptr;
    CHECK_OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
    const auto in_time = [&](auto call, aclError timeout) {
        CHECK_OK(aclrtSetDevice(1));
        busy_memory.fill(busy);
        CHECK_OK(aclrtSetDevice(0));
        memory.fill(stream);
        CHECK_OK(aclrtRecordEvent(event, stream));
        CHECK_CODE(timeout, call());
        aclrtStreamStatus status{};
        CHECK_OK(aclrtStreamQuery(stream, &status));
        CHECK(status == ACL_STREAM_STATUS_NOT_READY);
        CHECK_OK(aclrtStreamAbort(stream));
        CHECK_OK(aclrtDeviceTaskAbort(1, 0));
    };
    in_time([&] { return aclrtSynchronizeStreamWithTimeout(stream, kLimit_ms); }, ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
    in_time([&] { return aclrtSynchronizeEventWithTimeout(event, kLimit_ms); }, ACL_ERROR_RT_EVENT_SYNC_TIMEOUT);
    in_time([&] { return aclrtSynchronizeDeviceWithTimeout(kLimit_ms); }, ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
    CHECK_OK(aclrtDestroyEvent(event));
    CHECK_OK(aclrtDestroyStream(stream));
    CHECK_OK(aclrtSetDevice(1));
    CHECK_OK(aclrtDestroyStream(busy));
    CHECK_OK(aclrtSetDevice(0));
}

LatchedCallback *g_held = nullptr;

void run_held(aclrtExceptionInfo *) { LatchedCallback::run(g_held); }

// The task fails after a delay, hence on a thread of the simulator, which then runs the callback.
void a_callback_on_another_thread_does_not_outlast_the_limit() {
    CHECK_OK(aclrtSetExceptionInfoCallback(run_held));
    const aclrtStream stream = new_stream();
    aclrtEvent event = nullptr;
    CHECK_OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
    const auto in_time = [&](auto call, aclError timeout) {
        LatchedCallback held;
        g_held = &held;
        CHECK_OK(aclsimDelayTasks(stream, 1000));
        CHECK_OK(aclsimFailTask(stream, 1, kFailure));
        std::uint8_t unused = 0;
        CHECK_OK(aclrtProfTrace(&unused, 1, stream));
        CHECK_OK(aclsimClearFaults());
        CHECK_OK(aclrtRecordEvent(event, stream));
        CHECK(held.entered.opens());
        aclrtContext context = nullptr;
        CHECK_OK(aclrtGetCurrentContext(&context));
        auto limited = begin([&] {
            CHECK_OK(aclrtSetCurrentContext(context));
            CHECK_CODE(timeout, call());
        });
        CHECK(returns(limited));
        held.released.open();
        CHECK_CODE(kFailure, aclrtSynchronizeStream(stream));
        CHECK_OK(aclrtSynchronizeStream(stream));
    };
    in_time([&] { return aclrtSynchronizeStreamWithTimeout(stream, kLimit_ms); }, ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
    in_time([&] { return aclrtSynchronizeEventWithTimeout(event, kLimit_ms); }, ACL_ERROR_RT_EVENT_SYNC_TIMEOUT);
    in_time([&] { return aclrtSynchronizeDeviceWithTimeout(kLimit_ms); }, ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
    CHECK_OK(aclrtSetExceptionInfoCallback(nullptr));
    CHECK_OK(aclrtDestroyEvent(event));
    CHECK_OK(aclrtDestroyStream(stream));
}

}  // namespace

int main() {
    setenv("ASCEND_RT_SIM_WORKERS", "1", 1);
    CHECK_OK(aclInit(nullptr));
    CHECK_OK(aclrtSetDevice(0));
    work_that_the_caller_could_do_does_not_outlast_the_limit();
    a_callback_on_another_thread_does_not_outlast_the_limit();
    CHECK_OK(aclrtResetDeviceForce(0));  // undoes all calls of aclrtSetDevice
    CHECK_OK(aclrtResetDeviceForce(1));
    CHECK_OK(aclFinalize());
    return 0;
}
