// SPDX-License-Identifier: Apache-2.0
// Callbacks for failed tasks that come late: after the synchronization that reported the failure has returned.
#pragma once

#include "abi/acl.h"

namespace unforgiving {

// The functions that set and remove the callbacks. Without a delay they are the simulator's.
aclError set_exception_callback(aclrtExceptionInfoCallback callback);
aclError register_exception_callback(aclrtExceptionInfoCallback callback);
aclError unregister_exception_callback(aclrtExceptionInfoCallback callback);

// Details of a failure: the simulator's, or a copy of them.
uint32_t failed_task(const aclrtExceptionInfo *info);
uint32_t failed_stream(const aclrtExceptionInfo *info);
uint32_t failed_thread(const aclrtExceptionInfo *info);
uint32_t failed_device(const aclrtExceptionInfo *info);
uint32_t failure_code(const aclrtExceptionInfo *info);
aclError failed_arguments(const aclrtExceptionInfo *info, void **arguments, uint32_t *length);
aclError failed_function(const aclrtExceptionInfo *info, aclrtFuncHandle *function);

}  // namespace unforgiving
