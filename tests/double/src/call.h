// A forwarded call, from its begin to its end.
#pragma once

#include <atomic>
#include <cstdint>

#include "abi/acl.h"

namespace unforgiving {

// A function of the API: one for each forwarder.
struct Site {
    explicit Site(const char *function_name) : name(function_name) {}
    const char *const name;
    std::atomic<std::uint64_t> calls{0};
};

// Knows which threads are inside calls: when the library's destructors run, none may be, and none may come.
class Call {
  public:
    explicit Call(Site &site);
    ~Call();
    Call(const Call &) = delete;
    Call &operator=(const Call &) = delete;

    const char *name() const { return site_.name; }
    // Returns the code with which the settings make this call fail; 0 if they do not.
    aclError failure() const { return failure_; }

  private:
    Site &site_;
    const char *const outer_;  // a callback may make calls inside a call
    aclError failure_;
};

}  // namespace unforgiving
