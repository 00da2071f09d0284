// SPDX-License-Identifier: Apache-2.0
// Pending tasks that will make a condition true: records that will set a bit, writes that will change a value.
#pragma once

#include <algorithm>
#include <vector>

#include "engine/stream.h"

namespace aclsim {

// Guarded by the engine lock.
class PendingTasks {
  public:
    void add(const Stream &stream, const Task &task) REQUIRES(engine_lock) {
        entries_.push_back({Ref<const Stream>(stream), task.sequence});
    }
    void remove(const Stream &stream, const Task &task) REQUIRES(engine_lock) {
        if (entries_.empty()) {
            return;  // done at once
        }
        if (entries_.size() == 1 && entries_[0].stream == &stream && entries_[0].sequence == task.sequence) {
            entries_.pop_back();  // the most frequent case
            return;
        }
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
