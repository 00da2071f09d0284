// SPDX-License-Identifier: Apache-2.0
// Lines of a process about memory that it shares with others: accesses, with their order in this process, and all that
// brings order between processes. The program that reads the findings compares the accesses of all processes.
//
// Steps and lanes are those of the process. The host is one clock over all processes: times are of a clock that all of
// them read.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>

#include "engine/facts.h"
#include "races/reports.h"

namespace aclsim::races {

// Knowledge of a task or of the host: what its lane knows, and the calls of the host up to the given one.
struct WithHost {
    const Clock &known;
    LaneId host;
    Step step;
};

class Sharing {
  public:
    Sharing(Reports &reports, Output &output) : reports_(reports), output_(output) {}

    void set_process(std::uint64_t number) { process_ = number; }  // by which edges name it
    bool is_on() const { return is_on_; }
    void start();
    static std::uint64_t now();

    // Returns the two ends of a race and the knowledge at the second one, for comparison with that of other processes;
    // "" if there are none.
    std::string order_of(const Use &earlier, const Now &now) const;
    void access(const Block &block, std::uint64_t begin, std::uint64_t end, const Now &now);
    // The task, a record, has been ordered.
    void record(Point task, LaneId lane, Step step, const WithHost &known, std::uint64_t time, PlaceId place);
    // A step comes after a record of another process.
    void wait(LaneId lane, Step step, Point record, std::uint64_t process, PlaceId place);
    // The host knows this from the time on.
    void host_knows(std::uint64_t time, const WithHost &known);

  private:
    static constexpr std::uint64_t kMostAccesses = 100'000;

    // Steps of a lane that other processes may have to know, and the host does not know yet.
    struct Unknown {
        Step first;
        Step newest;
    };
    void note_unknown(LaneId lane, Step step);

    Reports &reports_;
    Output &output_;
    std::uint64_t process_ = 0;
    bool is_on_ = false;
    std::uint64_t accesses_ = 0;
    std::unordered_map<LaneId, Unknown> unknown_;
};

}  // namespace aclsim::races
