// SPDX-License-Identifier: Apache-2.0
#include "engine/core.h"

#include <algorithm>
#include <new>
#include <utility>

#include "support/error.h"
#include "support/text.h"
#include "support/thread_state.h"
#include "support/uncancelled.h"

namespace aclsim {
namespace {

constexpr int kHelpDepth = 64;  // streams followed along causes before a helper gives up

}  // namespace

Core::Core(Clock &clock, Scheduler &scheduler)
    : clock_(clock),
      scheduler_(scheduler),
      spinner_(host_clock(), std::thread::hardware_concurrency()),
      observers_(clock),
      timer_(*this),
      timing_(clock, config().profile.get()) {
    add_workers(0);
    note_who_disturbs();
}

void Core::add_observer(Observer &observer) {
    observers_.add(observer);
    note_who_disturbs();
}

void Core::remove_observer(Observer &observer) {
    observers_.remove(observer);
    note_who_disturbs();
}

void Core::set_filter(TaskFilter *filter) {
    filter_ = filter;
    note_who_disturbs();
}

std::uint32_t Core::assign_shard() {
    const std::uint32_t number = sharded_devices_++ % Shards::kMost;
    if (number == shards_.count()) {
        add_workers(number);
        shards_.add();
    }
    return number;
}

void Core::upgrade_to_global(Lock &lock) {
    if (lock.is_global()) {
        return;
    }
    Worklist &left = work();
    lock.upgrade_to_global();
    release_held(left.held);
    pump();
}

void Core::release_held(HeldList &held) {
    while (!held.empty()) {
        resume(*held.pop());
    }
}

void Core::add_workers(std::uint32_t shard) {
    workers_[shard] = create_executor(shard, config().workers, /*can_be_helped=*/true);
}

std::shared_ptr<Executor> Core::create_executor(std::uint32_t shard, std::uint32_t threads, bool can_be_helped) {
    auto executor = std::make_shared<Executor>(*this, shard, threads, can_be_helped);
    executors_.erase(std::remove_if(executors_.begin(), executors_.end(), [](const auto &it) { return it.expired(); }),
                     executors_.end());
    executors_.push_back(executor);
    return executor;
}

// --- submitting ------------------------------------------------------------------------------------------------------

bool Core::admit_slowly(Lock &lock, Stream &stream) {
    if (timing_.is_on()) {
        timer_.start();
    }
    if (stream.keeper != nullptr) {
        stream.keeper->require_open(stream);
    }
    if (stream.queue.size() < config().product->queue_depth) {
        return false;
    }
    if (!stream.executes_tasks) {
        fail(ACL_ERROR_RT_STREAM_TASK_FULL, "stream %u keeps its tasks, and its queue is full", stream.id);
    }
    const Ref<Stream> keep(stream);
    const std::uint64_t enough = stream.submitted + 1 - config().product->queue_depth;
    InterruptPoll poll(*this, ACL_ERROR_RT_STREAM_TASK_FULL,
                       "a place in the queue of stream " + std::to_string(stream.id));
    wait_for(lock, keep, enough, kNever, interrupt_check_ != nullptr ? &poll : nullptr, HostSync::QueueRoom);
    if (stream.destroyer != std::thread::id()) {  // destruction waits only for tasks submitted before it
        fail(ACL_ERROR_RT_INVALID_HANDLE, "the stream was destroyed while this call waited for a place in its queue");
    }
    admit(lock, stream);
    return true;
}

void Core::submit_slowly(Stream &stream, std::unique_ptr<Task> task) {
    note_change(stream);
    try {
        if (filter_ != nullptr) {
            filter_->filter(stream, task);
        }
        report_submitted(observers_.moment(), stream, *task);
        if (stream.executes_tasks) {  // a task kept for a model is queued when the model executes it
            task->note_queued(stream);
        }
    } catch (const std::bad_alloc &) {
        withdraw(stream, *task);
        throw;
    }
    stream.queue.push(std::move(task));
    if (stream.state == Stream::State::Idle) {
        advance(stream);
    }
    pump();
}

void Core::submit_started(Stream &stream, std::unique_ptr<Task> task, Start start) {
    stream.queue.push(std::move(task));
    park(stream, start);
}

void Core::withdraw(Stream &stream, Task &task) {
    task.fail(stream);
    timer_.disarm(stream);
    --stream.submitted;
}

void Core::append(Stream &stream, std::unique_ptr<Task> task, const Origin &origin) {
    task->sequence = ++stream.submitted;
    note_change(stream);
    observers_.report<kTasks>(&Observer::submitted, stream, *task, Submission{origin, kNoAccesses});
    stream.queue.push(std::move(task));
}

// --- moving forward --------------------------------------------------------------------------------------------------

Stream &Core::take(Choice choice, std::vector<Stream *> &candidates) {
    if (scheduler_.takes_first()) {
        Stream *const first = candidates.front();
        candidates.erase(candidates.begin());
        return *first;
    }
    Stream &chosen = scheduler_.pick(choice, candidates);
    candidates.erase(std::find(candidates.begin(), candidates.end(), &chosen));
    return chosen;
}

Start Core::start_task(Stream &stream, Task &task) {
    try {
        return task.start(stream);
    } catch (const std::bad_alloc &) {
        fail_for_memory(stream, task);
        return Start::Done;
    }
}

// Fails the task; the stream continues with the next one.
void Core::fail_for_memory(Stream &stream, Task &task) {
    task.result = ACL_ERROR_RT_MEMORY_ALLOCATION;
    task.fail(stream);
}

void Core::note_failure(Stream &stream, Task &task) {
    stream.aborts += task.was_cut_short ? 1 : 0;
    if (task.result == ACL_SUCCESS) {
        return;
    }
    stream.failure = task.result;
    stream.failure_reason = text_if_memory([&]() REQUIRES(engine_lock) { return task.details().failure_reason(); });
    stream.group.has_failures = true;
    if (stream.group.stops_on_failure && stream.group.failure == ACL_SUCCESS) {
        stream.group.failure_reason =
            text_if_memory([&]() REQUIRES(engine_lock) { return std::string(stream.failure_reason); });
        stream.group.stop(task.result);
    }
    failure_handler_->task_failed(stream, task);
}

void Core::park(Stream &stream, Start start) {
    note_change(stream);
    if (timing_.is_on() && start == Start::Run) {
        timing_.begin(stream, *stream.queue.front());
    }
    stream.timing.is_late = false;
    if (start == Start::Blocked) {
        stream.state = Stream::State::Blocked;
    } else {
        executor_of(stream).enqueue(stream);
    }
}

// Delays the start of a record or a wait: both end when they start, so they must start when they would end on the
// device.
bool Core::must_await_start(Stream &stream, const Task &head) {
    const Cost cost = head.work().cost;
    if (cost != Cost::Record && cost != Cost::Wait) {
        return false;
    }
    timing_.begin(stream, head);
    if (await_timing(stream, Stream::State::Held)) {
        return true;
    }
    if (cost == Cost::Record) {
        timing_.stamp(stream);
    }
    return false;
}

bool Core::await_timing(Stream &stream, Stream::State state) {
    const bool was_awaited = std::exchange(stream.timing.is_awaited, timing_.is_busy(stream));
    if (stream.timing.is_awaited) {
        try {
            timer_.arm(stream, stream.timing.busy_until);
            stream.state = state;
            stream.timing.known = stream.submitted;
        } catch (const std::bad_alloc &) {  // too early instead of never
            stream.timing.is_awaited = false;
        }
    } else if (was_awaited) {
        timer_.disarm(stream);  // the head may set a time limit itself
    }
    return stream.timing.is_awaited;
}

void Core::end_timing(Stream &stream) {
    stream.timing.is_awaited = false;
    stream.timing.is_late = true;
    if (stream.state == Stream::State::Running) {
        work().ended.push_back(&stream);
        end_heads();
    } else {
        make_runnable(stream);
    }
}

// Lets other threads take the lock before the streams that were held back continue.
class Core::GoOn final : public DeferredWork {
  public:
    explicit GoOn(Core &core) : core_(core) {}
    void work() noexcept override {}
    bool moves_streams() const override { return true; }
    void finish() override REQUIRES(engine_lock) {
        core_.is_to_go_on_ = false;
        core_.release_held(core_.work().held);
    }

  private:
    Core &core_;
};

void Core::hold_back(Stream &stream) {
    stream.state = Stream::State::Held;
    work().held.push(stream);
}

// Holds the stream back until other threads have had the lock. In a shard, held streams continue when a thread leaves
// the shard. Returns false without memory to hold it back; the stream must continue now.
bool Core::let_others_in(Stream &stream) {
    if (Lock::held_shard() == Shards::kGlobal && !is_to_go_on_) {
        std::unique_ptr<GoOn> go_on(new (std::nothrow) GoOn(*this));
        if (go_on == nullptr) {
            return false;
        }
        defer(std::move(go_on));
        is_to_go_on_ = true;
    }
    hold_back(stream);
    return true;
}

std::size_t Core::advance(Stream &stream) {
    stream.state = Stream::State::Idle;
    const auto may_go_on = [&]() REQUIRES(engine_lock) {
        return stream.is_active() && stream.group.failure == ACL_SUCCESS;
    };
    std::size_t done = 0;
    for (; Task *head = may_go_on() ? stream.queue.front() : nullptr; ++done) {
        if (!may_start(stream, *head)) {
            hold_back(stream);
            return done;
        }
        if (are_many(done) && let_others_in(stream)) {
            return done;
        }
        if (timing_.is_on() && must_await_start(stream, *head)) {
            return done;
        }
        const Start start = start_task(stream, *head);
        const bool is_done = start == Start::Done || (start == Start::Run && lets_tasks_start_ && head->run_at_once());
        if (!is_done) {
            report_start(observers_.moment(), stream, *head, start);
            park(stream, start);
            return done;
        }
        // The event that a task waited for may have come after the device was done: only a record keeps the stream
        // late.
        stream.timing.is_late = stream.timing.is_late && head->work().cost == Cost::Record;
        const auto ended = stream.queue.pop();
        complete(stream, *ended);
        report_done(observers_.moment(), stream, *ended);
    }
    stream.timing.is_late = false;
    return done;
}

void Core::look_at_runnable() {
    std::size_t done = 0;
    const auto look_at = [&](Stream &stream) REQUIRES(engine_lock) {
        if (stream.state == Stream::State::Ready || stream.state == Stream::State::Running) {
            return;  // the list may contain it twice
        }
        const bool is_held = are_many(done) && stream.queue.front() != nullptr && let_others_in(stream);
        if (!is_held) {
            done += advance(stream);
        }
    };
    RunnableList &runnable = work().runnable;
    while (!runnable.empty()) {  // advance() may append
        if (scheduler_.takes_first()) {
            look_at(runnable.pop());
        } else {
            Stream &chosen = scheduler_.pick(Choice::Runnable, runnable.all());
            runnable.remove(chosen);
            look_at(chosen);
        }
    }
}

void Core::run_head(Lock &lock, Stream &stream, Executor::Server &server) {
    const Ref<Stream> keep(stream);
    const Ref<StreamGroup> keep_group(stream.group);
    stream.state = Stream::State::Running;
    note_change(stream);  // from now on the end of the task may depend on the program
    stream.runner = std::this_thread::get_id();
    Task &head = *stream.queue.front();
    head.runner = thread_number();
    observers_.report<kTasks>(&Observer::started, stream, head, head.runner);
    const RunningTask running{stream.point(head), head.info().has(kRunsProgram)};
    lock.unlock();
    try {
        const RunningScope scope(running);
        head.run();
    } catch (const std::bad_alloc &) {
        head.result = ACL_ERROR_RT_MEMORY_ALLOCATION;
    } catch (...) {  // a function of the program has ended the thread: the stream continues without it
        if (!head.has_failed()) {
            head.result = ACL_ERROR_RT_INTERNAL_ERROR;
        }
        end_run(lock, stream, server);
        throw;
    }
    end_run(lock, stream, server);
}

void Core::end_run(Lock &lock, Stream &stream, Executor::Server &server) {
    lock_again(lock);
    const Task &head = *stream.queue.front();  // read under the lock: an abort removes it temporarily
    if (!lock.is_global() && (head.has_failed() || !head.stays_in_shard(stream))) {
        upgrade_to_global(lock);
    }
    server.look();
    stream.runner = {};
    work().ended.push_back(&stream);
    end_heads();
    pump();
    leave_shard(lock);
}

void Core::end_heads() {
    std::vector<Stream *> &ended = work().ended;
    while (!ended.empty() && (scheduler_.takes_first() || scheduler_.may_end(ended))) {
        end_head(take(Choice::Ended, ended));
    }
}

void Core::end_head(Stream &stream) {
    if (timing_.is_on()) {
        timing_.end(stream, *stream.queue.front());
        if (await_timing(stream, Stream::State::Running)) {
            return;
        }
    }
    Task &head = *stream.queue.front();
    try {
        head.finish();
    } catch (const std::bad_alloc &) {
        head.result = ACL_ERROR_RT_MEMORY_ALLOCATION;
    }
    const auto done = stream.queue.pop();
    complete(stream, *done);
    observers_.report<kTasks>(&Observer::ended, stream, *done, done->runner);
    advance(stream);
}

void Core::hold(bool on) {
    is_held_ = on;
    note_who_disturbs();
    if (on) {
        return;
    }
    release_held(work().held);
    end_heads();
    pump();
    for (const auto &executor : executors_) {
        if (const auto alive = executor.lock()) {
            alive->wake();
        }
    }
}

void Core::start_held(Stream &stream) {
    if (stream.state == Stream::State::Held && !stream.timing.is_awaited) {
        work().held.remove(stream);
        stream.state = Stream::State::Idle;
        make_runnable(stream);
        pump();
    }
}

void Core::drop_queue(Stream &stream, aclError reason) {
    TaskQueue dropped = take_queue(stream, reason);
    while (const auto task = dropped.pop()) {
        cancel_dropped(stream, *task, reason);
    }
}

void Core::cancel_dropped(Stream &stream, Task &task, aclError reason) {
    task.cancel(stream);
    observers_.report<kTasks>(&Observer::dropped, stream, task, reason);
}

TaskQueue Core::take_queue(Stream &stream, aclError reason) {
    if (stream.state == Stream::State::Ready) {
        executor_of(stream).remove(stream);
    }
    const bool is_running = stream.state == Stream::State::Running;
    std::unique_ptr<Task> running = is_running ? stream.queue.pop() : nullptr;
    stream.aborts += stream.queue.front() != nullptr ? 1 : 0;
    stream.abort_reason = reason;
    if (timing_.is_on()) {
        timing_.abort(stream);
    }
    if (is_running && stream.timing.is_awaited) {
        timer_.arm(stream, stream.timing.busy_until);  // the head has run, and ends now
    } else {
        timer_.disarm(stream);
        stream.timing.is_awaited = false;
    }
    note_change(stream);
    if (const auto head = stream.queue.pop()) {
        cancel_dropped(stream, *head, reason);
    }
    TaskQueue rest = std::move(stream.queue);
    stream.dropped.store(stream.submitted, std::memory_order_relaxed);
    if (running) {
        stream.queue.push(std::move(running));
    } else {
        stream.state = Stream::State::Idle;
        stream.completed.store(stream.submitted, std::memory_order_release);
    }
    stream.progress.notify_all();
    return rest;
}

bool Core::await_running(Lock &lock, Stream &stream, Time deadline) {
    const Uncancelled uncancelled;
    pump();  // other streams may have waited for a dropped task
    if (stream.runner == std::this_thread::get_id()) {
        return true;
    }
    bool is_in_time = true;
    ++stream.aborting;
    const std::uint64_t last = stream.dropped.load(std::memory_order_relaxed);
    std::optional<HostWait> wait;
    persist(lock, [&]() REQUIRES(engine_lock) {
        while (is_in_time && stream.state == Stream::State::Running) {
            if (!wait) {
                wait.emplace(*this, stream, last, deadline);
            }
            stream.wake_when_done(last);
            is_in_time = wait->sleep(lock, stream.progress);
        }
    });
    --stream.aborting;
    const bool is_done = stream.state != Stream::State::Running;
    if (is_done) {
        stream.synchronized = std::max(stream.synchronized, last);
    }
    stream.progress.notify_all();
    deferred_.await_cancellations(lock);
    return is_done;
}

bool Core::drop_tasks(Lock &lock, Stream &stream, aclError reason, Time deadline) {
    Task *const head = stream.queue.front();
    const BlockingTask *const blocking = head != nullptr ? head->as_blocking() : nullptr;
    const auto parts = blocking != nullptr ? blocking->parts() : std::vector<Ref<Stream>>();
    drop_queue(stream, reason);
    bool is_done = await_running(lock, stream, deadline);
    for (const auto &part : parts) {
        is_done = await_running(lock, *part, deadline) && is_done;
    }
    return is_done;
}

// --- waiting ---------------------------------------------------------------------------------------------------------

Core::Waited Core::wait_for(Lock &lock, Ref<Stream> stream, std::uint64_t sequence, Time deadline, WaitCheck *check,
                            HostSync how) {
    const std::uint64_t aborts = stream->aborts;
    if (!stream->is_done(sequence)) {
        const Waited waited = await_task(lock, *stream, sequence, deadline, check);
        if (waited != Waited::Done) {
            return waited;
        }
    }
    stream->synchronized = std::max(stream->synchronized, sequence);
    note_learned({stream->serial, sequence}, how);
    if (open_reports_ > 0) {
        upgrade_to_global(lock);
        if (!failure_handler_->settle(lock, *stream, deadline)) {
            return Waited::TimedOut;
        }
    }
    return stream->aborts == aborts ? Waited::Done : Waited::Aborted;
}

Core::Waited Core::await_task(Lock &lock, Stream &stream, std::uint64_t sequence, Time deadline, WaitCheck *check) {
    const std::uint64_t aborts = stream.aborts;
    Executor::Server server;
    std::optional<HostWait> wait;  // set while the thread is really waiting
    while (!stream.is_done(sequence)) {
        if (stream.aborts != aborts || stream.aborting > 0) {
            return Waited::Aborted;
        }
        if (!stream.is_active()) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "stream %u keeps its tasks for a model: waiting for them would never end",
                 stream.id);
        }
        if (stream.group.failure != ACL_SUCCESS) {
            return Waited::Stopped;
        }
        if (has_deferred()) {
            server.leave();
            upgrade_to_global(lock);
            do_deferred(lock);
        } else if (!help(lock, stream, server, wait, deadline, check) &&
                   !watch(lock, stream, sequence, wait, deadline, check) && !stream.is_done(sequence)) {
            return Waited::TimedOut;
        }
    }
    return Waited::Done;
}

// Runs one task that the stream directly or indirectly waits for, unless other threads have taken them all.
bool Core::help(Lock &lock, Stream &stream, Executor::Server &server, std::optional<HostWait> &wait, Time deadline,
                const WaitCheck *check) {
    const bool is_late = deadline != kNever && clock_.now() >= deadline;
    const Helpable found = is_held_ || is_late ? Helpable{} : find_helpable(stream, deadline, check);
    if (found.stream == nullptr) {
        server.leave();
        if (found.is_out_of_sight) {
            upgrade_to_global(lock);
        }
        return found.is_out_of_sight;
    }
    wait.reset();  // a working thread does not wait
    server.take(executor_of(*found.stream), *found.stream);
    run_head(lock, *found.stream, server);
    return true;
}

Core::Helpable Core::find_helpable(Stream &stream, Time deadline, const WaitCheck *check) {
    const auto may_help = [this, deadline, check](Stream &ready) REQUIRES(engine_lock) {
        Task &head = *ready.queue.front();
        Executor &executor = executor_of(ready);
        const bool may_take_long = deadline == kNever && (check == nullptr || !head.info().has(kIsKernel));
        return executor.can_be_helped && (may_take_long || head.is_brief() || !executor.has_thread());
    };
    const bool has_global = Lock::held_shard() == Shards::kGlobal;
    Stream *at = &stream;
    std::vector<Stream *> ready;
    for (int depth = 0; at != nullptr && depth < kHelpDepth && ready.empty(); ++depth) {
        if (!covers(*at)) {
            return {nullptr, true};
        }
        if (at->state == Stream::State::Ready) {
            return {may_help(*at) ? at : nullptr, false};
        }
        if (at->state != Stream::State::Blocked) {
            return {};
        }
        if (!has_global && !at->queue.front()->stays_in_shard(*at)) {
            return {nullptr, true};
        }
        Causes &causes = ThreadState<Causes>::get();  // reused to save allocations
        causes.list.clear();
        at->queue.front()->as_blocking()->add_causes(causes);
        Stream *next = nullptr;
        for (const Cause &cause : causes.list) {
            auto *awaited = const_cast<Stream *>(cause.stream);
            if (awaited != nullptr && !covers(*awaited)) {
                return {nullptr, true};
            }
            if (awaited != nullptr && awaited->state == Stream::State::Ready && may_help(*awaited)) {
                if (scheduler_.takes_first()) {
                    return {awaited, false};
                }
                ready.push_back(awaited);
            }
            next = next == nullptr ? awaited : next;
        }
        at = next;
    }
    return {ready.empty() ? nullptr : &take(Choice::Helper, ready), false};
}

// Watches the stream until the task is done or something else happened that the caller must handle. Returns false if
// the deadline has passed. Spins first: a hand-over between threads takes less than a microsecond, a wake-up from sleep
// tens of them.
bool Core::watch(Lock &lock, Stream &stream, std::uint64_t sequence, std::optional<HostWait> &wait, Time deadline,
                 WaitCheck *check) {
    const auto is_done = [&] { return stream.is_done(sequence); };
    const auto is_over = [&]() REQUIRES(engine_lock) {
        return is_done() || stream.aborting > 0 || stream.group.failure != ACL_SUCCESS;
    };
    lock.unlock();
    const bool was_quick = spinner_.until(is_done);
    lock_again(lock);
    if (!was_quick && !is_over()) {
        upgrade_to_global(lock);  // sleeping threads are registered under the global lock
    }
    if (was_quick || is_over()) {
        return true;
    }
    if (!wait) {
        wait.emplace(*this, stream, sequence, deadline, check);
    }
    stream.wake_when_done(sequence);
    const bool is_in_time = wait->sleep(lock, stream.progress);
    wait->fail_if_hopeless();
    return is_in_time;
}

void Core::begin_wait(HostWait &wait) {
    shards_.note_change(0);
    failure_handler_->thread_sleeps();
    host_waits_.push_back(&wait);
    scheduler_.host_waits(wait);
}

void Core::end_wait(HostWait &wait) {
    scheduler_.host_goes_on(wait);
    host_waits_.erase(std::find(host_waits_.begin(), host_waits_.end(), &wait));
    shards_.note_change(0);
}

void Core::begin_own_thread() {
    t_thread.is_own = true;
    ++own_threads_;
}

bool Core::is_own_thread() { return t_thread.is_own; }

}  // namespace aclsim
