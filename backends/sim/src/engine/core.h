// The engine: one lock, the worklist that moves streams forward, and the ways a host thread waits for them.
//
// How a task travels: an API call locks the engine and submit()s a task. If the stream is idle the task starts at once;
// a record or a satisfied wait is then complete when the call returns. Otherwise the task is queued. Whoever completes
// a task (the submitter, a worker, a host thread that helps) moves its stream forward, and every stream that the
// completion released.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "checks/faults.h"
#include "checks/memory_check.h"
#include "engine/executor.h"
#include "engine/observer.h"
#include "engine/patience.h"
#include "engine/registry.h"
#include "engine/scheduler.h"
#include "engine/stream.h"
#include "engine/timer.h"
#include "machine/callback.h"
#include "machine/device.h"
#include "machine/exception.h"
#include "machine/gate.h"
#include "machine/state_callbacks.h"
#include "memory/address_space.h"
#include "memory/allocator.h"
#include "memory/ipc_memory.h"
#include "memory/managed_memory.h"
#include "memory/memory_pool.h"
#include "memory/symbol.h"
#include "memory/virtual_memory.h"
#include "support/config.h"

namespace aclsim {

using Clock = std::chrono::steady_clock;
using Lock = std::unique_lock<std::mutex>;

inline void pause_processor() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

// Polls for at most config().spin; true when the condition came true.
template <class Condition>
bool spin_until(Condition condition) {
    if (config().spin.count() == 0) {
        return condition();
    }
    const Clock::time_point end = Clock::now() + config().spin;
    do {
        for (int i = 0; i < 32; ++i) {
            if (condition()) {
                return true;
            }
            pause_processor();
        }
    } while (Clock::now() < end);
    return false;
}

// What a synchronization checks before it waits: the device or the stream is being aborted. Engine lock held.
void require_not_aborting(const Device &device);
void require_not_aborting(const Stream &stream);
// After aclsimLoseDevice.
void require_not_lost(const Device &device);
// What submissions, synchronizations and queries check: the device is lost, or a task failed in STOP mode.
void require_sound(const Context &context);
// The failure of a wait that an abort ended.
[[noreturn]] void fail_aborted(const Stream &stream);
// What a synchronization answers when it has waited: the failure of a task, once.
void report_failure(Stream &stream);
// Fails if it is one. What the runtime logs as success while it answers the code is not remembered (section 1).
void tell_failure(aclError failure, const std::string &text);

class Engine {
  public:
    static Engine &get();  // never destroyed: threads of the library may outlive main()
    static bool was_started();

    // Takes the engine lock. Critical sections are short, so a short spin mostly saves a sleep.
    Lock acquire();

    // --- submitting and moving streams forward; engine lock held -------------------------------------------------
    // What every submission checks; waits while the queue is full, and lets other threads in meanwhile. Fails with
    // the sticky failure of a STOP-mode context, or when the device or the stream is being aborted or was destroyed.
    // true: it waited, and what the caller has looked at before may have changed.
    bool admit(Lock &lock, Stream &stream);
    // Starts or queues a task on a stream that has just admitted it. Never waits.
    template <class T>
    void submit(Stream &stream, T task) {
        task.sequence = ++stream.submitted;
        note_submission(stream, task);
        if (faults_.concerns_tasks()) {
            faults_.prepare(stream, task);
        }
        if (stream.state == Stream::State::Idle && stream.executes_tasks() && scheduler_.may_start(stream)) {
            const Start start = start_task(stream, task);
            if (start == Start::Done) {
                complete(stream, task);  // the fast path: nothing was allocated
            } else {
                stream.queue.push(std::make_unique<T>(std::move(task)));
                park(stream, start);
            }
        } else {
            stream.queue.push(std::make_unique<T>(std::move(task)));
        }
        if (stream.state == Stream::State::Idle) {
            advance(stream);
        }
        pump();
    }
    // Queues a task that a model makes for the next pump(); the stream is none that takes others.
    void append(Stream &stream, std::unique_ptr<Task> task);
    // The stream's head is to be looked at again: what it waited for has happened.
    void make_runnable(Stream &stream) { runnable_.push_back(&stream); }
    // Moves all runnable streams forward. The worklist is empty whenever the lock is free.
    void pump();
    // Runs the head of a stream (state Ready, not in a ready queue) on the calling thread, without the lock.
    void run_head(Lock &lock, Stream &stream);
    // Drops what is queued. Who waits for the stream fails with the reason.
    void drop_queue(Stream &stream, aclError reason);
    // Waits for the task that runs; the stream takes no tasks meanwhile. false when the deadline has passed.
    bool await_running(Lock &lock, Stream &stream, Clock::time_point deadline);
    // Both: the stream is empty afterwards.
    bool drop_tasks(Lock &lock, Stream &stream, aclError reason, Clock::time_point deadline);
    // aclsimHold.
    void hold(bool on);
    bool is_held() const { return scheduler_.held(); }

    // --- waiting -------------------------------------------------------------------------------------------------
    enum class Waited : std::uint8_t {
        Done,
        TimedOut,
        Aborted,
        Stopped,  // a task failed in STOP mode: this one will not be run
    };
    // Until the task of that sequence number is done. The calling thread helps to run what it waits for.
    Waited wait_for(Lock &lock, std::shared_ptr<Stream> stream, std::uint64_t sequence, Clock::time_point deadline);

    // --- parts ---------------------------------------------------------------------------------------------------
    Registry &registry() { return registry_; }
    Scheduler &scheduler() { return scheduler_; }
    Executor &workers() { return *workers_; }
    std::shared_ptr<Executor> create_executor(std::uint32_t threads, bool can_be_helped);
    Timer &timer() { return timer_; }
    Reports &reports() { return reports_; }
    Exceptions &exceptions() { return exceptions_; }
    Faults &faults() { return faults_; }
    StateCallbacks &state_callbacks() { return state_callbacks_; }
    Gate &gate() { return gate_; }
    Allocators &allocators() { return allocators_; }
    MemoryPools &memory_pools() { return memory_pools_; }
    AddressSpace &memory();  // reserved at the first use
    VirtualMemory &virtual_memory() { return virtual_memory_; }
    Symbols &symbols() { return symbols_; }
    ManagedMemory &managed_memory() { return managed_memory_; }
    IpcMemory &ipc_memory() { return ipc_memory_; }
    // nullptr without ASCEND_RT_SIM_CHECK=memory.
    MemoryCheck *memory_check() { return config().checks_memory ? &memory_check_ : nullptr; }
    // A block of aclrtMalloc; false: there is none that starts there.
    bool free_device_block(const void *address);
    // Everything that was allocated on the device.
    void free_device_memory(const Device &device);
    std::vector<std::unique_ptr<Device>> &devices() { return devices_; }
    void set_observer(Observer *observer) { observer_ = observer; }
    Observer *observer() const { return observer_; }
    std::uint32_t last_task_id() const;  // of the calling thread

    std::string error;                    // what is wrong with ASCEND_RT_SIM_FAULTS: every call fails with this text
    std::uint32_t op_wait_timeout_s = 0;  // aclrtSetOpWaitTimeout: 0 is none

  private:
    Engine();
    void note_submission(Stream &stream, Task &task);
    bool is_faulted(Stream &stream, Task &task, Start &start);
    Start start_task(Stream &stream, Task &task);
    void complete(Stream &stream, Task &task);
    void park(Stream &stream, Start start);
    void advance(Stream &stream);
    bool help(Lock &lock, Stream &stream);
    bool watch(Lock &lock, Stream &stream, std::uint64_t sequence, std::optional<Patience> &patience,
               Clock::time_point deadline);
    void stop(Context &context, aclError failure);

    std::mutex mutex_;
    std::vector<Stream *> runnable_;
    std::vector<std::shared_ptr<Stream>> held_;
    EagerScheduler scheduler_;
    Registry registry_;
    std::vector<std::weak_ptr<Executor>> executors_;
    std::shared_ptr<Executor> workers_;
    Timer timer_;
    Reports reports_;
    Exceptions exceptions_;
    Faults faults_;
    StateCallbacks state_callbacks_;
    Gate gate_;
    Allocators allocators_;
    MemoryPools memory_pools_;
    std::unique_ptr<AddressSpace> memory_;
    VirtualMemory virtual_memory_{*this};
    Symbols symbols_{*this};
    ManagedMemory managed_memory_{*this};
    IpcMemory ipc_memory_{*this};
    MemoryCheck memory_check_;
    std::vector<std::unique_ptr<Device>> devices_;
    Observer *observer_ = nullptr;
};

// For the memory check: so many bytes were asked for, the memory goes back, the call works on so many.
inline void note_allocation(Engine &engine, void *address, std::uint64_t size,
                            MemoryCheck::Pages pages = MemoryCheck::Pages::Own) {
    if (MemoryCheck *check = engine.memory_check()) {
        check->allocated(address, size, engine.memory().find(address)->size, pages);
    }
}

inline void note_release(Engine &engine, const void *address) {
    if (MemoryCheck *check = engine.memory_check()) {
        check->freed(address);
    }
}

// Memory of the user's own is not known, whatever was at its addresses before.
inline void note_use(Engine &engine, const void *address, std::uint64_t size, const char *name) {
    MemoryCheck *check = engine.memory_check();
    if (check != nullptr && engine.memory().locate(address).place != Place::Unregistered) {
        check->used(address, size, name);
    }
}

// Works without the lock, on memory that nobody may free meanwhile. Does not throw.
template <class Work>
void work_unlocked(Engine &engine, Lock &lock, Work work) {
    lock.unlock();
    work();
    lock = engine.acquire();
    if (MemoryCheck *check = engine.memory_check()) {
        check->end_uses();
    }
}

// What the memory check knows of an address that is not live, to be put behind the text of a failure.
inline std::string what_is_known_of(Engine &engine, const void *address) {
    const MemoryCheck *check = engine.memory_check();
    return check == nullptr ? std::string() : check->explain(address);
}

}  // namespace aclsim
