// The tasks that are still to bring something about: records that will set a bit, writes that will change a value.
#pragma once

#include <algorithm>
#include <vector>

#include "engine/stream.h"

namespace aclsim {

// Guarded by the engine's lock.
class PendingTasks {
  public:
    // The next task that is submitted to the stream.
    void add(const Stream &stream) REQUIRES(engine_lock) {
        entries_.push_back({Ref<const Stream>(stream), stream.submitted + 1});
    }
    void add(const Stream &stream, const Task &task) REQUIRES(engine_lock) {
        entries_.push_back({Ref<const Stream>(stream), task.sequence});
    }
    void remove(const Stream &stream, const Task &task) REQUIRES(engine_lock) {
        const auto is_it = [&](const Entry &it) { return it.stream == &stream && it.sequence == task.sequence; };
        entries_.erase(std::remove_if(entries_.begin(), entries_.end(), is_it), entries_.end());
    }
    bool empty() const REQUIRES(engine_lock) { return entries_.empty(); }
    void add_causes(Causes &causes) const REQUIRES(engine_lock) {
        for (const Entry &entry : entries_) {
            causes.list.push_back({entry.stream.get(), entry.sequence});
        }
    }

  private:
    struct Entry {
        Ref<const Stream> stream;
        std::uint64_t sequence;
    };
    std::vector<Entry> entries_ GUARDED_BY(engine_lock);
};

}  // namespace aclsim
