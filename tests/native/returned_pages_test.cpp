// SPDX-License-Identifier: Apache-2.0
// Allocations of free memory whose pages are still being returned to the host. A call returns pages at its end, so a
// block that is freed outside of a call keeps its pages until a thread waits for their return.
#include "api/simulator.h"
#include "check.h"
#include "concurrent.h"
#include "latch.h"
#include "memory/memory.h"

using aclsim::Lock;
using aclsim::Simulator;

namespace {

constexpr std::size_t kPage = 2U << 20;
constexpr std::size_t kTooMuch = 1ULL << 46;

std::size_t free_memory() {
    std::size_t free = 0;
    std::size_t total = 0;
    CHECK_OK(aclrtGetMemInfo(ACL_HBM_MEM_HUGE, &free, &total));
    return free;
}

// Frees a block of all but a few pages, so that only its addresses have room for the workspace.
void a_workspace_waits_for_them() {
    const aclrtStream stream = new_stream();
    void *block = nullptr;
    CHECK_OK(aclrtMalloc(&block, free_memory() - 4 * kPage, ACL_MEM_MALLOC_HUGE_ONLY));
    {
        const Lock lock = Simulator::get().core.acquire();
        const aclsim::CurrentCall call("aclrtFree");
        CHECK(Simulator::get().memory.free_device_block(block));
    }
    CHECK_OK(aclsimRunOperator(stream, 8 * kPage));
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK_OK(aclrtDestroyStream(stream));
}

aclError g_answer = ACL_SUCCESS;

void ask_for_too_much(void * /*data*/) {
    void *block = nullptr;
    g_answer = aclrtMalloc(&block, kTooMuch, ACL_MEM_MALLOC_HUGE_FIRST);
}

aclError do_nothing(const aclsimKernelBlock * /*block*/, void * /*data*/) { return ACL_SUCCESS; }

// The release function of a kernel runs as deferred work, like the return of pages. An allocation in it must not wait
// for itself.
void a_release_function_does_not() {
    const Watchdog watchdog("a request in a release function", kLongEnough);
    const aclsimKernel kernel = {do_nothing, nullptr, ask_for_too_much, 0, 0};
    CHECK_OK(aclsimRegisterKernel("asks_at_its_end", &kernel));
    CHECK_OK(aclsimUnregisterKernel("asks_at_its_end"));
    CHECK(g_answer == ACL_ERROR_RT_MEMORY_ALLOCATION);
}

}  // namespace

int main() {
    setenv("ASCEND_RT_SIM_PRODUCT", "910B", 1);
    CHECK_OK(aclrtSetDevice(0));
    a_workspace_waits_for_them();
    a_release_function_does_not();
    CHECK_OK(aclrtResetDevice(0));
    return 0;
}
