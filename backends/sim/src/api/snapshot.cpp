// SPDX-License-Identifier: Apache-2.0
// Snapshots of the process (device_context_init_errors.md section 8); states RUNNING, LOCKED and BACKED_UP. The devices
// are in this process and their memory does not change while the gate is closed, so backup and restore copy nothing.
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "api/entry.h"
#include "support/program_call.h"

using namespace aclsim;

namespace {

enum class State : std::uint8_t { Running, Locked, BackedUp };

struct Listener {
    aclrtSnapShotStage stage;
    aclrtSnapShotCallBack callback;
    void *argument;

    bool is(aclrtSnapShotStage other_stage, aclrtSnapShotCallBack other) const {
        return stage == other_stage && callback == other;
    }
};

// Guarded by the engine lock.
State g_state = State::Running;
std::vector<Listener> g_listeners;  // kept in the order of their registration

void require_own_process(int pid, const void *reserved) {
    if (pid != getpid()) {
        fail_unremembered(ACL_ERROR_INVALID_PARAM, "process %d is not the calling one, %d", pid,
                          static_cast<int>(getpid()));
    }
    if (reserved != nullptr) {
        fail_unremembered(ACL_ERROR_INVALID_PARAM, "the second argument must be NULL");
    }
    require_supported();
}

void require_state(bool is_right, aclError code, const char *needed) {
    if (!is_right) {
        fail(code, "the process is not %s", needed);
    }
}

std::vector<std::int32_t> open_devices(Simulator &sim) REQUIRES(engine_lock) {
    std::vector<std::int32_t> ids;
    for (const auto &device : sim.machine.devices) {
        if (!device->contexts.empty()) {
            ids.push_back(static_cast<std::int32_t>(device->user_id));
        }
    }
    return ids;
}

// Calls the listeners without holding the engine lock. While the gate is closed, a callback that calls the runtime
// waits like every other thread.
void notify(Simulator &sim, Lock &lock, aclrtSnapShotStage stage) REQUIRES(engine_lock) {
    const std::vector<Listener> listeners = g_listeners;
    const std::vector<std::int32_t> devices = open_devices(sim);
    std::uint32_t failure = 0;
    {
        const Unlocked unlocked(lock);
        for (const Listener &listener : listeners) {
            for (const std::int32_t device : devices) {
                if (listener.stage == stage && failure == 0) {
                    call_or_fail("a snapshot callback",
                                 [&] { failure = listener.callback(device, listener.argument); });
                }
            }
        }
    }
    if (failure != 0) {
        fail(ACL_ERROR_SNAPSHOT_CALLBACK_FAILED, "a callback of stage %d answered %u", static_cast<int>(stage),
             failure);
    }
}

// Waits until the devices are idle, as a backup requires. Streams that execute nothing, or that a failure has stopped,
// are idle.
void wait_for_devices(Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
    std::vector<Ref<ContextStream>> streams;
    for (const auto &device : sim.machine.devices) {
        for (const Context *context : device->contexts) {
            streams.insert(streams.end(), context->streams.begin(), context->streams.end());
        }
    }
    for (const auto &stream : streams) {
        if (stream->is_active() && context_of(*stream).failure == ACL_SUCCESS) {
            sim.core.wait_for(lock, stream, stream->submitted, kNever);
        }
    }
}

void require_stage(aclrtSnapShotStage stage, aclrtSnapShotCallBack callback) {
    require_supported();
    if (stage < ACL_RT_SNAPSHOT_LOCK_PRE || stage > ACL_RT_SNAPSHOT_UNLOCK_POST) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "there is no snapshot stage %d", static_cast<int>(stage));
    }
    if (callback == nullptr) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "callback is NULL");
    }
}

auto find_listener(aclrtSnapShotStage stage, aclrtSnapShotCallBack callback) {
    return std::find_if(g_listeners.begin(), g_listeners.end(),
                        [&](const Listener &listener) { return listener.is(stage, callback); });
}

}  // namespace

aclError aclrtSnapShotProcessLock(int pid, void *reserve) {
    return ungated_entry(Function::aclrtSnapShotProcessLock, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require_own_process(pid, reserve);
        notify(sim, lock, ACL_RT_SNAPSHOT_LOCK_PRE);
        require_state(g_state == State::Running, ACL_ERROR_SNAPSHOT_LOCK_FAILED, "running");
        g_state = State::Locked;
        sim.machine.snapshot_gate.close();
    });
}

aclError aclrtSnapShotProcessUnlock(int pid, void *reserve) {
    return ungated_entry(Function::aclrtSnapShotProcessUnlock, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require_own_process(pid, reserve);
        require_state(g_state != State::Running, ACL_ERROR_SNAPSHOT_UNLOCK_FAILED, "locked");
        g_state = State::Running;
        sim.machine.snapshot_gate.open();
        notify(sim, lock, ACL_RT_SNAPSHOT_UNLOCK_POST);
    });
}

aclError aclrtSnapShotProcessBackup(int pid, aclrtSnapShotBackupArgs *args) {
    return ungated_entry(Function::aclrtSnapShotProcessBackup, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require_own_process(pid, args);
        const auto require_locked = [] {
            require_state(g_state == State::Locked, ACL_ERROR_SNAPSHOT_BACKUP_FAILED, "locked");
        };
        require_locked();
        notify(sim, lock, ACL_RT_SNAPSHOT_BACKUP_PRE);
        wait_for_devices(sim, lock);
        notify(sim, lock, ACL_RT_SNAPSHOT_BACKUP_POST);
        require_locked();  // recheck: another thread may have unlocked it
        g_state = State::BackedUp;
    });
}

aclError aclrtSnapShotProcessRestore(int pid, aclrtSnapShotRestoreArgs *args) {
    return ungated_entry(Function::aclrtSnapShotProcessRestore, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require_own_process(pid, args);
        const auto require_backup = [] {
            require_state(g_state == State::BackedUp, ACL_ERROR_SNAPSHOT_RESTORE_FAILED, "backed up");
        };
        require_backup();
        notify(sim, lock, ACL_RT_SNAPSHOT_RESTORE_PRE);
        notify(sim, lock, ACL_RT_SNAPSHOT_RESTORE_POST);
        require_backup();  // recheck: another thread may have unlocked it
        g_state = State::Locked;
    });
}

aclError aclrtSnapShotCallbackRegister(aclrtSnapShotStage stage, aclrtSnapShotCallBack callback, void *args) {
    return ungated_entry(Function::aclrtSnapShotCallbackRegister, [&](Simulator &, Lock &) {
        require_stage(stage, callback);
        if (find_listener(stage, callback) != g_listeners.end()) {
            fail(ACL_ERROR_SNAPSHOT_REGISTER_CALLBACK_FAILED, "stage %d has this callback already",
                 static_cast<int>(stage));
        }
        g_listeners.push_back({stage, callback, args});
    });
}

aclError aclrtSnapShotCallbackUnregister(aclrtSnapShotStage stage, aclrtSnapShotCallBack callback) {
    return ungated_entry(Function::aclrtSnapShotCallbackUnregister, [&](Simulator &, Lock &) {
        require_stage(stage, callback);
        const auto found = find_listener(stage, callback);
        if (found == g_listeners.end()) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "stage %d does not have this callback", static_cast<int>(stage));
        }
        g_listeners.erase(found);
    });
}
