// User code in a stream: host functions on a thread of the context, and callbacks on a thread that the user subscribed
// (events_streams_sync.md section 9).
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>

#include "abi/acl.h"

namespace aclsim {

class Engine;
class Stream;
struct Device;

// The threads that take callbacks, by pthread id. Guarded by the engine's lock.
class Reports {
  public:
    explicit Reports(Engine &engine) : engine_(engine) {}
    static void require_free(const Stream &stream);  // for subscribe()
    void subscribe(std::uint64_t thread, Stream &stream);
    void unsubscribe(std::uint64_t thread, Stream &stream);
    void launch(std::unique_lock<std::mutex> &lock, Stream &stream, aclrtCallback function, void *argument,
                bool blocks_stream);
    // Runs what is queued for the calling thread; waits until the deadline for the first callback.
    void process(std::unique_lock<std::mutex> &lock, std::uint64_t thread,
                 std::chrono::steady_clock::time_point deadline);
    // The stream goes away or is unsubscribed.
    void release(Stream &stream);

  private:
    friend class CallbackTask;
    struct Callback {
        aclrtCallback function;
        void *argument;
        std::weak_ptr<Stream> stream;
        std::shared_ptr<bool> has_run;  // of callbacks that block their stream, else empty
    };
    struct ReportThread {
        Device *device = nullptr;
        std::uint32_t streams = 0;
        std::deque<Callback> queue;
        std::condition_variable arrived;
    };
    void run(std::unique_lock<std::mutex> &lock, const Callback &callback);

    Engine &engine_;
    std::map<std::uint64_t, std::shared_ptr<ReportThread>> threads_;
};

// Engine lock held.
void launch_host_function(Engine &engine, std::unique_lock<std::mutex> &lock, Stream &stream, aclrtHostFunc function,
                          void *argument);

}  // namespace aclsim
