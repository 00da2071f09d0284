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
    std::uint64_t reports() const { return reports_; }

    void submitted(Time, const Stream &stream, const Task &task, const Submission &submission) override;
    void ended(Time, const Stream &, const Task &task) override { uses_.erase(&task); }
    void dropped(Time, const Stream &, const Task &task, aclError) override { uses_.erase(&task); }

    void allocated(Time, const Allocation &allocation) override;
    void freed(Time, const void *address) override;
    void freed_all(Time, std::uintptr_t begin, std::uint64_t size) override;
    void free_submitted(Time, const void *address, std::uint64_t number) override;
    void free_reached(Time, std::uint64_t number) override;
    void free_dropped(Time, std::uint64_t number) override;
    void allocation_reached(Time, std::uint64_t number) override;
    void freed_nothing(Time, const void *address) override;
    void freed_registered(Time, const void *address) override;

    // What the present call works on stays in use until the call ends; before, the task that it submits takes the use
    // over.
    void call_began(Time) override;
    void call_accesses(Time, const Access &access) override;
    void call_done_with_memory(Time) override;
    void call_ended(Time) override;
    void accessed(Time, const Task &task, const Access &access, bool is_there) override;
    void replayed(Time, const Task &kept, const Task &replay) override;
    void explain(const void *address, std::string &text) const override;

    struct Block;
    using Blocks = std::vector<std::shared_ptr<Block>>;

  private:
    using Live = std::map<std::uintptr_t, std::shared_ptr<Block>>;
    void report(const std::string &text);
    std::string words_for(const void *address) const;
    void examine(const std::string &who, const Access &access, const Blocks &used);
    void report_uses(const Block &block);
    void reach_free(Block &block);
    Blocks find_live(const void *address, std::uint64_t size) const;
    Blocks find_in_stream(const void *address, std::uint64_t size) const;
    Live::const_iterator find_before(const void *address) const;
    std::shared_ptr<Block> find_retired(const void *address) const;
    std::shared_ptr<Block> retire(Live::iterator block);

    Live live_;
    std::deque<std::shared_ptr<Block>> retired_;                 // the newest ones, oldest first
    std::map<std::uint64_t, std::shared_ptr<Block>> in_stream_;  // that a stream has yet to reach, by number
    std::map<const Task *, std::shared_ptr<MemoryUses>> uses_;   // of tasks that are not done
    std::uint64_t reports_ = 0;
};

}  // namespace aclsim
