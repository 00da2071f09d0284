// SPDX-License-Identifier: Apache-2.0
// Devices: set, reset, synchronize, abort (device_context_init_errors.md section 5, events_streams_sync.md sections 4
// and 11).
#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "api/entry.h"
#include "machine/operator_limit.h"

using namespace aclsim;

namespace {

Device &require_set_device(Simulator &sim, std::int32_t id) REQUIRES(engine_lock) {
    Device &device = require_device(sim, id);
    if (device.set_count == 0) {
        fail(ACL_ERROR_RT_CONTEXT_RELEASE_ERROR, "device %d is not set, or was reset as often as it was set", id);
    }
    return device;
}

void release_device(Simulator &sim, Lock &lock, Device &device, bool force) REQUIRES(engine_lock) {
    const std::uint32_t left = force ? 0 : device.set_count - 1;
    if (left > 0) {
        device.set_count = left;
        return;
    }
    require_not_tearing_down(*device.primary);
    if (!force) {
        require_not_down(sim.machine, lock, device);
    }
    device.set_count = 0;
    run_to_end([&]() REQUIRES(engine_lock) { destroy_context(sim.machine, lock, std::move(device.primary), force); },
               [&]() REQUIRES(engine_lock) {
                   // Clear the primary context of the thread, regardless of its device (section 5 [obs]).
                   thread_context().primary_context = nullptr;
                   if (force) {
                       device.poisoned = ACL_SUCCESS;
                       device.down.reset();
                   }
               });
}

void reset_device(Simulator &sim, Lock &lock, std::int32_t id, bool force) REQUIRES(engine_lock) {
    Device &found = require_device(sim, id);
    const bool is_useless = found.down || found.lost != ACL_SUCCESS;
    if (force && is_useless && found.set_count == 0) {  // unusable devices cannot be set before their reset
        found.down.reset();
        found.lost = ACL_SUCCESS;
        return;
    }
    require_set_device(sim, id);
    report_device_state(sim.machine.state_callbacks, lock, id, ACL_RT_DEVICE_STATE_RESET_PRE);
    Device &device = require_set_device(sim, id);
    release_device(sim, lock, device, force);
    report_device_state(sim.machine.state_callbacks, lock, id, ACL_RT_DEVICE_STATE_RESET_POST);
}

void set_device(Simulator &sim, Lock &lock, Device &device) REQUIRES(engine_lock) {
    const bool is_first = device.set_count == 0;
    enter_device(sim.machine, device);
    if (is_first) {
        report_stream_state(sim.machine.state_callbacks, lock, device.primary->default_stream->handle(),
                            ACL_RT_STREAM_STATE_CREATE_POST);
    }
}

void require_timeout(std::int32_t timeout_ms) {
    if (timeout_ms == 0 || timeout_ms < -1) {
        fail_unremembered(ACL_ERROR_RT_PARAM_INVALID, "timeout %d ms is neither -1 nor positive", timeout_ms);
    }
}

// Returns the limit of a synchronization without a time limit; none on most products.
std::optional<OperatorLimit> operator_limit(Simulator &sim) REQUIRES(engine_lock) {
    std::optional<OperatorLimit> limit;
    if (config().product->has(kDeviceSyncTakesOperatorLimit)) {
        limit.emplace(sim.core, require_context(sim).device, std::chrono::microseconds(execution_limit_us(sim)));
    }
    return limit;
}

// Ends a wait when the program no longer needs its result, or another check does.
class UntilLeft final : public WaitCheck {
  public:
    UntilLeft(Clock &clock, const std::int32_t *is_left, WaitCheck *other)
        : clock_(clock), is_left_(is_left), other_(other) {}
    Time look(Lock &lock) override REQUIRES(engine_lock) {
        constexpr std::chrono::milliseconds kInterval{20};
        if (is_left_ != nullptr && __atomic_load_n(is_left_, __ATOMIC_RELAXED) != 0) {
            fail(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, "the program has left this wait");
        }
        const Time next = is_left_ == nullptr ? kNever : clock_.now() + kInterval;
        return other_ == nullptr ? next : std::min(next, other_->look(lock));
    }

  private:
    Clock &clock_;
    const std::int32_t *const is_left_;
    WaitCheck *const other_;
};

// Makes submissions and synchronizations on the device fail while the object lives. Construction and destruction
// require the engine lock.
class Aborting {
  public:
    explicit Aborting(Device &device) : device_(device) { device_.aborting = true; }
    ~Aborting() { device_.aborting = false; }
    Aborting(const Aborting &) = delete;
    Aborting &operator=(const Aborting &) = delete;

  private:
    Device &device_;
};

}  // namespace

aclError aclrtSetDevice(int32_t deviceId) {
    return entry(Function::aclrtSetDevice, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        Device &device = require_device(sim, deviceId);
        require_not_lost(device);
        report_device_state(sim.machine.state_callbacks, lock, deviceId, ACL_RT_DEVICE_STATE_SET_PRE);
        set_device(sim, lock, device);
        report_device_state(sim.machine.state_callbacks, lock, deviceId, ACL_RT_DEVICE_STATE_SET_POST);
    });
}

aclError aclrtResetDevice(int32_t deviceId) {
    return entry(Function::aclrtResetDevice,
                 [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) { reset_device(sim, lock, deviceId, false); });
}

aclError aclrtResetDeviceForce(int32_t deviceId) {
    return entry(Function::aclrtResetDeviceForce,
                 [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) { reset_device(sim, lock, deviceId, true); });
}

aclError aclrtGetDevice(int32_t *deviceId) {
    return entry(Function::aclrtGetDevice, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(deviceId, "deviceId");
        const Context *context = current_context(sim);
        if (context == nullptr) {
            fail_unremembered(ACL_ERROR_RT_CONTEXT_NULL,
                              "no device is set in the calling thread; call aclrtSetDevice in it");
        }
        *deviceId = static_cast<int32_t>(context->device.user_id);
    });
}

aclError aclrtSetTsDevice(aclrtTsId tsId) {
    return entry(Function::aclrtSetTsDevice, [&](Simulator &, Lock &) {
        if (tsId != ACL_TS_ID_AICORE && tsId != ACL_TS_ID_AIVECTOR) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "there is no task scheduler %d", static_cast<int>(tsId));
        }
    });
}

aclError aclrtSynchronizeDevice() {
    return entry(Function::aclrtSynchronizeDevice, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        std::optional<OperatorLimit> limit = operator_limit(sim);
        synchronize_device(sim.machine, lock, kNever, limit ? &*limit : nullptr);
    });
}

aclError aclrtSynchronizeDeviceWithTimeout(int32_t timeout) {
    return entry(Function::aclrtSynchronizeDeviceWithTimeout, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require_timeout(timeout);
        synchronize_device(sim.machine, lock, deadline_of(sim, timeout));
    });
}

aclError aclsimSynchronizeDevice(int32_t timeout, const int32_t *isLeft) {
    const bool is_limited = timeout != -1;
    const Function function =
        is_limited ? Function::aclrtSynchronizeDeviceWithTimeout : Function::aclrtSynchronizeDevice;
    return entry(function, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require_timeout(timeout);
        std::optional<OperatorLimit> limit = is_limited ? std::nullopt : operator_limit(sim);
        const Time deadline = deadline_of(sim, timeout);
        UntilLeft until_left(sim.clock, isLeft, limit ? &*limit : nullptr);
        await_stream_list(sim.machine, lock, isLeft != nullptr ? &until_left : nullptr);
        synchronize_device(sim.machine, lock, deadline, &until_left, OtherThreads::GoOn);
    });
}

aclError aclrtDeviceTaskAbort(int32_t deviceId, uint32_t timeout) {
    constexpr uint32_t kLongest = 36 * 60 * 1000;
    return entry(Function::aclrtDeviceTaskAbort, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require_supported();
        if (timeout > kLongest) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "timeout %u ms is above %u", timeout, kLongest);
        }
        Device &device = require_device(sim, deviceId);
        require_not_lost(device);
        if (device.aborting) {
            fail(ACL_ERROR_RT_DEVICE_TASK_ABORT, "the tasks of device %d are being aborted already", deviceId);
        }
        const Aborting aborting(device);
        const auto deadline = timeout == 0 ? kNever : deadline_of(sim, static_cast<int32_t>(timeout));
        report_abort_stage(sim.machine.state_callbacks, lock, deviceId, ACL_RT_DEVICE_TASK_ABORT_PRE, timeout);
        abort_device(sim.machine, lock, device, deadline);
        report_abort_stage(sim.machine.state_callbacks, lock, deviceId, ACL_RT_DEVICE_TASK_ABORT_POST, timeout);
    });
}

aclError aclrtSetDeviceTaskAbortCallback(const char *regName, aclrtDeviceTaskAbortCallback callback, void *args) {
    return entry(Function::aclrtSetDeviceTaskAbortCallback, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(regName, "regName");
        require_supported();
        if (!sim.machine.state_callbacks.abort.set(regName, callback, args)) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "a callback is registered as \"%s\" already", regName);
        }
    });
}

aclError aclrtRegDeviceStateCallback(const char *regName, aclrtDeviceStateCallback callback, void *args) {
    return entry(Function::aclrtRegDeviceStateCallback, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(regName, "regName");
        if (!sim.machine.state_callbacks.device.set(regName, callback, args)) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "a callback is registered as \"%s\" already", regName);
        }
    });
}
