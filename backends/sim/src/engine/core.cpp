#include "engine/core.h"

#include <pthread.h>
#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <array>
#include <atomic>

#include "checks/stall.h"
#include "machine/context.h"
#include "support/error.h"
#include "tasks/model.h"

namespace aclsim {
namespace {

constexpr std::uint32_t kNoTask = 0xFFFFFFFF;  // aclrtGetThreadLastTaskId before the first submission
constexpr int kLockSpins = 200;
constexpr int kHelpDepth = 64;  // how many streams a helper follows along "waits for" before it gives up

// The kernel's number of a thread, which exception callbacks are told (section 11).
std::uint64_t thread_number() {
#ifdef __linux__
    return static_cast<std::uint64_t>(syscall(SYS_gettid));
#else
    std::uint64_t number = 0;
    pthread_threadid_np(nullptr, &number);
    return number;
#endif
}

std::atomic<bool> g_started{false};
thread_local std::uint32_t t_last_task_id = kNoTask;

}  // namespace

void require_not_aborting(const Device &device) {
    if (device.aborting) {
        fail(ACL_ERROR_RT_DEVICE_TASK_ABORT, "the tasks of device %u are being aborted", device.user_id);
    }
}

void require_not_aborting(const Stream &stream) {
    require_not_aborting(stream.context.device);
    if (stream.aborting > 0) {
        fail(ACL_ERROR_RT_STREAM_ABORT, "stream %u is being aborted", stream.id);
    }
}

void require_not_lost(const Device &device) {
    if (device.lost != ACL_SUCCESS) {
        fail(device.lost, "device %u is lost", device.user_id);
    }
}

void require_sound(const Context &context) {
    require_not_lost(context.device);
    if (context.failure != ACL_SUCCESS) {
        fail(context.failure, "an earlier task failed and the context is in STOP mode");
    }
}

void fail_aborted(const Stream &stream) { fail(stream.abort_reason, "stream %u was aborted", stream.id); }

void report_failure(Stream &stream) {
    tell_failure(std::exchange(stream.failure, ACL_SUCCESS),
                 "a task of stream " + std::to_string(stream.id) + " failed");
}

void tell_failure(aclError failure, const std::string &text) {
    constexpr std::array kLoggedAsSuccess = {ACL_ERROR_RT_END_OF_SEQUENCE,  ACL_ERROR_RT_MODEL_ABORT_NORMAL,
                                             ACL_ERROR_RT_AICORE_OVER_FLOW, ACL_ERROR_RT_AIVEC_OVER_FLOW,
                                             ACL_ERROR_RT_OVER_FLOW,        ACL_ERROR_RT_SOCKET_CLOSE};
    if (failure == ACL_SUCCESS) {
        return;
    }
    const auto is_it = std::find(kLoggedAsSuccess.begin(), kLoggedAsSuccess.end(), failure);
    (is_it == kLoggedAsSuccess.end() ? fail : refuse)(failure, "%s", text.c_str());
}

Engine &Engine::get() {
    static Engine *instance = new Engine();
    return *instance;
}

bool Engine::was_started() { return g_started.load(std::memory_order_acquire); }

Engine::Engine() : workers_(create_executor(config().workers, /*can_be_helped=*/true)), timer_(*this), reports_(*this) {
    g_started.store(true, std::memory_order_release);
    for (std::uint32_t user = 0; user < config().visible.size(); ++user) {
        devices_.push_back(std::make_unique<Device>(user, config().visible[user]));
    }
    error = apply_faults(*this, config().faults);
}

std::shared_ptr<Executor> Engine::create_executor(std::uint32_t threads, bool can_be_helped) {
    auto executor = std::make_shared<Executor>(*this, threads, can_be_helped);
    executors_.erase(std::remove_if(executors_.begin(), executors_.end(), [](const auto &it) { return it.expired(); }),
                     executors_.end());
    executors_.push_back(executor);
    return executor;
}

Lock Engine::acquire() {
    Lock lock(mutex_, std::try_to_lock);
    for (int i = 0; i < kLockSpins && !lock.owns_lock(); ++i) {
        pause_processor();
        lock.try_lock();
    }
    if (!lock.owns_lock()) {
        lock.lock();
    }
    return lock;
}

AddressSpace &Engine::memory() {
    if (!memory_) {
        memory_ = std::make_unique<AddressSpace>(config().devices, config().product->memory_bytes);
    }
    return *memory_;
}

bool Engine::free_device_block(const void *address) {
    if (!memory().is_device_block(address)) {
        return false;
    }
    note_release(*this, address);
    ipc_memory_.forget(address);
    return memory().free_device(address);
}

void Engine::free_device_memory(const Device &device) {
    const std::uint32_t id = device.physical_id;
    memory_pools_.close(*this, device);
    symbols_.forget_device(id);
    ipc_memory_.forget_device(id);
    virtual_memory_.drop(id);
    if (memory_check() != nullptr) {
        memory_check_.all_freed(memory().device(id).base(), memory().device(id).capacity());
    }
    memory().free_all(id);
}

std::uint32_t Engine::last_task_id() const { return t_last_task_id; }

// --- submitting ------------------------------------------------------------------------------------------------------

bool Engine::admit(Lock &lock, Stream &stream) {
    require_not_aborting(stream);
    require_sound(stream.context);
    if (stream.model != nullptr) {
        stream.model->require_open(stream);
    }
    if (stream.queue.size() < config().product->queue_depth) {
        return false;
    }
    if (!stream.executes_tasks()) {
        fail(ACL_ERROR_RT_STREAM_TASK_FULL, "stream %u keeps its tasks, and its queue is full", stream.id);
    }
    const auto keep = stream.shared_from_this();
    const std::uint64_t enough = stream.submitted + 1 - config().product->queue_depth;
    wait_for(lock, keep, enough, Clock::time_point::max());
    if (stream.destroyed) {
        fail(ACL_ERROR_RT_INVALID_HANDLE, "the stream was destroyed while this call waited for a place in its queue");
    }
    admit(lock, stream);
    return true;
}

void Engine::append(Stream &stream, std::unique_ptr<Task> task) {
    task->sequence = ++stream.submitted;
    if (observer_ != nullptr) {
        observer_->submitted(stream, *task);
    }
    const bool was_empty = stream.queue.front() == nullptr;
    stream.queue.push(std::move(task));
    if (was_empty) {
        make_runnable(stream);
    }
}

void Engine::note_submission(Stream &stream, Task &task) {
    thread_local const auto thread = static_cast<std::uint32_t>(thread_number());
    task.submitter = thread;
    t_last_task_id = static_cast<std::uint32_t>(task.sequence);
    if (memory_check() != nullptr) {
        memory_check_.attach(stream, task);
    }
    if (observer_ != nullptr) {
        observer_->submitted(stream, task);
    }
}

// --- moving forward --------------------------------------------------------------------------------------------------

// What fault injection makes of a task that is to start.
bool Engine::is_faulted(Stream &stream, Task &task, Start &start) {
    if (task.delay.count() > 0) {
        timer_.arm(stream, Clock::now() + task.delay);
        task.delay = std::chrono::microseconds(0);
        task.is_delayed = true;
        start = Start::Blocked;
        return true;
    }
    if (task.injected_failure != ACL_SUCCESS) {
        task.cancel(stream);
        task.result = task.injected_failure;
        start = Start::Done;
        return true;
    }
    return false;
}

Start Engine::start_task(Stream &stream, Task &task) {
    Start start = Start::Done;
    if (!is_faulted(stream, task, start)) {
        start = task.start(stream);
    }
    if (observer_ != nullptr && start == Start::Done) {
        observer_->started(stream, task);
    }
    return start;
}

void Engine::complete(Stream &stream, Task &task) {
    timer_.disarm(stream);
    task.uses.reset();  // before anybody who waited for the task frees the memory
    // What an abort dropped behind a running task is done with that task.
    const std::uint64_t done = std::max(task.sequence, stream.dropped.load(std::memory_order_relaxed));
    stream.completed.store(done, std::memory_order_release);
    stream.aborts += task.was_cut_short ? 1 : 0;
    if (task.result != ACL_SUCCESS) {
        stream.failure = task.result;
        if (stream.context.stops_on_failure && stream.context.failure == ACL_SUCCESS) {
            stop(stream.context, task.result);
        }
        exceptions_.report_task(stream, task);
    }
    if (observer_ != nullptr) {
        observer_->ended(stream, task);
    }
    if (done >= stream.wake_at) {
        stream.wake_at = UINT64_MAX;  // who is woken too early says again what it waits for
        stream.progress.notify_all();
    }
}

// Nothing more of the context is started, and who waits for it learns why.
void Engine::stop(Context &context, aclError failure) {
    context.failure = failure;
    for (const auto &stream : context.streams) {
        stream->progress.notify_all();
    }
}

void Engine::park(Stream &stream, Start start) {
    if (start == Start::Blocked) {
        stream.state = Stream::State::Blocked;
    } else {
        stream.queue.front()->executor()->enqueue(stream);
    }
}

void Engine::advance(Stream &stream) {
    stream.state = Stream::State::Idle;
    const auto may_go_on = [&] { return stream.is_active() && stream.context.failure == ACL_SUCCESS; };
    while (Task *head = may_go_on() ? stream.queue.front() : nullptr) {
        if (!scheduler_.may_start(stream)) {
            stream.state = Stream::State::Held;
            held_.push_back(stream.shared_from_this());
            return;
        }
        const Start start = start_task(stream, *head);
        if (start != Start::Done) {
            park(stream, start);
            return;
        }
        complete(stream, *stream.queue.pop());
    }
}

void Engine::pump() {
    for (std::size_t i = 0; i < runnable_.size(); ++i) {  // advance() may append
        Stream &stream = *runnable_[i];
        if (stream.state != Stream::State::Ready && stream.state != Stream::State::Running) {  // it may be there twice
            advance(stream);
        }
    }
    runnable_.clear();
}

void Engine::run_head(Lock &lock, Stream &stream) {
    const auto keep = stream.shared_from_this();
    stream.state = Stream::State::Running;
    Task &head = *stream.queue.front();
    if (observer_ != nullptr) {
        observer_->started(stream, head);
    }
    lock.unlock();
    head.run();
    lock = acquire();
    head.finish();
    complete(stream, *stream.queue.pop());
    advance(stream);
    pump();
}

void Engine::hold(bool on) {
    scheduler_.hold(on);
    if (on) {
        return;
    }
    std::vector<std::shared_ptr<Stream>> held;
    held.swap(held_);
    for (const auto &stream : held) {
        if (stream->state == Stream::State::Held) {
            stream->state = Stream::State::Idle;  // a stream that was aborted meanwhile may be here twice
            make_runnable(*stream);
        }
    }
    pump();
    for (const auto &executor : executors_) {
        if (const auto alive = executor.lock()) {
            alive->wake();
        }
    }
}

void Engine::drop_queue(Stream &stream, aclError reason) {
    if (stream.state == Stream::State::Ready) {
        stream.queue.front()->executor()->remove(stream);
    }
    const bool is_running = stream.state == Stream::State::Running;
    std::unique_ptr<Task> running = is_running ? stream.queue.pop() : nullptr;
    stream.aborts += stream.queue.front() != nullptr ? 1 : 0;
    stream.abort_reason = reason;
    timer_.disarm(stream);
    while (auto task = stream.queue.pop()) {
        task->cancel(stream);
    }
    stream.dropped.store(stream.submitted, std::memory_order_relaxed);
    if (running) {
        stream.queue.push(std::move(running));
    } else {
        stream.state = Stream::State::Idle;
        stream.completed.store(stream.submitted, std::memory_order_release);
    }
    stream.progress.notify_all();
}

bool Engine::await_running(Lock &lock, Stream &stream, Clock::time_point deadline) {
    bool is_in_time = true;
    pump();  // others may have waited for what was dropped
    ++stream.aborting;
    Patience patience(deadline);
    while (is_in_time && stream.state == Stream::State::Running) {
        const std::uint64_t last = stream.dropped.load(std::memory_order_relaxed);
        stream.wake_at = std::min(stream.wake_at, last);
        is_in_time = patience.wait(lock, stream.progress, [&] { return explain_stall(stream, last); });
    }
    --stream.aborting;
    const bool is_done = stream.state != Stream::State::Running;
    if (is_done) {
        stream.synchronized = std::max(stream.synchronized, stream.dropped.load());
    }
    stream.progress.notify_all();
    return is_done;
}

bool Engine::drop_tasks(Lock &lock, Stream &stream, aclError reason, Clock::time_point deadline) {
    const Task *head = stream.queue.front();
    const auto parts = head != nullptr ? head->parts() : std::vector<std::shared_ptr<Stream>>();
    drop_queue(stream, reason);
    bool is_done = await_running(lock, stream, deadline);
    for (const auto &part : parts) {
        is_done = await_running(lock, *part, deadline) && is_done;
    }
    return is_done;
}

// --- waiting ---------------------------------------------------------------------------------------------------------

Engine::Waited Engine::wait_for(Lock &lock, std::shared_ptr<Stream> stream, std::uint64_t sequence,
                                Clock::time_point deadline) {
    const std::uint64_t aborts = stream->aborts;
    std::optional<Patience> patience;  // of those only who really wait
    while (stream->completed.load(std::memory_order_acquire) < sequence) {
        if (stream->aborts != aborts || stream->aborting > 0) {
            return Waited::Aborted;
        }
        if (!stream->is_active()) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "stream %u keeps its tasks for a model: waiting for them would never end",
                 stream->id);
        }
        if (stream->context.failure != ACL_SUCCESS) {
            return Waited::Stopped;
        }
        if (help(lock, *stream) || watch(lock, *stream, sequence, patience, deadline)) {
            continue;
        }
        if (stream->completed.load(std::memory_order_acquire) < sequence) {
            return Waited::TimedOut;
        }
    }
    stream->synchronized = std::max(stream->synchronized, sequence);
    if (exceptions_.is_pending()) {
        exceptions_.settle(lock, *stream);
    }
    return stream->aborts == aborts ? Waited::Done : Waited::Aborted;
}

// Runs one task that the stream directly or indirectly waits for, if there is one that no thread has taken yet.
bool Engine::help(Lock &lock, Stream &stream) {
    Stream *candidate = &stream;
    for (int depth = 0; candidate != nullptr && depth < kHelpDepth && !is_held(); ++depth) {
        if (candidate->state == Stream::State::Ready) {
            Executor *executor = candidate->queue.front()->executor();
            if (!executor->can_be_helped) {
                return false;
            }
            executor->remove(*candidate);
            run_head(lock, *candidate);
            return true;
        }
        candidate = candidate->state == Stream::State::Blocked ? candidate->queue.front()->waits_for() : nullptr;
    }
    return false;
}

// Watches the stream until the task is done, or something happened that must be looked at; false when the deadline has
// passed. Spins first: a hand-over between threads takes less than a microsecond, a wake-up from sleep tens of them.
bool Engine::watch(Lock &lock, Stream &stream, std::uint64_t sequence, std::optional<Patience> &patience,
                   Clock::time_point deadline) {
    const auto is_done = [&] { return stream.completed.load(std::memory_order_acquire) >= sequence; };
    lock.unlock();
    const bool was_quick = spin_until(is_done);
    lock = acquire();
    if (was_quick || is_done() || stream.aborting > 0 || stream.context.failure != ACL_SUCCESS) {
        return true;
    }
    if (!patience) {
        patience.emplace(deadline);
    }
    stream.wake_at = std::min(stream.wake_at, sequence);
    return patience->wait(lock, stream.progress, [&] { return explain_stall(stream, sequence); });
}

}  // namespace aclsim
