// SPDX-License-Identifier: Apache-2.0
// The order in which actions are taken: that of their calls, but none before what satisfied its wait.
#include <algorithm>
#include <utility>

#include "races/detector.h"

namespace aclsim::races {
namespace {

// More actions than this do not wait for the end of a task: the tasks of its stream are put aside.
constexpr std::size_t kMostQueued = 1 << 18;
constexpr std::size_t kMostSpare = 1024;

}  // namespace

void Detector::drain() {
    while (!queue_.empty() && (queue_.front()->is_over || queue_.size() > kMostQueued)) {
        Owned action = std::move(queue_.front());
        queue_.pop_front();
        see(std::move(action));
    }
}

void Detector::finish() {
    while (!queue_.empty()) {
        Owned action = std::move(queue_.front());
        queue_.pop_front();
        see(std::move(action));
    }
    for (Lane *const lane : parking_) {  // tasks that do not run any more satisfied no wait
        for (const Owned &action : lane->parked) {
            drop_open_members(*action);
        }
    }
    retry_parked();
}

// Notes what the caller knew, and takes the action as soon as all before it has been taken.
void Detector::see(Owned action) {
    if (action->lane == nullptr) {
        return;  // withdrawn
    }
    const Action *const launch = action->is_task() ? find_open(action->launch) : nullptr;
    if (launch != nullptr) {
        action->known = launch->known;
        const Launch here{launch->place, launch->lane->number, launch->lane->device, launch->shown};
        action->launched = launch->launched.place != 0 ? launch->launched : here;
        action->caller = launch->caller;
        action->caller_step = launch->caller_step;
    } else {
        action->known = action->caller->known;
        action->caller_step = action->number;
    }
    if (action->is_task() && !is_ready(*action)) {
        Lane &lane = *action->lane;
        const bool is_first = lane.parked.empty();
        if (is_first) {
            parking_.push_back(&lane);
        }
        lane.parked.push_back(std::move(action));
        if (is_first) {
            retry_parked();
        }
        return;
    }
    if (action->kind == Action::Kind::HostLearns) {
        for (const Before &it : action->after) {
            std::vector<const Lane *> seen;
            take_up_to(it, seen);
        }
    }
    take_action(*action);
    give_back(std::move(action));
    retry_parked();
}

// Keeps the memory of an action for another one.
void Detector::give_back(Owned action) {
    if (spare_.size() < kMostSpare) {
        action->clear();
        spare_.push_back(std::move(action));
    }
}

bool Detector::is_taken_in(const Lane &lane, const Before &before) const {
    const Lane *const source = find_lane(before.stream);
    return source == nullptr || source == &lane || source->newest >= before.sequence;
}

// Returns false for a fallback that is not needed.
bool Detector::is_member(const Action &action, const Before &before) {
    if (!before.is_fallback) {
        return true;
    }
    std::uint64_t sum = 0;
    for (const Before &it : action.after) {
        sum += it.group == before.group && !it.is_fallback ? it.weight : 0;
    }
    return sum < before.needed;
}

bool Detector::is_ready(const Action &action) const {
    if (!action.is_over || (!action.lane->parked.empty() && action.lane->parked.front().get() != &action)) {
        return false;
    }
    if (action.after.empty() && action.gifts.empty()) {
        return true;
    }
    const auto is_given = [](const std::shared_ptr<Gift> &gift) { return gift->is_known; };
    const auto is_taken = [&](const Before &it) {
        return is_taken_in(*action.lane, it) || (it.group != 0 && !is_member(action, it));
    };
    return std::all_of(action.after.begin(), action.after.end(), is_taken) &&
           std::all_of(action.gifts.begin(), action.gifts.end(), is_given);
}

// Returns whether the first parked action of the lane comes after one that is parked in the other.
bool Detector::comes_after(const Lane &lane, const Lane &other, std::vector<const Lane *> &seen) const {
    if (lane.parked.empty() || std::find(seen.begin(), seen.end(), &lane) != seen.end()) {
        return false;
    }
    seen.push_back(&lane);
    const Action &first = *lane.parked.front();
    return std::any_of(first.after.begin(), first.after.end(), [&](const Before &it) {
        const Lane *const source = find_lane(it.stream);
        return !is_taken_in(lane, it) && is_member(first, it) &&
               (source == &other || comes_after(*source, other, seen));
    });
}

// A task that comes after the wait cannot have satisfied it, although it was called before. Returns whether there was
// one.
bool Detector::drop_later_members(Lane &lane) {
    std::vector<Before> &after = lane.parked.front()->after;
    const auto is_later = [&](const Before &it) {
        std::vector<const Lane *> seen;
        return it.group != 0 && !it.is_fallback && !it.is_certain && !is_taken_in(lane, it) &&
               comes_after(*find_lane(it.stream), lane, seen);
    };
    const auto kept = std::remove_if(after.begin(), after.end(), is_later);
    const bool has_some = kept != after.end();
    after.erase(kept, after.end());
    return has_some;
}

void Detector::drop_open_members(Action &action) const {
    std::vector<Before> &after = action.after;
    after.erase(std::remove_if(after.begin(), after.end(),
                               [&](const Before &it) {
                                   return it.group != 0 && !it.is_fallback && !it.is_certain &&
                                          !is_taken_in(*action.lane, it);
                               }),
                after.end());
}

// Takes the tasks of a lane up to one of which the host learns that it is over. Those that wait for later calls have
// satisfied none of the waits before it.
void Detector::take_up_to(const Before &known, std::vector<const Lane *> &seen) {
    Lane *const lane = find_lane(known.stream);
    if (lane == nullptr || lane->parked.empty() || std::find(seen.begin(), seen.end(), lane) != seen.end()) {
        return;
    }
    seen.push_back(lane);
    while (!lane->parked.empty() && lane->parked.front()->sequence <= known.sequence) {
        const std::uint64_t newest = lane->newest;
        drop_open_members(*lane->parked.front());
        const std::vector<Before> others = lane->parked.front()->after;
        for (const Before &it : others) {
            if (!is_taken_in(*lane, it)) {
                take_up_to(it, seen);
            }
        }
        retry_parked();
        if (lane->newest == newest) {
            break;
        }
    }
    seen.pop_back();
}

void Detector::retry_parked() {
    for (bool has_taken = true; has_taken && !parking_.empty();) {
        has_taken = false;
        for (std::size_t i = 0; i < parking_.size(); ++i) {
            Lane &lane = *parking_[i];
            while (!lane.parked.empty() && is_ready(*lane.parked.front())) {
                take_action(*lane.parked.front());
                give_back(std::move(lane.parked.front()));
                lane.parked.pop_front();
                has_taken = true;
            }
            has_taken = has_taken || (!lane.parked.empty() && drop_later_members(lane));
        }
        parking_.erase(
            std::remove_if(parking_.begin(), parking_.end(), [](const Lane *it) { return it->parked.empty(); }),
            parking_.end());
    }
}

}  // namespace aclsim::races
