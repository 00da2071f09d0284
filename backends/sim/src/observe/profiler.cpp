// SPDX-License-Identifier: Apache-2.0
#include "observe/profiler.h"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <utility>

#include "engine/thread.h"
#include "machine/context.h"
#include "support/error.h"
#include "support/standard_error.h"
#include "support/thread_state.h"

namespace aclsim {
namespace {

constexpr std::uint64_t kTaskTypes =
    ACL_PROF_TASK_TIME | ACL_PROF_TASK_TIME_L0 | ACL_PROF_TASK_TIME_L2 | ACL_PROF_TASK_TIME_L3 | ACL_PROF_OP_ATTR;
constexpr std::uint64_t kMarkTypes = ACL_PROF_MSPROFTX | ACL_PROF_TRAINING_TRACE;
constexpr std::uint64_t kCallTypes = ACL_PROF_ACL_API | ACL_PROF_RUNTIME_API;

// Times at which the calls of a thread began; they nest.
struct CallTimes {
    std::uint64_t attachment = 0;
    std::vector<Time> began;  // innermost last

    // Drops what is left of calls that ended while the profiler did not observe.
    static std::vector<Time> &get(std::uint64_t attachment) {
        CallTimes &own = ThreadState<CallTimes>::get();
        if (own.attachment != attachment) {
            own.attachment = attachment;
            own.began.clear();
        }
        return own.began;
    }
};

}  // namespace

bool Profile::is_about(std::uint32_t device) const {
    return std::find(devices.begin(), devices.end(), device) != devices.end();
}

bool Profile::is_of(const ProfileConfig &config) const {
    return devices == config.devices && data_types == config.data_types;
}

void Profile::join_parts() {
    std::size_t all_tasks = 0, all_calls = 0;
    for (const Part &part : parts) {
        all_tasks += part.tasks.size();
        all_calls += part.calls.size();
    }
    tasks.reserve(all_tasks);  // nothing below fails for lack of memory
    calls.reserve(all_calls);
    for (Part &part : parts) {
        std::move(part.tasks.begin(), part.tasks.end(), std::back_inserter(tasks));
        std::move(part.calls.begin(), part.calls.end(), std::back_inserter(calls));
        part = {};
    }
    const auto by_end = [](const auto &one, const auto &other) { return one.ended < other.ended; };
    std::stable_sort(tasks.begin(), tasks.end(), by_end);
    std::stable_sort(calls.begin(), calls.end(), by_end);
}

void Profiler::initialize(const std::string &path) { path_ = path; }

bool Profiler::is_taking(std::uint32_t device) const {
    return std::any_of(profiles_.begin(), profiles_.end(), [&](const auto &it) { return it->is_about(device); });
}

void Profiler::start(std::unique_ptr<Profile> profile) {
    profiles_.reserve(profiles_.size() + 1);
    if (profiles_.empty()) {
        core_.add_observer(*this);
        ++attachments_;
    }
    profile->start = core_.clock().now();
    profiles_.push_back(std::move(profile));
}

std::unique_ptr<Profile> Profiler::stop(const ProfileConfig &config) {
    const auto found =
        std::find_if(profiles_.begin(), profiles_.end(), [&](const auto &it) { return it->is_of(config); });
    if (found == profiles_.end()) {
        return nullptr;
    }
    (*found)->join_parts();
    std::unique_ptr<Profile> profile = std::move(*found);
    profiles_.erase(found);
    detach_if_idle();
    return profile;
}

std::vector<std::unique_ptr<Profile>> Profiler::finalize() {
    for (const auto &profile : profiles_) {
        profile->join_parts();
    }
    path_.clear();
    auto profiles = std::exchange(profiles_, {});
    if (!profiles.empty()) {
        detach_if_idle();
    }
    return profiles;
}

void Profiler::detach_if_idle() {
    if (profiles_.empty()) {
        core_.remove_observer(*this);
        times_.clear();
    }
}

Profile *Profiler::profile_of(std::uint32_t device, std::uint64_t data_types) {
    for (const auto &profile : profiles_) {
        if (profile->is_about(device) && (profile->data_types & data_types) != 0) {
            return profile.get();
        }
    }
    return nullptr;
}

bool Profiler::takes_marks() const {
    return std::any_of(profiles_.begin(), profiles_.end(),
                       [](const auto &it) { return (it->data_types & ACL_PROF_MSPROFTX) != 0; });
}

void Profiler::note_range(const Profile::RangeEntry &range) {
    for (const auto &profile : profiles_) {
        if ((profile->data_types & ACL_PROF_MSPROFTX) != 0 && range.began >= profile->start) {
            profile->ranges.push_back(range);
        }
    }
}

Profile *Profiler::profile_of(const Stream &stream, const Task &task) {
    return profile_of(device_of(stream).user_id, task.info().has(kIsMark) ? kTaskTypes | kMarkTypes : kTaskTypes);
}

void Profiler::submitted(const Moment &now, const Stream &stream, const Task &task, const Submission &) {
    if (profile_of(stream, task) != nullptr) {
        times_.add(now, stream, task);
    }
}

void Profiler::started(const Moment &now, const Stream &stream, const Task &task, std::uint32_t) {
    times_.started(now, stream, task);
}

// Skips tasks that were submitted before the profile was started.
void Profiler::ended(const Moment &now, const Stream &stream, const Task &task, std::uint32_t) {
    TaskTimes::Times times{};
    if (!times_.take(stream, task, times)) {
        return;
    }
    Profile *const profile = profile_of(stream, task);
    if (profile != nullptr && times.submitted >= profile->start) {
        TaskLabel label;
        task.details().label(stream, label);
        profile->parts[Core::shard_of(stream)].tasks.push_back({device_of(stream).user_id, stream.id, task.sequence,
                                                                &task.info(), std::move(label), times.submitted,
                                                                times.started, now.time()});
    }
}

void Profiler::dropped(const Moment &, const Stream &stream, const Task &task, aclError) {
    times_.forget(stream, task);
}

void Profiler::call_began(const Moment &now, const CallSite &) { CallTimes::get(attachments_).push_back(now.time()); }

void Profiler::call_ended(const Moment &now, const CallSite &site) {
    std::vector<Time> &open = CallTimes::get(attachments_);
    if (open.empty()) {
        return;  // the profile began during the call
    }
    const Time began = open.back();
    open.pop_back();
    for (const auto &profile : profiles_) {
        if ((profile->data_types & kCallTypes) != 0 && began >= profile->start) {
            profile->parts[Lock::held_shard()].calls.push_back({site.thread, site.function, began, now.time()});
        }
    }
}

void Profiler::fact_lost(const Moment &) {
    if (!has_lost_facts_.exchange(true)) {
        print_error("ascend_rt simulator, profile: the host is out of memory; tasks and calls are missing\n");
    }
}

}  // namespace aclsim
