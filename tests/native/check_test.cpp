// SPDX-License-Identifier: Apache-2.0
// Memory check with several threads: reports each incorrect use of memory, and no correct one.
#include "check.h"

#include <cstdlib>
#include <cstring>

#include "api/simulator.h"
#include "concurrent.h"
#include "memory/memory.h"
#include "support/error.h"

using aclsim::AccessMode;
using aclsim::Lock;
using aclsim::Simulator;

namespace {

constexpr int kSteps = 300;
constexpr std::size_t kSize = 4096;

std::uint64_t new_reports() {
    static std::uint64_t known = 0;
    const std::uint64_t before = std::exchange(known, aclsimGetCheckReports());
    return known - before;
}

// Uses memory correctly, in the order of one stream: allocations of this thread, and of a pool that other threads use
// too.
void work_rightly(aclrtMemPool pool) {
    const aclrtStream stream = new_stream();
    for (int step = 0; step < kSteps; ++step) {
        void *device = nullptr;
        void *pooled = nullptr;
        void *host = nullptr;
        CHECK_OK(aclrtMalloc(&device, kSize, ACL_MEM_MALLOC_HUGE_FIRST));
        CHECK_OK(aclrtMallocHost(&host, kSize));
        CHECK_OK(aclrtMemPoolMallocAsync(&pooled, kSize, pool, stream));
        CHECK_OK(aclrtMemsetAsync(device, kSize, 1, kSize, stream));
        CHECK_OK(aclrtMemcpyAsync(pooled, kSize, device, kSize, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
        CHECK_OK(aclrtMemcpyAsync(host, kSize, pooled, kSize, ACL_MEMCPY_DEVICE_TO_HOST, stream));
        CHECK_OK(aclrtMemPoolFreeAsync(pooled, stream));
        CHECK_OK(aclrtMemPoolFreeAsync(device, stream));
        CHECK_OK(aclrtSynchronizeStream(stream));
        CHECK(static_cast<const char *>(host)[kSize - 1] == 1);
        CHECK_OK(aclrtFreeHost(host));
    }
    CHECK_OK(aclrtDestroyStream(stream));
}

// Uses memory correctly: one stream hands it over to another, which frees it.
void hand_over(aclrtMemPool pool) {
    const aclrtStream giver = new_stream();
    const aclrtStream taker = new_stream();
    aclrtEvent done = nullptr;
    CHECK_OK(aclrtCreateEventExWithFlag(&done, ACL_EVENT_SYNC));
    for (int step = 0; step < kSteps; ++step) {
        void *memory = nullptr;
        CHECK_OK(aclrtMemPoolMallocAsync(&memory, kSize, pool, giver));
        CHECK_OK(aclrtMemsetAsync(memory, kSize, 1, kSize, giver));
        CHECK_OK(aclrtRecordEvent(done, giver));
        CHECK_OK(aclrtStreamWaitEvent(taker, done));
        CHECK_OK(aclrtMemsetAsync(memory, kSize, 2, kSize, taker));
        CHECK_OK(aclrtMemPoolFreeAsync(memory, taker));
        CHECK_OK(aclrtSynchronizeStream(giver));
    }
    CHECK_OK(aclrtDestroyStream(giver));
    CHECK_OK(aclrtDestroyStream(taker));
    CHECK_OK(aclrtDestroyEvent(done));
}

// Writes beyond the requested size of an allocation, once per step.
void work_wrongly() {
    for (int step = 0; step < kSteps; ++step) {
        void *memory = nullptr;
        CHECK_OK(aclrtMalloc(&memory, 100, ACL_MEM_MALLOC_HUGE_FIRST));
        CHECK_OK(aclrtMemset(memory, 101, 0, 101));
        CHECK_OK(aclrtFree(memory));
    }
}

// Imitates a synchronous copy, so that another thread can free the memory at a moment chosen by the test.
void a_call_uses_memory_until_it_returns() {
    Simulator &sim = Simulator::get();
    void *memory = nullptr;
    CHECK_OK(aclrtMalloc(&memory, kSize, ACL_MEM_MALLOC_HUGE_FIRST));
    {
        const aclsim::CurrentCall call("a_call");
        Lock lock = sim.core.acquire();
        const aclsim::Core::Call noted(sim.core);
        aclsim::note_use(sim.memory, memory, kSize, AccessMode::ReadWrite, "memory");
        aclsim::work_unlocked(sim.memory, lock, [&] { std::thread([&] { CHECK_OK(aclrtFree(memory)); }).join(); });
    }
    CHECK(new_reports() == 1);
    CHECK_OK(aclrtMalloc(&memory, kSize, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK_OK(aclrtMemset(memory, kSize, 0, kSize));
    CHECK_OK(aclrtFree(memory));
    CHECK(new_reports() == 0);
}

// In a batch copy, each task takes over the uses of its item only.
void an_item_of_a_batch_uses_its_own_memory() {
    constexpr std::size_t kItems = 2;
    const aclrtStream stream = new_stream();
    void *device[kItems];
    void *host[kItems];
    std::size_t sizes[kItems] = {kSize, kSize};
    for (std::size_t i = 0; i < kItems; ++i) {
        CHECK_OK(aclrtMalloc(&device[i], kSize, ACL_MEM_MALLOC_HUGE_FIRST));
        CHECK_OK(aclrtMallocHost(&host[i], kSize));
    }
    aclrtMemcpyBatchAttr attribute{};
    attribute.dstLoc.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    attribute.srcLoc.type = ACL_MEM_LOCATION_TYPE_HOST;
    std::size_t first = 0;
    std::size_t failed = 0;
    aclsimHold(1);
    CHECK_OK(aclrtMemcpyBatchAsync(device, sizes, host, sizes, kItems, &attribute, &first, 1, &failed, stream));
    CHECK_OK(aclrtFree(device[0]));
    CHECK(new_reports() == 1);  // for one task, not for both
    aclsimHold(0);
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK_OK(aclrtFree(device[1]));
    CHECK_OK(aclrtFreeHost(host[0]));
    CHECK_OK(aclrtFreeHost(host[1]));
    CHECK_OK(aclrtDestroyStream(stream));
    CHECK(new_reports() == 0);
}

// The check discards its records of the oldest freed allocations, without a report.
void old_allocations_are_forgotten() {
    void *first = nullptr;
    CHECK_OK(aclrtMalloc(&first, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK_OK(aclrtFree(first));
    CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID, aclrtFree(first));
    CHECK(std::strstr(aclGetRecentErrMsg(), "aclrtFree at ") != nullptr);
    for (int i = 0; i < 5000; ++i) {
        void *other = nullptr;
        CHECK_OK(aclrtMalloc(&other, 1024, ACL_MEM_MALLOC_HUGE_FIRST));
        CHECK_OK(aclrtFree(other));
    }
    CHECK(new_reports() == 0);
}

}  // namespace

int main() {
    setenv("ASCEND_RT_SIM_CHECK", "memory", 1);
    CHECK_OK(aclrtSetDevice(0));
    const aclrtMemPool pool = new_pool();
    a_call_uses_memory_until_it_returns();
    an_item_of_a_batch_uses_its_own_memory();
    old_allocations_are_forgotten();
    in_threads([=](int thread) { thread % 2 == 0 ? work_rightly(pool) : hand_over(pool); });
    CHECK(new_reports() == 0);
    in_threads([](int) { work_wrongly(); });
    CHECK(new_reports() == static_cast<std::uint64_t>(kThreads) * kSteps);
    CHECK_OK(aclrtMemPoolDestroy(pool));
    CHECK_OK(aclrtResetDeviceForce(0));
    return 0;
}
