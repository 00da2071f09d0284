/* SPDX-License-Identifier: Apache-2.0 */
/* Device memory shared between processes (API reference 11-07). */
#pragma once

#include "base.h"

/* @flags IpcMemExportFlag: options for the export of memory */
#define ACL_RT_IPC_MEM_EXPORT_FLAG_DEFAULT 0x0
#define ACL_RT_IPC_MEM_EXPORT_FLAG_DISABLE_PID_VALIDATION 0x1

/* @flags IpcMemImportFlag: options for the import of memory */
#define ACL_RT_IPC_MEM_IMPORT_FLAG_DEFAULT 0x0
#define ACL_RT_IPC_MEM_IMPORT_FLAG_ENABLE_PEER_ACCESS 0x1

/* @enum IpcMemAccessLink: values of ACL_RT_IPC_MEM_ATTR_ACCESS_LINK */
#define ACL_RT_IPC_MEM_ATTR_ACCESS_LINK_SIO 0
#define ACL_RT_IPC_MEM_ATTR_ACCESS_LINK_HCCS 1
#define ACL_RT_IPC_MEM_ATTR_ACCESS_LINK_UB_ONE_PORT_PATH 2
#define ACL_RT_IPC_MEM_ATTR_ACCESS_LINK_UB_MULTI_PORT_PATH 3

typedef enum aclrtIpcMemAttrType {
    ACL_RT_IPC_MEM_ATTR_ACCESS_LINK = 0,
} aclrtIpcMemAttrType;

aclError aclrtIpcMemClose(const char *key); /* since 8.5.0-beta.1, 910B 910C 310P 910 950 */
aclError aclrtIpcMemGetExportKey(
    void *devPtr, size_t size, char *key, size_t len, uint64_t flags); /* since 8.5.0-beta.1, 910B 910C 310P 910 950 */
aclError aclrtIpcMemImportByKey(
    void **devPtr, const char *key, uint64_t flags); /* since 8.5.0-beta.1, 910B 910C 310P 910 950 */
aclError aclrtIpcMemImportPidInterServer(
    const char *key, aclrtServerPid *serverPids, size_t num); /* since 8.5.0-beta.1, 910C */
aclError aclrtIpcMemSetAttr(const char *key, aclrtIpcMemAttrType type, uint64_t attr); /* since 8.5.0-beta.1, 910C */
aclError aclrtIpcMemSetImportPid(
    const char *key, int32_t *pid, size_t num); /* since 8.5.0-beta.1, 910B 910C 310P 910 950 */
