// Subscriptions of the operators that models execute: records of 80 bytes, written to a pipe of the program
// (profiling.md section 8).
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "engine/core.h"
#include "engine/observer.h"
#include "observe/task_times.h"

namespace aclsim {

// Created by aclprofCreateSubscribeConfig.
class SubscribeConfig final : public Object {
  public:
    static constexpr Kind kKind = Kind::SubscribeConfig;
    SubscribeConfig(bool with_times, std::uint32_t aicore_metrics, const int *fd)
        : has_times(with_times), metrics(aicore_metrics), descriptor(fd) {}

    const bool has_times;
    const std::uint32_t metrics;
    const int *const descriptor;  // belongs to the program
};

// Record of one operator, as the program reads it from the pipe.
struct OperatorRecord {
    std::uint32_t signature;  // hash of the rest
    std::uint32_t model;
    std::uint32_t flag;    // aclprofSubscribeOpFlag
    std::uint32_t thread;  // OS thread number of the submitter
    std::uint64_t number;  // of its name and type
    std::uint64_t duration_us;
    std::uint64_t start_us;
    std::uint64_t end_us;
    std::uint64_t reserved[3];
    std::uint32_t device;
    std::uint32_t padding;

    std::uint32_t expected_signature() const;
};
static_assert(sizeof(OperatorRecord) == 80, "the size that the runtime has");

// Names and types of the operators in records, until the program has read them.
class OperatorNames {
  public:
    enum Part { kType, kName };

    std::uint64_t add(std::string type, std::string name);
    std::optional<std::string> find(std::uint64_t number, Part part) const;
    // Forgets the text after its first use, as the runtime does.
    void forget(std::uint64_t number, Part part);

  private:
    static constexpr std::size_t kMost = 200000;  // operators; the oldest ones are forgotten
    mutable std::mutex mutex_;
    std::uint64_t added_ = 0;
    std::map<std::uint64_t, std::optional<std::string>> texts_[2];
};

// Writer of the records of one subscription. Its thread waits while the pipe is full.
class RecordPipe;

// Guarded by the engine lock.
class Subscriptions final : public Observer {
  public:
    explicit Subscriptions(Core &core) : Observer(kTasks), core_(core) {}

    bool any() const REQUIRES(engine_lock) { return !models_.empty(); }
    bool has(std::uint32_t model) const REQUIRES(engine_lock) { return models_.count(model) != 0; }
    // True after the first subscription: before it, functions that read records do nothing (profiling.md section 8).
    bool were_used() const REQUIRES(engine_lock) { return were_used_; }
    // Fails with ACL_ERROR_INVALID_PARAM for a descriptor that cannot be written.
    void subscribe(std::uint32_t model, const SubscribeConfig &config) REQUIRES(engine_lock);
    // Writes what is left, for a second at most, and closes the descriptor. Releases the lock.
    void unsubscribe(Lock &lock, std::uint32_t model) REQUIRES(engine_lock);

    void submitted(const Moment &, const Stream &, const Task &, const Submission &) override REQUIRES(engine_lock);
    void started(const Moment &, const Stream &, const Task &, std::uint32_t) override REQUIRES(engine_lock);
    void ended(const Moment &, const Stream &, const Task &, std::uint32_t) override REQUIRES(engine_lock);
    void dropped(const Moment &, const Stream &, const Task &, aclError) override REQUIRES(engine_lock);
    void fact_lost(const Moment &) override REQUIRES(engine_lock);

    OperatorNames names;

  private:
    struct Subscribed {
        bool has_times;
        std::shared_ptr<RecordPipe> pipe;
    };

    Core &core_;
    std::atomic<bool> has_lost_facts_{false};
    bool were_used_ GUARDED_BY(engine_lock) = false;
    std::map<std::uint32_t, Subscribed> models_ GUARDED_BY(engine_lock);
    TaskTimes times_ GUARDED_BY(engine_lock);
};

}  // namespace aclsim
