// SPDX-License-Identifier: Apache-2.0
// Streams that are blocked on the same condition.
#pragma once

#include <cstdint>

#include "engine/lock.h"

namespace aclsim {

class Core;
class Scheduler;
class Stream;

// First come, first served. Guarded by the engine lock. A stream is blocked on one condition at a time, so the links
// are members of the stream: joining and leaving take constant time, and a list needs no destruction.
class Waiters {
  public:
    Waiters() = default;
    Waiters(const Waiters &) = delete;
    Waiters &operator=(const Waiters &) = delete;
    void add(Stream &stream) REQUIRES(engine_lock);  // a stream that waits here already keeps its place
    bool empty() const REQUIRES(engine_lock) { return first_ == nullptr; }
    // Returns true if all streams added since the list was last empty belong to that shard.
    bool stay_in(std::uint32_t shard) const REQUIRES(engine_lock) { return (shards_ & ~(1U << shard)) == 0; }
    void remove(Stream &stream) REQUIRES(engine_lock);  // does nothing if the stream does not wait here
    // Wakes all streams to check their condition again, in the order that the scheduler chooses.
    void wake(Core &core) REQUIRES(engine_lock) {
        if (first_ != nullptr) {
            wake_all(core);
        }
    }

  private:
    void wake_all(Core &core) REQUIRES(engine_lock);
    Stream &choose(Scheduler &scheduler) const REQUIRES(engine_lock);  // the next to be woken

    Stream *first_ GUARDED_BY(engine_lock) = nullptr;
    Stream *last_ GUARDED_BY(engine_lock) = nullptr;
    std::uint32_t shards_ GUARDED_BY(engine_lock) = 0;  // one bit per shard of the added streams
};

}  // namespace aclsim
