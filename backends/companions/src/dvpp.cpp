// SPDX-License-Identifier: Apache-2.0
// Memory for media data, which programs use for other data, too: memory of the current device, aligned and padded by
// the runtime as for media units.
#include "acl/ops/acl_dvpp.h"

aclError acldvppMalloc(void **devPtr, size_t size) { return aclrtMalloc(devPtr, size, ACL_MEM_MALLOC_HUGE_FIRST); }

aclError acldvppFree(void *devPtr) { return aclrtFree(devPtr); }
