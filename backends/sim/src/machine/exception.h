// Callbacks for failed tasks (events_streams_sync.md section 11).
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include "abi/acl.h"

// What a callback gets to see, for the length of the call.
struct rtExceptionInfo {
    std::uint32_t task;
    std::uint32_t stream;
    std::uint32_t thread;
    std::uint32_t device;
    std::uint32_t code;
};

namespace aclsim {

class Engine;
class Stream;
class Task;
struct Device;

// Guarded by the engine's lock, which is not held while user code runs.
class Exceptions {
  public:
    static constexpr std::uint32_t kUnknown = 0xFFFFFFFF;

    void set_single(aclrtExceptionInfoCallback callback) { single_ = callback; }
    void add(aclrtExceptionInfoCallback callback);
    void remove(aclrtExceptionInfoCallback callback);

    void report_task(const Stream &stream, const Task &task);
    void report_device(const Device &device, aclError code);
    bool is_pending() const { return !pending_.empty() || !delivering_.empty(); }
    // Runs the callbacks for what was reported and not yet taken up by another thread.
    void deliver(std::unique_lock<std::mutex> &lock);
    // Lets a thread of its own run them: for threads that others need, which a callback may keep or wait for.
    void deliver_aside(Engine &engine, std::unique_lock<std::mutex> &lock);
    // Runs them, and waits for those of this stream that another thread runs: who learns of a failure by synchronizing
    // knows that its callbacks are over.
    void settle(std::unique_lock<std::mutex> &lock, const Stream &stream);

    // Of an information that is being delivered, else nullptr.
    const rtExceptionInfo *find(const rtExceptionInfo *info) const;

  private:
    struct Report {
        rtExceptionInfo info;
        const Stream *stream;  // nullptr: the device's
    };
    void report(const Report &report);
    void run(std::unique_lock<std::mutex> &lock, const Report &report);

    aclrtExceptionInfoCallback single_ = nullptr;
    std::vector<aclrtExceptionInfoCallback> callbacks_;
    std::deque<Report> pending_;
    std::vector<const Report *> delivering_;
    std::condition_variable delivered_;
    bool has_thread_ = false;
};

}  // namespace aclsim
