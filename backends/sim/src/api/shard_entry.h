// Entry points that can do with the shard of one device (engine/lock.h), while other threads work on other devices.
//
// Such a call comes with a question: does everything that it will touch belong to that shard? If so, its body, which is
// the same in any case, changes nothing but objects of the shard, counts of references included. Everything else it may
// read, because who changes it has the global lock. If not, the call takes the global lock, as others do.
#pragma once

#include "api/entry.h"

namespace aclsim {

// The end of a call that had a shard at its beginning.
class ShardEnd {
  public:
    ShardEnd(Simulator &sim, Lock &lock) : sim_(sim), lock_(lock) {}
    ~ShardEnd() REQUIRES(engine_lock) {
        sim_.core.leave_shard(lock_);
        if (lock_.is_global()) {  // what stays in the shard leaves nothing else to be done
            const CallEnd end(sim_, lock_);
        }
    }
    ShardEnd(const ShardEnd &) = delete;
    ShardEnd &operator=(const ShardEnd &) = delete;

  private:
    Simulator &sim_;
    Lock &lock_;
};

// stays_in_shard(sim) is asked only with several devices in use. The handle, of a context, stream or event, names the
// shard. The lock may have become the whole one when the body has waited.
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

// The stream if it executes what is submitted to it, and has room for that. NULL, the default stream, has the shard of
// no handle.
inline ContextStream *stream_in_shard(Handle<ContextStream> stream) REQUIRES(engine_lock) {
    auto *found = stream.find();
    const bool is_simple = found != nullptr && found->executes_tasks && !found->is_redirected &&
                           context_of(*found).handle() == thread_context().current();
    return is_simple && !Core::is_full(*found) ? found : nullptr;
}

}  // namespace aclsim
