// Values in memory that streams write and wait for (events_streams_sync.md section 8).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>

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
    // Newest writes to an address, in their order; kept only while an observer wants the order.
    struct Written {
        Point task;
        std::uint64_t value;
    };
    static constexpr std::size_t kMostWritten = 64;
    std::map<std::uintptr_t, std::deque<Written>> written_ GUARDED_BY(engine_lock);
};

}  // namespace aclsim
