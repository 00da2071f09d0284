// Device and host memory (memory_cmo_allocator.md sections 1, 2 and 5).
#include "memory.h"

#include "entry.h"

using namespace aclsim;

namespace {

constexpr std::size_t kUnit = 32;     // sizes are rounded up to this
constexpr std::size_t kPadding = 32;  // what aclrtMalloc adds
constexpr std::uint32_t kSmallPage = 4096;
constexpr std::uint32_t kHugePage = 2U << 20;
constexpr std::uint32_t kPolicyMask = 0xFF;

std::size_t padded(std::size_t size, std::size_t padding) {
    if (size == 0) {
        reject(ACL_ERROR_INVALID_PARAM, "size is 0");
    }
    if (size > SIZE_MAX - 2 * kUnit) {
        reject(ACL_ERROR_INVALID_PARAM, "size %zu wraps around when it is padded", size);
    }
    return (size + kUnit - 1) / kUnit * kUnit + padding;
}

bool is_huge1g(aclrtMemMallocPolicy policy) {
    const auto page = static_cast<std::uint32_t>(policy) & kPolicyMask;
    return page == ACL_MEM_MALLOC_HUGE1G_ONLY || page == ACL_MEM_MALLOC_HUGE1G_ONLY_P2P;
}

void *allocate_device(Engine &engine, std::size_t size, aclrtMemMallocPolicy policy) {
    Device &device = require_context(engine).device;
    if (is_huge1g(policy) && !config().product->has_huge1g_pages) {
        refuse(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "%s has no 1 GiB pages", config().product->name);
    }
    Heap &heap = engine.memory().device(device.physical_id);
    void *address = heap.allocate(size);
    if (address == nullptr) {
        fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "%zu bytes do not fit: %llu of %llu bytes are free on device %u", size,
             static_cast<unsigned long long>(heap.free_bytes()), static_cast<unsigned long long>(heap.capacity()),
             device.user_id);
    }
    return address;
}

aclError allocate(const char *function, void **pointer, std::size_t size, std::size_t padding,
                  aclrtMemMallocPolicy policy) {
    return entry(function, [&](Engine &engine, Lock &) {
        require(pointer, "devPtr");
        const std::size_t bytes = padded(size, is_huge1g(policy) ? 0 : padding);
        *pointer = allocate_device(engine, bytes, policy);
    });
}

// The attributes of a configured allocation (section 1, aclrtMallocWithCfg).
void check_configuration(const Context &context, const aclrtMallocConfig *cfg) {
    if (cfg == nullptr) {
        return;
    }
    if (cfg->attrs == nullptr) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "cfg has no attributes");
    }
    for (std::size_t i = 0; i < cfg->numAttrs; ++i) {
        const aclrtMallocAttribute &attribute = cfg->attrs[i];
        const bool is_known = attribute.attr == ACL_RT_MEM_ATTR_RSV || attribute.attr == ACL_RT_MEM_ATTR_MODULE_ID ||
                              attribute.attr == ACL_RT_MEM_ATTR_DEVICE_ID;
        const bool is_other_device =
            attribute.attr == ACL_RT_MEM_ATTR_DEVICE_ID && attribute.value.deviceId != context.device.user_id;
        if (!is_known || is_other_device) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "cfg attribute %zu (%d) is not allowed here", i,
                 static_cast<int>(attribute.attr));
        }
    }
}

aclError allocate_configured(const char *function, void **pointer, std::size_t size, aclrtMemMallocPolicy policy,
                             const aclrtMallocConfig *cfg) {
    return entry(function, [&](Engine &engine, Lock &) {
        require(pointer, "devPtr");
        if (cfg != nullptr && cfg->numAttrs != 0) {
            require(cfg->attrs, "cfg->attrs");
        }
        const std::size_t bytes = padded(size, 0);
        check_configuration(require_context(engine), cfg);
        *pointer = allocate_device(engine, bytes, policy);
    });
}

void synchronize_context(Engine &engine, Lock &lock) {
    const auto streams = require_context(engine).streams;
    for (const auto &stream : streams) {
        if (!stream->is_always_complete()) {
            engine.wait_for(lock, stream, stream->submitted, Clock::time_point::max());
        }
    }
}

void free_device(Engine &engine, void *pointer) {
    const Location location = engine.memory().locate(pointer);
    if (location.place != Place::Device || !engine.memory().device(location.device).release(pointer)) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "%p is not the start of live device memory", pointer);
    }
}

void free_host(Engine &engine, void *pointer) {
    if (engine.memory().locate(pointer).place != Place::Pinned || !engine.memory().pinned().release(pointer)) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "%p is not the start of live pinned host memory", pointer);
    }
}

void require_pair(const void *pointer, std::size_t size) {
    require(pointer, "devPtr");
    if (size == 0) {
        reject(ACL_ERROR_INVALID_PARAM, "size is 0");
    }
}

}  // namespace

aclError aclrtMalloc(void **devPtr, size_t size, aclrtMemMallocPolicy policy) {
    return allocate(__func__, devPtr, size, kPadding, policy);
}

aclError aclrtMallocAlign32(void **devPtr, size_t size, aclrtMemMallocPolicy policy) {
    return allocate(__func__, devPtr, size, 0, policy);
}

aclError aclrtMallocCached(void **devPtr, size_t size, aclrtMemMallocPolicy policy) {
    return allocate(__func__, devPtr, size, kPadding, policy);
}

aclError aclrtMallocWithCfg(void **devPtr, size_t size, aclrtMemMallocPolicy policy, aclrtMallocConfig *cfg) {
    return allocate_configured(__func__, devPtr, size, policy, cfg);
}

aclError aclrtMallocForTaskScheduler(void **devPtr, size_t size, aclrtMemMallocPolicy policy, aclrtMallocConfig *cfg) {
    return allocate_configured(__func__, devPtr, size, policy, cfg);
}

aclError aclrtFree(void *devPtr) {
    return entry(__func__, [&](Engine &engine, Lock &) {
        require(devPtr, "devPtr");
        free_device(engine, devPtr);
    });
}

aclError aclrtFreeWithDevSync(void *devPtr) {
    return entry(__func__, [&](Engine &engine, Lock &lock) {
        require(devPtr, "devPtr");
        synchronize_context(engine, lock);
        free_device(engine, devPtr);
    });
}

aclError aclrtMallocHost(void **hostPtr, size_t size) {
    return entry(__func__, [&](Engine &engine, Lock &) {
        require(hostPtr, "hostPtr");
        const std::size_t bytes = padded(size, 0);
        require_context(engine);
        *hostPtr = engine.memory().pinned().allocate(bytes);
        if (*hostPtr == nullptr) {
            fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "%zu bytes of pinned host memory do not fit", size);
        }
    });
}

aclError aclrtFreeHost(void *hostPtr) {
    return entry(__func__, [&](Engine &engine, Lock &) {
        require(hostPtr, "hostPtr");
        free_host(engine, hostPtr);
    });
}

aclError aclrtFreeHostWithDevSync(void *hostPtr) {
    return entry(__func__, [&](Engine &engine, Lock &lock) {
        require(hostPtr, "hostPtr");
        synchronize_context(engine, lock);
        free_host(engine, hostPtr);
    });
}

// Simulated memory has no cache between host and device: flushing and invalidating are complete once they are checked.
aclError aclrtMemFlush(void *devPtr, size_t size) {
    return entry(__func__, [&](Engine &engine, Lock &) {
        require_pair(devPtr, size);
        require_context(engine);
    });
}

aclError aclrtMemInvalidate(void *devPtr, size_t size) {
    return entry(__func__, [&](Engine &engine, Lock &) {
        require_pair(devPtr, size);
        require_context(engine);
    });
}

aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t *free, size_t *total) {
    return entry(__func__, [&](Engine &engine, Lock &) {
        require(free, "free");
        require(total, "total");
        if (attr < ACL_DDR_MEM || attr > ACL_MEM_P2P_HUGE1G) {
            fail(ACL_ERROR_RT_INVALID_MEMORY_TYPE, "there is no memory attribute %d", static_cast<int>(attr));
        }
        const Heap &heap = engine.memory().device(require_context(engine).device.physical_id);
        *free = heap.free_bytes();
        *total = heap.capacity();
    });
}

aclError aclrtPointerGetAttributes(const void *ptr, aclrtPtrAttributes *attributes) {
    return entry(__func__, [&](Engine &engine, Lock &) {
        require(ptr, "ptr");
        require(attributes, "attributes");
        const Location location = engine.memory().locate(ptr);
        *attributes = {};
        switch (location.place) {
            case Place::Device:
                attributes->location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
                attributes->location.id = location.device;
                attributes->pageSize = kHugePage;
                break;
            case Place::Pinned:
                attributes->location.type = ACL_MEM_LOCATION_TYPE_HOST;
                attributes->pageSize = kSmallPage;
                break;
            case Place::Unregistered:
                attributes->location.type = ACL_MEM_LOCATION_TYPE_UNREGISTERED;
                attributes->pageSize = kSmallPage;
                break;
        }
        for (const auto &device : engine.devices()) {  // user ids are what callers know
            if (location.place == Place::Device && device->physical_id == location.device) {
                attributes->location.id = device->user_id;
            }
        }
    });
}
