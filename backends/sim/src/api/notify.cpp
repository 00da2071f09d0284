// SPDX-License-Identifier: Apache-2.0
// Notifies (events_streams_sync.md section 5).
#include "tasks/notify.h"

#include <cstring>

#include "api/entry.h"

using namespace aclsim;

namespace {

constexpr std::uint64_t kHighestImportFlag = 3;

Notify &require_notify(Simulator &sim, aclrtNotify notify) REQUIRES(engine_lock) {
    require(notify, "notify");
    return require_handle<Notify>(sim, notify, "notify");
}

// Resolves the timeout. Waits of the "untimed form" have no limit, or on some products the process-wide limit (section
// 5).
std::uint32_t timeout_of(const Simulator &sim, std::uint32_t timeout) {
    if (timeout != Simulator::kUseOpWaitTimeout) {
        return timeout;
    }
    return config().product->has(kNotifyWaitsTakeGlobalLimit) ? sim.op_wait_timeout_s : 0;
}

void require_positive_count(std::size_t count) {
    if (static_cast<std::int32_t>(count) <= 0) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "the number of processes is %zu", count);
    }
}

}  // namespace

aclError aclrtCreateNotify(aclrtNotify *notify, uint64_t flag) {
    return entry(Function::aclrtCreateNotify, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(notify, "notify");
        if (flag > ACL_NOTIFY_DEVICE_USE_ONLY) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "there is no notify flag %#llx", static_cast<unsigned long long>(flag));
        }
        *notify = Notify::create(sim.core, require_device_of_notify(sim.machine))->handle();
    });
}

aclError aclrtDestroyNotify(aclrtNotify notify) {
    return entry(Function::aclrtDestroyNotify, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        Notify &found = require_notify(sim, notify);
        require_context(sim);
        sim.core.registry().remove(found);
    });
}

aclError aclrtRecordNotify(aclrtNotify notify, aclrtStream stream) {
    return entry(Function::aclrtRecordNotify, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        Notify &found = require_notify(sim, notify);
        found.record(sim.core, lock, require_own_stream(sim, stream));
    });
}

aclError aclrtWaitAndResetNotify(aclrtNotify notify, aclrtStream stream, uint32_t timeout) {
    return entry(Function::aclrtWaitAndResetNotify, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        Notify &found = require_notify(sim, notify);
        ContextStream &on = require_own_stream(sim, stream);
        if (found.is_shared() && device_of(on).physical_id != found.creator_device()) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "a shared notify is waited for on the device that created it, %u",
                 found.creator_device());
        }
        found.wait(sim.core, lock, on, timeout_of(sim, timeout));
    });
}

aclError aclrtGetNotifyId(aclrtNotify notify, uint32_t *notifyId) {
    return entry(Function::aclrtGetNotifyId, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(notify, "notify");
        require(notifyId, "notifyId");
        const Notify &found = require_notify(sim, notify);
        require_context(sim);
        *notifyId = found.id;
    });
}

aclError aclrtNotifyBatchReset(aclrtNotify *notifies, size_t num) {
    return entry(Function::aclrtNotifyBatchReset, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(notifies, "notifies");
        require_supported();
        if (num == 0) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "the number of notifies is 0");
        }
        require_context(sim);
        for (std::size_t i = 0; i < num; ++i) {  // notifies before a failing one stay reset
            if (notifies[i] == nullptr) {
                fail(ACL_ERROR_RT_PARAM_INVALID, "notify %zu is NULL", i);
            }
            require_notify(sim, notifies[i]).clear();
        }
    });
}

aclError aclrtNotifyGetExportKey(aclrtNotify notify, char *key, size_t len, uint64_t flags) {
    return entry(Function::aclrtNotifyGetExportKey, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(notify, "notify");
        require(key, "key");
        if (flags != ACL_RT_NOTIFY_EXPORT_FLAG_DEFAULT && flags != ACL_RT_NOTIFY_EXPORT_FLAG_DISABLE_PID_VALIDATION) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "there is no export flag %#llx", static_cast<unsigned long long>(flags));
        }
        require_supported();
        Notify &found = require_notify(sim, notify);
        if (len < SharedMemory::kNameSize) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "the key needs %zu bytes, and there are %zu", SharedMemory::kNameSize,
                 len);
        }
        if (found.is_shared()) {
            fail(ACL_ERROR_RT_INTERNAL_ERROR, "the notify is shared already");
        }
        const std::string &name = found.export_key(sim.core, flags == ACL_RT_NOTIFY_EXPORT_FLAG_DEFAULT);
        std::memcpy(key, name.c_str(), name.size() + 1);
    });
}

aclError aclrtNotifySetImportPid(aclrtNotify notify, int32_t *pid, size_t num) {
    return entry(Function::aclrtNotifySetImportPid, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(notify, "notify");
        require(pid, "pid");
        require_supported();
        require_positive_count(num);
        require_notify(sim, notify).permit(pid, num);
    });
}

aclError aclrtNotifySetImportPidInterServer(aclrtNotify notify, aclrtServerPid *serverPids, size_t num) {
    return entry(Function::aclrtNotifySetImportPidInterServer, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require_supported();
        if (notify == nullptr || serverPids == nullptr) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "notify or serverPids is NULL");
        }
        require_positive_count(num);
        Notify &found = require_notify(sim, notify);
        for (std::size_t i = 0; i < num; ++i) {
            if (serverPids[i].pid == nullptr || serverPids[i].num != 1) {
                fail(ACL_ERROR_RT_PARAM_INVALID, "element %zu does not name one process", i);
            }
        }
        for (std::size_t i = 0; i < num; ++i) {
            found.permit(serverPids[i].pid, 1);
        }
    });
}

aclError aclrtNotifyImportByKey(aclrtNotify *notify, const char *key, uint64_t flags) {
    return entry(Function::aclrtNotifyImportByKey, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(notify, "notify");
        require(key, "key");
        if (flags > kHighestImportFlag) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "there is no import flag %#llx", static_cast<unsigned long long>(flags));
        }
        require_supported();
        Device &device = require_current_device(sim);
        const std::string name(key, strnlen(key, SharedMemory::kNameSize));
        const auto imported = Notify::import_key(sim.core, device, name);
        if (imported == nullptr) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "no process has exported a notify under this key");
        }
        *notify = imported->handle();
    });
}
