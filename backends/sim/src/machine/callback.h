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

// The threads that take callbacks, by pthread id. Guarded by the engine's lock.
class Reports {
  public:
    explicit Reports(Machine &machine) : machine_(machine) {}
    static void require_free(const ContextStream &stream) REQUIRES(engine_lock);  // for subscribe()
    void subscribe(std::uint64_t thread, ContextStream &stream) REQUIRES(engine_lock);
    void unsubscribe(std::uint64_t thread, ContextStream &stream) REQUIRES(engine_lock);
    void launch(Lock &lock, ContextStream &stream, aclrtCallback function, void *argument, bool blocks_stream)
        REQUIRES(engine_lock);
    // Runs what is queued for the calling thread; waits until the deadline for the first callback.
    void process(Lock &lock, std::uint64_t thread, Time deadline) REQUIRES(engine_lock);
    // The stream goes away or is unsubscribed.
    void release(ContextStream &stream) REQUIRES(engine_lock);

  private:
    friend class CallbackTask;
    struct Callback {
        aclrtCallback function;
        void *argument;
        Point task;           // that posted it; only its predecessors are done if it blocks the stream
        Ref<Stream> blocked;  // that waits for the callback, with the callback's task as its head
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

// Engine lock held.
void launch_host_function(Machine &machine, Lock &lock, ContextStream &stream, aclrtHostFunc function, void *argument)
    REQUIRES(engine_lock);

}  // namespace aclsim
