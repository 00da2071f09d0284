#include "observe/profiler.h"

#include <algorithm>
#include <utility>

#include "engine/thread.h"
#include "machine/context.h"
#include "support/error.h"

namespace aclsim {
namespace {

constexpr std::uint64_t kTaskTypes =
    ACL_PROF_TASK_TIME | ACL_PROF_TASK_TIME_L0 | ACL_PROF_TASK_TIME_L2 | ACL_PROF_TASK_TIME_L3 | ACL_PROF_OP_ATTR;
constexpr std::uint64_t kCallTypes = ACL_PROF_ACL_API | ACL_PROF_RUNTIME_API;

}  // namespace

bool Profile::is_about(std::uint32_t device) const {
    return std::find(devices.begin(), devices.end(), device) != devices.end();
}

bool Profile::is_of(const ProfileConfig &config) const {
    return devices == config.devices && data_types == config.data_types;
}

void Profiler::initialize(const std::string &path) { path_ = path; }

bool Profiler::is_taking(std::uint32_t device) const {
    return std::any_of(profiles_.begin(), profiles_.end(), [&](const auto &it) { return it->is_about(device); });
}

void Profiler::start(std::unique_ptr<Profile> profile) {
    if (profiles_.empty()) {
        core_.add_observer(*this);
    }
    profiles_.push_back(std::move(profile));
}

std::unique_ptr<Profile> Profiler::stop(const ProfileConfig &config) {
    const auto found =
        std::find_if(profiles_.begin(), profiles_.end(), [&](const auto &it) { return it->is_of(config); });
    if (found == profiles_.end()) {
        return nullptr;
    }
    std::unique_ptr<Profile> profile = std::move(*found);
    profiles_.erase(found);
    detach_if_idle();
    return profile;
}

std::vector<std::unique_ptr<Profile>> Profiler::finalize() {
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
        pending_.clear();
        calls_.clear();
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

void Profiler::submitted(Time now, const Stream &stream, const Task &task, const Submission &) {
    if (profile_of(device_of(stream).user_id, kTaskTypes) != nullptr) {
        pending_[{stream.serial, task.sequence}] = {now, now};
    }
}

void Profiler::started(Time now, const Stream &stream, const Task &task) {
    const auto found = pending_.find({stream.serial, task.sequence});
    if (found != pending_.end()) {
        found->second.started = now;
    }
}

// What was submitted before the profile began is not in it.
void Profiler::ended(Time now, const Stream &stream, const Task &task) {
    const auto found = pending_.find({stream.serial, task.sequence});
    if (found == pending_.end()) {
        return;
    }
    const std::uint32_t device = device_of(stream).user_id;
    if (Profile *profile = profile_of(device, kTaskTypes)) {
        TaskLabel label;
        task.details().label(stream, label);
        profile->tasks.push_back({device, stream.id, task.sequence, &task.info(), std::move(label),
                                  found->second.submitted, found->second.started, now});
    }
    pending_.erase(found);
}

void Profiler::dropped(Time, const Stream &stream, const Task &task, aclError) {
    pending_.erase({stream.serial, task.sequence});
}

void Profiler::call_began(Time now) { calls_[thread_number()].push_back(now); }

void Profiler::call_ended(Time now) {
    std::vector<Time> &began = calls_[thread_number()];
    if (began.empty()) {
        return;  // the profile has begun in the call
    }
    for (const auto &profile : profiles_) {
        if ((profile->data_types & kCallTypes) != 0) {
            profile->calls.push_back({thread_number(), current_function(), began.back(), now});
        }
    }
    began.pop_back();
}

}  // namespace aclsim
