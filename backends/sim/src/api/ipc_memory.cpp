// SPDX-License-Identifier: Apache-2.0
// Device memory shared between processes (memory_cmo_allocator.md section 7).
#include "memory/ipc_memory.h"

#include <climits>
#include <cstring>

#include "api/entry.h"
#include "memory/memory.h"

using namespace aclsim;

namespace {

constexpr std::size_t kKeySize = 65;
constexpr std::uint64_t kHighestFlag = 1;

void require_flags(std::uint64_t flags) {
    if (flags > kHighestFlag) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "there is no flag %#llx", static_cast<unsigned long long>(flags));
    }
}

std::string text_of_key(const char *key) { return std::string(key, strnlen(key, kKeySize)); }

}  // namespace

aclError aclrtIpcMemGetExportKey(void *devPtr, size_t size, char *key, size_t len, uint64_t flags) {
    return entry(Function::aclrtIpcMemGetExportKey, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(devPtr, "devPtr");
        require(key, "key");
        if (size == 0 || len == 0) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "size or len is 0");
        }
        require_flags(flags);
        require_supported();
        require_context(sim);
        if (len < kKeySize) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "the key needs %zu bytes, and there are %zu", kKeySize, len);
        }
        const bool checks_process = flags == ACL_RT_IPC_MEM_EXPORT_FLAG_DEFAULT;
        const std::string &name = sim.memory.ipc_memory.export_block(devPtr, size, checks_process);
        std::memcpy(key, name.c_str(), name.size() + 1);
    });
}

aclError aclrtIpcMemSetImportPid(const char *key, int32_t *pid, size_t num) {
    return entry(Function::aclrtIpcMemSetImportPid, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(key, "key");
        require(pid, "pid");
        require_supported();
        if (num == 0 || num > INT_MAX) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "%zu processes", num);
        }
        require_context(sim);
        sim.memory.ipc_memory.permit(text_of_key(key), pid, num);
    });
}

aclError aclrtIpcMemImportPidInterServer(const char *key, aclrtServerPid *serverPids, size_t num) {
    return entry(Function::aclrtIpcMemImportPidInterServer, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require_supported();
        if (key == nullptr || serverPids == nullptr || num == 0) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "key or serverPids is NULL, or num is 0");
        }
        for (std::size_t i = 0; i < num; ++i) {
            if (serverPids[i].pid == nullptr) {
                fail(ACL_ERROR_RT_PARAM_INVALID, "entry %zu names no process", i);
            }
        }
        require_context(sim);
        for (std::size_t i = 0; i < num; ++i) {  // entries before the first error stay in effect
            sim.memory.ipc_memory.permit(text_of_key(key), serverPids[i].pid, serverPids[i].num);
        }
    });
}

aclError aclrtIpcMemImportByKey(void **devPtr, const char *key, uint64_t flags) {
    return entry(Function::aclrtIpcMemImportByKey, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(devPtr, "devPtr");
        require(key, "key");
        require_flags(flags);
        require_supported();
        Device &device = require_current_device(sim);
        const bool enables_access = flags == ACL_RT_IPC_MEM_IMPORT_FLAG_ENABLE_PEER_ACCESS;
        *devPtr = sim.memory.ipc_memory.import(text_of_key(key), device, enables_access);
    });
}

aclError aclrtIpcMemSetAttr(const char *key, aclrtIpcMemAttrType type, uint64_t attr) {
    return entry(Function::aclrtIpcMemSetAttr, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require_supported();
        if (key == nullptr || type != ACL_RT_IPC_MEM_ATTR_ACCESS_LINK ||
            attr > ACL_RT_IPC_MEM_ATTR_ACCESS_LINK_UB_MULTI_PORT_PATH) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "key is NULL, or there is no such attribute or link");
        }
        require_context(sim);
        if (attr > ACL_RT_IPC_MEM_ATTR_ACCESS_LINK_HCCS) {
            fail(ACL_ERROR_RT_LINK_TYPE_NOT_SUPPORTED, "%s has no link %llu", config().product->name,
                 static_cast<unsigned long long>(attr));
        }
        sim.memory.ipc_memory.set_attribute(text_of_key(key));
    });
}

aclError aclrtIpcMemClose(const char *key) {
    return entry(Function::aclrtIpcMemClose, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(key, "key");
        require_supported();
        require_context(sim);
        sim.memory.ipc_memory.close(text_of_key(key));
    });
}
