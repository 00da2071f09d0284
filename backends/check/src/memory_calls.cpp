// SPDX-License-Identifier: Apache-2.0
// Allocations and frees.
#include "call.h"

using namespace aclsim::wrapped;
using aclsim::races::BlockKind;

aclError aclrtMalloc(void **devPtr, size_t size, aclrtMemMallocPolicy policy) {
    return FORWARD(aclrtMalloc, check.allocate(*devPtr, size, BlockKind::Device), devPtr, size, policy);
}

aclError aclrtMallocAlign32(void **devPtr, size_t size, aclrtMemMallocPolicy policy) {
    return FORWARD(aclrtMallocAlign32, check.allocate(*devPtr, size, BlockKind::Device), devPtr, size, policy);
}

aclError aclrtMallocCached(void **devPtr, size_t size, aclrtMemMallocPolicy policy) {
    return FORWARD(aclrtMallocCached, check.allocate(*devPtr, size, BlockKind::Device), devPtr, size, policy);
}

aclError aclrtMallocWithCfg(void **devPtr, size_t size, aclrtMemMallocPolicy policy, aclrtMallocConfig *cfg) {
    return FORWARD(aclrtMallocWithCfg, check.allocate(*devPtr, size, BlockKind::Device), devPtr, size, policy, cfg);
}

aclError aclrtMallocHost(void **hostPtr, size_t size) {
    return FORWARD(aclrtMallocHost, check.allocate(*hostPtr, size, BlockKind::Pinned), hostPtr, size);
}

aclError aclrtMallocHostWithCfg(void **ptr, uint64_t size, aclrtMallocConfig *cfg) {
    return FORWARD(aclrtMallocHostWithCfg, check.allocate(*ptr, size, BlockKind::Pinned), ptr, size, cfg);
}

aclError aclrtMemAllocManaged(void **ptr, uint64_t size, uint32_t flag) {
    return FORWARD(aclrtMemAllocManaged, check.allocate(*ptr, size, BlockKind::Managed), ptr, size, flag);
}

aclError aclrtHostRegister(void *ptr, uint64_t size, aclrtHostRegisterType type, void **devPtr) {
    return FORWARD(aclrtHostRegister, check.allocate(ptr, size, BlockKind::Pinned), ptr, size, type, devPtr);
}

aclError aclrtHostRegisterV2(void *ptr, uint64_t size, uint32_t flag) {
    return FORWARD(aclrtHostRegisterV2, check.allocate(ptr, size, BlockKind::Pinned), ptr, size, flag);
}

aclError aclrtMapMem(void *virPtr, size_t size, size_t offset, aclrtDrvMemHandle handle, uint64_t flags) {
    return FORWARD(aclrtMapMem, check.allocate(virPtr, size, BlockKind::Shared), virPtr, size, offset, handle, flags);
}

aclError aclrtMallocForTaskScheduler(void **devPtr, size_t size, aclrtMemMallocPolicy policy, aclrtMallocConfig *cfg) {
    return FORWARD(aclrtMallocForTaskScheduler, check.allocate(*devPtr, size, BlockKind::Device), devPtr, size, policy,
                   cfg);
}

// --- memory of several processes -------------------------------------------------------------------------------------

aclError aclrtIpcMemGetExportKey(void *devPtr, size_t size, char *key, size_t len, uint64_t flags) {
    return FORWARD(aclrtIpcMemGetExportKey, check.share(devPtr), devPtr, size, key, len, flags);
}

aclError aclrtMemExportToShareableHandle(aclrtDrvMemHandle handle, aclrtMemHandleType handleType, uint64_t flags,
                                         uint64_t *shareableHandle) {
    return FORWARD(aclrtMemExportToShareableHandle, check.share_mapped(), handle, handleType, flags, shareableHandle);
}

aclError aclrtMemExportToShareableHandleV2(aclrtDrvMemHandle handle, uint64_t flags, aclrtMemSharedHandleType shareType,
                                           void *shareableHandle) {
    return FORWARD(aclrtMemExportToShareableHandleV2, check.share_mapped(), handle, flags, shareType, shareableHandle);
}

aclError aclrtMemImportFromShareableHandle(uint64_t shareableHandle, int32_t deviceId, aclrtDrvMemHandle *handle) {
    return FORWARD(aclrtMemImportFromShareableHandle, check.share_mapped(), shareableHandle, deviceId, handle);
}

aclError aclrtMemImportFromShareableHandleV2(void *shareableHandle, aclrtMemSharedHandleType shareType, uint64_t flags,
                                             aclrtDrvMemHandle *handle) {
    return FORWARD(aclrtMemImportFromShareableHandleV2, check.share_mapped(), shareableHandle, shareType, flags,
                   handle);
}

// --- frees -----------------------------------------------------------------------------------------------------------

// Frees are noted first: as soon as the runtime has the memory, another thread may get it.

aclError aclrtFree(void *devPtr) { return FORWARD_AFTER_NOTE(aclrtFree, check.free(devPtr), devPtr); }

aclError aclrtFreeHost(void *hostPtr) { return FORWARD_AFTER_NOTE(aclrtFreeHost, check.free(hostPtr), hostPtr); }

aclError aclrtHostUnregister(void *ptr) { return FORWARD_AFTER_NOTE(aclrtHostUnregister, check.free(ptr), ptr); }

aclError aclrtUnmapMem(void *virPtr) { return FORWARD_AFTER_NOTE(aclrtUnmapMem, check.free(virPtr), virPtr); }

// These wait for the device before they free.

aclError aclrtFreeWithDevSync(void *devPtr) {
    return FORWARD_AFTER_NOTE(aclrtFreeWithDevSync, check.learn(check.newest_of_device({}));
                              check.free(devPtr), devPtr);
}

aclError aclrtFreeHostWithDevSync(void *hostPtr) {
    return FORWARD_AFTER_NOTE(aclrtFreeHostWithDevSync, check.learn(check.newest_of_device({}));
                              check.free(hostPtr), hostPtr);
}

aclError aclrtMemPoolMallocAsync(void **ptr, size_t size, aclrtMemPool memPool, aclrtStream stream) {
    return FORWARD(aclrtMemPoolMallocAsync, check.allocate_in_stream(*ptr, size, stream), ptr, size, memPool, stream);
}

aclError aclrtMemPoolFreeAsync(void *ptr, aclrtStream stream) {
    return FORWARD_AFTER_NOTE(aclrtMemPoolFreeAsync, check.free_in_stream(ptr, stream), ptr, stream);
}
