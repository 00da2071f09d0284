// SPDX-License-Identifier: Apache-2.0
#include "machine/callback.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "machine/machine.h"
#include "support/error.h"
#include "support/program_call.h"

namespace aclsim {
namespace {

constexpr std::size_t kReportThreads = 1024;  // documented limit of distinct threads

}  // namespace

// Task that calls a function of the program, and fails if the function does not return.
template <class Base>
class FunctionTask : public Base, public TaskDetails {
  public:
    void run() final {
        call_program([&] { function_(argument_); },
                     [&](std::string how) {
                         this->result = ACL_ERROR_RT_INTERNAL_ERROR;
                         failure_ = std::move(how);
                     });
    }
    void rewind() override REQUIRES(engine_lock) { failure_.clear(); }
    const TaskDetails &details() const final { return *this; }
    std::string failure_reason() const final { return failure_.empty() ? failure_ : "the function " + failure_; }

  protected:
    using Function = void (*)(void *);
    FunctionTask(Function function, void *argument) : function_(function), argument_(argument) {}

    Function function_;
    void *argument_;

  private:
    std::string failure_;
};

namespace {

class HostFunctionTask final : public FunctionTask<Task> {
  public:
    HostFunctionTask(Executor &thread, aclrtHostFunc function, void *argument)
        : FunctionTask(function, argument), thread_(&thread) {}
    static constexpr TaskInfo kInfo{"HOST_FUNC", "a host function", kRunsProgram, Cost::HostFunction};
    const TaskInfo &info() const override { return kInfo; }
    Start start(Stream &) override { return Start::Run; }
    Executor *executor() override { return thread_; }
    bool stays_in_shard(const Stream &) const override REQUIRES(engine_lock) { return true; }

  private:
    Executor *thread_;
};

}  // namespace

// Callback of a user thread. If it blocks its stream, the thread that processes it runs it as the head of the stream,
// so threads that wait for the running task also wait for the callback.
class CallbackTask final : public FunctionTask<BlockingTask> {
  public:
    CallbackTask(std::shared_ptr<Reports::ReportThread> thread, aclrtCallback function, void *argument,
                 bool blocks_stream)
        : FunctionTask(function, argument), thread_(std::move(thread)), blocks_stream_(blocks_stream) {}
    const TaskInfo &info() const override { return blocks_stream_ ? kBlocking : kPosted; }

    Start start(Stream &stream) override REQUIRES(engine_lock) {
        if (thread_->streams == 0 && blocks_stream_) {  // stream unsubscribed since the model was built
            result = ACL_ERROR_RT_STREAM_NO_CB_REG;
            return Start::Done;
        }
        if (!is_posted_) {
            thread_->queue.push_back(
                {function_, argument_, stream.point(*this), blocks_stream_ ? Ref<Stream>(stream) : nullptr});
            is_posted_ = true;
            thread_->arrived.notify_all();
        }
        return blocks_stream_ ? Start::Blocked : Start::Done;
    }
    void cancel(Stream &stream) noexcept override REQUIRES(engine_lock) {
        if (!is_posted_) {
            return;
        }
        auto &queue = thread_->queue;
        const auto is_own = [&](const Reports::Callback &it) { return it.blocked == &stream; };
        queue.erase(std::remove_if(queue.begin(), queue.end(), is_own), queue.end());
    }
    void rewind() override REQUIRES(engine_lock) {
        FunctionTask::rewind();
        is_posted_ = false;
    }
    void add_causes(Causes &causes) const override { causes.list.push_back({nullptr, 0, Outside::Host}); }
    std::string awaited() const override { return "its subscribed thread to call aclrtProcessReport"; }

  private:
    static constexpr TaskInfo kPosted{"CALLBACK", "a callback", kRunsProgram};
    static constexpr TaskInfo kBlocking{"CALLBACK", "a callback", kRunsProgram | kAwaitsCallback};

    std::shared_ptr<Reports::ReportThread> thread_;
    bool blocks_stream_;
    bool is_posted_ = false;
};

namespace {

// A running callback is still in the queue.
bool has_blocking_callback(const Stream &stream) REQUIRES(engine_lock) {
    for (const Task *task = stream.queue.front(); task != nullptr; task = task->next.get()) {
        if (task->info().has(kAwaitsCallback)) {
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
    const auto entry =
        found != threads_.end() ? found : threads_.emplace(thread, std::make_shared<ReportThread>()).first;
    entry->second->device = &device_of(stream);
    ++entry->second->streams;
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
            threads_.erase(found);  // drops callbacks that were not processed
        }
    }
    stream.callback_owner = ContextStream::CallbackOwner::None;
}

void Reports::launch(Lock &lock, ContextStream &stream, aclrtCallback function, void *argument, bool blocks_stream) {
    const ContextStream &user = user_stream(stream);
    require_subscribed(user);
    machine_.core.admit(lock, stream);
    require_subscribed(user);  // admit() may have let another thread end the subscription
    if (&user != &stream) {    // a graph's stream keeps the thread (events_streams_sync.md section 9)
        release(stream);
        subscribe(user.callback_thread, stream);
    }
    const auto thread = threads_.at(user.callback_thread);
    machine_.core.note_unknown_accesses();
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
    wait.reset();  // the thread no longer waits once it runs callbacks
    while (!entry->queue.empty()) {
        const Callback callback = entry->queue.front();
        entry->queue.pop_front();
        run(lock, callback);
    }
}

void Reports::run(Lock &lock, const Callback &callback) {
    Core &core = machine_.core;
    const std::uint64_t done = callback.task.sequence - (callback.blocked ? 1 : 0);
    core.note_learned({callback.task.stream, done}, HostSync::CalledBack);
    if (callback.blocked) {
        Executor::Server server;
        core.run_head(lock, *callback.blocked, server);
    } else {
        const Unlocked unlocked(lock);
        const ProgramCode code;
        call_or_fail("a callback", [&] { callback.function(callback.argument); });
    }
}

void launch_host_function(Machine &machine, Lock &lock, ContextStream &stream, aclrtHostFunc function, void *argument) {
    machine.core.admit(lock, stream);
    Context &context = context_of(stream);
    if (!context.host_functions) {
        context.host_functions = machine.core.create_executor(Core::shard_of(stream), 1, /*can_be_helped=*/false);
    }
    if (!context.host_functions->has_thread()) {
        fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "the host has no thread left to run the function");
    }
    machine.core.note_unknown_accesses();
    machine.core.submit(stream, HostFunctionTask(*context.host_functions, function, argument));
    if (stream.callback_owner == ContextStream::CallbackOwner::None) {
        stream.callback_owner = ContextStream::CallbackOwner::Runtime;
    }
}

}  // namespace aclsim
