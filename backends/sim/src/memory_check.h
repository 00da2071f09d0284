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

#include "task.h"

namespace aclsim {

class Stream;

// A call of the API: the function, and the place in the program.
struct Site {
    std::string function;
    std::string place;
    std::string text() const { return function + " at " + place; }
};

// Where the calling thread's present call comes from; empty without checking. Found before the engine is locked,
// because the program may be asked.
void find_call_site();
void set_call_site_provider(std::int32_t (*provider)(char *text, std::size_t size));

// Guarded by the engine's lock.
class MemoryCheck {
  public:
    struct Allocation;
    // What becomes of the content: own pages get a pattern now, those of a pool when the stream gets there, and shared
    // ones keep what others have written.
    enum class Pages : std::uint8_t { Own, InStream, Shared };
    // By the present call. The size is what the caller asked for, of which the memory may be a rounded-up form.
    void allocated(void *address, std::uint64_t size, Pages pages = Pages::Own);
    void freed(const void *address);
    // Freed for the calls that follow, while the tasks of the stream still work with it; nullptr: it is not known.
    std::shared_ptr<Allocation> freed_in_stream(const void *address);
    // The stream has come to where the memory was allocated, and to where it was freed.
    void reached_allocation(const void *address) const;
    void reached_free(const Allocation &allocation);
    void all_freed(const void *begin, std::uint64_t size);  // the device was reset
    // The present call works on live memory, and so does the task that it submits.
    void used(const void *address, std::uint64_t size, const char *name);
    void attach(const Stream &stream, Task &task);
    void forget_uses();  // a new call begins
    // Of an address that is not live, for the text of a failure: "; …".
    std::string explain(const void *address) const;
    std::uint64_t reports() const { return reports_; }

  private:
    struct Use;
    using Allocations = std::map<std::uintptr_t, std::shared_ptr<Allocation>>;
    void report(const std::string &text);
    std::shared_ptr<Allocation> find(const void *address) const;
    std::shared_ptr<Allocation> find_retired(const void *address) const;
    std::shared_ptr<Allocation> retire(Allocations::iterator allocation);

    Allocations live_;
    std::deque<std::shared_ptr<Allocation>> retired_;  // the newest ones, oldest first
    std::uint64_t reports_ = 0;
};

}  // namespace aclsim
