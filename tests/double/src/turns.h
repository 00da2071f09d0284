// Calls that block while another thread of the same context waits in a call: tests/data/double/concurrency.json has
// what was seen.
#pragma once

#include <cstdint>
#include <list>

#include "abi/acl.h"
#include "call.h"

namespace unforgiving {

// The calls that wait, in the words of the table.
enum Waiting : std::uint32_t {
    kSynchronizeDevice = 1U << 0,
    kSynchronizeStream = 1U << 1,
    kSynchronizeEvent = 1U << 2,
    kDestroyStream = 1U << 3,
};

struct TurnRule {
    std::uint32_t waits_as;         // what the call is to others while it is under way; 0: nothing
    std::uint32_t blocked_by;       // what it waits for in its context
    std::uint32_t blocked_by_same;  // what it waits for if that is about the same stream
};

// Waits until the call may go on, and makes others wait until it has returned.
class Turn {
  public:
    Turn(const Site &site, const TurnRule &rule, const void *stream);
    ~Turn();
    Turn(const Turn &) = delete;
    Turn &operator=(const Turn &) = delete;

    struct Waiter {
        std::uint32_t waits_as;
        const void *context;
        const void *stream;
        const char *function;
    };

  private:
    std::list<Waiter>::iterator place_;
    bool is_placed_ = false;
};

// The stream that an event was last recorded on.
void note_recorded(aclError result, const void *event, const void *stream);
const void *stream_of_record(const void *event);

}  // namespace unforgiving
