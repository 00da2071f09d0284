/* SPDX-License-Identifier: Apache-2.0 */
/* Snapshots of a process (API reference 21). */
#pragma once

#include "base.h"

typedef enum aclrtSnapShotStage {
    ACL_RT_SNAPSHOT_LOCK_PRE = 0,
    ACL_RT_SNAPSHOT_BACKUP_PRE = 1,
    ACL_RT_SNAPSHOT_BACKUP_POST = 2,
    ACL_RT_SNAPSHOT_RESTORE_PRE = 3,
    ACL_RT_SNAPSHOT_RESTORE_POST = 4,
    ACL_RT_SNAPSHOT_UNLOCK_POST = 5,
} aclrtSnapShotStage;

typedef uint32_t (*aclrtSnapShotCallBack)(int32_t deviceId, void *args);

typedef struct aclrtSnapShotBackupArgs {
    uint32_t backupFlags;
    char reserved[60];
} aclrtSnapShotBackupArgs;

typedef struct aclrtSnapShotRestoreArgs {
    uint32_t restoreFlags;
    char reserved[60];
} aclrtSnapShotRestoreArgs;

typedef enum aclrtProcessState {
    ACL_RT_PROCESS_STATE_RUNNING = 0,
    ACL_RT_PROCESS_STATE_LOCKED = 1,
} aclrtProcessState;

aclError aclrtSnapShotCallbackRegister(
    aclrtSnapShotStage stage, aclrtSnapShotCallBack callback, void *args); /* since 9.0.0-beta.1, 910B 910C 950 */
aclError aclrtSnapShotCallbackUnregister(
    aclrtSnapShotStage stage, aclrtSnapShotCallBack callback); /* since 9.0.0-beta.1, 910B 910C 950 */
aclError aclrtSnapShotProcessBackup(int pid, aclrtSnapShotBackupArgs *args); /* since 8.5.0-beta.1, 910B 910C 950 */
aclError aclrtSnapShotProcessLock(int pid, void *reserve); /* since 8.5.0-beta.1, 910B 910C 950 */
aclError aclrtSnapShotProcessRestore(int pid, aclrtSnapShotRestoreArgs *args); /* since 8.5.0-beta.1, 910B 910C 950 */
aclError aclrtSnapShotProcessUnlock(int pid, void *reserve); /* since 8.5.0-beta.1, 910B 910C 950 */
