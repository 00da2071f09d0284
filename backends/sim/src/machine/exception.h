// SPDX-License-Identifier: Apache-2.0
// Callbacks for failed tasks (events_streams_sync.md section 11).
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "abi/acl.h"
#include "engine/facts.h"
#include "engine/hooks.h"

// Information passed to a callback; valid while the callback runs.
struct rtExceptionInfo {
    std::uint32_t task;
    std::uint32_t stream;
    std::uint32_t thread;
    std::uint32_t device;
    std::uint32_t code;
    aclsim::FailedKernel kernel{};
};

namespace aclsim {

class Core;
struct Device;

// Writes down what is known of a failed task, before the callbacks run.
class ExceptionDump {
  public:
    virtual ~ExceptionDump() = default;
    virtual bool is_on() const REQUIRES(engine_lock) = 0;
    // Returns the work, which is done without the lock; none if there is nothing to write.
    virtual std::function<void()> prepare(const rtExceptionInfo &info) REQUIRES(engine_lock) = 0;
};

// Callbacks run on three threads only: the one whose call made the task fail, at the end of that call; one that
// synchronizes the stream; or else a dedicated one. Guarded by the engine lock, which is released while user code runs.
class Exceptions final : public FailureHandler {
  public:
    static constexpr std::uint32_t kUnknown = 0xFFFFFFFF;

    explicit Exceptions(Core &core) : core_(core) {}
    void set_dump(ExceptionDump &dump) { dump_ = &dump; }
    void set_single(aclrtExceptionInfoCallback callback) REQUIRES(engine_lock) { single_ = callback; }
    void add(aclrtExceptionInfoCallback callback) REQUIRES(engine_lock);
    void remove(aclrtExceptionInfoCallback callback) REQUIRES(engine_lock);

    void report_device(const Device &device, aclError code) REQUIRES(engine_lock);
    void task_failed(const Stream &stream, const Task &task) override REQUIRES(engine_lock);
    bool has_reports() const REQUIRES(engine_lock) { return !pending_.empty(); }  // reports that no thread delivers yet
    bool is_reporting(const Stream &stream) const override REQUIRES(engine_lock);
    // Makes sure that the callbacks have returned before a synchronizing thread learns of the failure. Without a
    // deadline, the calling thread runs them itself; with one, it waits for them until the deadline.
    bool settle(Lock &lock, const Stream &stream, Time deadline) override REQUIRES(engine_lock);
    void thread_sleeps() override REQUIRES(engine_lock);
    // Runs the callbacks for failures caused by the current call, at its end.
    void deliver_own(Lock &lock) REQUIRES(engine_lock);

    // Returns the information if it is being delivered, else nullptr.
    const rtExceptionInfo *find(const rtExceptionInfo *info) const REQUIRES(engine_lock);

  private:
    struct Report {
        rtExceptionInfo info;
        std::uint64_t stream;   // serial number; 0 for the device
        std::thread::id owner;  // thread that must run the callbacks; none means the dedicated thread
    };
    void report(const rtExceptionInfo &info, std::uint64_t stream) REQUIRES(engine_lock);
    template <class Condition>
    void deliver(Lock &lock, Condition is_wanted) REQUIRES(engine_lock);
    void run(Lock &lock, const Report &report) REQUIRES(engine_lock);
    void deliver_aside() REQUIRES(engine_lock);
    bool is_dumping() const REQUIRES(engine_lock) { return dump_ != nullptr && dump_->is_on(); }
    std::function<void()> prepare_dump(const rtExceptionInfo &info) REQUIRES(engine_lock);

    Core &core_;
    ExceptionDump *dump_ = nullptr;
    aclrtExceptionInfoCallback single_ GUARDED_BY(engine_lock) = nullptr;
    using Callbacks = std::vector<aclrtExceptionInfoCallback>;
    // Each change replaces the whole list, so a running delivery needs no copy.
    std::shared_ptr<const Callbacks> callbacks_ GUARDED_BY(engine_lock) = std::make_shared<Callbacks>();
    std::deque<Report> pending_ GUARDED_BY(engine_lock);
    std::vector<const Report *> delivering_ GUARDED_BY(engine_lock);
    std::condition_variable_any delivered_;
    bool has_thread_ GUARDED_BY(engine_lock) = false;
};

}  // namespace aclsim
