// Which streams come after which points of others, because they wait for events recorded there: known when the wait is
// submitted, long before anything runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "engine/facts.h"

namespace aclsim {

class Stream;

// Guarded by the engine's lock. Memory pools ask; until the first one does, nothing is noted.
class StreamOrder {
  public:
    void start() { is_noting_ = true; }
    void add(const Stream &waiting, const Point &recorded);
    bool has(const Stream &waiting, const Point &recorded) const;
    void forget(const Stream &gone);

  private:
    bool is_noting_ = false;
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> links_;  // (waiting, recorded) -> sequence
};

}  // namespace aclsim
