// SPDX-License-Identifier: Apache-2.0
// User code in a stream: host functions on a thread of the context, and callbacks on a thread that the user subscribed
// (events_streams_sync.md section 9).
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>

#include "abi/acl.h"
#include "engine/clock.h"
#include "machine/context.h"

namespace aclsim {

class Machine;

// Threads that process callbacks, by pthread ID. Guarded by the engine lock.
class Reports {
  public:
    explicit Reports(Machine &machine) : machine_(machine) {}
    static void require_free(const ContextStream &stream) REQUIRES(engine_lock);  // precondition of subscribe()
    void subscribe(std::uint64_t thread, ContextStream &stream) REQUIRES(engine_lock);
    void unsubscribe(std::uint64_t thread, ContextStream &stream) REQUIRES(engine_lock);
    void launch(Lock &lock, ContextStream &stream, aclrtCallback function, void *argument, bool blocks_stream)
        REQUIRES(engine_lock);
    // Runs the callbacks queued for the calling thread; waits for the first one until the deadline.
    void process(Lock &lock, std::uint64_t thread, Time deadline) REQUIRES(engine_lock);
    // Ends the subscription of a stream that is destroyed or unsubscribed.
    void release(ContextStream &stream) REQUIRES(engine_lock);

  private:
    friend class CallbackTask;
    struct Callback {
        aclrtCallback function;
        void *argument;
        Point task;           // task that posted it; if it blocks the stream, only the tasks before it are done
        Ref<Stream> blocked;  // stream that waits for the callback, with the callback's task at its head
    };
    struct ReportThread {
        Device *device GUARDED_BY(engine_lock) = nullptr;
        std::uint32_t streams GUARDED_BY(engine_lock) = 0;
        std::deque<Callback> queue GUARDED_BY(engine_lock);
        std::condition_variable_any arrived;
    };
    void run(Lock &lock, const Callback &callback) REQUIRES(engine_lock);

    Machine &machine_;
    std::map<std::uint64_t, std::shared_ptr<ReportThread>> threads_ GUARDED_BY(engine_lock);
};

// Requires the engine lock.
void launch_host_function(Machine &machine, Lock &lock, ContextStream &stream, aclrtHostFunc function, void *argument)
    REQUIRES(engine_lock);

}  // namespace aclsim
