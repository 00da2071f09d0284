// SPDX-License-Identifier: Apache-2.0
// Places of calls by number: a place is kept once, however many accesses were made there.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "races/use.h"
#include "support/call_note.h"

namespace aclsim::races {

class Places {
  public:
    struct Place {
        const char *function = "";
        CallPlace frames{};
        std::string kernel{};  // name of the kernel that the call launches
    };

    Places() { list_.emplace_back(); }
    // Returns the number of the calling thread's present place; 0 outside of calls. One call of the program may launch
    // several kernels: the place is another one for each.
    PlaceId present(const std::string &kernel = {});
    PlaceId find(const char *function, const CallPlace &frames, const std::string &kernel = {});
    const Place &operator[](PlaceId id) const { return list_[id]; }
    std::vector<std::string> names_of(PlaceId id) const { return aclsim::names_of(list_[id].frames); }

  private:
    PlaceId find_by_hash(const char *function, const CallPlace &frames, const std::string &kernel);
    bool is(PlaceId id, const char *function, const CallPlace &frames, const std::string &kernel) const;

    std::vector<Place> list_;
    PlaceId newest_ = 0;
    std::array<PlaceId, 1024> recent_{};  // newest place of a hash; 0: none
    std::unordered_multimap<std::uint64_t, PlaceId> by_hash_;
};

}  // namespace aclsim::races
