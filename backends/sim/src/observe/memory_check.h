// SPDX-License-Identifier: Apache-2.0
// Memory check (ASCEND_RT_SIM_CHECK=memory): reports incorrect uses of memory that the runtime itself does not notice,
// and their places in the program. The record of an allocation outlives the allocation, so that a late use is
// recognised.
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
#include "support/call_note.h"

namespace aclsim {

struct MemoryUses;

// Facts arrive from threads of all shards, so the state of the check is guarded by its mutex, the innermost lock. The
// mutex is not taken for a submission without memory to a stream that executes tasks, nor at the end of a task while no
// task uses memory.
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

    // Memory used by the present call stays in use until the call declares to be done with it or ends; if the call
    // submits a task, the task takes over the use.
    void call_accesses(const Moment &, const Access &access) override REQUIRES(engine_lock);
    void call_done_with_memory(const Moment &, const std::vector<Access> &) override REQUIRES(engine_lock);
    void accessed(const Moment &, const Stream &, const Task &, const Access &access, bool is_there) override
        REQUIRES(engine_lock);
    void fact_lost(const Moment &) override REQUIRES(engine_lock);
    void explain(const void *address, std::string &text) const override REQUIRES(engine_lock);

    struct Block;
    using Blocks = std::vector<std::shared_ptr<Block>>;

  private:
    using Guard = std::lock_guard<std::mutex>;
    using Live = std::map<std::uintptr_t, std::shared_ptr<Block>>;
    using Key = std::pair<std::uint64_t, std::uint64_t>;  // stream and sequence number of a task
    void report(const CallNote &at, const std::string &text);
    std::string words_for(const void *address) const;
    // Examines an access by a task, or by the present call if `user` is nullptr.
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
    std::deque<std::shared_ptr<Block>> retired_;  // most recently freed blocks, oldest first
    // Blocks whose allocation or free a stream has not reached yet, by number.
    std::map<std::uint64_t, std::shared_ptr<Block>> in_stream_;
    std::map<Key, std::shared_ptr<MemoryUses>> uses_;           // uses by tasks that are not done
    std::map<const Task *, std::shared_ptr<MemoryUses>> kept_;  // uses by tasks that models keep
    std::atomic<std::size_t> count_{0};                         // size of uses_, read without the mutex
    std::atomic<std::uint64_t> reports_{0};
    std::atomic<bool> is_over_{false};  // a fact was lost: what the check knows may be wrong
};

}  // namespace aclsim
