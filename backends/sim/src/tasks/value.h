// Values in memory that streams write and wait for (events_streams_sync.md section 8).
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "engine/facts.h"
#include "engine/pending.h"
#include "engine/waiters.h"
#include "memory/memory.h"

namespace aclsim {

// Engine lock held; the stream has admitted a task.
class Values final : public ReleaseListener {
  public:
    explicit Values(Memory &memory) : core_(memory.core) { memory.set_release_listener(*this); }
    void write(Stream &stream, void *address, std::uint64_t value) REQUIRES(engine_lock);
    // flag: ACL_STREAM_WAIT_VALUE_*.
    void wait(Stream &stream, const void *address, std::uint64_t value, std::uint32_t flag) REQUIRES(engine_lock);
    // The same as a task of a graph, which takes the place of another one.
    std::unique_ptr<Task> make_write(const aclmdlRIValueWriteTaskParams &params) REQUIRES(engine_lock);
    std::unique_ptr<Task> make_wait(const aclmdlRIValueWaitTaskParams &params) REQUIRES(engine_lock);

    void memory_released(std::uintptr_t begin, std::uint64_t size) override REQUIRES(engine_lock);

  private:
    friend class ValueWriteTask;
    friend class ValueWaitTask;

    Core &core_;
    Waiters waiters_;      // a write wakes all of them
    PendingTasks writes_;  // to any address
    // The newest write to an address; only while an observer wants to know the order.
    struct Written {
        Point task;
        std::uint64_t value;
    };
    std::map<std::uintptr_t, Written> last_written_ GUARDED_BY(engine_lock);
};

}  // namespace aclsim
