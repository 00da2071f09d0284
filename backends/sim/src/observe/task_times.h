// SPDX-License-Identifier: Apache-2.0
// Times of the tasks that are under way, for observers that report a task at its end.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <utility>

#include "engine/core.h"
#include "engine/observer.h"

namespace aclsim {

// The shard's lock is sufficient for the tasks of the shard.
class TaskTimes {
  public:
    struct Times {
        Time submitted;
        Time started;
    };

    // Begins to follow a task.
    void add(const Moment &now, const Stream &stream, const Task &task) REQUIRES(engine_lock) {
        of(stream).add(key_of(stream, task), {now.time(), now.time()});
    }
    void started(const Moment &now, const Stream &stream, const Task &task) REQUIRES(engine_lock) {
        if (Times *const times = of(stream).find(key_of(stream, task))) {
            times->started = now.time();
        }
    }
    // Forgets the task. Returns false if it was not added.
    bool take(const Stream &stream, const Task &task, Times &times) REQUIRES(engine_lock) {
        Pending &pending = of(stream);
        const Key key = key_of(stream, task);
        const Times *const found = pending.find(key);
        if (found == nullptr) {
            return false;
        }
        times = *found;
        pending.erase(key);
        return true;
    }
    void forget(const Stream &stream, const Task &task) REQUIRES(engine_lock) {
        of(stream).erase(key_of(stream, task));
    }
    void clear() REQUIRES(engine_lock) { shards_ = {}; }

  private:
    using Key = std::pair<std::uint64_t, std::uint64_t>;  // stream and sequence number
    // Tasks of one shard. The newest one is stored separately: most tasks end at once and need no map entry.
    struct alignas(64) Pending {
        Key key{};
        Times newest{};
        std::map<Key, Times> others;

        Times *find(const Key &task) {
            if (key == task) {
                return &newest;
            }
            const auto found = others.find(task);
            return found == others.end() ? nullptr : &found->second;
        }
        void add(const Key &task, const Times &times) {
            if (key != Key()) {
                others[key] = newest;
            }
            key = task;
            newest = times;
        }
        void erase(const Key &task) {
            if (key == task) {
                key = Key();
            } else {
                others.erase(task);
            }
        }
    };
    static Key key_of(const Stream &stream, const Task &task) { return {stream.serial, task.sequence}; }
    Pending &of(const Stream &stream) REQUIRES(engine_lock) { return shards_[Core::shard_of(stream)]; }

    std::array<Pending, Shards::kMost + 1> shards_ GUARDED_BY(engine_lock);
};

}  // namespace aclsim
