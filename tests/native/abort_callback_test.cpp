// SPDX-License-Identifier: Apache-2.0
// Calls that abort the tasks of a stream wait for a running callback of aclrtLaunchCallback as for any other running
// task. A callback that was dropped from the queue is not called any more.
#include <pthread.h>

#include <atomic>

#include "concurrent.h"
#include "latch.h"
#include "stall_reports.h"

namespace {

// Thread that runs the callbacks of a stream until the object is destroyed.
class ReportThread {
  public:
    explicit ReportThread(aclrtStream stream) : thread_([this] { serve(); }) {
        CHECK(ready_.opens());
        CHECK_OK(aclrtSubscribeReport(id_, stream));
        subscribed_.open();
    }
    ~ReportThread() {
        is_over_ = true;
        thread_.join();
    }
    ReportThread(const ReportThread &) = delete;
    ReportThread &operator=(const ReportThread &) = delete;

  private:
    void serve() {
        CHECK_OK(aclrtSetDevice(0));
        id_ = static_cast<std::uint64_t>(pthread_self());
        ready_.open();
        CHECK(subscribed_.opens());
        while (!is_over_) {
            (void)aclrtProcessReport(1);
        }
        CHECK_OK(aclrtResetDevice(0));
    }

    Latch ready_;
    Latch subscribed_;
    std::atomic<bool> is_over_{false};
    std::uint64_t id_ = 0;
    std::thread thread_;
};

std::uint32_t available_streams() {
    std::uint32_t count = 0;
    CHECK_OK(aclrtGetStreamAvailableNum(&count));
    return count;
}

// Calls end() while a callback runs, and releases the callback when has_begun() returns true, because the call waits
// then. The test fails if the call returns before the release.
template <class End, class HasBegun>
void waits_for_the_callback(const char *what, aclrtStream stream, End end, HasBegun has_begun) {
    ReportThread reports(stream);
    LatchedCallback held;
    CHECK_OK(aclrtLaunchCallback(LatchedCallback::run, &held, ACL_CALLBACK_BLOCK, stream));
    CHECK(held.entered.opens());
    aclrtContext context = nullptr;
    CHECK_OK(aclrtGetCurrentContext(&context));
    std::atomic<bool> has_returned{false};
    auto ending = begin([&] {
        CHECK_OK(aclrtSetCurrentContext(context));
        CHECK_OK(end());
        if (!held.released.is_open()) {
            std::fprintf(stderr, "%s returned while the callback ran\n", what);
            std::abort();
        }
        has_returned = true;
    });
    while (!has_begun() && !has_returned) {
        std::this_thread::yield();
    }
    held.released.open();
    CHECK(returns(ending));
}

void an_abort_waits() {
    const aclrtStream stream = new_stream();
    std::uint8_t unused = 0;
    // Submissions fail while tasks are being aborted.
    waits_for_the_callback(
        "aclrtStreamAbort", stream, [=] { return aclrtStreamAbort(stream); },
        [&] { return aclrtProfTrace(&unused, 1, stream) == ACL_ERROR_RT_STREAM_ABORT; });
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK_OK(aclrtDestroyStream(stream));
    const aclrtStream other = new_stream();
    waits_for_the_callback(
        "aclrtDeviceTaskAbort", other, [] { return aclrtDeviceTaskAbort(0, 0); },
        [&] { return aclrtProfTrace(&unused, 1, other) == ACL_ERROR_RT_DEVICE_TASK_ABORT; });
    CHECK_OK(aclrtSynchronizeStream(other));
    CHECK_OK(aclrtDestroyStream(other));
}

// aclrtDestroyStreamForce invalidates the handle before the wait, and frees the stream's number after it.
void a_forced_destruction_waits() {
    const aclrtStream stream = new_stream();
    const std::uint32_t before = available_streams();
    std::int32_t id = 0;
    waits_for_the_callback(
        "aclrtDestroyStreamForce", stream, [=] { return aclrtDestroyStreamForce(stream); },
        [&] {
            const bool has_begun = aclrtStreamGetId(stream, &id) == ACL_ERROR_RT_INVALID_HANDLE;
            if (has_begun && available_streams() != before) {
                std::fprintf(stderr, "aclrtDestroyStreamForce destroyed the stream while its callback ran\n");
                std::abort();
            }
            return has_begun;
        });
    CHECK(available_streams() == before + 1);
}

// A waiting aclrtStreamStop has no visible effect other than the report of a long wait.
void a_stop_waits() {
    const aclrtStream stream = new_stream();
    StallReports reports;
    waits_for_the_callback(
        "aclrtStreamStop", stream,
        [&] {
            const aclError code = aclrtStreamStop(stream);
            reports.end_capture();
            return code;
        },
        [&] {
            reports.wait_for("aclrtStreamStop has waited");
            return true;
        });
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK_OK(aclrtDestroyStream(stream));
}

void note_call(void *called) { *static_cast<bool *>(called) = true; }

// Subscribes the calling thread to the callbacks, but processes them only after end().
template <class End>
void drops_the_callback(const char *what, End end) {
    const aclrtStream stream = new_stream();
    const aclrtStream other = new_stream();  // keeps the thread subscribed after the end of the first stream
    const auto self = static_cast<std::uint64_t>(pthread_self());
    CHECK_OK(aclrtSubscribeReport(self, stream));
    CHECK_OK(aclrtSubscribeReport(self, other));
    bool was_called = false;
    CHECK_OK(aclrtLaunchCallback(note_call, &was_called, ACL_CALLBACK_BLOCK, stream));
    CHECK_OK(end(stream));
    const aclError code = aclrtProcessReport(1);
    if (code != ACL_ERROR_RT_REPORT_TIMEOUT || was_called) {
        std::fprintf(stderr, "%s: the callback was dropped, and called all the same (%d)\n", what, code);
        std::abort();
    }
    // A callback launched after the drop is called.
    CHECK_OK(aclrtLaunchCallback(note_call, &was_called, ACL_CALLBACK_BLOCK, other));
    CHECK_OK(aclrtProcessReport(1));
    CHECK(was_called);
    CHECK_OK(aclrtUnSubscribeReport(self, other));
    (void)aclrtUnSubscribeReport(self, stream);
    CHECK_OK(aclrtDestroyStream(other));
    (void)aclrtDestroyStream(stream);
}

void dropped_callbacks_are_not_called() {
    drops_the_callback("aclrtStreamAbort", [](aclrtStream stream) { return aclrtStreamAbort(stream); });
    drops_the_callback("aclrtDeviceTaskAbort", [](aclrtStream) { return aclrtDeviceTaskAbort(0, 0); });
    drops_the_callback("aclrtDestroyStreamForce", [](aclrtStream stream) { return aclrtDestroyStreamForce(stream); });
}

}  // namespace

int main() {
    setenv("ASCEND_RT_SIM_STALL_MS", "1", 1);
    CHECK_OK(aclInit(nullptr));
    CHECK_OK(aclrtSetDevice(0));
    an_abort_waits();
    a_forced_destruction_waits();
    a_stop_waits();
    dropped_callbacks_are_not_called();
    CHECK_OK(aclrtResetDevice(0));
    CHECK_OK(aclFinalize());
    return 0;
}
