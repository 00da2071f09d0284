// SPDX-License-Identifier: Apache-2.0
#include "machine/state_callbacks.h"

#include "support/program_call.h"

namespace aclsim {
namespace {

template <class Function, class Call>
void report(Lock &lock, const NamedCallbacks<Function> &callbacks, Call call) REQUIRES(engine_lock) {
    const auto present = callbacks.all();  // callbacks may register and remove callbacks
    if (present->empty()) {
        return;
    }
    const Unlocked unlocked(lock);
    for (const auto &named : *present) {
        call_or_fail("a state callback", [&] { call(named.second); });
    }
}

}  // namespace

void report_device_state(const StateCallbacks &callbacks, Lock &lock, std::int32_t device, aclrtDeviceState state) {
    report(lock, callbacks.device, [&](const auto &callback) { callback.function(device, state, callback.argument); });
}

void report_stream_state(const StateCallbacks &callbacks, Lock &lock, aclrtStream stream, aclrtStreamState state) {
    report(lock, callbacks.stream, [&](const auto &callback) { callback.function(stream, state, callback.argument); });
}

void report_abort_stage(const StateCallbacks &callbacks, Lock &lock, std::int32_t device,
                        aclrtDeviceTaskAbortStage stage, std::uint32_t timeout_ms) {
    report(lock, callbacks.abort, [&](const auto &callback) {
        callback.function(device, stage, timeout_ms, callback.argument);  // return value ignored
    });
}

}  // namespace aclsim
