// SPDX-License-Identifier: Apache-2.0
// Stream-ordered memory pools (memory_cmo_allocator.md section 9).
#include "memory/memory_pool.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "api/entry.h"
#include "memory/memory.h"

using namespace aclsim;

namespace {

constexpr std::uint64_t round_down(std::uint64_t bytes) {
    return bytes / MemoryPool::kGranularity * MemoryPool::kGranularity;
}

enum class AttributeUse : std::uint8_t { Flag, Threshold, Mark, ReadOnly };
struct PoolAttribute {
    aclrtMemPoolAttr attribute;
    AttributeUse access;
    std::size_t bytes;  // size of the caller's value
};
constexpr PoolAttribute kPoolAttributes[] = {
    {ACL_RT_MEM_POOL_REUSE_FOLLOW_EVENT_DEPENDENCIES, AttributeUse::Flag, 4},
    {ACL_RT_MEM_POOL_REUSE_ALLOW_OPPORTUNISTIC, AttributeUse::Flag, 4},
    {ACL_RT_MEM_POOL_REUSE_ALLOW_INTERNAL_DEPENDENCIES, AttributeUse::Flag, 4},
    {ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD, AttributeUse::Threshold, 8},
    {ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT, AttributeUse::ReadOnly, 8},
    {ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_HIGH, AttributeUse::Mark, 8},
    {ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT, AttributeUse::ReadOnly, 8},
    {ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH, AttributeUse::Mark, 8},
};

const PoolAttribute &require_pool_attribute(aclrtMemPoolAttr attribute) {
    const auto is_it = [&](const PoolAttribute &rule) { return rule.attribute == attribute; };
    const auto found = std::find_if(std::begin(kPoolAttributes), std::end(kPoolAttributes), is_it);
    if (found == std::end(kPoolAttributes)) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "there is no pool attribute %d", static_cast<int>(attribute));
    }
    return *found;
}

// Finds a pool. Functions differ in the code for an unknown pool.
MemoryPool &require_pool(Simulator &sim, aclrtMemPool pool, aclError code) REQUIRES(engine_lock) {
    MemoryPool *found = sim.core.registry().find<MemoryPool>(pool);
    if (found == nullptr) {
        fail(code, "%p is not a live memory pool", pool);
    }
    return *found;
}

// Checks that both attribute functions make before the rules of the attribute itself.
MemoryPool &require_attributed(Simulator &sim, aclrtMemPool pool, const void *value) REQUIRES(engine_lock) {
    require(pool, "memPool");
    require_supported();
    if (value == nullptr) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "value is NULL");
    }
    return require_pool(sim, pool, ACL_ERROR_RT_PARAM_INVALID);
}

// Checks that the stream belongs to the current context. A missing context counts as a different one.
void require_stream_here(Simulator &sim, aclrtStream stream) REQUIRES(engine_lock) {
    const ContextStream &found = require_handle<ContextStream>(sim, stream, "stream");
    if (current_context(sim) != &context_of(found)) {
        fail_of_other_context(found, current_context(sim));
    }
}

void require_valid(const aclrtMemPoolProps &props) {
    if (props.allocType != ACL_MEM_ALLOCATION_TYPE_PINNED) {
        fail_unremembered(ACL_ERROR_INVALID_PARAM, "allocType is %d; pools are of ACL_MEM_ALLOCATION_TYPE_PINNED",
                          static_cast<int>(props.allocType));
    }
    if (props.location.type != ACL_MEM_LOCATION_TYPE_DEVICE) {
        fail_unremembered(ACL_ERROR_INVALID_PARAM, "location.type is %d; pools are on ACL_MEM_LOCATION_TYPE_DEVICE",
                          static_cast<int>(props.location.type));
    }
    const auto is_set = [](unsigned char byte) { return byte != 0; };
    if (std::any_of(std::begin(props.reserved), std::end(props.reserved), is_set)) {
        fail_unremembered(ACL_ERROR_INVALID_PARAM, "the reserved bytes of the properties are not 0");
    }
}

std::uint64_t pool_size(const Heap &heap, std::uint64_t asked) {
    const std::uint64_t size = asked == 0
                                   ? round_down(heap.capacity())
                                   : aclsim::round_up(std::min(asked, heap.capacity()), MemoryPool::kGranularity);
    if (size > heap.capacity() || asked > heap.capacity()) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "a pool of %llu bytes is larger than the device, which has %llu",
             static_cast<unsigned long long>(asked), static_cast<unsigned long long>(heap.capacity()));
    }
    return size;
}

void set_attribute(MemoryPool &pool, const PoolAttribute &rule, std::uint64_t value) REQUIRES(engine_lock) {
    std::uint64_t &attribute = pool.attribute(rule.attribute);
    switch (rule.access) {
        case AttributeUse::Flag:
            attribute = value != 0 ? 1 : 0;
            break;
        case AttributeUse::Threshold:
            if (value > pool.size) {
                fail(ACL_ERROR_RT_INTERNAL_ERROR, "a threshold of %llu bytes is larger than the pool, which has %llu",
                     static_cast<unsigned long long>(value), static_cast<unsigned long long>(pool.size));
            }
            attribute = value;
            break;
        case AttributeUse::Mark:
            if (value != 0) {
                fail(ACL_ERROR_RT_INTERNAL_ERROR, "a high mark can be reset with 0, not set to %llu",
                     static_cast<unsigned long long>(value));
            }
            attribute = rule.attribute == ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH ? pool.used() : pool.reserved();
            break;
        case AttributeUse::ReadOnly:
            fail(ACL_ERROR_RT_PARAM_INVALID, "pool attribute %d can only be read", static_cast<int>(rule.attribute));
    }
}

}  // namespace

aclError aclrtMemPoolCreate(aclrtMemPool *memPool, const aclrtMemPoolProps *poolProps) {
    return entry(Function::aclrtMemPoolCreate, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(memPool, "memPool");
        require(poolProps, "poolProps");
        require_valid(*poolProps);
        require_supported();
        Device &device = require_device(sim, poolProps->location.id);
        require_context(sim);
        require_not_lost(device);
        const std::uint64_t size = pool_size(sim.memory.space().device(device.physical_id), poolProps->maxSize);
        *memPool = sim.memory.pools.create(sim.memory, device, size)->handle();
    });
}

aclError aclrtMemPoolDestroy(const aclrtMemPool memPool) {
    return entry(Function::aclrtMemPoolDestroy, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(memPool, "memPool");
        require_supported();
        sim.memory.pools.destroy(sim.memory, require_pool(sim, memPool, ACL_ERROR_RT_INTERNAL_ERROR));
    });
}

aclError aclrtMemPoolSetAttr(aclrtMemPool memPool, aclrtMemPoolAttr attr, void *value) {
    return entry(Function::aclrtMemPoolSetAttr, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        MemoryPool &pool = require_attributed(sim, memPool, value);
        const PoolAttribute &rule = require_pool_attribute(attr);
        std::uint64_t number = 0;
        std::memcpy(&number, value, rule.bytes);
        set_attribute(pool, rule, number);
    });
}

aclError aclrtMemPoolGetAttr(aclrtMemPool memPool, aclrtMemPoolAttr attr, void *value) {
    return entry(Function::aclrtMemPoolGetAttr, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        MemoryPool &pool = require_attributed(sim, memPool, value);
        const PoolAttribute &rule = require_pool_attribute(attr);
        std::memcpy(value, &pool.attribute(attr), rule.bytes);
    });
}

aclError aclrtMemPoolMallocAsync(void **ptr, size_t size, aclrtMemPool memPool, aclrtStream stream) {
    return entry(Function::aclrtMemPoolMallocAsync, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require(ptr, "ptr");
        require(memPool, "memPool");
        require(stream, "stream");
        require_supported();
        if (size == 0) {
            return;
        }
        require_stream_here(sim, stream);
        if (size > SIZE_MAX - MemoryPool::kGranularity) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "size %zu wraps around when it is rounded up", size);
        }
        require_pool(sim, memPool, ACL_ERROR_RT_INTERNAL_ERROR);
        Ref<MemoryPool> pool;
        void *const address = allocate_patiently(sim.memory, lock, [&]() REQUIRES(engine_lock) {
            require_stream_here(sim,
                                stream);  // both waits let in other threads, which may destroy the stream or the pool
            ContextStream &on = require_stream(sim, stream);
            sim.core.admit(lock, on);
            pool = Ref<MemoryPool>(require_pool(sim, memPool, ACL_ERROR_RT_INTERNAL_ERROR));
            if (&pool->device != &device_of(on)) {
                fail(ACL_ERROR_RT_PARAM_INVALID, "the pool is on device %u, the stream on device %u",
                     pool->device.user_id, device_of(on).user_id);
            }
            return allocate_in_stream(sim.memory, on, pool, size);
        });
        if (address == nullptr) {
            fail_exhausted(sim.memory, *pool, size);
        }
        *ptr = address;
    });
}

aclError aclrtMemPoolFreeAsync(void *ptr, aclrtStream stream) {
    return entry(Function::aclrtMemPoolFreeAsync, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require(ptr, "ptr");
        require_supported();
        if (stream == nullptr) {
            fail(ACL_ERROR_RT_INTERNAL_ERROR,
                 "stream is NULL; the default stream has a handle here, which must be passed");
        }
        require_stream_here(sim, stream);
        ContextStream &on = require_stream(sim, stream);
        sim.core.admit(lock, on);
        free_in_stream(sim.memory, on, ptr);
    });
}

aclError aclrtMemPoolTrimTo(aclrtMemPool memPool, size_t minBytesToKeep) {
    return entry(Function::aclrtMemPoolTrimTo, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(memPool, "memPool");
        require_supported();
        MemoryPool &pool = require_pool(sim, memPool, ACL_ERROR_RT_INTERNAL_ERROR);
        if (minBytesToKeep > pool.size || minBytesToKeep < pool.used()) {
            fail(ACL_ERROR_RT_INTERNAL_ERROR, "%zu bytes to keep are not between the used %llu and the pool's %llu",
                 minBytesToKeep, static_cast<unsigned long long>(pool.used()),
                 static_cast<unsigned long long>(pool.size));
        }
        sim.memory.pools.trim(sim.memory, pool, minBytesToKeep);
    });
}
