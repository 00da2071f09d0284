// SPDX-License-Identifier: Apache-2.0
// Order of streams after points of other streams, due to waits for events recorded there: known when the wait is
// submitted, long before anything runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "engine/facts.h"
#include "engine/lock.h"

namespace aclsim {

class Stream;

// Guarded by the engine lock. Used by memory pools; nothing is noted while there are none.
class StreamOrder {
  public:
    void start() REQUIRES(engine_lock) { is_noting_ = true; }
    void stop() REQUIRES(engine_lock) {
        is_noting_ = false;
        links_.clear();
        reversed_.clear();
    }
    bool is_noting() const REQUIRES(engine_lock) { return is_noting_; }
    void add(const Stream &waiting, const Point &recorded) REQUIRES(engine_lock);
    bool has(const Stream &waiting, const Point &recorded) const REQUIRES(engine_lock);
    void forget(const Stream &gone) REQUIRES(engine_lock);

  private:
    bool is_noting_ GUARDED_BY(engine_lock) = false;
    using Pair = std::pair<std::uint64_t, std::uint64_t>;  // pair of streams

    std::map<Pair, std::uint64_t> links_ GUARDED_BY(engine_lock);  // (waiting, recorded) -> sequence
    std::set<Pair> reversed_ GUARDED_BY(engine_lock);              // (recorded, waiting)
};

}  // namespace aclsim
