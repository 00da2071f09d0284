// The streams that are blocked on one thing.
#pragma once

#include <cstdint>

#include "engine/lock.h"

namespace aclsim {

class Core;
class Stream;

// First come, first served. Guarded by the engine's lock. A stream is blocked on one thing at a time, so the links are
// its own: to join and to leave cost the same however many wait, and a list needs no destruction.
class Waiters {
  public:
    Waiters() = default;
    Waiters(const Waiters &) = delete;
    Waiters &operator=(const Waiters &) = delete;
    void add(Stream &stream) REQUIRES(engine_lock);  // one that waits here already keeps its place
    bool empty() const REQUIRES(engine_lock) { return first_ == nullptr; }
    // Were all of them of that shard, since there was none?
    bool stay_in(std::uint32_t shard) const REQUIRES(engine_lock) { return (shards_ & ~(1U << shard)) == 0; }
    void remove(Stream &stream) REQUIRES(engine_lock);  // does nothing if it does not wait here
    // Lets each of them look again at what it waits for, in the order that the scheduler chooses.
    void wake(Core &core) REQUIRES(engine_lock) {
        if (first_ != nullptr) {
            wake_all(core);
        }
    }

  private:
    void wake_all(Core &core) REQUIRES(engine_lock);

    Stream *first_ GUARDED_BY(engine_lock) = nullptr;
    Stream *last_ GUARDED_BY(engine_lock) = nullptr;
    std::uint32_t shards_ GUARDED_BY(engine_lock) = 0;  // a bit for each that some were of
};

}  // namespace aclsim
