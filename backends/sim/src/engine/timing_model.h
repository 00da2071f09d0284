// SPDX-License-Identifier: Apache-2.0
// Model of the time that work takes on the profiled device (ASCEND_RT_SIM_PROFILE). Each stream has a separate clock: a
// task begins when it can, but not before the device has finished the previous one, and takes at least its cost. A
// stream waits for its clock with the timer; waits shorter than kDebt are not performed but carried over, so that short
// costs add up. Without costs the model is off.
#pragma once

#include <algorithm>
#include <chrono>

#include "engine/clock.h"
#include "engine/stream.h"
#include "support/profile.h"

namespace aclsim {

class TimingModel {
  public:
    static constexpr std::chrono::microseconds kDebt{20};  // shorter than the usual delay of a timer wake-up

    TimingModel(Clock &clock, const CardProfile *profile)
        : clock_(clock), profile_(profile != nullptr && profile->has_costs ? profile : nullptr) {}
    bool is_on() const { return profile_ != nullptr; }

    // Call the functions below only if the model is on.
    std::chrono::nanoseconds duration(const Work &work) const { return profile_->duration(work); }
    // Begins the stream's head; takes effect once per task.
    void begin(Stream &stream, const Task &head) REQUIRES(engine_lock);
    // Adjusts the end of the stream's head after it has run, when the amount of data it moved is known.
    void end(Stream &stream, const Task &head) REQUIRES(engine_lock);
    // Returns true if the device is still busy with the work that the stream has begun.
    bool is_busy(const Stream &stream) const REQUIRES(engine_lock) { return is_awaited(stream.timing.busy_until); }
    void abort(Stream &stream) REQUIRES(engine_lock) {
        stream.timing.busy_until = std::min(stream.timing.busy_until, clock_.now());
    }
    // Returns the time at which the stream's head, a record, ends on the device. Work of any thread that has seen that
    // end begins no earlier: otherwise the time between two events could be shorter than the work between them.
    Time stamp(Stream &stream) REQUIRES(engine_lock);
    // For work of a calling thread: computes its end if it begins now; decides if the thread must wait for the end; and
    // notes the end.
    Time end_of_call(std::chrono::nanoseconds duration) const REQUIRES(engine_lock);
    bool is_awaited(Time end) const { return end > clock_.now() + kDebt; }
    void note_end(Time end) REQUIRES(engine_lock) { newest_stamp_ = std::max(newest_stamp_, end); }

  private:
    // Time at which the stream can continue with that task. If only the timer was late, and the task was queued
    // already, this is the end of the device's previous work.
    Time next(const Stream &stream, std::uint64_t sequence) const REQUIRES(engine_lock);

    Clock &clock_;
    const CardProfile *const profile_;
    Time newest_stamp_ GUARDED_BY(engine_lock){};  // at most kDebt from now
};

}  // namespace aclsim
