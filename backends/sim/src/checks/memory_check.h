// ASCEND_RT_SIM_CHECK=memory: tells of uses of memory that the runtime itself does not notice, with the places in the
// program that are to blame. What it keeps of an allocation outlives the allocation, so that a late use is recognised.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/task.h"

namespace aclsim {

class Stream;

// Notes where the calling thread's present call comes from; only with checking. Before the engine is locked, because
// the program may be asked.
void find_call_place();
void set_call_site_provider(std::int32_t (*provider)(char *text, std::size_t size));

// Guarded by the engine's lock.
class MemoryCheck {
  public:
    struct Allocation;
    using Allocations = std::vector<std::shared_ptr<Allocation>>;
    // What becomes of the content: own pages get a pattern now, those of a pool when the stream gets there, and shared
    // ones keep what others have written. Neighbouring shared pages are one piece of memory.
    enum class Pages : std::uint8_t { Own, InStream, Shared };

    // By the present call. The size is what the caller asked for, the room what was given.
    std::shared_ptr<Allocation> allocated(void *address, std::uint64_t size, std::uint64_t room, Pages pages);
    void freed(const void *address);
    // Freed for the calls that follow, while the tasks of the stream still work with it; nullptr: it is not known.
    std::shared_ptr<Allocation> freed_in_stream(const void *address);
    void not_freed(const std::shared_ptr<Allocation> &allocation);  // the stream will not get there
    void freed_registered(const void *address);                     // it was not unregistered before
    void freed_nothing(const void *address);                        // a stream is to free what is no live memory
    // The stream has come to where the memory was allocated, and to where it was freed.
    void reached_allocation(const Allocation &allocation) const;
    void reached_free(Allocation &allocation);
    void all_freed(std::uintptr_t begin, std::uint64_t size);  // with the device, or with the pool

    // What the present call works on stays in use until the call ends; before, the task that it submits takes the use
    // over. Calls nest: callbacks make them.
    class Call {
      public:
        Call();
        ~Call();
        Call(const Call &) = delete;
        Call &operator=(const Call &) = delete;

      private:
        std::shared_ptr<MemoryUses> outer_;
    };
    void end_uses();  // it is done with the memory
    void used(const void *address, std::uint64_t size, const char *name);
    void attach(const Stream &stream, Task &task);
    // A task that starts has read in memory what it works on. It was submitted with the memory where that stands.
    void found(const Task &task, const void *address, std::uint64_t size, const char *name);
    // The same, of addresses that make it fail.
    void missed(const Task &task, const void *address, std::uint64_t size, const char *name);
    // A model executes one of its tasks.
    void replayed(const Task &task, Task &replay);

    // Of an address that a call fails with, for the text: "; ...".
    std::string explain(const void *address) const;
    std::uint64_t reports() const { return reports_; }

  private:
    using Live = std::map<std::uintptr_t, std::shared_ptr<Allocation>>;
    void report(const std::string &text);
    std::string words_for(const void *address) const;
    void examine(const std::string &who, const void *address, std::uint64_t size, const char *name,
                 const Allocations &used);
    void report_uses(const Allocation &allocation);
    Allocations find_live(const void *address, std::uint64_t size) const;
    Allocations find_in_stream(const void *address, std::uint64_t size) const;
    Live::const_iterator find_before(const void *address) const;
    std::shared_ptr<Allocation> find_retired(const void *address) const;
    std::shared_ptr<Allocation> retire(Live::iterator allocation);

    Live live_;
    std::deque<std::shared_ptr<Allocation>> retired_;  // the newest ones, oldest first
    std::uint64_t reports_ = 0;
};

}  // namespace aclsim
