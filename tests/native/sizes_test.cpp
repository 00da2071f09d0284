// SPDX-License-Identifier: Apache-2.0
// Functions that take a size fail for an impossible size, and allocate no memory for it. The exception is
// aclrtCmoAsync, a hint, whose size the runtime does not check (memory_cmo_allocator.md section 6).
#include <cstdint>
#include <iterator>

#include "concurrent.h"

namespace {

constexpr std::size_t kBytes = 4096;
constexpr std::size_t kHuge[] = {1ULL << 44, 1ULL << 62, SIZE_MAX / 2 + 1, SIZE_MAX / 2 + 10, SIZE_MAX - 1, SIZE_MAX};

// Objects that the calls use. None of them is as large as any of the sizes.
struct Things {
    void *device = nullptr;
    void *pinned = nullptr;
    void *managed = nullptr;
    void *reserved = nullptr;
    unsigned char host[kBytes] = {};
    unsigned char symbol[kBytes] = {};
    aclrtStream stream = nullptr;
    aclrtMemPool pool = nullptr;
    aclrtDrvMemHandle physical = nullptr;
};
Things *g_things = nullptr;

constexpr aclrtPhysicalMemProp kPhysical = {
    ACL_MEM_HANDLE_TYPE_NONE, ACL_MEM_ALLOCATION_TYPE_PINNED, ACL_HBM_MEM_HUGE, {0, ACL_MEM_LOCATION_TYPE_DEVICE}, 0,
};
constexpr aclrtMemManagedLocation kDevice = {ACL_MEM_LOCATIONTYPE_DEVICE, 0};
constexpr std::size_t kPage = 2U << 20;

aclError copy_batch(std::size_t size, bool is_async) {
    Things &it = *g_things;
    void *destinations[] = {it.device};
    void *sources[] = {it.pinned};
    std::size_t limits[] = {SIZE_MAX};
    std::size_t sizes[] = {size};
    aclrtMemcpyBatchAttr attributes[] = {{{0, ACL_MEM_LOCATION_TYPE_DEVICE}, {0, ACL_MEM_LOCATION_TYPE_HOST}, {}}};
    std::size_t indexes[] = {0};
    std::size_t failed = 0;
    return is_async ? aclrtMemcpyBatchAsync(destinations, limits, sources, sizes, 1, attributes, indexes, 1, &failed,
                                            it.stream)
                    : aclrtMemcpyBatch(destinations, limits, sources, sizes, 1, attributes, indexes, 1, &failed);
}

aclError copy_with_offsets(std::size_t count, std::size_t to, std::size_t from) {
    void *destination = g_things->device;
    const void *source = g_things->pinned;
    return aclrtMemcpyAsyncWithOffset(&destination, SIZE_MAX, to, &source, count, from, ACL_MEMCPY_HOST_TO_DEVICE,
                                      g_things->stream);
}

aclError create_pool(std::size_t size) {
    aclrtMemPoolProps properties{};
    properties.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    properties.maxSize = size;
    aclrtMemPool pool = nullptr;
    return aclrtMemPoolCreate(&pool, &properties);
}

aclError prefetch_batch(std::size_t size) {
    const void *addresses[] = {g_things->managed};
    std::size_t sizes[] = {size};
    aclrtMemManagedLocation locations[] = {kDevice};
    std::size_t indexes[] = {0};
    return aclrtMemManagedPrefetchBatchAsync(addresses, sizes, 1, locations, indexes, 1, 0, g_things->stream);
}

aclError set_access(std::size_t size) {
    aclrtMemAccessDesc access = {ACL_RT_MEM_ACCESS_FLAGS_READWRITE, {0, ACL_MEM_LOCATION_TYPE_DEVICE}, {}};
    return aclrtMemSetAccess(g_things->reserved, size, &access, 1);
}

aclError copy_rows(std::size_t pitch, std::size_t width, std::size_t height) {
    const Things &it = *g_things;
    return aclrtMemcpy2d(it.device, pitch, it.pinned, pitch, width, height, ACL_MEMCPY_HOST_TO_DEVICE);
}

aclError copy_rows_async(std::size_t pitch, std::size_t width, std::size_t height) {
    const Things &it = *g_things;
    return aclrtMemcpy2dAsync(it.device, pitch, it.pinned, pitch, width, height, ACL_MEMCPY_HOST_TO_DEVICE, it.stream);
}

template <aclrtMemcpyKind kind>
aclError copy_async(std::size_t size) {
    const Things &it = *g_things;
    return aclrtMemcpyAsync(it.device, SIZE_MAX, it.host, size, kind, it.stream);
}

struct Call {
    const char *name;
    aclError (*make)(std::size_t size, void *&out);
};
#define CALL(name, ...)                                                                     \
    {name, []([[maybe_unused]] std::size_t size, [[maybe_unused]] void *&out) -> aclError { \
         [[maybe_unused]] Things &it = *g_things;                                           \
         return __VA_ARGS__;                                                                \
     }}

const Call kCalls[] = {
    CALL("aclrtMalloc", aclrtMalloc(&out, size, ACL_MEM_MALLOC_HUGE_FIRST)),
    CALL("aclrtMalloc of giant pages", aclrtMalloc(&out, size, ACL_MEM_MALLOC_HUGE1G_ONLY)),
    CALL("aclrtMallocAlign32", aclrtMallocAlign32(&out, size, ACL_MEM_MALLOC_HUGE_FIRST)),
    CALL("aclrtMallocCached", aclrtMallocCached(&out, size, ACL_MEM_MALLOC_HUGE_FIRST)),
    CALL("aclrtMallocWithCfg", aclrtMallocWithCfg(&out, size, ACL_MEM_MALLOC_HUGE_FIRST, nullptr)),
    CALL("aclrtMallocForTaskScheduler", aclrtMallocForTaskScheduler(&out, size, ACL_MEM_MALLOC_HUGE_FIRST, nullptr)),
    CALL("aclrtMallocHost", aclrtMallocHost(&out, size)),
    CALL("aclrtMallocHostWithCfg", aclrtMallocHostWithCfg(&out, size, nullptr)),
    CALL("aclrtMemAllocManaged", aclrtMemAllocManaged(&out, size, ACL_RT_MEM_ATTACH_GLOBAL)),
    CALL("aclrtMallocPhysical", aclrtMallocPhysical(&out, size, &kPhysical, 0)),
    CALL("aclrtMallocPhysical of whole pages", aclrtMallocPhysical(&out, size / kPage * kPage, &kPhysical, 0)),
    CALL("aclrtReserveMemAddress", aclrtReserveMemAddress(&out, size, 0, nullptr, 1)),
    CALL("aclrtReserveMemAddress of whole pages", aclrtReserveMemAddress(&out, size / kPage * kPage, 0, nullptr, 1)),
    CALL("aclrtMapMem", aclrtMapMem(it.reserved, size, 0, it.physical, 0)),
    CALL("aclrtMapMem of whole pages", aclrtMapMem(it.reserved, size / kPage * kPage, 0, it.physical, 0)),
    CALL("aclrtMapMem at an offset", aclrtMapMem(it.reserved, kPage, size / kPage * kPage, it.physical, 0)),
    CALL("aclrtMemSetAccess", set_access(size)),
    CALL("aclrtMemPoolCreate", create_pool(size)),
    CALL("aclrtMemPoolMallocAsync", aclrtMemPoolMallocAsync(&out, size, it.pool, it.stream)),
    CALL("aclrtHostRegister", aclrtHostRegister(it.host, size, ACL_HOST_REGISTER_MAPPED, &out)),
    CALL("aclrtHostRegisterV2", aclrtHostRegisterV2(it.host, size, ACL_HOST_REG_PINNED)),
    CALL("aclrtMemset", aclrtMemset(it.device, SIZE_MAX, 0, size)),
    CALL("aclrtMemset of pinned memory", aclrtMemset(it.pinned, SIZE_MAX, 0, size)),
    CALL("aclrtMemsetAsync", aclrtMemsetAsync(it.device, SIZE_MAX, 0, size, it.stream)),
    CALL("aclrtMemsetD32", aclrtMemsetD32(it.device, SIZE_MAX, 0, size)),
    CALL("aclrtMemsetD32 of as many words", aclrtMemsetD32(it.device, SIZE_MAX, 0, size / 4)),
    CALL("aclrtMemsetD32Async", aclrtMemsetD32Async(it.device, SIZE_MAX, 0, size, it.stream)),
    CALL("aclrtMemsetD32Async of as many words", aclrtMemsetD32Async(it.device, SIZE_MAX, 0, size / 4, it.stream)),
    CALL("aclrtMemcpy", aclrtMemcpy(it.device, SIZE_MAX, it.host, size, ACL_MEMCPY_HOST_TO_DEVICE)),
    CALL("aclrtMemcpy to the host", aclrtMemcpy(it.host, SIZE_MAX, it.device, size, ACL_MEMCPY_DEVICE_TO_HOST)),
    CALL("aclrtMemcpyAsync", copy_async<ACL_MEMCPY_HOST_TO_DEVICE>(size)),
    CALL("aclrtMemcpyAsync through a buffer", copy_async<ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE>(size)),
    CALL("aclrtMemcpyAsyncWithCondition", aclrtMemcpyAsyncWithCondition(it.device, SIZE_MAX, it.host, size,
                                                                        ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE, it.stream)),
    CALL("aclrtMemcpyAsyncWithOffset", copy_with_offsets(size, 0, 0)),
    CALL("aclrtMemcpyAsyncWithOffset into", copy_with_offsets(1, size, 0)),
    CALL("aclrtMemcpyAsyncWithOffset from", copy_with_offsets(1, 0, size)),
    CALL("aclrtMemcpy2d, pitch", copy_rows(size, 1, 2)),
    CALL("aclrtMemcpy2d, width", copy_rows(size, size, 1)),
    CALL("aclrtMemcpy2d, height", copy_rows(1, 1, size)),
    CALL("aclrtMemcpy2d, everything", copy_rows(size, size, size)),
    CALL("aclrtMemcpy2dAsync, pitch", copy_rows_async(size, 1, 2)),
    CALL("aclrtMemcpy2dAsync, width", copy_rows_async(size, size, 1)),
    CALL("aclrtMemcpy2dAsync, height", copy_rows_async(1, 1, size)),
    CALL("aclrtMemcpyBatch", copy_batch(size, false)),
    CALL("aclrtMemcpyBatchAsync", copy_batch(size, true)),
    CALL("aclrtReduceAsync",
         aclrtReduceAsync(it.device, it.device, size, ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, ACL_FLOAT, it.stream, nullptr)),
    CALL("aclrtGetOverflowStatus", aclrtGetOverflowStatus(it.device, size, it.stream)),
    CALL("aclrtMemManagedAdvise", aclrtMemManagedAdvise(it.managed, size, ACL_MEM_ADVISE_SET_READ_MOSTLY, kDevice)),
    CALL("aclrtMemManagedPrefetchAsync", aclrtMemManagedPrefetchAsync(it.managed, size, kDevice, 0, it.stream)),
    CALL("aclrtMemManagedPrefetchBatchAsync", prefetch_batch(size)),
    CALL("aclrtMemcpyToSymbol", aclrtMemcpyToSymbol(it.symbol, it.host, size, 0, ACL_MEMCPY_HOST_TO_DEVICE)),
    CALL("aclrtMemcpyToSymbol at an offset",
         aclrtMemcpyToSymbol(it.symbol, it.host, 1, size, ACL_MEMCPY_HOST_TO_DEVICE)),
    CALL("aclrtMemcpyFromSymbol",
         aclrtMemcpyFromSymbol(it.host, SIZE_MAX, it.symbol, size, 0, ACL_MEMCPY_DEVICE_TO_HOST)),
    CALL("aclrtMemcpyFromSymbol at an offset",
         aclrtMemcpyFromSymbol(it.host, SIZE_MAX, it.symbol, 1, size, ACL_MEMCPY_DEVICE_TO_HOST)),
    CALL("aclsimRegisterSymbol", aclsimRegisterSymbol(it.host, it.host, size)),
    CALL("aclsimRunOperator", aclsimRunOperator(it.stream, size)),
};

void create(Things &it) {
    CHECK_OK(aclrtMalloc(&it.device, kBytes, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK_OK(aclrtMallocHost(&it.pinned, kBytes));
    CHECK_OK(aclrtMemAllocManaged(&it.managed, kBytes, ACL_RT_MEM_ATTACH_GLOBAL));
    CHECK_OK(aclrtMallocPhysical(&it.physical, kPage, &kPhysical, 0));
    CHECK_OK(aclrtReserveMemAddress(&it.reserved, kPage, 0, nullptr, 1));
    aclrtMemPoolProps properties{};
    properties.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    properties.maxSize = kPage;
    CHECK_OK(aclrtMemPoolCreate(&it.pool, &properties));
    CHECK_OK(aclsimRegisterSymbol(it.symbol, it.symbol, kBytes));
    it.stream = new_stream();
}

}  // namespace

int main() {
    CHECK_OK(aclInit(nullptr));
    CHECK_OK(aclrtSetDevice(0));
    Things things;
    create(things);
    g_things = &things;
    bool are_refused = true;
    for (const Call &call : kCalls) {
        for (const std::size_t size : kHuge) {
            void *out = nullptr;
            if (call.make(size, out) == ACL_SUCCESS) {
                std::fprintf(stderr, "%s: %#zx bytes are accepted\n", call.name, size);
                are_refused = false;
            }
        }
    }
    CHECK(are_refused);
    // The code is not that of missing memory, because data that exceeds the destination is not buffered.
    CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID, copy_async<ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE>(kHuge[0]));
    CHECK_OK(aclrtSynchronizeStream(things.stream));
    CHECK_OK(aclrtResetDeviceForce(0));
    CHECK_OK(aclFinalize());
    g_things = nullptr;
    return 0;
}
