// SPDX-License-Identifier: Apache-2.0
// Reports of the race check: one for each pair of places, with a count.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "races/blocks.h"
#include "races/lane.h"
#include "races/places.h"

namespace aclsim::races {

// Place to which the lines of reports go.
class Output {
  public:
    virtual ~Output() = default;
    virtual std::uint64_t number() = 0;  // for the next finding
    virtual void write(const std::string &json) = 0;
};

class Reports {
  public:
    Reports(const Places &places, Output &output) : places_(places), output_(output) {}

    // Finds the lane of an access; nullptr for the host, and for a stream that has ended.
    using FindLane = std::function<const Lane *(const Use &)>;
    // The order, of which another process may know more, is part of the line: "" if there are no others.
    void race(const Block &block, const Conflict &conflict, const Use &later, const FindLane &find_lane,
              const std::string &order);
    void note(const std::string &text);
    void stop() { has_stopped_ = true; }  // reports no more races
    // The product ignores waits for another device: changes that reports propose need none.
    void let_host_order_devices() { host_orders_devices_ = true; }
    bool has_waits_between(std::uint32_t device, std::uint32_t other) const {
        return device == other || !host_orders_devices_;
    }
    // Collects waits for hints: a wait that never ordered anything new is redundant.
    void waited(PlaceId place, std::uint32_t stream, bool is_redundant);
    void waited_without_record(PlaceId place, std::uint32_t stream);
    // The wait is for an event that keeps its first record until it is reset.
    void waited_for_first_record(PlaceId place) { waits_for_first_record_.insert(place); }
    // The host, or a task for which an event would do, needs what was done before a wait of the host.
    void used_wait_of_host(PlaceId place, bool by_task);
    // Writes the counts that have grown since they were written.
    void write_counts();
    // Writes the final counts, and the hints.
    void finish();

    // Parts of lines, in JSON.
    std::string frames_of(PlaceId place) const;
    std::string use_of(const Use &use) const;
    std::string memory_of(const Block &block, const Part &part) const;

  private:
    struct Seen {
        std::uint64_t id;
        std::uint64_t count = 0;
        std::uint64_t before = 0;  // counted by earlier lines of the same places
        std::uint64_t written = 0;
        // Newest pair of accesses.
        std::tuple<LaneId, Step, std::uint64_t, std::uint64_t> pair{};
        std::set<std::array<std::uint32_t, 4>> streams{};  // devices and streams of the accesses
    };
    struct Waits {
        std::optional<std::uint32_t> stream{};  // none: the host waits
        std::uint64_t redundant = 0;
        std::uint64_t useful = 0;
        std::uint64_t unbound = 0;
        std::uint64_t for_tasks = 0;
        std::uint64_t for_host = 0;
    };
    void write_count(Seen &seen, const std::string &fix = "");  // the fix for other streams than before
    std::string reason_for(const Use &earlier, const Use &later, const Lane *lane) const;
    std::string fix_for(const Use &first, const Use &second, const Lane *lane_of_first) const;

    const Places &places_;
    Output &output_;
    // By the places in the order of calls, and by whether an allocator has given out the memory in between: each has a
    // different fix.
    std::map<std::tuple<PlaceId, PlaceId, bool>, Seen> seen_;
    std::map<PlaceId, Waits> waits_;
    std::set<PlaceId> waits_for_first_record_;
    bool has_stopped_ = false;
    bool host_orders_devices_ = false;
};

}  // namespace aclsim::races
