// SPDX-License-Identifier: Apache-2.0
// Values in memory that streams write and wait for (events_streams_sync.md section 8).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "engine/facts.h"
#include "engine/pending.h"
#include "engine/waiters.h"
#include "memory/memory.h"

namespace aclsim {

// Requires the engine lock, and a stream that has admitted a task.
class Values final : public ReleaseListener {
  public:
    explicit Values(Memory &memory) : core_(memory.core) { memory.set_release_listener(*this); }
    void write(Stream &stream, void *address, std::uint64_t value) REQUIRES(engine_lock);
    // Takes ACL_STREAM_WAIT_VALUE_* as the flag.
    void wait(Stream &stream, const void *address, std::uint64_t value, std::uint32_t flag) REQUIRES(engine_lock);
    // Creates the task of a graph that replaces another one.
    std::unique_ptr<Task> make_write(const aclmdlRIValueWriteTaskParams &params) REQUIRES(engine_lock);
    std::unique_ptr<Task> make_wait(const aclmdlRIValueWaitTaskParams &params) REQUIRES(engine_lock);

    void memory_released(std::uintptr_t begin, std::uint64_t size) override REQUIRES(engine_lock);

  private:
    friend class ValueWriteTask;
    friend class ValueWaitTask;

    Core &core_;
    Waiters waiters_;      // all woken by any write
    PendingTasks writes_;  // pending writes to any address
    // Writes to an address, kept only while an observer wants the order.
    struct Written {
        Point task;
        std::uint64_t value;
        std::uint64_t call;  // place among the calls for values
    };
    struct History {
        std::optional<std::uint64_t> former{};  // value before the first of them; none: earlier ones were forgotten
        std::deque<Written> done{};             // newest ones, in their order
        std::vector<Written> queued{};
    };
    static constexpr std::size_t kMostWritten = 4096;
    // Writes that may satisfy a wait: the first of each stream that was called before it, or the first one after it,
    // but none behind it in its stream. The choice between them depends on the schedule.
    static std::vector<Share> candidates(const History &of, std::size_t from, std::uint64_t value, std::uint32_t flag,
                                         const Point &wait, std::uint64_t call);

    std::map<std::uintptr_t, History> written_ GUARDED_BY(engine_lock);
    std::uint64_t calls_ GUARDED_BY(engine_lock) = 0;
};

}  // namespace aclsim
