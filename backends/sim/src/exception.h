// Callbacks for failed tasks (events_streams_sync.md section 11).
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <set>
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
    bool is_pending() const { return !pending_.empty() || delivering_ > 0; }
    // Runs the callbacks for what was reported; when it returns they have run, whichever thread ran them. So whoever
    // learns of a failure from a call knows that its callbacks are over.
    void deliver(std::unique_lock<std::mutex> &lock);

    // Of an information that is being delivered, else nullptr.
    const rtExceptionInfo *find(const rtExceptionInfo *info) const;

  private:
    void report(const rtExceptionInfo &info);

    aclrtExceptionInfoCallback single_ = nullptr;
    std::vector<aclrtExceptionInfoCallback> callbacks_;
    std::deque<rtExceptionInfo> pending_;
    std::set<const rtExceptionInfo *> live_;
    std::uint32_t delivering_ = 0;
    std::condition_variable delivered_;
};

}  // namespace aclsim
