// ASCEND_RT_SIM_CHECK=memory: reports wrong uses of memory that the runtime itself does not notice, with their places
// in the program. Its record of an allocation outlives the allocation, so that a late use is recognised.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/core.h"

namespace aclsim {

// Notes where the calling thread's present call comes from; only with checking. Before the engine is locked, because
// a function of the program may be called for it.
void find_call_place();
void set_call_site_provider(std::int32_t (*provider)(char *text, std::size_t size));

struct MemoryUses;

// Guarded by the engine's lock.
class MemoryCheck final : public Observer {
  public:
    std::uint64_t reports() const REQUIRES(engine_lock) { return reports_; }

    void submitted(Time, const Stream &stream, const Task &task, const Submission &submission) override
        REQUIRES(engine_lock);
    void ended(Time, const Stream &, const Task &task) override REQUIRES(engine_lock) { uses_.erase(&task); }
    void dropped(Time, const Stream &, const Task &task, aclError) override REQUIRES(engine_lock) {
        uses_.erase(&task);
    }

    void allocated(Time, const Allocation &allocation) override REQUIRES(engine_lock);
    void freed(Time, const void *address) override REQUIRES(engine_lock);
    void freed_all(Time, std::uintptr_t begin, std::uint64_t size) override REQUIRES(engine_lock);
    void free_submitted(Time, const void *address, std::uint64_t number) override REQUIRES(engine_lock);
    void free_reached(Time, std::uint64_t number) override REQUIRES(engine_lock);
    void free_dropped(Time, std::uint64_t number) override REQUIRES(engine_lock);
    void allocation_reached(Time, std::uint64_t number) override REQUIRES(engine_lock);
    void freed_nothing(Time, const void *address) override REQUIRES(engine_lock);
    void freed_registered(Time, const void *address) override REQUIRES(engine_lock);

    // What the present call works on stays in use until the call ends; before, the task that it submits takes the use
    // over.
    void call_began(Time) override REQUIRES(engine_lock);
    void call_accesses(Time, const Access &access) override REQUIRES(engine_lock);
    void call_done_with_memory(Time) override REQUIRES(engine_lock);
    void call_ended(Time) override REQUIRES(engine_lock);
    void accessed(Time, const Task &task, const Access &access, bool is_there) override REQUIRES(engine_lock);
    void replayed(Time, const Task &kept, const Task &replay) override REQUIRES(engine_lock);
    void explain(const void *address, std::string &text) const override REQUIRES(engine_lock);

    struct Block;
    using Blocks = std::vector<std::shared_ptr<Block>>;

  private:
    using Live = std::map<std::uintptr_t, std::shared_ptr<Block>>;
    void report(const std::string &text) REQUIRES(engine_lock);
    std::string words_for(const void *address) const REQUIRES(engine_lock);
    void examine(const std::string &who, const Access &access, const Blocks &used) REQUIRES(engine_lock);
    void report_uses(const Block &block) REQUIRES(engine_lock);
    void reach_free(Block &block) REQUIRES(engine_lock);
    bool is_given_out_again(const Block &block) const REQUIRES(engine_lock);
    Blocks find_live(const void *address, std::uint64_t size) const REQUIRES(engine_lock);
    Blocks find_in_stream(const void *address, std::uint64_t size) const REQUIRES(engine_lock);
    Live::const_iterator find_before(const void *address) const REQUIRES(engine_lock);
    std::shared_ptr<Block> find_retired(const void *address) const REQUIRES(engine_lock);
    std::shared_ptr<Block> retire(Live::iterator block) REQUIRES(engine_lock);

    Live live_ GUARDED_BY(engine_lock);
    std::deque<std::shared_ptr<Block>> retired_ GUARDED_BY(engine_lock);  // the newest ones, oldest first
    // That a stream has yet to reach, by number.
    std::map<std::uint64_t, std::shared_ptr<Block>> in_stream_ GUARDED_BY(engine_lock);
    std::map<const Task *, std::shared_ptr<MemoryUses>> uses_ GUARDED_BY(engine_lock);  // of tasks that are not done
    std::uint64_t reports_ GUARDED_BY(engine_lock) = 0;
};

}  // namespace aclsim
