// SPDX-License-Identifier: Apache-2.0
// Profiles: times of the tasks and calls of the program between aclprofStart and aclprofStop
// (docs/semantics/profiling.md). The profiler observes the engine while a profile is being taken.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/core.h"
#include "engine/observer.h"
#include "observe/task_times.h"

namespace aclsim {

// Configuration created by aclprofCreateConfig.
class ProfileConfig final : public Object {
  public:
    static constexpr Kind kKind = Kind::ProfileConfig;
    ProfileConfig(std::vector<std::uint32_t> device_ids, std::uint64_t data)
        : devices(std::move(device_ids)), data_types(data) {}

    const std::vector<std::uint32_t> devices;
    const std::uint64_t data_types;  // bits such as ACL_PROF_ACL_API
};

// Data collected by one profile.
struct Profile {
    struct TaskEntry {
        std::uint32_t device;
        std::uint32_t stream;
        std::uint64_t task;
        const TaskInfo *info;
        TaskLabel label;
        Time submitted;
        Time started;
        Time ended;
    };
    // Range or mark of a thread of the program; a mark begins and ends at the same time.
    struct RangeEntry {
        std::uint32_t thread;
        const char *type;
        std::string message;
        Time began;
        Time ended;
    };
    struct CallEntry {
        std::uint32_t thread;
        const char *name;
        Time began;
        Time ended;
    };

    bool is_about(std::uint32_t device) const;
    bool is_of(const ProfileConfig &config) const;
    // Writes the files. Fails with ACL_ERROR_INVALID_FILE if one cannot be written.
    void write() const;

    std::vector<std::uint32_t> devices;
    std::uint64_t data_types;
    std::string directory;
    std::string stamp;               // start time, in the format of file names
    Time start{};                    // tasks and calls that began before are left out
    std::vector<TaskEntry> tasks{};  // in the order of their ends; filled when the profile is stopped
    std::vector<CallEntry> calls{};
    std::vector<RangeEntry> ranges{};

    // Entries of one shard: tasks of its streams, and calls that ended under its lock. The last part is for calls that
    // ended under the global lock.
    struct alignas(64) Part {
        std::vector<TaskEntry> tasks;
        std::vector<CallEntry> calls;
    };
    std::array<Part, Shards::kMost + 1> parts{};
    void join_parts();
};

// Guarded by the engine lock; the shard's lock is sufficient for the pending tasks and entries of the shard.
class Profiler final : public Observer {
  public:
    explicit Profiler(Core &core) : Observer(kTasks | kCalls), core_(core) {}

    void initialize(const std::string &path) REQUIRES(engine_lock);
    bool is_initialized() const REQUIRES(engine_lock) { return !path_.empty(); }
    const std::string &path() const REQUIRES(engine_lock) { return path_; }
    void set_path(const std::string &path) REQUIRES(engine_lock) { path_ = path; }
    bool is_taking(std::uint32_t device) const REQUIRES(engine_lock);
    bool is_observing() const REQUIRES(engine_lock) { return !profiles_.empty(); }
    bool takes_marks() const REQUIRES(engine_lock);
    // Changes whenever the profiler begins to observe.
    std::uint64_t attachment() const REQUIRES(engine_lock) { return attachments_; }
    // Adds a range to the profiles that collect marks; leaves it out of those that began later.
    void note_range(const Profile::RangeEntry &range) REQUIRES(engine_lock);
    void start(std::unique_ptr<Profile> profile) REQUIRES(engine_lock);
    // Ends the profile that was started with the same devices and data types, and returns it; nullptr if there is none.
    std::unique_ptr<Profile> stop(const ProfileConfig &config) REQUIRES(engine_lock);
    // Ends and returns all profiles that have not been stopped.
    std::vector<std::unique_ptr<Profile>> finalize() REQUIRES(engine_lock);

    void submitted(const Moment &, const Stream &, const Task &, const Submission &) override REQUIRES(engine_lock);
    void started(const Moment &, const Stream &, const Task &, std::uint32_t) override REQUIRES(engine_lock);
    void ended(const Moment &, const Stream &, const Task &, std::uint32_t) override REQUIRES(engine_lock);
    void dropped(const Moment &, const Stream &, const Task &, aclError) override REQUIRES(engine_lock);
    void call_began(const Moment &, const CallSite &) override REQUIRES(engine_lock);
    void call_ended(const Moment &, const CallSite &) override REQUIRES(engine_lock);
    void fact_lost(const Moment &) override REQUIRES(engine_lock);

  private:
    Profile *profile_of(std::uint32_t device, std::uint64_t data_types) REQUIRES(engine_lock);
    Profile *profile_of(const Stream &stream, const Task &task) REQUIRES(engine_lock);
    void detach_if_idle() REQUIRES(engine_lock);

    Core &core_;
    std::string path_ GUARDED_BY(engine_lock);  // empty before aclprofInit and after aclprofFinalize
    std::vector<std::unique_ptr<Profile>> profiles_ GUARDED_BY(engine_lock);
    std::uint64_t attachments_ GUARDED_BY(engine_lock) = 0;  // times that it began to observe
    std::atomic<bool> has_lost_facts_{false};
    TaskTimes times_ GUARDED_BY(engine_lock);
};

}  // namespace aclsim
