// How long work takes on the device that a profile describes (ASCEND_RT_SIM_PROFILE). Each stream has a clock of its
// own: a task begins when it can, but not before the device is done with the one before it, and takes at least its
// cost. A stream waits for its clock with the timer; less than kDebt is not waited for but kept, so that short costs
// add up. Without costs all of this is off.
#pragma once

#include <algorithm>
#include <chrono>

#include "engine/clock.h"
#include "engine/stream.h"
#include "support/profile.h"

namespace aclsim {

class TimingModel {
  public:
    static constexpr std::chrono::microseconds kDebt{20};  // shorter than a wake-up by the timer is late

    TimingModel(Clock &clock, const CardProfile *profile)
        : clock_(clock), profile_(profile != nullptr && profile->has_costs ? profile : nullptr) {}
    bool is_on() const { return profile_ != nullptr; }

    // All below only if it is on.
    std::chrono::nanoseconds duration(const Work &work) const { return profile_->duration(work); }
    // The stream's head begins; once for each task.
    void begin(Stream &stream, const Task &head) REQUIRES(engine_lock);
    // The stream's head has run, and only now tells how much it has moved.
    void end(Stream &stream, const Task &head) REQUIRES(engine_lock);
    // Is the device still at work on what the stream has begun?
    bool is_busy(const Stream &stream) const REQUIRES(engine_lock) { return is_awaited(stream.timing.busy_until); }
    void abort(Stream &stream) REQUIRES(engine_lock) {
        stream.timing.busy_until = std::min(stream.timing.busy_until, clock_.now());
    }
    // When the stream's head, a record, ends on the device. Who has seen that, on whichever way, begins nothing
    // earlier: else less time could lie between two events than the work between them takes.
    Time stamp(Stream &stream) REQUIRES(engine_lock);
    // Work of a calling thread: when it begins now it ends then; whether it waits for that; and that it has ended.
    Time end_of_call(std::chrono::nanoseconds duration) const REQUIRES(engine_lock);
    bool is_awaited(Time end) const { return end > clock_.now() + kDebt; }
    void note_end(Time end) REQUIRES(engine_lock) { newest_stamp_ = std::max(newest_stamp_, end); }

  private:
    // When the stream can go on with that task. If only the timer was late, for a task that was there already, that is
    // when the device was done.
    Time next(const Stream &stream, std::uint64_t sequence) const REQUIRES(engine_lock);

    Clock &clock_;
    const CardProfile *const profile_;
    Time newest_stamp_ GUARDED_BY(engine_lock){};  // at most kDebt from now
};

}  // namespace aclsim
