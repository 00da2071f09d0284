/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of bench_binding.py in C: what is left when there is no binding. */
#include <stddef.h>

#include "abi/acl.h"

static char object[64];
static void *created;
static aclrtEventRecordedStatus status;

static void nothing(void *argument) { (void)argument; }

#define LOOP(name, calls)                    \
    void name(size_t loops) {                \
        for (size_t i = 0; i < loops; ++i) { \
            calls;                           \
        }                                    \
    }

LOOP(event_record, aclrtRecordEvent(object, object))
LOOP(stream_record_event, aclrtRecordEvent(object, object))
LOOP(stream_wait_event, aclrtStreamWaitEvent(object, object))
LOOP(event_query_complete, aclrtQueryEventStatus(object, &status))
LOOP(stream_synchronize, aclrtSynchronizeStream(object))
LOOP(stream_wait_stream, aclrtRecordEvent(object, object); aclrtStreamWaitEvent(object, object))
LOOP(event_create_destroy, aclrtCreateEventExWithFlag(&created, ACL_EVENT_SYNC); aclrtDestroyEvent(created))
LOOP(copy_async, aclrtMemcpyAsync(object, 64, object, 64, ACL_MEMCPY_HOST_TO_DEVICE, object))
LOOP(malloc_free, aclrtMalloc(&created, 64, ACL_MEM_MALLOC_HUGE_FIRST); aclrtFree(created))
LOOP(graph_launch, aclmdlRIExecuteAsync((aclmdlRI)object, object))
LOOP(host_func, aclrtLaunchHostFunc(object, nothing, NULL))
