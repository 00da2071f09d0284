// Entry points that can do with the shard of one device (engine/lock.h), while other threads work on other devices.
//
// Such a call comes with a question: is everything at rest that it will touch? If so, its body, which is the same in
// any case, changes nothing but objects of that shard, counts of references included, and neither waits nor wakes nor
// starts anybody. Everything else it may read, because who changes it has the whole lock. If not, the call takes the
// whole lock, as others do.
#pragma once

#include "api/entry.h"
#include "tasks/event.h"

namespace aclsim {

// at_rest(sim) is asked only with several devices in use. The handle, of a context, stream or event, names the shard.
template <class AtRest, class Body>
[[gnu::always_inline]] inline aclError shard_entry(Function function, void *handle, AtRest at_rest, Body body) {
    return checked_entry(function, [&] {
        Simulator &sim = Simulator::get();
        Lock lock = sim.core.acquire_shard_of(handle);
        if (!lock.is_whole()) {
            if (sim.core.is_undisturbed() && !sim.machine.gate.is_closed() && at_rest(sim)) {
                body(sim, lock);
                return;
            }
            lock.widen();
        }
        gated_call(sim, lock, body);
    });
}

// The stream if it is at rest: nothing is queued, and no thread sleeps until something was. NULL, the default stream,
// has the shard of no handle.
inline ContextStream *stream_at_rest(Handle<ContextStream> stream) REQUIRES(engine_lock) {
    auto *found = stream.find();
    const bool is_at_rest = found != nullptr && found->state == Stream::State::Idle && !found->has_sleepers &&
                            found->executes_tasks && !found->is_diverted &&
                            context_of(*found).handle() == thread_context().current();
    return is_at_rest ? found : nullptr;
}

// The event if no stream waits for it, and its newest record is of the same shard.
inline Event *event_at_rest(Handle<Event> event) REQUIRES(engine_lock) {
    auto *found = event.find();
    return found != nullptr && found->is_at_rest() ? found : nullptr;
}

inline bool have_one_shard(Handle<Event> event, Handle<ContextStream> stream) {
    return Registry::shard_of(event.value()) == Registry::shard_of(stream.value());
}

}  // namespace aclsim
