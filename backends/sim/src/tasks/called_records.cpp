// SPDX-License-Identifier: Apache-2.0
#include "tasks/called_records.h"

#include <algorithm>
#include <utility>

#include "engine/stream.h"

namespace aclsim {

bool CalledRecords::is_in_order(const Stream &stream) {
    has_order_ = has_order_ && stream.executes_tasks;
    return has_order_;
}

std::vector<CalledRecords::Ahead>::const_iterator CalledRecords::find_ahead(const Point &wait) const {
    return std::find_if(ahead_.begin(), ahead_.end(), [&](const Ahead &it) { return it.wait == wait; });
}

void CalledRecords::note_record(const Stream &stream) {
    if (!is_in_order(stream)) {
        return;
    }
    const auto ahead = std::find_if(ahead_.begin(), ahead_.end(), [](const Ahead &it) { return it.record == Point(); });
    const auto is_of_stream = [&](const Point &it) { return it.stream == stream.serial; };
    if (ahead != ahead_.end()) {
        ahead->record = stream.next();
    } else if (std::none_of(records_.begin(), records_.end(), is_of_stream)) {
        records_.push_back(stream.next());
    }
}

std::vector<Point> CalledRecords::note_wait(const Stream &stream) {
    if (!is_in_order(stream)) {
        return {};
    }
    if (records_.empty()) {
        ahead_.push_back({stream.next(), {}});
    }
    return std::exchange(records_, {});
}

std::vector<Point> CalledRecords::after(const Point &wait) const {
    const auto found = find_ahead(wait);
    return found == ahead_.end() || found->record == Point() ? std::vector<Point>() : std::vector<Point>{found->record};
}

void CalledRecords::forget_record(const Point &record) {
    records_.erase(std::remove(records_.begin(), records_.end(), record), records_.end());
}

void CalledRecords::forget_wait(const Point &wait) {
    if (const auto found = find_ahead(wait); found != ahead_.end()) {
        ahead_.erase(found);
    }
}

}  // namespace aclsim
