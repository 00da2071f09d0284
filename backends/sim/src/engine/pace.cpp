#include "engine/pace.h"

#include <algorithm>

namespace aclsim {

Time Pace::next(const Stream &stream, std::uint64_t sequence) const {
    const StreamPace &pace = stream.pace;
    return pace.is_late && sequence <= pace.known ? pace.busy_until
                                                  : std::max({pace.busy_until, clock_.now(), newest_stamp_});
}

void Pace::begin(Stream &stream, const Task &head) {
    if (stream.pace.begun != head.sequence) {
        stream.pace.begun = head.sequence;
        stream.pace.begun_at = next(stream, head.sequence);
        stream.pace.busy_until = stream.pace.begun_at + duration(head.work());
    }
}

void Pace::end(Stream &stream, const Task &head) {
    if (head.sequence > stream.dropped.load(std::memory_order_relaxed)) {
        stream.pace.busy_until = stream.pace.begun_at + duration(head.work());
    }
}

Time Pace::stamp(Stream &stream) {
    stream.pace.busy_until = std::max(next(stream, stream.pace.begun), newest_stamp_);
    return newest_stamp_ = stream.pace.busy_until;
}

Time Pace::end_of_call(std::chrono::nanoseconds duration) const {
    return std::max(newest_stamp_, clock_.now()) + duration;
}

}  // namespace aclsim
