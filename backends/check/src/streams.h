// SPDX-License-Identifier: Apache-2.0
// Streams of the program, with the number of tasks that were submitted to each.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "abi/acl.h"
#include "condition.h"

namespace aclsim::wrapped {

struct StreamState {
    std::uint64_t serial = 0;
    std::uint32_t number = 0;  // the runtime's
    std::uint32_t device = 0;
    aclrtContext context = nullptr;
    bool is_kept = false;  // its tasks are those of a model, which repeats them

    std::uint64_t submitted = 0;
    std::uint64_t over = 0;                     // tasks up to that one are known to be over
    std::map<std::uint64_t, Condition *> open;  // tasks that are not over: waits, and host functions (nullptr)
    struct Order {
        std::uint64_t sequence;
        Point before;
    };
    std::deque<Order> order;  // tasks before those that are not known to be over

    Point newest() const { return {serial, submitted}; }
};

class Streams {
  public:
    // Returns the stream, which is known from its first use on. NULL is the default stream of the current context.
    StreamState &of(aclrtStream stream);
    StreamState *find(aclrtStream stream) const;  // nullptr if it has no task
    StreamState *find(std::uint64_t serial) const;
    void forget(const StreamState &stream);
    template <class Function>
    void each(Function function) const {
        for (const auto &it : by_serial_) {
            function(*it.second);
        }
    }

  private:
    std::unordered_map<aclrtStream, std::unique_ptr<StreamState>> known_;
    std::map<std::uint64_t, StreamState *> by_serial_;
    std::uint64_t newest_ = 0;
};

}  // namespace aclsim::wrapped
