// Blocks of memory: those that are freed without being allocated, and those that a queued task still uses.
#pragma once

#include <cstdint>

#include "call.h"

namespace unforgiving {

// The call that gives a block back. The simulator's memory check knows what tasks will use.
class Release {
  public:
    // Ends the process if the block is not NULL and not live memory.
    Release(const Call &call, const void *block, bool must_be_live);
    // Ends the process if a task that is not done uses the block, or if it is registered.
    void end();

  private:
    const char *const function_;
    const void *const block_;
    const std::uint64_t reports_;
};

}  // namespace unforgiving
