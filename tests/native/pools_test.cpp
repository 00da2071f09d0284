// SPDX-License-Identifier: Apache-2.0
// Pools and allocators used by several threads: blocks are exclusive, no memory is lost, and callbacks never run
// concurrently.
#include <atomic>
#include <cstring>
#include <random>
#include <vector>

#include "api/simulator.h"
#include "check.h"
#include "concurrent.h"
#include "memory/memory_pool.h"
#include "support/error.h"

using aclsim::Lock;
using aclsim::Simulator;

namespace {

constexpr std::size_t kPage = 2U << 20;
constexpr int kSteps = 400;

std::size_t free_memory() {
    std::size_t free = 0;
    std::size_t total = 0;
    CHECK_OK(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total));
    return free;
}

std::uint64_t attribute(aclrtMemPool pool, aclrtMemPoolAttr which) {
    std::uint64_t value = 0;
    CHECK_OK(aclrtMemPoolGetAttr(pool, which, &value));
    return value;
}

// Addresses belong to the right one of many pools, also after other pools have returned their memory. Blocks of a
// destroyed pool are no longer valid.
void an_address_belongs_to_its_pool() {
    constexpr std::size_t kPools = 64;
    const std::size_t before = free_memory();
    const aclrtStream stream = new_stream();
    std::vector<aclrtMemPool> pools(kPools);
    std::vector<void *> blocks(kPools);
    for (std::size_t i = 0; i < kPools; ++i) {
        pools[i] = new_pool(4 * kPage);
        CHECK_OK(aclrtMemPoolMallocAsync(&blocks[i], kPage, pools[i], stream));
    }
    for (std::size_t i = 0; i < kPools; ++i) {
        CHECK(attribute(pools[i], ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT) == kPage);
        CHECK_OK(i % 2 == 0 ? aclrtFree(blocks[i]) : aclrtMemPoolFreeAsync(blocks[i], stream));
        CHECK(attribute(pools[i], ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT) == 0);
        CHECK_OK(aclrtSynchronizeStream(stream));
        CHECK(attribute(pools[i], ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT) == 0);
        CHECK(aclrtFree(blocks[i]) != ACL_SUCCESS);
    }
    for (std::size_t i = 0; i < kPools; ++i) {
        CHECK_OK(aclrtMemPoolMallocAsync(&blocks[i], kPage, pools[i], stream));
        CHECK_OK(aclrtMemPoolDestroy(pools[i]));
        CHECK(aclrtFree(blocks[i]) != ACL_SUCCESS);
    }
    CHECK_OK(aclrtDestroyStream(stream));
    CHECK(free_memory() == before);
}

// Each thread writes a different value into its blocks in stream order, and reads it back in stream order. A stream
// that got a block too early would write between the two.
void blocks_are_exclusive(aclrtMemPool pool, int thread) {
    const aclrtStream stream = new_stream();
    std::mt19937 random(static_cast<unsigned>(thread));
    void *host = nullptr;
    CHECK_OK(aclrtMallocHost(&host, 64));
    for (int step = 0; step < kSteps; ++step) {
        void *block = nullptr;
        const aclError code = aclrtMemPoolMallocAsync(&block, (1 + random() % 3) * kPage, pool, stream);
        if (code != ACL_SUCCESS) {
            CHECK(code == ACL_ERROR_RT_INTERNAL_ERROR);  // the pool is exhausted
            CHECK_OK(aclrtSynchronizeStream(stream));
            continue;
        }
        const int value = 1 + (thread * kSteps + step) % 250;
        CHECK_OK(aclrtMemsetAsync(block, 64, value, 64, stream));
        CHECK_OK(aclrtMemcpyAsync(host, 64, block, 64, ACL_MEMCPY_DEVICE_TO_HOST, stream));
        CHECK_OK(aclrtMemPoolFreeAsync(block, stream));
        if (random() % 8 == 0) {
            CHECK_OK(aclrtSynchronizeStream(stream));
            for (int i = 0; i < 64; ++i) {
                CHECK(static_cast<unsigned char *>(host)[i] == value);
            }
            (void)aclrtMemPoolTrimTo(pool, 4 * kPage);  // sometimes less than the used size
        }
    }
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK_OK(aclrtFreeHost(host));
    CHECK_OK(aclrtDestroyStream(stream));
}

void pools_are_shared() {
    const std::size_t before = free_memory();
    const aclrtMemPool pool = new_pool(6 * kPage);  // small, so that streams must wait for each other
    in_threads([=](int thread) { blocks_are_exclusive(pool, thread); });
    CHECK(attribute(pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT) == 0);
    CHECK(attribute(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_HIGH) <= 6 * kPage);
    CHECK_OK(aclrtMemPoolDestroy(pool));
    CHECK(free_memory() == before);
}

// Pools are created and destroyed while other threads allocate from them. Failures are ignored.
void pools_are_destroyed_under_way() {
    static std::atomic<aclrtMemPool> shared{nullptr};
    const std::size_t before = free_memory();
    shared = new_pool(64 * kPage);
    in_threads([](int thread) {
        const aclrtStream stream = new_stream();
        for (int step = 0; step < kSteps; ++step) {
            void *block = nullptr;
            if (thread == 0 && step % 20 == 0) {
                CHECK_OK(aclrtMemPoolDestroy(shared.exchange(new_pool(64 * kPage))));
            }
            if (aclrtMemPoolMallocAsync(&block, kPage, shared, stream) == ACL_SUCCESS) {
                (void)aclrtMemPoolFreeAsync(block, stream);  // it may be invalid or another thread's by now
            }
        }
        (void)aclrtSynchronizeStream(stream);  // fails if a block was invalid when the stream freed it
        CHECK_OK(aclrtDestroyStream(stream));
    });
    CHECK_OK(aclrtMemPoolDestroy(shared));
    const aclrtStream stream = new_stream();
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK_OK(aclrtDestroyStream(stream));
    CHECK(free_memory() == before);
}

// Tests the part of aclrtFree that frees memory of pools.
void freed_at_once() {
    const aclrtMemPool pool = new_pool(4 * kPage);
    const aclrtStream stream = new_stream();
    const aclrtStream other = new_stream();
    void *block = nullptr;
    void *again = nullptr;
    const auto free_now = [](void *address) {
        const Lock lock = Simulator::get().core.acquire();
        const aclsim::CurrentCall call("aclrtFree");  // the memory check names it
        return aclsim::free_into_pool(Simulator::get().memory, address);
    };
    const auto is_refused = [&](void *address) {
        try {
            free_now(address);
        } catch (const aclsim::Failure &failure) {
            return failure.code == ACL_ERROR_RT_PARAM_INVALID;
        }
        return false;
    };
    CHECK_OK(aclrtMemPoolMallocAsync(&block, 2 * kPage, pool, stream));
    CHECK(!free_now(&block) && !free_now(nullptr));
    CHECK(is_refused(static_cast<char *>(block) + kPage));
    CHECK(free_now(block));
    CHECK(is_refused(block));
    CHECK(attribute(pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT) == 0);
    CHECK_OK(aclrtMemPoolMallocAsync(&again, 2 * kPage, pool, other));  // waits for no stream
    CHECK(again == block);
    CHECK_OK(aclrtMemPoolDestroy(pool));
    CHECK_OK(aclrtDestroyStream(stream));
    CHECK_OK(aclrtDestroyStream(other));
}

// --- allocator shared by all threads ---------------------------------------------------------------------------------

struct Slab {
    std::atomic<int> inside{0};
    std::atomic<int> calls{0};
    void *memory = nullptr;
};

void enter(Slab &slab) { CHECK(slab.inside.fetch_add(1) == 0); }
void leave(Slab &slab) {
    ++slab.calls;
    CHECK(slab.inside.fetch_sub(1) == 1);
}

void *allocate(aclrtAllocator allocator, std::size_t) {
    auto &slab = *static_cast<Slab *>(allocator);
    enter(slab);
    (void)free_memory();  // callbacks may use the library
    leave(slab);
    return allocator;
}

void *address_of(aclrtAllocatorBlock block) { return static_cast<Slab *>(block)->memory; }

void release(aclrtAllocator allocator, aclrtAllocatorBlock block) {
    CHECK(allocator == block);
    enter(*static_cast<Slab *>(allocator));
    leave(*static_cast<Slab *>(allocator));
}

void callbacks_are_never_concurrent() {
    static Slab slab;
    CHECK_OK(aclrtMalloc(&slab.memory, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
    static aclrtStream stream = new_stream();
    const aclrtAllocatorDesc desc = aclrtAllocatorCreateDesc();
    CHECK_OK(aclrtAllocatorSetObjToDesc(desc, &slab));
    CHECK_OK(aclrtAllocatorSetAllocFuncToDesc(desc, allocate));
    CHECK_OK(aclrtAllocatorSetFreeFuncToDesc(desc, release));
    CHECK_OK(aclrtAllocatorSetGetAddrFromBlockFuncToDesc(desc, address_of));
    CHECK_OK(aclrtAllocatorRegister(stream, desc));
    CHECK_OK(aclrtAllocatorDestroyDesc(desc));
    in_threads([](int) {
        for (int step = 0; step < kSteps; ++step) {
            CHECK_OK(aclsimRunOperator(stream, 4096));
        }
    });
    CHECK(slab.calls == 2 * kThreads * kSteps);
    CHECK_OK(aclrtAllocatorUnregister(stream));
    CHECK_OK(aclrtDestroyStream(stream));
    CHECK_OK(aclrtFree(slab.memory));
}

}  // namespace

int main() {
    setenv("ASCEND_RT_SIM_PRODUCT", "910B", 1);
    CHECK_OK(aclInit(nullptr));
    CHECK_OK(aclrtSetDevice(0));
    an_address_belongs_to_its_pool();
    pools_are_shared();
    pools_are_destroyed_under_way();
    freed_at_once();
    callbacks_are_never_concurrent();
    CHECK_OK(aclrtResetDevice(0));
    return 0;
}
