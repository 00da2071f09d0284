// SPDX-License-Identifier: Apache-2.0
#include "tasks/called_records.h"

#include <algorithm>
#include <map>
#include <utility>

#include "engine/stream.h"

namespace aclsim {
namespace {

using Binding = CalledRecords::Binding;

constexpr std::size_t kMostRecords = 512;

bool sets(const aclrtCntNotifyRecordInfo &info) { return info.mode == ACL_RT_CNT_NOTIFY_RECORD_SET_VALUE_MODE; }

bool asks_for_bits(const aclrtCntNotifyWaitInfo &wait) {
    return wait.mode == ACL_RT_CNT_NOTIFY_WAIT_EQUAL_WITH_BITMASK_MODE;
}

// Returns the part of the number that the wait looks at.
std::uint64_t seen_by(const aclrtCntNotifyWaitInfo &wait, std::uint32_t value) {
    return asks_for_bits(wait) ? value & wait.value : value;
}

std::uint64_t needed_by(const aclrtCntNotifyWaitInfo &wait) {
    return std::uint64_t{wait.value} + (wait.mode == ACL_RT_CNT_NOTIFY_WAIT_BIGGER_MODE ? 1 : 0);
}

// Returns whether the record adds something, and without a carry if the bits of the number count.
bool adds(std::uint32_t before, const aclrtCntNotifyRecordInfo &info, bool bits_count) {
    const bool carries = bits_count ? (before & info.value) != 0 : before + info.value < before;
    return info.mode == ACL_RT_CNT_NOTIFY_RECORD_BIT_OR_MODE ||
           (info.mode == ACL_RT_CNT_NOTIFY_RECORD_ADD_MODE && !carries);
}

// Leaves out records of a stream after those that are enough, and merges what the wait needs in any case into the
// newest such record of each stream: those from which on the stream has more than is to spare.
void simplify(std::vector<Share> &shares, std::uint64_t needed) {
    if (shares.size() == 1) {
        return;
    }
    std::map<std::uint64_t, std::uint64_t> so_far;  // by stream
    std::uint64_t sum = 0;
    for (Share &it : shares) {
        std::uint64_t &of_stream = so_far[it.task.stream];
        it.weight = of_stream < needed ? it.weight : 0;
        of_stream += it.weight;
        sum += it.weight;
    }
    struct Kept {
        Share *oldest = nullptr;
        std::uint64_t sum = 0;
    };
    std::map<std::uint64_t, Kept> of_streams;
    for (auto it = shares.rbegin(); it != shares.rend(); ++it) {
        Kept &kept = of_streams[it->task.stream];
        if (kept.sum > sum - needed) {
            kept.oldest->weight += std::exchange(it->weight, 0);
        } else if (it->weight != 0) {
            kept = {&*it, kept.sum + it->weight};
        }
    }
    shares.erase(std::remove_if(shares.begin(), shares.end(), [](const Share &it) { return it.weight == 0; }),
                 shares.end());
}

}  // namespace

std::uint32_t changed(std::uint32_t value, const aclrtCntNotifyRecordInfo &info) {
    switch (info.mode) {
        case ACL_RT_CNT_NOTIFY_RECORD_ADD_MODE:
            return value + info.value;
        case ACL_RT_CNT_NOTIFY_RECORD_BIT_OR_MODE:
            return value | info.value;
        case ACL_RT_CNT_NOTIFY_RECORD_BIT_AND_MODE:
            return value & info.value;
        default:
            return info.value;
    }
}

bool is_satisfied(std::uint32_t value, const aclrtCntNotifyWaitInfo &info) {
    switch (info.mode) {
        case ACL_RT_CNT_NOTIFY_WAIT_LESS_MODE:
            return value < info.value;
        case ACL_RT_CNT_NOTIFY_WAIT_BIGGER_MODE:
            return value > info.value;
        case ACL_RT_CNT_NOTIFY_WAIT_BIGGER_OR_EQUAL_MODE:
            return value >= info.value;
        case ACL_RT_CNT_NOTIFY_WAIT_EQUAL_WITH_BITMASK_MODE:
            return (value & info.value) == info.value;
        default:
            return value == info.value;
    }
}

bool CalledRecords::is_in_order(const Stream &stream) {
    if (!stream.executes_tasks) {
        end_order();
    }
    return has_order_;
}

CalledRecords::~CalledRecords() {
    if (order_ != nullptr) {
        order_->forget(this);
    }
}

void CalledRecords::note_record(CallOrder &order, const Stream &stream, const aclrtCntNotifyRecordInfo &info) {
    if (!is_in_order(stream)) {
        return;
    }
    order_ = &order;
    order.add(stream.next(), this, [this, record = Record{stream.next(), info}]() REQUIRES(engine_lock) {
        if (has_order_) {
            add(record);
        }
        return true;
    });
}

void CalledRecords::note_wait(CallOrder &order, const Stream &stream, const aclrtCntNotifyWaitInfo &info) {
    if (!is_in_order(stream)) {
        return;
    }
    order_ = &order;
    const Point task = stream.next();
    waits_.push_back({task, info, std::nullopt});
    order.add(task, this, [this, task]() REQUIRES(engine_lock) { return try_to_bind(task); });
}

void CalledRecords::add(const Record &record) {
    for (auto it = records_.rbegin(); sets(record.info) && it != records_.rend(); ++it) {
        if (!sets(it->info) || it->info.value != record.info.value) {
            break;
        }
        if (it->task.stream == record.task.stream) {
            return;  // satisfies nothing that the earlier one would not
        }
    }
    if (records_.size() >= kMostRecords) {
        shorten();
    }
    records_.push_back(record);
}

// Returns false for a wait that needs more records. One that clears the number is like a record for those after it.
bool CalledRecords::try_to_bind(const Point &task) {
    const auto wait = std::find_if(waits_.begin(), waits_.end(), [&](const Wait &it) { return it.task == task; });
    if (wait == waits_.end()) {
        return true;  // its order has ended
    }
    wait->binding = bind(wait->info);
    if (wait->binding && wait->info.isClear != 0) {
        records_ = {{task, {ACL_RT_CNT_NOTIFY_RECORD_SET_VALUE_MODE, 0}}};
    }
    return wait->binding.has_value();
}

// Returns the place of the newest record that sets the number, because earlier ones have no effect; 0 without one.
std::size_t CalledRecords::first_in_effect() const {
    const auto found = std::find_if(records_.rbegin(), records_.rend(), [](const Record &it) { return sets(it.info); });
    return found == records_.rend() ? 0 : static_cast<std::size_t>(records_.rend() - found) - 1;
}

std::optional<Binding> CalledRecords::bind(const aclrtCntNotifyWaitInfo &wait) const {
    const std::size_t first = first_in_effect();
    const bool begins_set = !records_.empty() && sets(records_[first].info);
    const bool accepts_none = !begins_set && is_satisfied(0, wait);
    Binding found;
    std::vector<Share> &shares = found.shares;
    std::uint32_t value = 0;
    bool only_adds = true;
    bool has_sums = false;
    bool has_bits = false;
    std::size_t accepted = 0;  // place of the first record that satisfies the wait,
    std::size_t rejected = 0;  // and of the last one that does not, from 1
    for (std::size_t i = first; i < records_.size(); ++i) {
        const aclrtCntNotifyRecordInfo &info = records_[i].info;
        const std::uint32_t before = std::exchange(value, changed(value, info));
        only_adds = only_adds && (sets(info) || adds(before, info, asks_for_bits(wait)));
        has_sums = has_sums || info.mode == ACL_RT_CNT_NOTIFY_RECORD_ADD_MODE;
        has_bits = has_bits || info.mode == ACL_RT_CNT_NOTIFY_RECORD_BIT_OR_MODE;
        shares.push_back({records_[i].task, seen_by(wait, value) - seen_by(wait, before)});
        if (!is_satisfied(value, wait)) {
            rejected = shares.size();
        } else if (accepted == 0) {
            accepted = shares.size();
        }
    }
    only_adds = only_adds && !(has_sums && has_bits);  // else what a bit adds depends on the order
    if (shares.empty() ? !accepts_none : rejected == shares.size()) {
        return std::nullopt;
    }
    if (accepts_none && rejected == 0 && only_adds) {
        return Binding();
    }
    if (only_adds && accepted != 0 && !accepts_none) {
        if (begins_set && accepted == 1) {
            return bind_to_any(first, wait);
        }
        found.needed = needed_by(wait);
    } else {  // all are needed
        found.needed = shares.size();
        std::for_each(shares.begin(), shares.end(), [](Share &it) { it.weight = 1; });
    }
    simplify(shares, found.needed);
    return found;
}

// Binds a wait that the record satisfies alone, or any of those before it that set the number, too.
Binding CalledRecords::bind_to_any(std::size_t newest, const aclrtCntNotifyWaitInfo &wait) const {
    std::size_t first = newest;
    while (first > 0 && sets(records_[first - 1].info) && is_satisfied(records_[first - 1].info.value, wait)) {
        --first;
    }
    Binding found{{}, 1};
    for (std::size_t i = first; i <= newest; ++i) {
        found.shares.push_back({records_[i].task, 1});
    }
    simplify(found.shares, found.needed);
    return found;
}

// Leaves out records without an effect, or merges those of each stream into its newest one: order may be assumed that
// is not there.
void CalledRecords::shorten() {
    if (const std::size_t first = first_in_effect(); first > 0) {
        records_.erase(records_.begin(), records_.begin() + static_cast<std::ptrdiff_t>(first));
        return;
    }
    std::vector<Share> shares;
    std::uint32_t value = 0;
    for (const auto &[task, info] : records_) {
        const std::uint32_t before = std::exchange(value, changed(value, info));
        if (!sets(info) && !adds(before, info, /*bits_count=*/false)) {
            end_order();
            return;
        }
        shares.push_back({task, value - before});
    }
    simplify(shares, value);
    records_.clear();
    for (const Share &it : shares) {
        records_.push_back({it.task, {ACL_RT_CNT_NOTIFY_RECORD_ADD_MODE, static_cast<std::uint32_t>(it.weight)}});
    }
}

const Binding *CalledRecords::binding_of(const Point &wait) const {
    const auto found = std::find_if(waits_.begin(), waits_.end(), [&](const Wait &it) { return it.task == wait; });
    return found == waits_.end() || !found->binding ? nullptr : &*found->binding;
}

void CalledRecords::note_passed(const Point &wait) {
    const auto is_it = [&](const Wait &it) { return it.task == wait; };
    waits_.erase(std::remove_if(waits_.begin(), waits_.end(), is_it), waits_.end());
    if (order_ != nullptr && !order_->is_empty()) {
        order_->remove(wait);
        order_->retry();
    }
}

void CalledRecords::note_over(const Point &wait) {
    const auto is_it = [&](const Wait &it) { return it.task == wait; };
    if (std::any_of(waits_.begin(), waits_.end(), is_it)) {
        end_order();
        order_->remove(wait);
    }
}

}  // namespace aclsim
