// One access to memory, as it is remembered and reported.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "races/lane_clock.h"

namespace aclsim::races {

using PlaceId = std::uint32_t;

enum class Mode : std::uint8_t { Read, Write, Atomic, Allocation, Free };

inline bool is_write(Mode mode) { return mode != Mode::Read; }
// Value writes and value waits synchronize with each other; they never race among themselves.
inline bool conflict(Mode one, Mode other) {
    return (is_write(one) || is_write(other)) && !(one == Mode::Atomic && other == Mode::Atomic);
}

// Task of a stream, or thread of the host, that makes an access.
struct Agent {
    bool is_task = false;
    std::uint32_t device = 0;
    std::uint32_t stream = 0;   // number of the stream
    std::uint64_t task = 0;     // its position in the stream
    std::uint32_t thread = 0;   // of a host access
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
    std::uint32_t references = 0;
};

// Counted reference to a Use; the mutex of the check guards the count.
class UseRef {
  public:
    UseRef() = default;
    explicit UseRef(Use *use) : use_(use) { ++use_->references; }
    UseRef(const UseRef &other) : use_(other.use_) {
        if (use_ != nullptr) {
            ++use_->references;
        }
    }
    UseRef(UseRef &&other) noexcept : use_(std::exchange(other.use_, nullptr)) {}
    UseRef &operator=(UseRef other) noexcept {
        std::swap(use_, other.use_);
        return *this;
    }
    ~UseRef() {
        if (use_ != nullptr && --use_->references == 0) {
            delete use_;
        }
    }
    const Use *get() const { return use_; }
    const Use *operator->() const { return use_; }
    const Use &operator*() const { return *use_; }
    explicit operator bool() const { return use_ != nullptr; }
    bool operator==(const UseRef &other) const { return use_ == other.use_; }
    bool operator!=(const UseRef &other) const { return use_ != other.use_; }

  private:
    Use *use_ = nullptr;
};

// Present of an access: what precedes it.
struct Now {
    const Use &use;
    Step floor;          // steps of the own lane below this one precede the access
    const Clock &known;  // steps of other lanes that precede it
    LaneId caller;       // lane of the host thread that made the call,
    Step caller_step;    // and its newest step then
    std::uint64_t time;  // of the call, for other processes

    bool comes_after(const Use &other) const {
        if (other.lane == use.lane) {
            return other.step < floor || (other.step == use.step && other.piece == use.piece);
        }
        return other.step <= known.of(other.lane) || (other.lane == caller && other.step <= caller_step);
    }
};

}  // namespace aclsim::races
