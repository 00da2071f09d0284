#include "machine/state_callbacks.h"

#include "engine/core.h"
#include "support/error.h"

namespace aclsim {
namespace {

template <class Function, class Call>
void tell(Engine &engine, Lock &lock, const NamedCallbacks<Function> &callbacks, Call call) {
    if (callbacks.all().empty()) {
        return;
    }
    const auto copies = callbacks.all();  // callbacks may register and remove callbacks
    const KeptCall kept;
    lock.unlock();
    for (const auto &named : copies) {
        call(named.second);
    }
    lock = engine.acquire();
}

}  // namespace

void tell_device_state(Engine &engine, Lock &lock, std::int32_t device, aclrtDeviceState state) {
    tell(engine, lock, engine.state_callbacks().device,
         [&](const auto &callback) { callback.function(device, state, callback.argument); });
}

void tell_stream_state(Engine &engine, Lock &lock, aclrtStream stream, aclrtStreamState state) {
    tell(engine, lock, engine.state_callbacks().stream,
         [&](const auto &callback) { callback.function(stream, state, callback.argument); });
}

void tell_abort_stage(Engine &engine, Lock &lock, std::int32_t device, aclrtDeviceTaskAbortStage stage,
                      std::uint32_t timeout_ms) {
    tell(engine, lock, engine.state_callbacks().abort, [&](const auto &callback) {
        callback.function(device, stage, timeout_ms, callback.argument);  // what it returns changes nothing
    });
}

}  // namespace aclsim
