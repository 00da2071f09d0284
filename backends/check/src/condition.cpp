// SPDX-License-Identifier: Apache-2.0
#include "condition.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace aclsim::wrapped {

std::vector<Bound> Condition::add(Wait wait) {
    const Point task = wait.task;
    open_.push_back(std::move(wait));
    calls_.order.add(task, this, [this, task] { return settle(task); });
    return std::exchange(calls_.bound, {});
}

void Condition::withdraw(Point wait) {
    open_.erase(std::remove_if(open_.begin(), open_.end(), [&](const Wait &it) { return it.task == wait; }),
                open_.end());
    calls_.order.remove(wait);
}

std::vector<Bound> Condition::take(Point task, std::function<void()> record) {
    calls_.order.add(task, this, [record = std::move(record)] {
        record();
        return true;
    });
    return std::exchange(calls_.bound, {});
}

// Returns whether the calls behind the wait can be taken: what satisfies one unseen is in no order.
bool Condition::settle(Point wait) {
    const auto open = std::find_if(open_.begin(), open_.end(), [&](const Wait &it) { return it.task == wait; });
    if (is_unseen || open == open_.end()) {
        return true;
    }
    std::optional<Match> found = match(*open);
    if (!found) {
        return false;
    }
    calls_.bound.push_back({wait, std::move(*found)});
    open_.erase(open);
    return true;
}

namespace {

// Adds the task unless there is an earlier one of its stream.
void add_first(Points &tasks, Point task) {
    if (std::none_of(tasks.begin(), tasks.end(), [&](const Point &it) { return it.stream == task.stream; })) {
        tasks.push_back(task);
    }
}

}  // namespace

// --- values that stay ------------------------------------------------------------------------------------------------

std::vector<Bound> Latch::record(Point task, std::uint64_t value, std::uint64_t unseen) {
    unseen_ = unseen;
    return take(task, [=] {
        records_.push_back({task, value, unseen});
        if (records_.size() > kMost) {
            records_.pop_front();
        }
    });
}

bool Latch::has_record_of(std::uint64_t stream) const {
    return std::any_of(records_.begin(), records_.end(), [=](const Record &it) { return it.task.stream == stream; });
}

// Since the newest value that is not accepted, the oldest one of any stream satisfies the wait. If one may have been
// replaced unseen, the wait is taken to come after all of them.
std::optional<Match> Latch::match(const Wait &wait) {
    const auto rejected =
        std::find_if_not(records_.rbegin(), records_.rend(), [&](const Record &it) { return wait.accepts(it.value); });
    const auto first = rejected.base();
    if (first == records_.end()) {
        return std::nullopt;
    }
    Match found{{}, first->unseen == unseen_};
    for (auto at = first; at != records_.end(); ++at) {
        if (found.is_any) {
            add_first(found.records, at->task);
        } else {
            found.records.push_back(at->task);
        }
        if (at->unseen == unseen_ && (!found.is_any || takes_first_)) {
            break;
        }
    }
    return found;
}

// --- notifies --------------------------------------------------------------------------------------------------------

std::vector<Bound> Notify::record(Point task) {
    return take(task, [=] { records_.push_back(task); });
}

bool Notify::has_record_of(std::uint64_t stream) const {
    return std::any_of(records_.begin(), records_.end(), [=](const Point &it) { return it.stream == stream; });
}

std::optional<Match> Notify::match(const Wait &) {
    if (records_.empty()) {
        return std::nullopt;
    }
    Match found{{}, true};
    for (const Point &record : records_) {
        add_first(found.records, record);
    }
    records_.pop_front();
    return found;
}

// --- counting notifies -----------------------------------------------------------------------------------------------

std::vector<Bound> Counter::record(Point task, aclrtCntNotifyRecordMode mode, std::uint32_t value) {
    return take(task, [=] { change(task, mode, value); });
}

void Counter::change(Point task, aclrtCntNotifyRecordMode mode, std::uint32_t value) {
    switch (mode) {
        case ACL_RT_CNT_NOTIFY_RECORD_SET_VALUE_MODE:
            value_ = value;
            changes_.clear();
            break;
        case ACL_RT_CNT_NOTIFY_RECORD_ADD_MODE:
            value_ += value;
            break;
        case ACL_RT_CNT_NOTIFY_RECORD_BIT_OR_MODE:
            value_ |= value;
            break;
        case ACL_RT_CNT_NOTIFY_RECORD_BIT_AND_MODE:
            value_ &= value;
            break;
    }
    changes_.push_back({task, value_});
    if (changes_.size() > kMost) {
        changes_.pop_front();
    }
}

void Counter::reset() {
    value_ = 0;
    changes_.clear();
}

bool Counter::has_record_of(std::uint64_t stream) const {
    return std::any_of(changes_.begin(), changes_.end(), [=](const Change &it) { return it.record.stream == stream; });
}

std::optional<Match> Counter::match(const Wait &wait) {
    if (!wait.accepts(value_)) {
        return std::nullopt;
    }
    std::size_t accepted = changes_.size();
    while (accepted > 0 && wait.accepts(changes_[accepted - 1].value)) {
        --accepted;
    }
    std::map<std::uint64_t, std::uint64_t> newest;  // sequence number by stream
    for (std::size_t i = 0; i < std::min(accepted + 1, changes_.size()); ++i) {
        newest[changes_[i].record.stream] = changes_[i].record.sequence;
    }
    Match found;
    for (const auto &it : newest) {
        found.records.push_back({it.first, it.second});
    }
    if (wait.clears) {
        reset();
        changes_.push_back({wait.task, 0});
    }
    return found;
}

}  // namespace aclsim::wrapped
