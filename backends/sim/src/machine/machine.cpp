// SPDX-License-Identifier: Apache-2.0
#include "machine/machine.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "machine/shared_card.h"
#include "support/error.h"
#include "support/uncancelled.h"

namespace aclsim {
namespace {

constexpr std::uint32_t kPrimaryDefaultStream = 0;

Ref<ContextStream> add_stream(Machine &machine, Context &context, std::uint32_t id, std::uint32_t flags,
                              std::uint32_t priority) REQUIRES(engine_lock) {
    const std::uint32_t shard = *context.device.shard;
    const auto stream = make_ref_in<ContextStream>(shard, context, id, flags, priority);
    machine.core.registry().add_with(stream, [&]() REQUIRES(engine_lock) { context.streams.push_back(stream); }, shard);
    machine.core.observers().report<kTasks>(&Observer::stream_created, *stream);
    return stream;
}

// The default stream reports FAST_LAUNCH | FAST_SYNC if the chip has a control queue, else 0 (section 3).
std::uint32_t default_stream_flags() {
    return config().product->has_control_queue ? ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC : 0;
}

template <class Container, class Value>
void erase(Container &container, const Value &value) {
    container.erase(std::remove(container.begin(), container.end(), value), container.end());
}

std::uint32_t new_stream_id(Device &device, aclError exhausted) REQUIRES(engine_lock) {
    std::uint32_t id = 0;
    if (!device.acquire_stream(id)) {
        fail(exhausted, "device %u gives out no more streams; %u are in use%s", device.user_id,
             device.stream_ids.in_use(), mention_others(device.card.get(), SharedCard::kStreams).c_str());
    }
    return id;
}

// ID of a stream to be created; released unless kept.
class StreamId {
  public:
    StreamId(Device &device, std::uint32_t value) : device_(device), value_(value) {}
    ~StreamId() REQUIRES(engine_lock) {
        if (!is_kept_ && value_ != kPrimaryDefaultStream) {
            device_.release_stream(value_);
        }
    }
    StreamId(const StreamId &) = delete;
    StreamId &operator=(const StreamId &) = delete;
    std::uint32_t value() const { return value_; }
    void keep() { is_kept_ = true; }

  private:
    Device &device_;
    const std::uint32_t value_;
    bool is_kept_ = false;
};

// Returns true if a synchronization of the device waits for the stream's tasks (events_streams_sync.md section 4).
// Persistent streams never execute here, so no product waits for them.
bool is_synchronized_with_device(const Stream &stream) {
    const std::uint32_t cpu = config().product->has(kDeviceSyncSkipsCpuStreams) ? ACL_STREAM_CPU_SCHEDULE : 0;
    return (stream.flags & (ACL_STREAM_DEVICE_USE_ONLY | ACL_STREAM_PERSISTENT | cpu)) == 0;
}

// Returns true while another thread destroys the stream and waits for its tasks. The stream has left its context then,
// and no synchronization of the device waits for it (events_streams_sync.md section 4 [obs]).
bool has_lost_its_handle(const Stream &stream) REQUIRES(engine_lock) {
    return stream.destroyer != std::thread::id() && stream.kind() == Kind::Count;
}

// Clears the failures of these streams and throws the first.
void raise_first_failure(Context &context, const std::vector<Ref<ContextStream>> &streams) REQUIRES(engine_lock) {
    aclError first = ACL_SUCCESS;
    std::string text;
    for (const auto &stream : streams) {
        const aclError failure = std::exchange(stream->failure, ACL_SUCCESS);
        if (failure != ACL_SUCCESS && first == ACL_SUCCESS) {
            first = failure;
            text = take_failure_text(*stream);
        }
        stream->failure_reason.clear();
    }
    const auto has_failure = [](const auto &stream) REQUIRES(engine_lock) {
        return is_synchronized_with_device(*stream) && stream->failure != ACL_SUCCESS;
    };
    context.has_failures = std::any_of(context.streams.begin(), context.streams.end(), has_failure);
    raise_failure(first, text);
}

void wait_for_stream(Machine &machine, Lock &lock, const Ref<ContextStream> &stream, Time deadline, WaitCheck *check)
    REQUIRES(engine_lock) {
    // Another thread may destroy the stream during the wait; tasks dropped by this do not fail the call.
    const auto is_leaving = [&]() REQUIRES(engine_lock) { return stream->destroyer != std::thread::id(); };
    if (!is_leaving()) {
        require_not_aborting(*stream);
    }
    switch (machine.core.wait_for(lock, stream, stream->submitted, deadline, check)) {
        case Core::Waited::TimedOut:
            fail(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, "stream %u was not done in time", stream->id);
        case Core::Waited::Aborted:
            if (!is_leaving()) {
                fail_aborted(*stream);
            }
            break;
        case Core::Waited::Stopped:
            require_healthy(context_of(*stream));
            break;
        case Core::Waited::Done:
            break;
    }
}

// Lock of the list of a context's streams, held by the current call.
class StreamListLock {
  public:
    explicit StreamListLock(Context &context) REQUIRES(engine_lock)
        : context_(context), outer_(context.synchronization) {
        context.synchronization = {current_function(), std::this_thread::get_id()};
    }
    ~StreamListLock() REQUIRES(engine_lock) {
        context_.synchronization = outer_;
        context_.synchronized.notify_all();
    }
    StreamListLock(const StreamListLock &) = delete;
    StreamListLock &operator=(const StreamListLock &) = delete;

  private:
    Context &context_;
    const BlockingCall outer_;  // outer call of the same thread, whose callback makes this one
};

// Destroys all streams of a context that the program has lost. A state callback that fails keeps its stream alive: the
// second attempt skips the callback.
void destroy_streams(Machine &machine, Lock &lock, Context &context, bool force) REQUIRES(engine_lock) {
    std::optional<Failure> failure;
    std::size_t dropped = 0;
    while (!context.streams.empty()) {
        if (machine.core.are_many(dropped)) {
            dropped = 0;
            let_others_in(lock);
            continue;
        }
        const Ref<ContextStream> stream = context.streams.back();
        dropped += stream->queue.size() + 1;
        try {
            destroy_stream(machine, lock, stream, force);
        } catch (const Failure &of_callback) {
            failure = of_callback;
            stream->is_hidden = true;
        } catch (...) {  // the callback has ended the thread, or memory is missing: call no more callbacks
            for (const auto &left : context.streams) {
                left->is_hidden = true;
            }
            destroy_streams(machine, lock, context, force);
            throw;
        }
    }
    if (failure) {
        throw Failure(*failure);
    }
}

void close_context(Machine &machine, Context &context) REQUIRES(engine_lock) {
    context.default_stream.reset();
    if (context.host_functions) {
        context.host_functions->stop();
    }
    Device &device = context.device;
    for (Resident *resident : machine.residents()) {
        resident->context_closed(context);
    }
    erase(device.contexts, &context);
    if (device.contexts.empty()) {
        for (Resident *resident : machine.residents()) {
            resident->device_closed(device);
        }
        device.lost = ACL_SUCCESS;
        device.release_internal_streams();
    }
}

}  // namespace

Machine::Machine(Core &core_of_all)
    : core(core_of_all), exceptions(core_of_all), reports(*this), snapshot_gate(core_of_all) {
    for (std::uint32_t user = 0; user < config().visible.size(); ++user) {
        devices.push_back(std::make_unique<Device>(user, config().visible[user]));
    }
    core.set_failure_handler(exceptions);
}

Ref<Context> create_context(Machine &machine, Device &device, bool primary) {
    if (!device.shard) {
        device.shard = machine.core.assign_shard();
    }
    auto context = make_ref<Context>(device, primary);
    device.contexts.reserve(device.contexts.size() + 1);
    StreamId id(device, primary ? kPrimaryDefaultStream : new_stream_id(device, ACL_ERROR_RT_RESOURCE_ALLOC_FAIL));
    const auto add_default_stream = [&]() REQUIRES(engine_lock) {
        context->default_stream = add_stream(machine, *context, id.value(), default_stream_flags(), 0);
    };
    machine.core.registry().add_with(context, add_default_stream, *device.shard);
    id.keep();
    if (device.contexts.empty()) {
        device.count_internal_streams();
    }
    device.contexts.push_back(context.get());
    return context;
}

void destroy_context(Machine &machine, Lock &lock, Ref<Context> context, bool force) {
    const Uncancelled uncancelled;
    machine.core.registry().remove(*context);  // threads can no longer find it
    for (Resident *resident : machine.residents()) {
        resident->context_closes(*context);
    }
    // Destroy from the back, and the streams of models last, because other streams may wait for an execution.
    std::stable_partition(context->streams.begin(), context->streams.end(),
                          [](const auto &stream) { return !stream->executes_tasks; });
    run_to_end([&]() REQUIRES(engine_lock) { destroy_streams(machine, lock, *context, force); },
               [&]() REQUIRES(engine_lock) { close_context(machine, *context); });
}

void await_stream_list(Machine &machine, Lock &lock, WaitCheck *check) {
    for (;;) {
        Context *const context = machine.core.registry().find<Context>(thread_context().current());
        if (context == nullptr || !context->synchronization.blocks_caller()) {
            return;
        }
        const Ref<Context> keep(*context);  // other threads may destroy it during the wait
        InterruptPoll poll(machine.core, ACL_ERROR_RT_WAIT_TIMEOUT, "another thread, which synchronizes the device");
        HostWait wait(machine.core, context->synchronization, check != nullptr ? check : &poll);
        while (context->synchronization.blocks_caller()) {
            wait.sleep(lock, context->synchronized);
        }
    }
}

void synchronize_device(Machine &machine, Lock &lock, Time deadline, WaitCheck *check, OtherThreads others) {
    await_stream_list(machine, lock);
    Context &context = require_context(machine);
    require_healthy(context);
    if (machine.capture_modes.captures_in(context)) {
        fail(ACL_ERROR_RT_STREAM_CAPTURED, "a stream of the current context is being captured");
    }
    const auto keep = Ref<Context>(context);    // other threads may destroy it during the waits
    std::vector<Ref<ContextStream>> unsettled;  // other threads may create and destroy streams
    for (const auto &stream : context.streams) {
        if (!is_synchronized_with_device(*stream) || has_lost_its_handle(*stream)) {
            continue;
        }
        // Keep the order of the streams: if a wait fails, the streams after it do not count as synchronized.
        if (!unsettled.empty() || !machine.core.settle_at_once(*stream)) {
            unsettled.push_back(stream);
        }
    }
    if (!unsettled.empty()) {
        std::optional<StreamListLock> list_lock;
        if (others == OtherThreads::Wait) {
            list_lock.emplace(context);
        }
        for (const auto &stream : unsettled) {
            wait_for_stream(machine, lock, stream, deadline, check);
        }
    }
    note_synchronized(machine, context.device);
    // Clear failures only after all waits have succeeded: a failure cleared before a time-out would never be reported.
    if (context.has_failures) {
        raise_first_failure(context, unsettled);
    }
}

void abort_device(Machine &machine, Lock &lock, Device &device, Time deadline) {
    const Uncancelled uncancelled;
    // Hold everything used after the waits, which let other threads in.
    std::vector<Ref<Context>> contexts;
    std::vector<Ref<ContextStream>> streams;
    for (Context *context : device.contexts) {
        contexts.push_back(Ref<Context>(context));
        streams.insert(streams.end(), context->streams.begin(), context->streams.end());
    }
    for (const auto &stream : streams) {
        machine.core.drop_queue(*stream, ACL_ERROR_RT_DEVICE_TASK_ABORT);
    }
    for (const auto &stream : streams) {
        if (!machine.core.await_running(lock, *stream, deadline)) {
            fail(ACL_ERROR_RT_WAIT_TIMEOUT, "the task that runs on stream %u did not end in time", stream->id);
        }
        stream->failure = ACL_SUCCESS;
    }
    for (const auto &context : contexts) {
        context->failure = ACL_SUCCESS;
    }
}

// The device does not answer, and the first call waits the full time for an answer (hardware_seen.md sections 1.17 and
// 3.8).
void require_not_down(Machine &machine, Lock &lock, Device &device) {
    if (!device.down) {
        return;
    }
    const auto block = std::exchange(*device.down, std::chrono::microseconds(0));
    if (block.count() > 0) {
        const Time end = machine.core.clock().now() + block;
        sleep_until(machine.core, lock, end, ACL_ERROR_RT_SOCKET_CLOSE, "a device that is down");
    }
    fail(ACL_ERROR_RT_SOCKET_CLOSE, "device %u is down: only aclrtResetDeviceForce ends its streams", device.user_id);
}

void require_not_tearing_down(const Context &context) {
    for (const auto &stream : context.streams) {
        if (stream->destroyer == std::this_thread::get_id()) {
            fail(ACL_ERROR_RT_CONTEXT_RELEASE_ERROR,
                 "the callback of stream %u tears down the context it is called for", stream->id);
        }
    }
}

void enter_device(Machine &machine, Device &device) {
    require_not_lost(device);
    if (device.set_count == 0) {
        device.primary = create_context(machine, device, /*primary=*/true);
    }
    ++device.set_count;
    thread_context() = {nullptr, device.primary->handle()};
}

Context *current_context(Machine &machine) {
    Context *context = machine.core.registry().find<Context>(thread_context().current());
    if (context == nullptr && machine.default_device() != nullptr) {
        enter_device(machine, *machine.default_device());
        context = machine.default_device()->primary.get();
    }
    return context;
}

Context &require_context(Machine &machine) {
    Context *context = current_context(machine);
    if (context == nullptr) {
        fail(ACL_ERROR_RT_CONTEXT_NULL, "the calling thread has no current context; call aclrtSetDevice in it");
    }
    return *context;
}

Device &require_current_device(Machine &machine) {
    Device &device = require_context(machine).device;
    require_not_lost(device);
    return device;
}

Device &require_device_of_notify(Machine &machine) {
    Context *const context = current_context(machine);
    if (context == nullptr) {
        fail_unremembered(ACL_ERROR_RT_CONTEXT_NULL,
                          "the calling thread has no current context; call aclrtSetDevice in it");
    }
    require_not_lost(context->device);
    return context->device;
}

Device &require_device(Machine &machine, std::int64_t user_id) {
    if (user_id < 0 || user_id >= static_cast<std::int64_t>(machine.devices.size())) {
        const std::string which =
            config().visible_is_set ? visible_devices_text() : "there are " + std::to_string(machine.devices.size());
        fail(ACL_ERROR_RT_INVALID_DEVICEID, "device %lld does not exist; %s", static_cast<long long>(user_id),
             which.c_str());
    }
    return *machine.devices[static_cast<std::size_t>(user_id)];
}

void note_synchronized(Machine &machine, Device &device) {
    for (Resident *resident : machine.residents()) {
        resident->device_synchronized(device);
    }
}

Ref<ContextStream> create_stream(Machine &machine, Context &context, std::uint32_t flags, std::uint32_t priority,
                                 aclError exhausted) {
    require_not_lost(context.device);
    require_not_poisoned(context.device);
    if (!context.device.has_group) {
        fail(ACL_ERROR_RT_GROUP_NOT_SET, "device %u has %u compute groups; choose one with aclrtSetGroup first",
             context.device.user_id, config().groups);
    }
    StreamId id(context.device, new_stream_id(context.device, exhausted));
    const auto stream = add_stream(machine, context, id.value(), flags, priority);
    id.keep();
    return stream;
}

// Waits for the tasks of a stream that is to end. A wait that fails is a deadlock, which the check has reported.
void await_or_give_up(Core &core, Lock &lock, const Ref<ContextStream> &stream) REQUIRES(engine_lock) {
    try {
        core.wait_for(lock, stream, stream->submitted, kNever);
    } catch (const Failure &failure) {
        remember(failure.code);
    }
}

void destroy_stream(Machine &machine, Lock &lock, Ref<ContextStream> stream, bool force) {
    const Uncancelled uncancelled;
    Context &context = context_of(*stream);
    if (stream->destroyer != std::thread::id()) {
        // Wait until the other thread has destroyed the stream or its callback has failed.
        HostWait wait(machine.core, *stream, stream->submitted, kNever);
        while (!stream->is_destroyed && stream->destroyer != std::thread::id()) {
            wait.sleep(lock, stream->progress);
        }
        if (stream->is_destroyed) {
            return;
        }
    }
    stream->destroyer = std::this_thread::get_id();
    if (!stream->is_hidden) {
        try {
            report_stream_state(machine.state_callbacks, lock, stream->handle(), ACL_RT_STREAM_STATE_DESTROY_PRE);
        } catch (...) {
            stream->destroyer = std::thread::id();
            stream->progress.notify_all();
            throw;
        }
    }
    machine.core.registry().remove(*stream);
    // Streams that failed in STOP mode or never execute would never complete.
    const bool drop = force || !stream->is_active() || context.failure != ACL_SUCCESS;
    if (!drop) {
        persist(lock, [&]() REQUIRES(engine_lock) { await_or_give_up(machine.core, lock, stream); });
    }
    persist(lock,
            [&]() REQUIRES(engine_lock) { machine.core.drop_tasks(lock, *stream, ACL_ERROR_RT_STREAM_ABORT, kNever); });
    forget_stream(machine, *stream);
}

void forget_stream(Machine &machine, ContextStream &stream) {
    const Ref<ContextStream> keep(stream);
    Context &context = context_of(stream);
    machine.reports.release(stream);
    stream.set_redirect(nullptr);
    stream.is_destroyed = true;
    machine.core.observers().report<kTasks>(&Observer::stream_destroyed, stream);
    stream.progress.notify_all();
    const auto found = std::find(context.streams.rbegin(), context.streams.rend(), keep);  // mostly the last
    context.streams.erase(std::next(found).base());
    machine.core.stream_order().forget(stream);
    if (stream.id != kPrimaryDefaultStream) {
        context.device.release_stream(stream.id);
    }
}

}  // namespace aclsim
