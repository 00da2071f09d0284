// SPDX-License-Identifier: Apache-2.0
// Lookups of events for the entry points.
#pragma once

#include "api/entry.h"
#include "tasks/event.h"

namespace aclsim {

inline Event &require_event(Simulator &sim, Handle<Event> event) REQUIRES(engine_lock) {
    require(event.value(), "event");
    return require_handle(sim, event, "event");
}

inline Event *event_in_shard(Handle<Event> event) REQUIRES(engine_lock) {
    auto *found = event.find();
    return found != nullptr && found->stays_in_shard() ? found : nullptr;
}

[[noreturn]] inline void refuse_event_kind(const char *what) {
    fail_unremembered(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "the function does not take %s event", what);
}

}  // namespace aclsim
