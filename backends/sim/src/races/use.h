// SPDX-License-Identifier: Apache-2.0
// One access to memory, as it is remembered and reported.
#pragma once

#include <cstdint>

#include "races/counted.h"
#include "races/lane_clock.h"

namespace aclsim::races {

using PlaceId = std::uint32_t;

// A poll is a value wait that no value write has satisfied: other writes, such as a copy, release it.
enum class Mode : std::uint8_t { Read, Write, ValueWrite, ValueWait, Poll, Allocation, Free };

inline bool is_write(Mode mode) { return mode != Mode::Read && mode != Mode::ValueWait && mode != Mode::Poll; }
inline bool is_of_value(Mode mode) { return mode == Mode::ValueWrite || mode == Mode::ValueWait || mode == Mode::Poll; }
// Value writes and value waits synchronize with each other, and polls with any write; they never race among themselves.
inline bool conflict(Mode one, Mode other) {
    const bool is_release = (one == Mode::Poll && other == Mode::Write) || (one == Mode::Write && other == Mode::Poll);
    return (is_write(one) || is_write(other)) && !(is_of_value(one) && is_of_value(other)) && !is_release;
}

// Task of a stream, or thread of the host, that makes an access.
struct Agent {
    bool is_task = false;
    std::uint32_t device = 0;
    std::uint32_t stream = 0;   // number of the stream
    std::uint64_t task = 0;     // its position in the stream
    std::uint32_t thread = 0;   // that made the access or submitted the task, counted from 1; 0: any
    std::uint64_t lane_of = 0;  // serial number of the stream
};

// Part of a block that an allocator above the library has given out.
struct Part {
    std::uint64_t number = 0;    // in the order of calls; 0: the block was not given out in parts
    PlaceId made = 0;            // place where it was given out
    const char *name = nullptr;  // nullptr: unknown
};

struct Use {
    LaneId lane;
    Step step;
    std::uint64_t piece;   // differs between unordered accesses of one step, such as parts of a batch
    std::uint64_t number;  // in the order of calls
    Mode mode;
    PlaceId place;
    const char *operand;
    Agent agent;
    Part part{};
    PlaceId launched = 0;    // place of the call that launched the graph or model with this access; 0: none
    PlaceId submitted = 0;   // place of the call that submitted the task, which may run code of the program; 0: none
    std::uint64_t kept = 0;  // number of the task among those that models keep; 0: another task

    // Places of the calls that bring the access into its stream, and its task into a graph or model.
    PlaceId called() const { return launched != 0 ? launched : added(); }
    PlaceId added() const { return submitted != 0 ? submitted : place; }
    mutable std::uint32_t references = 0;
};

using UseRef = Counted<const Use>;

// Present of an access: what precedes it.
struct Now {
    const Use &use;
    Step floor;              // steps of the own lane below this one precede the access
    const Clock &known;      // steps of other lanes that precede it
    LaneId caller;           // lane of the host thread that made the call,
    Step caller_step;        // and its newest step then
    std::uint64_t time = 0;  // of the call, for other processes

    bool comes_after(const Use &other) const {
        if (other.lane == use.lane) {
            return other.step < floor || (other.step == use.step && other.piece == use.piece);
        }
        return other.step <= known.of(other.lane) || (other.lane == caller && other.step <= caller_step);
    }
};

}  // namespace aclsim::races
