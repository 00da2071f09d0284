// SPDX-License-Identifier: Apache-2.0
// Calls that need the list of a context's streams while another thread synchronizes the device: they wait until that
// call returns, and can be interrupted.
#include <atomic>
#include <string>

#include "concurrent.h"
#include "device_kit.h"
#include "latch.h"
#include "stall_reports.h"

namespace {

// Thread inside a call that synchronizes the device, until the gate of a stream is opened.
template <class Synchronize>
class Synchronization {
  public:
    Synchronization(StallReports &reports, Synchronize synchronize) {
        gate_.close(stream_);
        synchronizing_ = begin([synchronize] {
            CHECK_OK(aclrtSetDevice(0));
            const aclError code = synchronize();
            CHECK_OK(aclrtResetDevice(0));
            return code;
        });
        reports.wait_for("aclrtSynchronizeDevice has waited");
    }
    ~Synchronization() {
        end();
        CHECK_OK(aclrtDestroyStream(by_));
        CHECK_OK(aclrtDestroyStream(stream_));
    }
    Synchronization(const Synchronization &) = delete;
    Synchronization &operator=(const Synchronization &) = delete;

    aclrtStream stream() const { return stream_; }
    bool is_under_way() const {
        return synchronizing_.valid() && synchronizing_.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
    }
    void end() {
        if (synchronizing_.valid()) {
            gate_.open(by_);
            CHECK_OK(synchronizing_.get());
        }
    }

  private:
    const aclrtStream stream_ = new_stream();
    const aclrtStream by_ = new_stream();
    const GateEvent gate_;
    std::future<aclError> synchronizing_;
};

aclError (*const kSynchronize)() = aclrtSynchronizeDevice;

// Each call waits, and does its work afterwards.
void calls_wait(StallReports &reports) {
    aclrtStream created = nullptr;
    aclrtStream idle = new_stream();
    aclrtStream forced = new_stream();
    aclrtStream captured = new_stream();
    aclrtStream kept = nullptr;
    CHECK_OK(aclrtCreateStreamWithConfig(&kept, 0, ACL_STREAM_PERSISTENT));
    aclmdlRI model = nullptr;
    CHECK_OK(aclmdlRIBuildBegin(&model, 0));
    const struct {
        const char *name;
        std::function<aclError()> call;
    } calls[] = {
        {"aclrtCreateStream", [&] { return aclrtCreateStream(&created); }},
        {"aclrtDestroyStream", [&] { return aclrtDestroyStream(idle); }},
        {"aclrtDestroyStreamForce", [&] { return aclrtDestroyStreamForce(forced); }},
        {"aclrtSynchronizeDeviceWithTimeout", [] { return aclrtSynchronizeDeviceWithTimeout(-1); }},
        {"aclmdlRIBindStream", [&] { return aclmdlRIBindStream(model, kept, 0); }},
        {"aclmdlRIUnbindStream", [&] { return aclmdlRIUnbindStream(model, kept); }},
        {"aclmdlRIDestroy", [&] { return aclmdlRIDestroy(model); }},
        // The last: while a stream is captured, the device is not synchronized.
        {"aclmdlRICaptureBegin", [&] { return aclmdlRICaptureBegin(captured, ACL_MODEL_RI_CAPTURE_MODE_RELAXED); }},
    };
    for (const auto &[name, call] : calls) {
        Synchronization synchronization(reports, kSynchronize);
        const auto waiting = begin([call = call] {
            CHECK_OK(aclrtSetDevice(0));
            const aclError code = call();
            CHECK_OK(aclrtResetDevice(0));
            return code;
        });
        const std::string text = reports.wait_for(std::string(name) + " has waited");
        CHECK(text.find("for aclrtSynchronizeDevice of another thread, which waits for task 1") != std::string::npos);
        CHECK(synchronization.is_under_way());
        synchronization.end();
        CHECK(returns(waiting));
    }
    CHECK_OK(aclrtDestroyStream(created));
    aclmdlRI graph = nullptr;
    CHECK_OK(aclmdlRICaptureEnd(captured, &graph));
    CHECK_OK(aclmdlRIDestroy(graph));
    CHECK_OK(aclrtDestroyStream(captured));
    CHECK_OK(aclrtDestroyStream(kept));
}

void other_contexts_go_on(StallReports &reports) {
    const Synchronization synchronization(reports, kSynchronize);
    aclrtContext current = nullptr;
    aclrtContext own = nullptr;
    CHECK_OK(aclrtGetCurrentContext(&current));
    CHECK_OK(aclrtCreateContext(&own, 0));
    CHECK_OK(aclrtDestroyStream(new_stream()));
    CHECK_OK(aclrtSynchronizeDevice());
    CHECK_OK(aclrtDestroyContext(own));
    CHECK_OK(aclrtSetCurrentContext(current));
    CHECK(synchronization.is_under_way());
}

// The check is called on the waiting thread.
void an_interrupted_call_does_nothing(StallReports &reports) {
    static thread_local bool is_interrupted = false;
    CHECK_OK(aclsimSetInterruptCheck([] { return static_cast<std::int32_t>(is_interrupted); }));
    {
        const Synchronization synchronization(reports, kSynchronize);
        aclrtStream stream = nullptr;
        is_interrupted = true;
        CHECK_CODE(ACL_ERROR_RT_WAIT_TIMEOUT, aclrtCreateStream(&stream));
        CHECK(stream == nullptr);
        CHECK_CODE(ACL_ERROR_RT_WAIT_TIMEOUT, aclrtDestroyStream(synchronization.stream()));
        CHECK_CODE(ACL_ERROR_RT_WAIT_TIMEOUT, aclrtSynchronizeDevice());
        CHECK_CODE(ACL_ERROR_RT_WAIT_TIMEOUT, aclsimSynchronizeDevice(-1, nullptr));
        is_interrupted = false;
        CHECK(synchronization.is_under_way());
    }
    CHECK_OK(aclsimSetInterruptCheck(nullptr));
}

void a_wait_that_can_be_left_blocks_no_call(StallReports &reports) {
    static std::atomic<std::int32_t> is_left{0};
    static_assert(sizeof is_left == sizeof(std::int32_t));
    Synchronization synchronization(reports, [] {
        const aclError code = aclsimSynchronizeDevice(-1, reinterpret_cast<const std::int32_t *>(&is_left));
        CHECK(code == ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
        return aclError{ACL_SUCCESS};
    });
    CHECK_OK(aclrtDestroyStream(new_stream()));
    CHECK_CODE(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, aclrtSynchronizeDeviceWithTimeout(1));
    CHECK(synchronization.is_under_way());
    is_left = 1;
    while (synchronization.is_under_way()) {
        std::this_thread::yield();
    }
}

void a_wait_behind_another_can_be_left(StallReports &reports) {
    const Synchronization synchronization(reports, kSynchronize);
    const std::int32_t is_left = 1;
    CHECK_CODE(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, aclsimSynchronizeDevice(-1, &is_left));
    CHECK(synchronization.is_under_way());
}

// The context goes while a call waits for a thread that synchronizes it.
void a_context_ends_before_a_waiting_call(StallReports &reports) {
    aclrtContext primary = nullptr;
    aclrtContext context = nullptr;
    CHECK_OK(aclrtGetCurrentContext(&primary));
    CHECK_OK(aclrtCreateContext(&context, 0));
    const GateEvent gate;
    gate.close(new_stream());
    const auto in_context = [=](aclError (*call)()) {
        return begin([=] {
            CHECK_OK(aclrtSetCurrentContext(context));
            return call();
        });
    };
    const auto synchronizing = in_context(aclrtSynchronizeDevice);
    reports.wait_for("aclrtSynchronizeDevice has waited");
    auto creating = in_context([] {
        aclrtStream stream = nullptr;
        return aclrtCreateStream(&stream);
    });
    reports.wait_for("aclrtCreateStream has waited");
    auto destroying = begin([=] {
        CHECK_OK(aclrtSetCurrentContext(primary));
        return aclrtDestroyContext(context);
    });
    reports.wait_for("aclrtDestroyContext has waited");
    CHECK_OK(aclrtSetCurrentContext(primary));
    const aclrtStream by = new_stream();
    gate.open(by);
    CHECK(returns(synchronizing) && returns(creating) && returns(destroying));
    CHECK_CODE(ACL_ERROR_RT_CONTEXT_NULL, creating.get());
    CHECK_OK(destroying.get());
    CHECK_OK(aclrtDestroyStream(by));
}

}  // namespace

int main() {
    setenv("ASCEND_RT_SIM_STALL_MS", "1", 1);
    const Watchdog watchdog("native stream_list", std::chrono::seconds(120));
    CHECK_OK(aclInit(nullptr));
    CHECK_OK(aclrtSetDevice(0));
    {
        StallReports reports;
        calls_wait(reports);
        other_contexts_go_on(reports);
        an_interrupted_call_does_nothing(reports);
        a_wait_that_can_be_left_blocks_no_call(reports);
        a_wait_behind_another_can_be_left(reports);
        a_context_ends_before_a_waiting_call(reports);
    }
    CHECK_OK(aclrtResetDevice(0));
    CHECK_OK(aclFinalize());
    return 0;
}
