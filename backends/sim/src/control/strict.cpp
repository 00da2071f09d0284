// SPDX-License-Identifier: Apache-2.0
#include "control/strict.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "engine/host_wait.h"
#include "support/strict.h"
#include "support/text.h"
#include "tasks/event.h"

namespace aclsim {
namespace {

// Returns true if the vendor's library follows handles of that kind; it looks others up in tables.
bool is_followed(Kind kind) {
    constexpr Kind kFollowed[] = {Kind::Context, Kind::Stream, Kind::Event, Kind::Notify, Kind::CntNotify};
    return std::find(std::begin(kFollowed), std::end(kFollowed), kind) != std::end(kFollowed);
}

// Returns true if a thread is still destroying the object, which its handle no longer names.
bool is_being_destroyed(const Machine &machine, const void *handle) REQUIRES(engine_lock) {
    const auto is_named = [handle](const auto &object) { return object->handle() == handle; };
    const auto is_or_has = [&](const Context *context) REQUIRES(engine_lock) {
        const auto &streams = context->streams;
        return is_named(context) || std::any_of(streams.begin(), streams.end(), is_named);
    };
    const auto is_on = [&](const auto &device) REQUIRES(engine_lock) {
        return std::any_of(device->contexts.begin(), device->contexts.end(), is_or_has);
    };
    return std::any_of(machine.devices.begin(), machine.devices.end(), is_on);
}

}  // namespace

void Strict::turn_on() {
    machine_.core.registry().note_ends(ended_);
    machine_.core.add_observer(*this);
    machine_.add(*this);
}

void Strict::refuse(const void *handle, Kind kind, const char *what) const {
    if (!is_strict() || handle == nullptr || !is_followed(kind) || is_being_destroyed(machine_, handle)) {
        return;
    }
    const CallNote end = ended_.find(handle);
    const std::string name = what + (" " + text_of(handle));
    if (end.is_known()) {
        end_if_strict(name + " was ended by " + end.text());
    }
    if (!Registry::is_handle(handle)) {
        end_if_strict(name + " was never given out");
    }
    if (Registry::kind_of(handle) == kind) {
        end_if_strict(name + " was ended long ago");
    }
}

void Strict::refuse_waits() const {
    const auto &waits = machine_.core.host_waits();
    const auto found = std::find_if(waits.begin(), waits.end(), [](const HostWait *wait) {
        return !wait->is_of_own_thread() && wait->thread() != std::this_thread::get_id();
    });
    if (found != waits.end()) {
        end_if_strict((*found)->function(), "a thread waits in this call while the process ends");
    }
}

void Strict::device_closed(Device &device) {
    for (const Ref<Event> &event : machine_.core.registry().all<Event>()) {
        if (&event->device == &device) {
            machine_.core.registry().remove(*event);
        }
    }
}

}  // namespace aclsim
