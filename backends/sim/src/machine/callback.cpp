#include "machine/callback.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "machine/machine.h"
#include "support/error.h"

namespace aclsim {
namespace {

constexpr std::size_t kReportThreads = 1024;  // documented limit of distinct threads

class HostFunctionTask final : public Task {
  public:
    HostFunctionTask(Executor &thread, aclrtHostFunc function, void *argument)
        : thread_(&thread), function_(function), argument_(argument) {}
    TaskKind kind() const override { return TaskKind::HostFunction; }
    Work work() const override { return {Cost::HostFunction}; }
    Start start(Stream &) override { return Start::Run; }
    void run() override { function_(argument_); }
    Executor *executor() override { return thread_; }
    bool stays_in_shard(const Stream &) const override REQUIRES(engine_lock) { return true; }

  private:
    Executor *thread_;
    aclrtHostFunc function_;
    void *argument_;
};

}  // namespace

// A callback that blocks its stream is run as the head of the stream, by the thread that processes it: a thread that
// waits for the running task waits for the callback too.
class CallbackTask final : public Task {
  public:
    CallbackTask(std::shared_ptr<Reports::ReportThread> thread, aclrtCallback function, void *argument,
                 bool blocks_stream)
        : thread_(std::move(thread)), function_(function), argument_(argument), blocks_stream_(blocks_stream) {}
    TaskKind kind() const override { return TaskKind::Callback; }

    Start start(Stream &stream) override REQUIRES(engine_lock) {
        if (thread_->streams == 0 && blocks_stream_) {  // the execution of a model: its stream was unsubscribed since
            result = ACL_ERROR_RT_STREAM_NO_CB_REG;
            return Start::Done;
        }
        if (!is_posted_) {
            is_posted_ = true;
            thread_->queue.push_back(
                {function_, argument_, stream.point(*this), blocks_stream_ ? Ref<Stream>(stream) : nullptr});
            thread_->arrived.notify_all();
        }
        return blocks_stream_ ? Start::Blocked : Start::Done;
    }
    void run() override { function_(argument_); }
    void cancel(Stream &stream) override REQUIRES(engine_lock) {
        auto &queue = thread_->queue;
        const auto is_own = [&](const Reports::Callback &it) { return it.blocked == &stream; };
        queue.erase(std::remove_if(queue.begin(), queue.end(), is_own), queue.end());
    }
    void rewind() override { is_posted_ = false; }
    bool blocks_for_callback() const override { return blocks_stream_; }
    void add_causes(Causes &causes) const override { causes.list.push_back({nullptr, 0, Outside::Host}); }
    std::string awaited() const override { return "its subscribed thread to call aclrtProcessReport"; }

  private:
    std::shared_ptr<Reports::ReportThread> thread_;
    aclrtCallback function_;
    void *argument_;
    bool blocks_stream_;
    bool is_posted_ = false;
};

namespace {

// Also the callback that runs now is still in the queue.
bool has_blocking_callback(const Stream &stream) REQUIRES(engine_lock) {
    for (const Task *task = stream.queue.front(); task != nullptr; task = task->next.get()) {
        if (task->blocks_for_callback()) {
            return true;
        }
    }
    return false;
}

void require_subscribed(const ContextStream &stream) REQUIRES(engine_lock) {
    if (stream.callback_owner != ContextStream::CallbackOwner::User) {
        fail(ACL_ERROR_RT_STREAM_NO_CB_REG, "stream %u is not subscribed to a callback thread", stream.id);
    }
}

}  // namespace

void Reports::require_free(const ContextStream &stream) {
    if (stream.callback_owner != ContextStream::CallbackOwner::None) {
        fail(ACL_ERROR_RT_STREAM_SUBSCRIBE, "stream %u already has a callback thread", stream.id);
    }
}

void Reports::subscribe(std::uint64_t thread, ContextStream &stream) {
    require_free(stream);
    const auto found = threads_.find(thread);
    if (found != threads_.end() && found->second->device != &device_of(stream)) {
        fail(ACL_ERROR_RT_THREAD_SUBSCRIBE, "the thread takes callbacks of device %u already",
             found->second->device->user_id);
    }
    if (found == threads_.end() && threads_.size() == kReportThreads) {
        fail(ACL_ERROR_RT_INTERNAL_ERROR, "%zu threads are subscribed already", kReportThreads);
    }
    auto &entry = found == threads_.end() ? threads_[thread] : found->second;
    if (!entry) {
        entry = std::make_shared<ReportThread>();
        entry->device = &device_of(stream);
    }
    ++entry->streams;
    stream.callback_owner = ContextStream::CallbackOwner::User;
    stream.callback_thread = thread;
}

void Reports::unsubscribe(std::uint64_t thread, ContextStream &stream) {
    if (stream.callback_owner != ContextStream::CallbackOwner::User) {
        fail(ACL_ERROR_RT_STREAM_SUBSCRIBE, "stream %u is not subscribed", stream.id);
    }
    if (stream.callback_thread != thread) {
        fail(ACL_ERROR_RT_THREAD_SUBSCRIBE, "stream %u is subscribed to another thread", stream.id);
    }
    if (has_blocking_callback(stream)) {
        // The runtime deadlocks here (events_streams_sync.md section 9, aclrtUnSubscribeReport); a defined error is
        // more useful.
        fail(ACL_ERROR_RT_STREAM_SUBSCRIBE, "stream %u waits for a callback; synchronize it first", stream.id);
    }
    release(stream);
}

void Reports::release(ContextStream &stream) {
    if (stream.callback_owner == ContextStream::CallbackOwner::User) {
        const auto found = threads_.find(stream.callback_thread);
        if (--found->second->streams == 0) {
            found->second->arrived.notify_all();
            threads_.erase(found);  // callbacks that were not processed are dropped
        }
    }
    stream.callback_owner = ContextStream::CallbackOwner::None;
}

void Reports::launch(Lock &lock, ContextStream &stream, aclrtCallback function, void *argument, bool blocks_stream) {
    const ContextStream &user = user_stream(stream);
    require_subscribed(user);
    machine_.core.admit(lock, stream);
    require_subscribed(user);  // admit() may have let in a thread that ended it
    if (&user != &stream) {    // a graph's stream keeps the thread (events_streams_sync.md section 9)
        release(stream);
        subscribe(user.callback_thread, stream);
    }
    const auto thread = threads_.at(user.callback_thread);
    machine_.core.submit(stream, CallbackTask(thread, function, argument, blocks_stream));
}

void Reports::process(Lock &lock, std::uint64_t thread, Time deadline) {
    const auto found = threads_.find(thread);
    if (found == threads_.end()) {
        fail(ACL_ERROR_RT_THREAD_SUBSCRIBE,
             "the calling thread is not subscribed to any stream; call aclrtSubscribeReport with its id");
    }
    const auto entry = found->second;
    if (entry->device->primary == nullptr && current_context(machine_) == nullptr) {
        fail(ACL_ERROR_RT_CONTEXT_NULL, "the calling thread has no current context, and device %u is not set",
             entry->device->user_id);
    }
    std::optional<HostWait> wait(std::in_place, machine_.core, Outside::Anybody, "a callback for the calling thread",
                                 deadline);
    while (entry->queue.empty()) {
        if (!wait->sleep(lock, entry->arrived) && entry->queue.empty()) {
            fail(ACL_ERROR_RT_REPORT_TIMEOUT, "no callback arrived in time");
        }
    }
    wait.reset();  // a thread that runs callbacks does not wait
    while (!entry->queue.empty()) {
        const Callback callback = entry->queue.front();
        entry->queue.pop_front();
        run(lock, callback);
    }
}

void Reports::run(Lock &lock, const Callback &callback) {
    Core &core = machine_.core;
    if (core.observers().any()) {
        const std::uint64_t done = callback.task.sequence - (callback.blocked ? 1 : 0);
        core.observers().tell(&Observer::host_learned, thread_number(), Point{callback.task.stream, done},
                              Learned::CalledBack);
    }
    if (callback.blocked) {
        Executor::Server server;
        core.run_head(lock, *callback.blocked, server);
    } else {
        const Unlocked unlocked(lock);
        callback.function(callback.argument);
    }
}

void launch_host_function(Machine &machine, Lock &lock, ContextStream &stream, aclrtHostFunc function, void *argument) {
    machine.core.admit(lock, stream);
    Context &context = context_of(stream);
    if (stream.callback_owner == ContextStream::CallbackOwner::None) {
        stream.callback_owner = ContextStream::CallbackOwner::Runtime;
    }
    if (!context.host_functions) {
        context.host_functions = machine.core.create_executor(Core::shard_of(stream), 1, /*can_be_helped=*/false);
    }
    if (!context.host_functions->has_thread()) {
        fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "the host has no thread left to run the function");
    }
    machine.core.submit(stream, HostFunctionTask(*context.host_functions, function, argument));
}

}  // namespace aclsim
