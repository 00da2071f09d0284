// SPDX-License-Identifier: Apache-2.0
// Records and waits in an order in which their tasks can run, whatever runs when: that of their calls, but a stream
// goes no further than a wait until records that satisfy it have been taken. The race check binds waits by this order.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "engine/facts.h"

namespace aclsim {

class CallOrder {
  public:
    // Takes the call for a task of an object as soon as it can be: after those before it in its stream, and when
    // `take` returns true.
    void add(const Point &task, const void *object, std::function<bool()> take);
    // Takes a wait for a record that was called before it.
    void add_wait_for(const Point &record, const Point &wait);
    // Removes the call for a task that is over.
    void remove(const Point &task);
    void forget(const void *object);
    void retry();
    bool is_empty() const { return open_.empty(); }
    bool has_open(const void *object, std::uint64_t stream) const;

  private:
    struct Call {
        Point task;
        const void *object;
        std::function<bool()> take;
    };
    template <class Predicate>
    void remove_if(Predicate is_it);

    std::vector<Call> open_;
};

}  // namespace aclsim
