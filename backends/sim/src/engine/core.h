// SPDX-License-Identifier: Apache-2.0
// Core of the engine: submits tasks, moves streams forward, and lets threads wait for them.
//
// Life of a task: an API call takes the lock and submit()s a task. If the stream is idle, the task starts at once; a
// record or a satisfied wait is then complete when the call returns. Otherwise the task is queued. The thread that
// completes a task (the submitter, a worker, or a host thread that helps) moves its stream forward, and also every
// stream that the completion released.
//
// A shard, the lock of the stream's device, is sufficient for all of this as long as a task concerns nothing outside
// that device (Task::stays_in_shard). A stream whose head concerns more is held back; the thread that leaves the shard
// takes the global lock and resumes the stream. No thread ever holds two shards.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/call_order.h"
#include "engine/clock.h"
#include "engine/deferred_work.h"
#include "engine/executor.h"
#include "engine/hooks.h"
#include "engine/host_wait.h"
#include "engine/lock.h"
#include "engine/observer.h"
#include "engine/registry.h"
#include "engine/scheduler.h"
#include "engine/spinner.h"
#include "engine/stream.h"
#include "engine/stream_order.h"
#include "engine/thread.h"
#include "engine/timer.h"
#include "engine/timing_model.h"
#include "support/config.h"
#include "support/error.h"
#include "support/expect.h"

namespace aclsim {

class Core {
  public:
    Core(Clock &clock, Scheduler &scheduler);
    Core(const Core &) = delete;
    Core &operator=(const Core &) = delete;

    Lock acquire() ACQUIRE(engine_lock) { return Lock(shards_); }
    // Takes the shard of the object, or the global lock if there is only one shard.
    Lock acquire_shard_of(void *handle) ACQUIRE(engine_lock) NO_THREAD_SAFETY_ANALYSIS {
        return acquire_shard(Registry::shard_of(handle));
    }
    // Returns the shard number for a device that is used for the first time.
    std::uint32_t assign_shard() REQUIRES(engine_lock);
    Lock acquire_shard(std::uint32_t shard) ACQUIRE(engine_lock) NO_THREAD_SAFETY_ANALYSIS {
        return unlikely(shards_.count() > 1) ? Lock(shards_, shard) : Lock(shards_);
    }
    // Reacquires a lock that was unlocked, and upgrades a shard to the global lock if the shard no longer suffices.
    void lock_again(Lock &lock) ACQUIRE(engine_lock) NO_THREAD_SAFETY_ANALYSIS {
        lock.lock_again();
        check_scope(lock);
    }
    // Does the same, but only if the lock is free now.
    bool try_lock_again(Lock &lock) NO_THREAD_SAFETY_ANALYSIS {
        const bool is_locked = lock.try_lock_again();
        if (is_locked) {
            check_scope(lock);
        }
        return is_locked;
    }
    // Downgrades the global lock to the shard if that is sufficient and there are several shards; upgrades a shard that
    // no longer suffices; otherwise keeps the lock.
    void prefer_shard(Lock &lock, std::uint32_t shard) REQUIRES(engine_lock) {
        if (lock.is_global() && shards_.count() > 1 && is_undisturbed()) {
            lock.downgrade(shard);
        }
        check_scope(lock);
    }
    // Replaces a shard by the global lock, and resumes the streams that were held back in the shard.
    void upgrade_to_global(Lock &lock) REQUIRES(engine_lock);
    // Call before releasing a shard: resumes the streams that were held back in it.
    void leave_shard(Lock &lock) REQUIRES(engine_lock) {
        if (!lock.is_global() && unlikely(!work().held.empty())) {
            upgrade_to_global(lock);
        }
    }
    // Returns true if the lock held by the calling thread covers the stream.
    static bool covers(const Stream &stream) REQUIRES(engine_lock) {
        const std::uint32_t held = Lock::held_shard();
        return held == Shards::kGlobal || held == shard_of(stream);
    }
    static std::uint32_t shard_of(const Stream &stream) { return Registry::shard_of(stream.handle()); }

    // --- submitting tasks and moving streams forward; requires the engine lock ------------------------------------
    // Checks the preconditions of every submission. While the queue is full it waits and releases the lock. Fails if
    // the stream's group rejects tasks, or if the stream was destroyed during the wait. Returns true if it waited:
    // state that the caller read before may have changed.
    bool admit(Lock &lock, Stream &stream) REQUIRES(engine_lock) {
        if (!stream.group.accepts(stream)) {
            stream.group.require_accepting(stream);
        }
        return must_look_closely(stream) ? admit_slowly(lock, stream) : false;
    }
    // Returns true if the stream's queue is full.
    static bool is_full(const Stream &stream) REQUIRES(engine_lock) {
        return stream.state != Stream::State::Idle && stream.queue.size() >= config().product->queue_depth;
    }
    // Returns true if a task submitted now would start before submit() returns.
    bool starts_at_once(const Stream &stream) const REQUIRES(engine_lock) {
        return lets_tasks_start_ && is_free(stream);
    }
    // Starts or queues a task on a stream that has just admitted it. Never waits.
    template <class T>
    [[gnu::always_inline]] inline void submit(Stream &stream, T task) REQUIRES(engine_lock);
    // Queues a task that a model creates; the stream accepts tasks from that model only.
    void append(Stream &stream, std::unique_ptr<Task> task, const Origin &origin) REQUIRES(engine_lock);
    // Keeps an idle stream from starting tasks until resume(), so that more tasks can be queued first.
    static void suspend(Stream &stream) REQUIRES(engine_lock) {
        if (stream.state == Stream::State::Idle) {
            stream.state = Stream::State::Held;
        }
    }
    void resume(Stream &stream) REQUIRES(engine_lock) {
        if (stream.state == Stream::State::Held) {  // otherwise it was aborted in the meantime
            stream.state = Stream::State::Idle;
            make_runnable(stream);
        }
    }
    // Returns true if so many tasks were processed that other threads must get the lock before more is done. Always
    // false under a deterministic schedule.
    bool are_many(std::size_t tasks) const REQUIRES(engine_lock) {
        return tasks >= kTasksAtOnce && scheduler_.takes_first();
    }
    static Origin present_call() { return {thread_number(), current_function(), /*is_calling=*/true}; }
    // Schedules another look at the stream's head, because the condition it waited for may hold now.
    void make_runnable(Stream &stream) REQUIRES(engine_lock) { work().runnable.push(stream); }
    // Records that the profiled device has finished the work that the stream began.
    void end_timing(Stream &stream) REQUIRES(engine_lock);
    // Moves all runnable streams forward. The worklist is empty whenever the lock is free.
    void pump() REQUIRES(engine_lock) {
        if (!work().runnable.empty()) {
            look_at_runnable();
        }
    }
    // Runs the head of a stream, which is in no ready queue, on the calling thread, without the lock. On return, a
    // shard may have been upgraded to the global lock.
    void run_head(Lock &lock, Stream &stream, Executor::Server &server) REQUIRES(engine_lock);
    // Drops all queued tasks. Threads that wait for the stream fail with the reason.
    void drop_queue(Stream &stream, aclError reason) REQUIRES(engine_lock);
    // Does the same, but cancels only the head. The caller cancels the rest, now or in slices.
    TaskQueue take_queue(Stream &stream, aclError reason) REQUIRES(engine_lock);
    void cancel_dropped(Stream &stream, Task &task, aclError reason) REQUIRES(engine_lock);
    // Waits for the running task; the stream accepts no tasks meanwhile. Returns false if the deadline has passed. Does
    // not wait for a task that the calling thread itself runs.
    bool await_running(Lock &lock, Stream &stream, Time deadline) REQUIRES(engine_lock);
    // Combines drop_queue() and await_running(); the stream is empty afterwards.
    bool drop_tasks(Lock &lock, Stream &stream, aclError reason, Time deadline) REQUIRES(engine_lock);
    // Implements aclsimHold.
    void hold(bool on) REQUIRES(engine_lock);
    bool is_held() const REQUIRES(engine_lock) { return is_held_; }
    // Asks the scheduler again about one stream that it has held back; other streams stay held. Requires the global
    // lock.
    void start_held(Stream &stream) REQUIRES(engine_lock);

    // --- waiting -------------------------------------------------------------------------------------------------
    enum class Waited : std::uint8_t {
        Done,
        TimedOut,
        Aborted,
        Stopped,  // a task failed in STOP mode: the awaited task will not run
    };
    // Waits until the task with that sequence number is done and the consequences of its failure are settled. Without a
    // deadline, the calling thread helps to run the tasks it waits for; with a deadline, it runs only brief ones,
    // because the duration of others is unknown. Given a check, fails when the check does, and runs no kernels that may
    // take long, because it could not check while one runs. Runs any task of an executor that can get no thread. `how`
    // is the reason reported to observers for the knowledge gained.
    Waited wait_for(Lock &lock, Ref<Stream> stream, std::uint64_t sequence, Time deadline, WaitCheck *check = nullptr,
                    HostSync how = HostSync::Synchronized) REQUIRES(engine_lock);
    // Completes wait_for() at once for a stream that is done and accepts tasks, in a group without failures to report.
    // Returns false if wait_for() has more to do.
    bool settle_at_once(Stream &stream) const REQUIRES(engine_lock) {
        const bool has_more =
            stream.group.has_failures || !stream.group.accepts(stream) || !stream.is_done(stream.submitted);
        if (has_more || open_reports_ > 0) {
            return false;
        }
        stream.synchronized = stream.submitted;
        note_learned(stream.newest(), HostSync::Synchronized);
        return true;
    }

    // --- work that must not be done under the lock ---------------------------------------------------------------
    void defer(std::unique_ptr<DeferredWork> work) REQUIRES(engine_lock) { deferred_.add(std::move(work)); }
    bool has_deferred() const REQUIRES(engine_lock) { return !deferred_.empty(); }
    void do_deferred(Lock &lock) REQUIRES(engine_lock) { deferred_.do_all(lock); }
    DeferredQueue &deferred() REQUIRES(engine_lock) { return deferred_; }

    // --- parts ---------------------------------------------------------------------------------------------------
    Clock &clock() { return clock_; }
    Scheduler &scheduler() { return scheduler_; }
    Spinner &spinner() { return spinner_; }
    Registry &registry() { return registry_; }
    const Observers &observers() const { return observers_; }
    StreamOrder &stream_order() { return stream_order_; }
    CallOrder &call_order() REQUIRES(engine_lock) { return call_order_; }
    Timer &timer() { return timer_; }
    TimingModel &timing() { return timing_; }
    // Returns the executor that must run the stream's head.
    Executor &executor_of(const Stream &stream) const REQUIRES(engine_lock) {
        Executor *const own = stream.queue.front()->executor();
        return own != nullptr ? *own : workers_of(stream);
    }
    Executor &workers_of(const Stream &stream) const REQUIRES(engine_lock) { return *workers_[shard_of(stream)]; }
    // Creates an executor for streams of that shard.
    std::shared_ptr<Executor> create_executor(std::uint32_t shard, std::uint32_t threads, bool can_be_helped)
        REQUIRES(engine_lock);
    void add_observer(Observer &observer) REQUIRES(engine_lock);
    void remove_observer(Observer &observer) REQUIRES(engine_lock);
    void set_filter(TaskFilter *filter) REQUIRES(engine_lock);  // nullptr: none
    void set_failure_handler(FailureHandler &handler) REQUIRES(engine_lock) { failure_handler_ = &handler; }
    // The failure handler notes what it has to do for a failure, and that this is done.
    void begin_report() REQUIRES(engine_lock) { ++open_reports_; }
    void end_report() REQUIRES(engine_lock) { --open_reports_; }
    bool has_open_reports() const REQUIRES(engine_lock) { return open_reports_ > 0; }
    // Returns true if a query must not show yet that the stream's tasks are complete: one has failed, and the failure
    // has not been reported. Asked only if there are open reports.
    bool is_reporting(const Stream &stream) const REQUIRES(engine_lock) {
        return failure_handler_->is_reporting(stream);
    }
    InterruptCheck interrupt_check() const REQUIRES(engine_lock) { return interrupt_check_; }  // nullptr: none
    void set_interrupt_check(InterruptCheck check) REQUIRES(engine_lock) { interrupt_check_ = check; }
    void set_stall_reporter(StallReporter &reporter) REQUIRES(engine_lock) { stall_reporter_ = &reporter; }

    // --- for observers: the work of the calling thread's present call, and the knowledge it gains -----------------
    void note_access(const Access &access) REQUIRES(engine_lock) {
        if (observers_.want(kMemory)) {
            report_access(access);
        }
    }
    // Reports that the call has changed a task of a graph, which keeps the new task from now on.
    void note_changed(const Stream &stream, const Task &former, const Task &now) REQUIRES(engine_lock);
    // Notes that the call submits code of the program, which has not declared its accesses.
    void note_unknown_accesses() REQUIRES(engine_lock);
    // Begins a batch: tasks that the call submits from now on are unordered.
    void note_batch() REQUIRES(engine_lock);
    // The next accesses of the present call are those of the next item of its batch.
    void note_item() REQUIRES(engine_lock);
    void note_done_with_memory() REQUIRES(engine_lock);  // the call no longer uses its memory
    // Reports that a starting task has read its operands from memory. Observers know the task by the queued task that a
    // model executes it as; a task that starts at once is in no queue.
    void note_found(const Stream &stream, const Task &task, const Access &access, bool is_there) const
        REQUIRES(engine_lock) {
        const Task *const head = stream.queue.front();
        observers_.report<kMemory>(&Observer::accessed, stream, head != nullptr ? *head : task, access, is_there);
    }
    // Reports the begin of a task with kNotesBegin.
    void note_begun(const Stream &stream, const Task &task) const REQUIRES(engine_lock) {
        const Task *const head = stream.queue.front();
        observers_.report<kTasks>(&Observer::started, stream, head != nullptr ? *head : task, thread_number());
    }
    void note_edge(const Edge &edge) const REQUIRES(engine_lock) {
        observers_.report<kOrder>(&Observer::ordered, edge);
    }
    // Reports a wait that any of the shares satisfy which add up to what the edge needs, by their calls, and the tasks
    // that did so in this run. Without shares these alone count.
    void note_edges(const std::vector<Share> &shares, const std::vector<Point> &taken, Edge edge) const
        REQUIRES(engine_lock);
    void note_learned(const Point &task, HostSync how) const REQUIRES(engine_lock) {
        if (observers_.want(kOrder) && task.stream != 0) {
            observers_.report<kOrder>(&Observer::host_learned, thread_number(), task, how);
        }
    }
    void note_learned_of(const Point &task, std::uint64_t process) const REQUIRES(engine_lock) {
        observers_.report<kOrder>(&Observer::host_learned_of_process, thread_number(), task, process);
    }
    void note_queried(const Point &task, bool is_quiet = false) const REQUIRES(engine_lock) {
        note_learned(task, is_quiet || t_thread.asks_quietly ? HostSync::QueriedQuietly : HostSync::Queried);
    }
    // Returns true if an observer or the scheduler wants to know about queries of threads and their answers.
    bool hears_of_queries() const REQUIRES(engine_lock) { return unlikely(hears_of_queries_); }
    void note_polled(const Point &task) REQUIRES(engine_lock) {
        if (observers_.want(kOrder) && task.stream != 0) {
            observers_.report<kOrder>(&Observer::host_polled, thread_number(), task);
        }
        if (unlikely(!scheduler_.takes_first())) {
            scheduler_.host_polled(thread_number(), task);
        }
    }
    class Call;  // scope of one call

    // --- waiting host threads; see HostWait ----------------------------------------------------------------------
    const std::vector<HostWait *> &host_waits() const REQUIRES(engine_lock) { return host_waits_; }
    void begin_wait(HostWait &wait) REQUIRES(engine_lock);
    void end_wait(HostWait &wait) REQUIRES(engine_lock);
    StallReporter &stall_reporter() REQUIRES(engine_lock) { return *stall_reporter_; }
    // Counts the steps that may end or begin a deadlock.
    std::uint64_t changes() const REQUIRES(engine_lock) { return shards_.changes(); }
    // Register and unregister a thread of the simulator.
    void begin_own_thread() REQUIRES(engine_lock);
    void end_own_thread() REQUIRES(engine_lock) { --own_threads_; }
    static bool is_own_thread();
    std::uint32_t own_threads() const REQUIRES(engine_lock) { return own_threads_; }

    // Returns true if every call does only its own work: no task is held back or delayed, and none has failed.
    bool is_undisturbed() const REQUIRES(engine_lock) {
        return lets_tasks_start_ && !stream_order_.is_noting() && open_reports_ == 0;
    }

  private:
    static constexpr std::size_t kTasksAtOnce = 512;  // about 200 µs

    class GoOn;
    // Work to be finished before the lock is released; one list per shard, and one for the global lock.
    struct alignas(64) Worklist {
        Worklist() {  // reserves room for the usual maximum: ending a task must not fail for lack of memory
            ended.reserve(kRoom);
        }
        static constexpr std::size_t kRoom = 64;
        RunnableList runnable;
        std::vector<Stream *> ended;  // streams whose head has run
        // Streams whose head may not start now. In a shard: streams whose head needs the global lock, or that yield to
        // other threads after many tasks.
        HeldList held;
    };
    Worklist &work() REQUIRES(engine_lock) { return worklists_[Lock::held_shard()]; }
    void add_workers(std::uint32_t shard) REQUIRES(engine_lock);
    void release_held(HeldList &held) REQUIRES(engine_lock);
    void check_scope(Lock &lock) REQUIRES(engine_lock) {
        if (unlikely(!lock.is_global()) && !is_undisturbed()) {
            upgrade_to_global(lock);
        }
    }
    void note_change(const Stream &stream) REQUIRES(engine_lock) { shards_.note_change(shard_of(stream)); }
    void note_who_disturbs() REQUIRES(engine_lock) {
        lets_tasks_start_ = filter_ == nullptr && !timing_.is_on() && !is_held_ && scheduler_.takes_first();
        starts_untold_ = lets_tasks_start_ && !observers_.want(kTasks | kMemory);
        hears_of_queries_ = observers_.want(kOrder) || !scheduler_.takes_first();
    }
    static bool is_free(const Stream &stream) REQUIRES(engine_lock) {
        return stream.state == Stream::State::Idle && stream.executes_tasks;
    }
    bool may_start(Stream &stream, const Task &head) REQUIRES(engine_lock) {
        if (Lock::held_shard() != Shards::kGlobal) {
            return head.stays_in_shard(stream);
        }
        return !is_held_ && (scheduler_.takes_first() || scheduler_.may_start(stream));
    }
    bool must_look_closely(const Stream &stream) const REQUIRES(engine_lock) {
        return is_full(stream) || !stream.executes_tasks || timing_.is_on();
    }
    bool admit_slowly(Lock &lock, Stream &stream) REQUIRES(engine_lock);
    template <class T>
    [[gnu::noinline]] std::unique_ptr<Task> kept(Stream &stream, T &&task)
        REQUIRES(engine_lock) {  // keeps this code out of the path of tasks that end at once
        try {
            return std::make_unique<T>(std::forward<T>(task));
        } catch (const std::bad_alloc &) {
            withdraw(stream, task);
            throw;
        }
    }
    // Undoes the submission of the newest task, which is not in the queue, for lack of memory.
    void withdraw(Stream &stream, Task &task) REQUIRES(engine_lock);
    void submit_slowly(Stream &stream, std::unique_ptr<Task> task) REQUIRES(engine_lock);
    void submit_started(Stream &stream, std::unique_ptr<Task> task, Start start) REQUIRES(engine_lock);
    // Submits a task that starts at once, and reports it to observers. Not a template: a second call of start() for
    // each type would keep the call in submit() from being inlined.
    using Keep = std::unique_ptr<Task> (*)(Core &, Stream &, Task &);
    void submit_told(Stream &stream, Task &task, Keep keep) REQUIRES(engine_lock);
    template <class T>
    static std::unique_ptr<Task> keep(Core &core, Stream &stream, Task &task) REQUIRES(engine_lock) {
        return core.kept(stream, std::move(static_cast<T &>(task)));
    }
    // Describes the submission of a task by the present call.
    static Submission describe_submission() REQUIRES(engine_lock);
    static void hand_over_accesses() REQUIRES(engine_lock);  // to the submitted task
    void report_submitted(const Moment &now, const Stream &stream, const Task &task) REQUIRES(engine_lock);
    void report_access(const Access &access) REQUIRES(engine_lock);
    // Report one step; all facts of a step have the same time.
    void report_start(const Moment &now, const Stream &stream, const Task &task, Start start) REQUIRES(engine_lock);
    void report_done(const Moment &now, const Stream &stream, const Task &task) REQUIRES(engine_lock);
    Stream &take(Choice choice, std::vector<Stream *> &candidates) REQUIRES(engine_lock);
    Start start_task(Stream &stream, Task &task) REQUIRES(engine_lock);
    void complete(Stream &stream, Task &task) REQUIRES(engine_lock) {
        timer_.disarm(stream);
        // An abort marks the tasks dropped behind a running task as done together with that task.
        complete_up_to(std::max(task.sequence, stream.dropped.load(std::memory_order_relaxed)), stream, task);
    }
    [[gnu::always_inline]] void complete_up_to(std::uint64_t done, Stream &stream, Task &task) REQUIRES(engine_lock) {
        note_change(stream);
        stream.completed.store(done, std::memory_order_release);
        if (task.has_failed()) {
            note_failure(stream, task);
        }
        if (stream.has_sleepers && done >= stream.wake_at) {
            wake_sleepers(stream);
        }
    }
    static void wake_sleepers(Stream &stream) REQUIRES(engine_lock) {
        stream.has_sleepers = false;
        stream.wake_at = UINT64_MAX;
        stream.progress.notify_all();
    }
    static void fail_for_memory(Stream &stream, Task &task) REQUIRES(engine_lock);
    void note_failure(Stream &stream, Task &task) REQUIRES(engine_lock);
    void park(Stream &stream, Start start) REQUIRES(engine_lock);
    bool must_await_start(Stream &stream, const Task &head) REQUIRES(engine_lock);
    bool await_timing(Stream &stream, Stream::State state) REQUIRES(engine_lock);
    std::size_t advance(Stream &stream) REQUIRES(engine_lock);  // returns the number of completed tasks
    void hold_back(Stream &stream) REQUIRES(engine_lock);
    bool let_others_in(Stream &stream) REQUIRES(engine_lock);
    void look_at_runnable() REQUIRES(engine_lock);
    void end_run(Lock &lock, Stream &stream, Executor::Server &server) ACQUIRE(engine_lock) NO_THREAD_SAFETY_ANALYSIS;
    void end_heads() REQUIRES(engine_lock);
    void end_head(Stream &stream) REQUIRES(engine_lock);
    // Waits until the task is done.
    [[gnu::noinline]] Waited await_task(Lock &lock, Stream &stream, std::uint64_t sequence, Time deadline,
                                        WaitCheck *check) REQUIRES(engine_lock);
    bool help(Lock &lock, Stream &stream, Executor::Server &server, std::optional<HostWait> &wait, Time deadline,
              const WaitCheck *check) REQUIRES(engine_lock);
    struct Helpable {
        Stream *stream = nullptr;      // nullptr: none
        bool is_out_of_sight = false;  // a candidate may exist outside the shard
    };
    Helpable find_helpable(Stream &stream, Time deadline, const WaitCheck *check) REQUIRES(engine_lock);
    bool watch(Lock &lock, Stream &stream, std::uint64_t sequence, std::optional<HostWait> &wait, Time deadline,
               WaitCheck *check) REQUIRES(engine_lock);

    Shards shards_;
    std::uint32_t sharded_devices_ GUARDED_BY(engine_lock) = 0;
    Clock &clock_;
    Scheduler &scheduler_;
    Spinner spinner_;
    CallOrder call_order_ GUARDED_BY(engine_lock);  // outlives the objects in the registry
    Registry registry_;
    Observers observers_;
    StreamOrder stream_order_;
    Timer timer_;
    TimingModel timing_;
    std::vector<std::weak_ptr<Executor>> executors_ GUARDED_BY(engine_lock);
    std::array<std::shared_ptr<Executor>, Shards::kMost> workers_;  // by shard; null for unused shards
    TaskFilter *filter_ GUARDED_BY(engine_lock) = nullptr;
    FailureHandler *failure_handler_ GUARDED_BY(engine_lock) = nullptr;
    std::size_t open_reports_ GUARDED_BY(engine_lock) = 0;
    StallReporter *stall_reporter_ GUARDED_BY(engine_lock) = nullptr;
    InterruptCheck interrupt_check_ GUARDED_BY(engine_lock) = nullptr;

    std::array<Worklist, Shards::kMost + 1> worklists_ GUARDED_BY(engine_lock);
    bool is_held_ GUARDED_BY(engine_lock) = false;
    // Set if tasks are neither replaced, delayed, reordered nor held back: each starts as soon as it can.
    bool lets_tasks_start_ GUARDED_BY(engine_lock) = false;
    bool starts_untold_ GUARDED_BY(engine_lock) = false;  // and no observer wants to know about it
    bool hears_of_queries_ GUARDED_BY(engine_lock) = false;
    DeferredQueue deferred_{*this};
    std::atomic<std::uint64_t> batches_{0};
    bool is_to_go_on_ GUARDED_BY(engine_lock) = false;  // a GoOn is deferred for globally held streams
    std::vector<HostWait *> host_waits_ GUARDED_BY(engine_lock);
    std::uint32_t own_threads_ GUARDED_BY(engine_lock) = 0;
};

// Scope of one call of the program, for observers. Calls nest, because callbacks make calls.
class Core::Call {
  public:
    explicit Call(Core &core) REQUIRES(engine_lock)
        : core_(core.observers_.want(kCalls | kMemory | kTasks) ? &core : nullptr) {
        if (core_ != nullptr) {
            begin();
        }
    }
    ~Call() REQUIRES(engine_lock) {
        if (core_ != nullptr) {
            end();
        }
    }
    Call(const Call &) = delete;
    Call &operator=(const Call &) = delete;

  private:
    friend class Core;
    void begin() REQUIRES(engine_lock);
    void end() REQUIRES(engine_lock);
    static inline thread_local Call *t_newest_ = nullptr;

    // All members but the first are valid only if there is a core.
    Core *const core_;
    Call *outer_;
    std::vector<Access> *accesses_;  // nullptr: none
    std::uint64_t batch_;
    std::uint32_t item_;
    bool are_accesses_known_;
    bool uses_memory_;  // observers know of accesses that no task has taken over
};

template <class T>
void Core::submit(Stream &stream, T task) {
    task.sequence = ++stream.submitted;
    task.submitter = thread_number();
    note_submission(stream.handle(), task.sequence, stream.id);
    const bool needs_more = Lock::held_shard() != Shards::kGlobal && !task.stays_in_shard(stream);
    if (needs_more || !starts_untold_ || !is_free(stream)) {
        if (!needs_more && starts_at_once(stream)) {
            submit_told(stream, task, &keep<T>);
        } else {
            submit_slowly(stream, kept(stream, std::move(task)));
        }
        return;
    }
    Start start{};
    try {
        start = task.start(stream);
    } catch (const std::bad_alloc &) {
        withdraw(stream, task);
        throw;
    }
    if (start == Start::Done || (start == Start::Run && task.run_at_once())) {
        complete_up_to(task.sequence, stream, task);  // fast path: no allocation, no report to observers
    } else {
        submit_started(stream, kept(stream, std::move(task)), start);
    }
    pump();
}

}  // namespace aclsim
