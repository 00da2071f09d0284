// SPDX-License-Identifier: Apache-2.0
// User callbacks for the states of devices and streams, and for the stages of a device abort.
//
// Callbacks run in the thread that causes the change, without the engine lock, and may call the API. The caller must
// therefore repeat its checks afterwards.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "abi/acl.h"
#include "engine/lock.h"

namespace aclsim {

// User functions by name. Guarded by the engine lock.
template <class Function>
class NamedCallbacks {
  public:
    struct Callback {
        Function function;
        void *argument;
    };
    using Callbacks = std::map<std::string, Callback>;
    // Removes the name if the function is null. Returns false if the name is in use.
    bool set(const char *name, Function function, void *argument) REQUIRES(engine_lock) {
        auto changed = std::make_shared<Callbacks>(*callbacks_);
        bool is_set = true;
        if (function == nullptr) {
            changed->erase(name);
        } else {
            is_set = changed->emplace(name, Callback{function, argument}).second;
        }
        callbacks_ = std::move(changed);
        return is_set;
    }
    // Returns the callbacks as they are now. Allocates nothing, because objects must also end without memory.
    std::shared_ptr<const Callbacks> all() const REQUIRES(engine_lock) { return callbacks_; }

  private:
    std::shared_ptr<const Callbacks> callbacks_ GUARDED_BY(engine_lock) = std::make_shared<Callbacks>();
};

struct StateCallbacks {
    NamedCallbacks<aclrtDeviceStateCallback> device;
    NamedCallbacks<aclrtStreamStateCallback> stream;
    NamedCallbacks<aclrtDeviceTaskAbortCallback> abort;
};

// Requires the engine lock, which is held again at return.
void report_device_state(const StateCallbacks &callbacks, Lock &lock, std::int32_t device, aclrtDeviceState state)
    REQUIRES(engine_lock);
void report_stream_state(const StateCallbacks &callbacks, Lock &lock, aclrtStream stream, aclrtStreamState state)
    REQUIRES(engine_lock);
void report_abort_stage(const StateCallbacks &callbacks, Lock &lock, std::int32_t device,
                        aclrtDeviceTaskAbortStage stage, std::uint32_t timeout_ms) REQUIRES(engine_lock);

}  // namespace aclsim
