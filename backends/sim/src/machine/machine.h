// SPDX-License-Identifier: Apache-2.0
// The machine: its devices, their contexts and streams, and the callbacks that report events there.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "engine/core.h"
#include "machine/callback.h"
#include "machine/capture_modes.h"
#include "machine/context.h"
#include "machine/device.h"
#include "machine/dumps.h"
#include "machine/exception.h"
#include "machine/snapshot_gate.h"
#include "machine/state_callbacks.h"

namespace aclsim {

// Component whose objects live in contexts and on devices and end with them. Requires the engine lock.
class Resident {
  public:
    virtual ~Resident() = default;
    // Runs when threads can no longer find the context, but its streams still exist.
    virtual void context_closes(Context &) REQUIRES(engine_lock) {}
    virtual void context_closed(Context &) REQUIRES(engine_lock) {}      // runs after its streams are gone
    virtual void device_closed(Device &) REQUIRES(engine_lock) {}        // runs after its last context is gone
    virtual void device_synchronized(Device &) REQUIRES(engine_lock) {}  // runs for the device or one of its streams
};

// Requires the engine lock, as do all functions below.
class Machine {
  public:
    explicit Machine(Core &core_of_all);
    void add(Resident &resident) REQUIRES(engine_lock) { residents_.push_back(&resident); }
    const std::vector<Resident *> &residents() const REQUIRES(engine_lock) { return residents_; }
    // Default-device mode of aclInit: a thread without a context gets the primary context of this device when it asks
    // for its context (device_context_init_errors.md section 6.1). nullptr ends the mode.
    void set_default_device(Device *device) REQUIRES(engine_lock) { default_device_ = device; }
    Device *default_device() const REQUIRES(engine_lock) { return default_device_; }

    Core &core;
    std::vector<std::unique_ptr<Device>> devices;
    Exceptions exceptions;
    Dumps dumps;
    StateCallbacks state_callbacks;
    Reports reports;
    CaptureModes capture_modes;
    SnapshotGate snapshot_gate;

  private:
    std::vector<Resident *> residents_ GUARDED_BY(engine_lock);
    Device *default_device_ GUARDED_BY(engine_lock) = nullptr;
};

// Contexts of the calling thread. An explicit context takes precedence over a primary one
// (device_context_init_errors.md section 6.1).
struct ThreadContext {
    void *explicit_context = nullptr;  // handles, because another thread may destroy the objects
    void *primary_context = nullptr;
    void *current() const { return explicit_context != nullptr ? explicit_context : primary_context; }
};
static_assert(std::is_trivially_destructible_v<ThreadContext>);
inline thread_local ThreadContext t_context;
inline ThreadContext &thread_context() { return t_context; }

Ref<Context> create_context(Machine &machine, Device &device, bool primary) REQUIRES(engine_lock);
// Waits for the tasks of the streams, or drops them, and then removes everything in the context.
void destroy_context(Machine &machine, Lock &lock, Ref<Context> context, bool force) REQUIRES(engine_lock);
// Waits while another thread synchronizes the calling thread's context, because the runtime keeps the list of the
// context's streams locked during that call. Called before the list is used or changed, and before everything that may
// not change during the wait. Fails if the check fails; without one, if the program interrupts the wait.
void await_stream_list(Machine &machine, Lock &lock, WaitCheck *check = nullptr) REQUIRES(engine_lock);
// Behaviour of other threads' calls that need the list during a synchronization.
enum class OtherThreads : std::uint8_t { Wait, GoOn };
// aclrtSynchronizeDevice: waits for the streams of the calling thread's context. Fails if a task failed, an abort ended
// the wait, the deadline has passed, or the check fails.
void synchronize_device(Machine &machine, Lock &lock, Time deadline, WaitCheck *check = nullptr,
                        OtherThreads others = OtherThreads::Wait) REQUIRES(engine_lock);
// aclrtDeviceTaskAbort: drops all tasks of the device and clears the failures of its contexts. Fails if a task does not
// end in time.
void abort_device(Machine &machine, Lock &lock, Device &device, Time deadline) REQUIRES(engine_lock);
// Fails calls that destroy streams while the device is down; the first such call blocks before it fails.
void require_not_down(Machine &machine, Lock &lock, Device &device) REQUIRES(engine_lock);
// Fails if the calling thread is in a callback of the same teardown.
void require_not_tearing_down(const Context &context) REQUIRES(engine_lock);
// Makes the device's primary context current, as aclrtSetDevice does.
void enter_device(Machine &machine, Device &device) REQUIRES(engine_lock);
Context *current_context(Machine &machine) REQUIRES(engine_lock);  // nullptr if there is none
Context &require_context(Machine &machine) REQUIRES(engine_lock);  // ACL_ERROR_RT_CONTEXT_NULL if there is none
// Returns the device of the current context; fails also if it is lost. Used by calls that create an object on the
// device or query it.
Device &require_current_device(Machine &machine) REQUIRES(engine_lock);
// The same for a new notify; without a context, aclrtGetLastError gets no code (events_streams_sync.md section 5).
Device &require_device_of_notify(Machine &machine) REQUIRES(engine_lock);
Device &require_device(Machine &machine, std::int64_t user_id) REQUIRES(engine_lock);  // ACL_ERROR_RT_INVALID_DEVICEID

// Fails with the last argument if the device has no stream left.
Ref<ContextStream> create_stream(Machine &machine, Context &context, std::uint32_t flags, std::uint32_t priority,
                                 aclError exhausted = ACL_ERROR_RT_RESOURCE_ALLOC_FAIL) REQUIRES(engine_lock);
void destroy_stream(Machine &machine, Lock &lock, Ref<ContextStream> stream, bool force) REQUIRES(engine_lock);
// Last step of destroy_stream(): removes the empty stream from its context.
void forget_stream(Machine &machine, ContextStream &stream) REQUIRES(engine_lock);
// Notifies the residents that the device or one of its streams was synchronized.
void note_synchronized(Machine &machine, Device &device) REQUIRES(engine_lock);

}  // namespace aclsim
