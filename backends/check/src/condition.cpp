#include "condition.h"

#include <algorithm>
#include <map>

namespace aclsim::wrapped {

std::vector<Bound> Condition::add(Wait wait) {
    open_.push_back(std::move(wait));
    return settle();
}

void Condition::withdraw(Point wait) {
    const auto is_it = [&](const Wait &it) {
        return it.task.stream == wait.stream && it.task.sequence == wait.sequence;
    };
    open_.erase(std::remove_if(open_.begin(), open_.end(), is_it), open_.end());
}

std::vector<Bound> Condition::settle() {
    std::vector<Bound> bound;
    if (is_unseen) {
        return bound;
    }
    std::deque<Wait> open;
    for (Wait &wait : open_) {
        if (std::optional<Points> records = match(wait)) {
            bound.push_back({wait.task, std::move(*records)});
        } else {
            open.push_back(std::move(wait));
        }
    }
    open_ = std::move(open);
    return bound;
}

// --- values that stay ------------------------------------------------------------------------------------------------

std::vector<Bound> Latch::record(Point task, std::uint64_t value, std::uint64_t unseen) {
    records_.push_back({task, value, unseen});
    unseen_ = unseen;
    if (records_.size() > kMost) {
        records_.pop_front();
    }
    return settle();
}

// The oldest accepted value satisfies the wait, unless it may have been replaced unseen: then any of them does.
std::optional<Points> Latch::match(const Wait &wait) {
    Points accepted;
    for (const Record &it : records_) {
        if (wait.accepts(it.value)) {
            accepted.push_back(it.task);
            if (it.unseen == unseen_) {
                break;
            }
        }
    }
    return accepted.empty() ? std::nullopt : std::optional(std::move(accepted));
}

// --- notifies --------------------------------------------------------------------------------------------------------

std::vector<Bound> Notify::record(Point task) {
    records_.push_back(task);
    return settle();
}

std::optional<Points> Notify::match(const Wait &) {
    if (records_.empty()) {
        return std::nullopt;
    }
    const Point taken = records_.front();
    records_.pop_front();
    return Points{taken};
}

// --- counting notifies -----------------------------------------------------------------------------------------------

std::vector<Bound> Counter::record(Point task, aclrtCntNotifyRecordMode mode, std::uint32_t value) {
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
    return settle();
}

void Counter::reset() {
    value_ = 0;
    changes_.clear();
}

std::optional<Points> Counter::match(const Wait &wait) {
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
    Points records;
    for (const auto &it : newest) {
        records.push_back({it.first, it.second});
    }
    if (wait.clears) {
        reset();
    }
    return records;
}

}  // namespace aclsim::wrapped
