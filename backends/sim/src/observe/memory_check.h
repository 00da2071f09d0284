// ASCEND_RT_SIM_CHECK=memory: reports wrong uses of memory that the runtime itself does not notice, with their places
// in the program. Its record of an allocation outlives the allocation, so that a late use is recognised.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/observer.h"
#include "support/call_place.h"

namespace aclsim {

struct MemoryUses;

// Facts come from the threads of all shards: all that the check knows is guarded by its mutex, the innermost
// lock. Calls and tasks that work on no memory do not take it.
class MemoryCheck final : public Observer {
  public:
    MemoryCheck() : Observer(kTasks | kMemory | kPlaces) {}
    std::uint64_t reports() const { return reports_.load(std::memory_order_relaxed); }

    void submitted(const Moment &, const Stream &, const Task &, const Submission &) override REQUIRES(engine_lock);
    void ended(const Moment &, const Stream &, const Task &, std::uint32_t) override REQUIRES(engine_lock);
    void dropped(const Moment &, const Stream &, const Task &, aclError) override REQUIRES(engine_lock);
    void replayed(const Moment &, const Stream &, const Task &kept, const Task &replay) override REQUIRES(engine_lock);
    void changed(const Moment &, const Stream &, const Task &former, const Task &now, const Submission &) override
        REQUIRES(engine_lock);

    void allocated(const Moment &, const Allocation &allocation) override REQUIRES(engine_lock);
    void freed(const Moment &, const void *address) override REQUIRES(engine_lock);
    void freed_all(const Moment &, std::uintptr_t begin, std::uint64_t size) override REQUIRES(engine_lock);
    void free_submitted(const Moment &, const void *address, std::uint64_t number) override REQUIRES(engine_lock);
    void free_reached(const Moment &, std::uint64_t number, Point) override REQUIRES(engine_lock);
    void free_dropped(const Moment &, std::uint64_t number) override REQUIRES(engine_lock);
    void allocation_reached(const Moment &, std::uint64_t number, Point) override REQUIRES(engine_lock);
    void freed_nothing(const Moment &, const void *address) override REQUIRES(engine_lock);
    void used_orphan(const Moment &, const Access &access) override REQUIRES(engine_lock);
    void freed_registered(const Moment &, const void *address) override REQUIRES(engine_lock);

    // Memory that the present call works on stays in use until the call ends; before, the task that it submits takes
    // the use over.
    void call_accesses(const Moment &, const Access &access) override REQUIRES(engine_lock);
    void call_done_with_memory(const Moment &) override REQUIRES(engine_lock);
    void accessed(const Moment &, const Stream &, const Task &, const Access &access, bool is_there) override
        REQUIRES(engine_lock);
    void explain(const void *address, std::string &text) const override REQUIRES(engine_lock);

    struct Block;
    using Blocks = std::vector<std::shared_ptr<Block>>;

  private:
    using Guard = std::lock_guard<std::mutex>;
    using Live = std::map<std::uintptr_t, std::shared_ptr<Block>>;
    using Key = std::pair<std::uint64_t, std::uint64_t>;  // of a task: its stream and sequence
    void report(const std::string &text);
    std::string words_for(const void *address) const;
    // By a task; nullptr: by the present call.
    void examine(const MemoryUses *user, const Access &access, const Blocks &used);
    void report_uses(const Block &block);
    void reach_free(Block &block);
    bool is_given_out_again(const Block &block) const;
    Blocks find_live(const void *address, std::uint64_t size) const;
    Blocks find_in_stream(const void *address, std::uint64_t size) const;
    Live::const_iterator find_before(const void *address) const;
    std::shared_ptr<Block> find_retired(const void *address) const;
    std::shared_ptr<Block> retire(Live::iterator block);
    void forget(const Stream &stream, const Task &task) REQUIRES(engine_lock);

    mutable std::mutex mutex_;
    Live live_;
    std::deque<std::shared_ptr<Block>> retired_;  // the newest ones, oldest first
    // Blocks that a stream has yet to reach, by number.
    std::map<std::uint64_t, std::shared_ptr<Block>> in_stream_;
    std::map<Key, std::shared_ptr<MemoryUses>> uses_;           // of tasks that are not done
    std::map<const Task *, std::shared_ptr<MemoryUses>> kept_;  // of tasks that models keep
    std::atomic<std::size_t> count_{0};                         // of uses_
    std::atomic<std::uint64_t> reports_{0};
};

}  // namespace aclsim
