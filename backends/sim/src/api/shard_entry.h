// SPDX-License-Identifier: Apache-2.0
// Entry points that need only the shard of one device (engine/lock.h), so that other threads can work on other devices.
//
// Each such call supplies a predicate that returns true if everything the call will touch belongs to that shard. Then
// the body, which is the same in both cases, modifies only objects of the shard, including their reference counts. It
// may read everything else, because threads that modify it hold the global lock. Otherwise the call takes the global
// lock, as other calls do.
#pragma once

#include "api/entry.h"

namespace aclsim {

// Ends a call that began with a shard.
class ShardEnd {
  public:
    ShardEnd(Simulator &sim, Lock &lock) : sim_(sim), lock_(lock) {}
    ~ShardEnd() REQUIRES(engine_lock) {
        sim_.core.leave_shard(lock_);
        if (lock_.is_global()) {  // calls within a shard leave nothing else to do
            const CallEnd end(sim_, lock_);
        }
    }
    ShardEnd(const ShardEnd &) = delete;
    ShardEnd &operator=(const ShardEnd &) = delete;

  private:
    Simulator &sim_;
    Lock &lock_;
};

// Calls stays_in_shard(sim) only if several devices are in use. The handle of a context, stream or event selects the
// shard. The lock may have become global if the body has waited.
template <class StaysInShard, class Body>
[[gnu::always_inline]] inline aclError shard_entry(Function function, void *handle, StaysInShard stays_in_shard,
                                                   Body body) {
    return checked_entry(function, [&] {
        Simulator &sim = Simulator::get();
        Lock lock = sim.core.acquire_shard_of(handle);
        if (!lock.is_global()) {
            if (sim.core.is_undisturbed() && !sim.machine.snapshot_gate.is_closed() && stays_in_shard(sim)) {
                const ShardEnd end(sim, lock);
                const Core::Call call(sim.core);
                body(sim, lock);
                return;
            }
            sim.core.upgrade_to_global(lock);
        }
        gated_call(sim, lock, body);
    });
}

// Returns the stream if it executes the tasks submitted to it and has room for another; otherwise nullptr. NULL, the
// default stream, selects no shard.
inline ContextStream *stream_in_shard(Handle<ContextStream> stream) REQUIRES(engine_lock) {
    auto *found = stream.find();
    const bool is_simple = found != nullptr && found->executes_tasks && !found->is_redirected &&
                           context_of(*found).handle() == thread_context().current();
    return is_simple && !Core::is_full(*found) ? found : nullptr;
}

}  // namespace aclsim
