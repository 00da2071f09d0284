// SPDX-License-Identifier: Apache-2.0
#include "engine/timing_model.h"

#include <algorithm>

namespace aclsim {

Time TimingModel::next(const Stream &stream, std::uint64_t sequence) const {
    const StreamTiming &timing = stream.timing;
    return timing.is_late && sequence <= timing.known ? timing.busy_until
                                                      : std::max({timing.busy_until, clock_.now(), newest_stamp_});
}

void TimingModel::begin(Stream &stream, const Task &head) {
    if (stream.timing.begun != head.sequence) {
        stream.timing.begun = head.sequence;
        stream.timing.begun_at = next(stream, head.sequence);
        stream.timing.busy_until = stream.timing.begun_at + duration(head.work());
    }
}

void TimingModel::end(Stream &stream, const Task &head) {
    if (head.sequence > stream.dropped.load(std::memory_order_relaxed)) {
        stream.timing.busy_until = stream.timing.begun_at + duration(head.work());
    }
}

Time TimingModel::stamp(Stream &stream) {
    stream.timing.busy_until = std::max(next(stream, stream.timing.begun), newest_stamp_);
    return newest_stamp_ = stream.timing.busy_until;
}

Time TimingModel::end_of_call(std::chrono::nanoseconds duration) const {
    return std::max(newest_stamp_, clock_.now()) + duration;
}

}  // namespace aclsim
