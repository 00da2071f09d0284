/* SPDX-License-Identifier: Apache-2.0 */
/* A runtime that does nothing, so that what is left of a call's time is the binding's. Its objects are addresses that
 * are never read, its memory is one block, and a function in a stream is called at once. */
#include <stddef.h>

#include "abi/acl.h"

enum { DEVICES = 1, BLOCK = 1 << 16 };

static char object[1];
static _Alignas(4096) char block[BLOCK];

#define NOTHING(name, parameters) \
    aclError name parameters { return ACL_SUCCESS; }
#define GIVES(name, parameters, out, value) \
    aclError name parameters {              \
        *(out) = (value);                   \
        return ACL_SUCCESS;                 \
    }

NOTHING(aclInit, (const char *configPath))
NOTHING(aclFinalize, (void))
NOTHING(aclrtExceptionInfoCallbackRegister, (aclrtExceptionInfoCallback callback))
GIVES(aclrtGetDeviceCount, (uint32_t *count), count, DEVICES)
NOTHING(aclrtSetDevice, (int32_t deviceId))
NOTHING(aclrtResetDevice, (int32_t deviceId))
GIVES(aclrtGetDevice, (int32_t *deviceId), deviceId, 0)
NOTHING(aclrtSynchronizeDeviceWithTimeout, (int32_t timeout))
GIVES(aclrtGetCurrentContext, (aclrtContext * context), context, object)
NOTHING(aclrtSetCurrentContext, (aclrtContext context))

GIVES(aclrtCreateStreamWithConfig, (aclrtStream * stream, uint32_t priority, uint32_t flag), stream, object)
NOTHING(aclrtDestroyStream, (aclrtStream stream))
GIVES(aclrtStreamQuery, (aclrtStream stream, aclrtStreamStatus *status), status, ACL_STREAM_STATUS_COMPLETE)
NOTHING(aclrtSynchronizeStream, (aclrtStream stream))
NOTHING(aclrtStreamWaitEvent, (aclrtStream stream, aclrtEvent event))

GIVES(aclrtCreateEventExWithFlag, (aclrtEvent * event, uint32_t flag), event, object)
NOTHING(aclrtDestroyEvent, (aclrtEvent event))
NOTHING(aclrtRecordEvent, (aclrtEvent event, aclrtStream stream))
GIVES(aclrtQueryEventStatus, (aclrtEvent event, aclrtEventRecordedStatus *status), status,
      ACL_EVENT_RECORDED_STATUS_COMPLETE)

GIVES(aclrtMalloc, (void **address, size_t size, aclrtMemMallocPolicy policy), address, block)
NOTHING(aclrtFree, (void *address))
GIVES(aclrtMallocHost, (void **address, size_t size), address, block)
NOTHING(aclrtFreeHost, (void *address))
NOTHING(aclrtMemcpyAsync,
        (void *to, size_t capacity, const void *from, size_t size, aclrtMemcpyKind kind, aclrtStream stream))

NOTHING(aclmdlRICaptureBegin, (aclrtStream stream, aclmdlRICaptureMode mode))
GIVES(aclmdlRICaptureEnd, (aclrtStream stream, aclmdlRI *graph), graph, (aclmdlRI)object)
NOTHING(aclmdlRIExecuteAsync, (aclmdlRI graph, aclrtStream stream))
NOTHING(aclmdlRIDestroy, (aclmdlRI graph))

aclError aclmdlRICaptureGetInfo(aclrtStream stream, aclmdlRICaptureStatus *status, aclmdlRI *graph) {
    *status = ACL_MODEL_RI_CAPTURE_STATUS_NONE;
    *graph = NULL;
    return ACL_SUCCESS;
}

aclError aclrtLaunchHostFunc(aclrtStream stream, aclrtHostFunc function, void *argument) {
    function(argument);
    return ACL_SUCCESS;
}
