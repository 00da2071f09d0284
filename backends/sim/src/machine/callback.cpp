#include "machine/callback.h"

#include "engine/core.h"
#include "machine/context.h"
#include "support/error.h"

namespace aclsim {
namespace {

constexpr std::size_t kReportThreads = 1024;  // documented limit of distinct threads

class HostFunctionTask final : public Task {
  public:
    HostFunctionTask(Executor &thread, aclrtHostFunc function, void *argument)
        : thread_(&thread), function_(function), argument_(argument) {}
    TaskKind kind() const override { return TaskKind::HostFunction; }
    Start start(Stream &) override { return Start::Run; }
    void run() override { function_(argument_); }
    Executor *executor() override { return thread_; }

  private:
    Executor *thread_;
    aclrtHostFunc function_;
    void *argument_;
};

}  // namespace

class CallbackTask final : public Task {
  public:
    CallbackTask(std::shared_ptr<Reports::ReportThread> thread, aclrtCallback function, void *argument,
                 bool blocks_stream)
        : thread_(std::move(thread)),
          function_(function),
          argument_(argument),
          has_run_(blocks_stream ? std::make_shared<bool>(false) : nullptr) {}
    TaskKind kind() const override { return TaskKind::Callback; }

    Start start(Stream &stream) override {
        if (!is_posted_) {
            is_posted_ = true;
            thread_->queue.push_back({function_, argument_, stream.weak_from_this(), has_run_});
            thread_->arrived.notify_all();
        }
        return has_run_ && !*has_run_ ? Start::Blocked : Start::Done;
    }
    bool blocks_stream() const { return has_run_ != nullptr; }
    std::string awaited() const override { return "its subscribed thread to call aclrtProcessReport"; }

  private:
    std::shared_ptr<Reports::ReportThread> thread_;
    aclrtCallback function_;
    void *argument_;
    std::shared_ptr<bool> has_run_;
    bool is_posted_ = false;
};

namespace {

// Also the callback that runs now is still in the queue.
bool has_blocking_callback(const Stream &stream) {
    for (const Task *task = stream.queue.front(); task != nullptr; task = task->next.get()) {
        if (task->kind() == TaskKind::Callback && static_cast<const CallbackTask *>(task)->blocks_stream()) {
            return true;
        }
    }
    return false;
}

void require_subscribed(const Stream &stream) {
    if (stream.callback_owner != Stream::CallbackOwner::User) {
        fail(ACL_ERROR_RT_STREAM_NO_CB_REG, "stream %u is not subscribed to a callback thread", stream.id);
    }
}

}  // namespace

void Reports::require_free(const Stream &stream) {
    if (stream.callback_owner != Stream::CallbackOwner::None) {
        fail(ACL_ERROR_RT_STREAM_SUBSCRIBE, "stream %u already has a callback thread", stream.id);
    }
}

void Reports::subscribe(std::uint64_t thread, Stream &stream) {
    require_free(stream);
    const auto found = threads_.find(thread);
    if (found != threads_.end() && found->second->device != &stream.context.device) {
        fail(ACL_ERROR_RT_THREAD_SUBSCRIBE, "the thread takes callbacks of device %u already",
             found->second->device->user_id);
    }
    if (found == threads_.end() && threads_.size() == kReportThreads) {
        fail(ACL_ERROR_RT_INTERNAL_ERROR, "%zu threads are subscribed already", kReportThreads);
    }
    auto &entry = found == threads_.end() ? threads_[thread] : found->second;
    if (!entry) {
        entry = std::make_shared<ReportThread>();
        entry->device = &stream.context.device;
    }
    ++entry->streams;
    stream.callback_owner = Stream::CallbackOwner::User;
    stream.callback_thread = thread;
}

void Reports::unsubscribe(std::uint64_t thread, Stream &stream) {
    if (stream.callback_owner != Stream::CallbackOwner::User) {
        fail(ACL_ERROR_RT_STREAM_SUBSCRIBE, "stream %u is not subscribed", stream.id);
    }
    if (stream.callback_thread != thread) {
        fail(ACL_ERROR_RT_THREAD_SUBSCRIBE, "stream %u is subscribed to another thread", stream.id);
    }
    if (has_blocking_callback(stream)) {
        // The runtime deadlocks here (section 9, aclrtUnSubscribeReport); a defined error is more useful.
        fail(ACL_ERROR_RT_STREAM_SUBSCRIBE, "stream %u waits for a callback; synchronize it first", stream.id);
    }
    release(stream);
}

void Reports::release(Stream &stream) {
    if (stream.callback_owner == Stream::CallbackOwner::User) {
        const auto found = threads_.find(stream.callback_thread);
        if (--found->second->streams == 0) {
            found->second->arrived.notify_all();
            threads_.erase(found);  // callbacks that nobody has processed are dropped
        }
    }
    stream.callback_owner = Stream::CallbackOwner::None;
}

void Reports::launch(Lock &lock, Stream &stream, aclrtCallback function, void *argument, bool blocks_stream) {
    require_subscribed(stream);
    engine_.admit(lock, stream);
    require_subscribed(stream);  // admit() may have let in a thread that ended it
    const auto thread = threads_.at(stream.callback_thread);
    engine_.submit(stream, CallbackTask(thread, function, argument, blocks_stream));
}

void Reports::process(Lock &lock, std::uint64_t thread, Clock::time_point deadline) {
    const auto found = threads_.find(thread);
    if (found == threads_.end()) {
        fail(ACL_ERROR_RT_THREAD_SUBSCRIBE, "the calling thread is not subscribed to any stream");
    }
    const auto entry = found->second;
    if (entry->device->primary == nullptr && current_context(engine_) == nullptr) {
        fail(ACL_ERROR_RT_CONTEXT_NULL, "the calling thread has no current context, and device %u is not set",
             entry->device->user_id);
    }
    Patience patience(deadline);
    while (entry->queue.empty()) {
        if (!patience.wait(lock, entry->arrived, [] { return "a callback for the calling thread\n"; }) &&
            entry->queue.empty()) {
            fail(ACL_ERROR_RT_REPORT_TIMEOUT, "no callback arrived in time");
        }
    }
    while (!entry->queue.empty()) {
        const Callback callback = entry->queue.front();
        entry->queue.pop_front();
        run(lock, callback);
    }
}

void Reports::run(Lock &lock, const Callback &callback) {
    const KeptCall kept;
    lock.unlock();
    callback.function(callback.argument);
    lock = engine_.acquire();
    const auto stream = callback.stream.lock();
    if (callback.has_run && stream) {
        *callback.has_run = true;
        if (stream->state == Stream::State::Blocked) {
            engine_.make_runnable(*stream);
            engine_.pump();
        }
    }
}

void launch_host_function(Engine &engine, Lock &lock, Stream &stream, aclrtHostFunc function, void *argument) {
    engine.admit(lock, stream);
    Context &context = stream.context;
    stream.callback_owner = Stream::CallbackOwner::Runtime;
    if (!context.host_functions) {
        context.host_functions = engine.create_executor(1, /*can_be_helped=*/false);
    }
    if (!context.host_functions->has_thread()) {
        fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "the host has no thread left to run the function");
    }
    engine.submit(stream, HostFunctionTask(*context.host_functions, function, argument));
}

}  // namespace aclsim
