/* SPDX-License-Identifier: Apache-2.0 */
#include "waits.h"

#include <c10/core/DeviceGuard.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "adapter.h"
#include "first_made.h"
#include "task.h"

namespace ascend_rt {
namespace {

// Python handles signals in this one alone. A child that another thread has forked has a new one.
bool is_main_thread() { return syscall(SYS_gettid) == getpid(); }

// The operator that _waits.py defines in Python: what it raises gets through to the program.
c10::OperatorHandle find_wait() { return c10::Dispatcher::singleton().findSchemaOrThrow("ascend_rt::wait", ""); }

}  // namespace

void wait_interruptibly(std::int8_t device) {
    constexpr std::int32_t kShortMs = 20;
    if (!is_main_thread() || is_captured(device, "a wait")) {
        return;
    }
    const c10::Device here(c10::DeviceType::PrivateUse1, device);
    c10::OptionalDeviceGuard guard;
    if (here != c10::impl::VirtualGuardImpl(here.type()).getDevice()) {
        guard.reset_device(here);
    }
    const aclrtStream stream = current_stream(device);
    if (aclrtSynchronizeStreamWithTimeout(stream, kShortMs) != ACL_ERROR_RT_STREAM_SYNC_TIMEOUT) {
        return;
    }
    aclGetRecentErrMsg();
    static constinit FirstMade<c10::OperatorHandle> wait;
    Stack arguments{static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(stream))};  // NOLINT: a handle
    call_on_cpu(wait.get(find_wait), arguments);
}

}  // namespace ascend_rt
