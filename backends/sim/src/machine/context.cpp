#include "machine/context.h"

#include <algorithm>

#include "checks/stall.h"
#include "engine/core.h"
#include "support/error.h"
#include "tasks/label.h"
#include "tasks/model.h"

namespace aclsim {
namespace {

constexpr std::uint32_t kPrimaryDefaultStream = 0;

Device *g_default_device = nullptr;  // guarded by the engine's lock

std::shared_ptr<Stream> add_stream(Engine &engine, Context &context, std::uint32_t id, std::uint32_t flags,
                                   std::uint32_t priority) {
    auto stream = std::make_shared<Stream>(context, id, flags, priority);
    engine.registry().add(stream);
    context.streams.push_back(stream);
    return stream;
}

// The default stream reports FAST_LAUNCH | FAST_SYNC where the chip has a control queue, else 0 (section 3).
std::uint32_t default_stream_flags() {
    return config().product->has_control_queue ? ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC : 0;
}

template <class Container, class Value>
void erase(Container &container, const Value &value) {
    container.erase(std::remove(container.begin(), container.end(), value), container.end());
}

std::uint32_t new_stream_id(Device &device) {
    std::uint32_t id = 0;
    if (!device.stream_ids.acquire(id)) {
        fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "device %u gives out no more streams; %u are in use", device.user_id,
             device.stream_ids.in_use());
    }
    return id;
}

// Streams whose tasks the device's synchronization does not wait for (events_streams_sync.md section 4). Persistent
// streams never execute here, so no product waits for them.
std::uint32_t flags_not_synchronized() {
    const std::uint32_t cpu = config().product->has(kDeviceSyncSkipsCpuStreams) ? ACL_STREAM_CPU_SCHEDULE : 0;
    return ACL_STREAM_DEVICE_USE_ONLY | ACL_STREAM_PERSISTENT | cpu;
}

void wait_for_stream(Engine &engine, Lock &lock, const std::shared_ptr<Stream> &stream, Clock::time_point deadline) {
    // Another thread may destroy one of the streams meanwhile; what it drops then is nobody's failure here.
    const auto is_leaving = [&] { return stream->destroyer != std::thread::id(); };
    if (!is_leaving()) {
        require_not_aborting(*stream);
    }
    switch (engine.wait_for(lock, stream, stream->submitted, deadline)) {
        case Engine::Waited::TimedOut:
            fail(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, "stream %u was not done in time", stream->id);
        case Engine::Waited::Aborted:
            if (!is_leaving()) {
                fail_aborted(*stream);
            }
            break;
        case Engine::Waited::Stopped:
            require_sound(stream->context);
            break;
        case Engine::Waited::Done:
            break;
    }
}

}  // namespace

ThreadContext &thread_context() {
    thread_local ThreadContext context;
    return context;
}

std::shared_ptr<Context> create_context(Engine &engine, Device &device, bool primary) {
    const std::uint32_t default_id = primary ? kPrimaryDefaultStream : new_stream_id(device);
    auto context = std::make_shared<Context>(device, primary);
    engine.registry().add(context);
    context->default_stream = add_stream(engine, *context, default_id, default_stream_flags(), 0);
    device.contexts.push_back(context.get());
    return context;
}

void destroy_context(Engine &engine, Lock &lock, std::shared_ptr<Context> context, bool force) {
    engine.registry().remove(*context);  // from here on no thread can find it
    for (const auto &model : context->models) {
        engine.registry().remove(*model);
    }
    // From the back, and the streams of models last: others may wait for an execution.
    std::stable_partition(context->streams.begin(), context->streams.end(),
                          [](const auto &stream) { return !stream->executes_tasks(); });
    while (!context->streams.empty()) {
        destroy_stream(engine, lock, context->streams.back(), force);
    }
    context->models.clear();
    drop_labels(engine, *context);
    context->default_stream.reset();
    if (context->host_functions) {
        context->host_functions->stop();
    }
    Device &device = context->device;
    erase(device.contexts, context.get());
    if (context->overflow_address != nullptr) {
        note_release(engine, context->overflow_address);
        engine.memory().free_internal(device.physical_id, context->overflow_address);
    }
    if (device.contexts.empty()) {
        engine.free_device_memory(device);
        device.lost = ACL_SUCCESS;
    }
}

void synchronize_device(Engine &engine, Lock &lock, Clock::time_point deadline) {
    Context &context = require_context(engine);
    require_sound(context);
    const auto keep = context.shared_from_this();  // others may destroy it meanwhile,
    auto streams = context.streams;                // or create and destroy streams
    const auto is_passed_over = [](const auto &stream) { return (stream->flags & flags_not_synchronized()) != 0; };
    streams.erase(std::remove_if(streams.begin(), streams.end(), is_passed_over), streams.end());
    for (const auto &stream : streams) {
        wait_for_stream(engine, lock, stream, deadline);
    }
    engine.memory_pools().trim(context.device);
    // Taken when nothing can come between: what a wait in vain took would never be told.
    aclError first = ACL_SUCCESS;
    for (const auto &stream : streams) {
        const aclError failure = std::exchange(stream->failure, ACL_SUCCESS);
        first = first == ACL_SUCCESS ? failure : first;
    }
    tell_failure(first, "a task of the current context failed");
}

void abort_device(Engine &engine, Lock &lock, Device &device, Clock::time_point deadline) {
    // Waiting lets other threads in, so everything that is touched afterwards is held.
    std::vector<std::shared_ptr<Context>> contexts;
    std::vector<std::shared_ptr<Stream>> streams;
    for (Context *context : device.contexts) {
        contexts.push_back(context->shared_from_this());
        streams.insert(streams.end(), context->streams.begin(), context->streams.end());
    }
    for (const auto &stream : streams) {
        engine.drop_queue(*stream, ACL_ERROR_RT_DEVICE_TASK_ABORT);
    }
    for (const auto &stream : streams) {
        if (!engine.await_running(lock, *stream, deadline)) {
            fail(ACL_ERROR_RT_WAIT_TIMEOUT, "the task that runs on stream %u did not end in time", stream->id);
        }
        stream->failure = ACL_SUCCESS;
    }
    for (const auto &context : contexts) {
        context->failure = ACL_SUCCESS;
    }
}

void require_not_tearing_down(const Context &context) {
    for (const auto &stream : context.streams) {
        if (stream->destroyer == std::this_thread::get_id()) {
            fail(ACL_ERROR_RT_CONTEXT_RELEASE_ERROR,
                 "the callback of stream %u tears down the context it is called for", stream->id);
        }
    }
}

void set_default_device(Device *device) { g_default_device = device; }

void enter_device(Engine &engine, Device &device) {
    require_not_lost(device);
    if (device.set_count == 0) {
        device.primary = create_context(engine, device, /*primary=*/true);
    }
    ++device.set_count;
    thread_context() = {nullptr, device.primary->handle()};
}

Context *current_context(Engine &engine) {
    const ThreadContext &current = thread_context();
    void *handle = current.explicit_context != nullptr ? current.explicit_context : current.primary_context;
    Context *context = engine.registry().find<Context>(handle);
    if (context == nullptr && g_default_device != nullptr) {
        enter_device(engine, *g_default_device);
        context = g_default_device->primary.get();
    }
    return context;
}

Context &require_context(Engine &engine) {
    Context *context = current_context(engine);
    if (context == nullptr) {
        fail(ACL_ERROR_RT_CONTEXT_NULL, "the calling thread has no current context; call aclrtSetDevice in it");
    }
    return *context;
}

Device &require_current_device(Engine &engine) {
    Device &device = require_context(engine).device;
    require_not_lost(device);
    return device;
}

std::shared_ptr<Stream> create_stream(Engine &engine, Context &context, std::uint32_t flags, std::uint32_t priority) {
    require_not_lost(context.device);
    if (!context.device.has_group) {
        fail(ACL_ERROR_RT_GROUP_NOT_SET, "device %u has %u compute groups; choose one with aclrtSetGroup first",
             context.device.user_id, config().groups);
    }
    return add_stream(engine, context, new_stream_id(context.device), flags, priority);
}

void destroy_stream(Engine &engine, Lock &lock, std::shared_ptr<Stream> stream, bool force) {
    Context &context = stream->context;
    if (stream->destroyer != std::thread::id()) {
        // Another thread is tearing it down: wait until it has.
        Patience patience;
        while (!stream->destroyed) {
            patience.wait(lock, stream->progress, [&] { return explain_stall(*stream, stream->submitted); });
        }
        return;
    }
    stream->destroyer = std::this_thread::get_id();
    tell_stream_state(engine, lock, stream->handle(), ACL_RT_STREAM_STATE_DESTROY_PRE);
    engine.registry().remove(*stream);
    // A stream that has failed in STOP mode, or never executes, would never be done.
    const bool drop = force || !stream->is_active() || context.failure != ACL_SUCCESS;
    if (!drop) {
        engine.wait_for(lock, stream, stream->submitted, Clock::time_point::max());
    }
    engine.drop_tasks(lock, *stream, ACL_ERROR_RT_STREAM_ABORT, Clock::time_point::max());
    engine.reports().release(*stream);
    stream->destroyed = true;
    stream->progress.notify_all();
    erase(context.streams, stream);
    if (stream->id != kPrimaryDefaultStream) {
        context.device.stream_ids.release(stream->id);
    }
}

}  // namespace aclsim
