/* SPDX-License-Identifier: Apache-2.0 */
/* All families of the API. codegen reads the families in the same order: types come before their use.
 *
 * The family headers contain only comments, #pragma once, #include, #define NAME NUMBER and C declarations, so that a C
 * compiler and cffi read the same text. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

#include "base.h"
#include "error.h"
#include "log.h"
#include "data.h"
#include "init.h"
#include "config.h"
#include "device.h"
#include "context.h"
#include "stream.h"
#include "event.h"
#include "notify.h"
#include "label.h"
#include "memory.h"
#include "virtual_memory.h"
#include "managed_memory.h"
#include "ipc_memory.h"
#include "memory_pool.h"
#include "allocator.h"
#include "copy.h"
#include "cmo.h"
#include "value.h"
#include "callback.h"
#include "execution.h"
#include "exception.h"
#include "kernel.h"
#include "graph.h"
#include "group.h"
#include "snapshot.h"
#include "shared_buffer.h"
#include "dump.h"
#include "profiling.h"
#include "tensor_transfer.h"
#include "queue.h"
#include "aclsim.h"

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
