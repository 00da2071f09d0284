/* SPDX-License-Identifier: Apache-2.0 */
/* Memory, copies, and virtual memory. The functions are in libruntime.so. */
/* @refused ACL_ERROR_RT_FEATURE_NOT_SUPPORT: the simulator does not have this function of the runtime */
#pragma once

#include "base.h"
#include "stream.h"

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

#define RT_MEMORY_DEFAULT 0x0
#define RT_MEMORY_HBM 0x2
#define RT_MEMORY_RDMA_HBM 0x3
#define RT_MEMORY_DDR 0x4
#define RT_MEMORY_SPM 0x8
#define RT_MEMORY_P2P_HBM 0x10
#define RT_MEMORY_P2P_DDR 0x11
#define RT_MEMORY_DDR_NC 0x20
#define RT_MEMORY_TS 0x40
#define RT_MEMORY_TS_4G 0x40
#define RT_MEMORY_HOST 0x81
#define RT_MEMORY_SVM 0x90
#define RT_MEMORY_HOST_SVM 0x90
#define RT_MEMORY_ATTACH_GLOBAL 0x01
#define RT_MEMORY_RESERVED 0x100
#define RT_MEMORY_L1 (0x1U << 16U)
#define RT_MEMORY_L2 (0x1U << 17U)
#define RT_MEMORY_POLICY_NONE 0x0
#define RT_MEMORY_POLICY_HUGE_PAGE_FIRST 0x400
#define RT_MEMORY_POLICY_HUGE_PAGE_ONLY 0x800
#define RT_MEMORY_POLICY_DEFAULT_PAGE_ONLY 0x1000
#define RT_MEMORY_POLICY_HUGE_PAGE_FIRST_P2P 0x2000
#define RT_MEMORY_POLICY_HUGE_PAGE_ONLY_P2P 0x4000
#define RT_MEMORY_POLICY_DEFAULT_PAGE_ONLY_P2P 0x8000
#define RT_MEMORY_POLICY_HUGE1G_PAGE_ONLY 0x10000
#define RT_MEMORY_POLICY_HUGE1G_PAGE_ONLY_P2P 0x20000
#define RT_MEMORY_ATTRIBUTE_DEFAULT 0x0
#define RT_MEMORY_ATTRIBUTE_READONLY 0x100000
#define RT_MEM_DVPP 0x0
#define RT_MEM_DEV 0x4000000
#define RT_MEMORY_ADVISE_EXE 0x02
#define RT_MEMORY_ADVISE_THP 0x04
#define RT_MEMORY_ADVISE_PLE 0x08
#define RT_MEMORY_ADVISE_PIN 0x16
#define RT_MEM_MASK_SVM_TYPE 0x1
#define RT_MEM_MASK_DEV_TYPE 0x2
#define RT_MEM_MASK_HOST_TYPE 0x4
#define RT_MEM_MASK_DVPP_TYPE 0x8
#define RT_MEM_MASK_HOST_AGENT_TYPE 0x10
#define RT_MEM_MASK_RSVD_TYPE 0x20
#define RT_MEM_HOST_REGISTER_MAPPED 0x2
#define RT_MEM_HOST_REGISTER_IOMEMORY 0x4
#define RT_MEM_HOST_REGISTER_READONLY 0x8
#define RT_MEM_HOST_REGISTER_PINNED 0x10000000
#define RT_MEM_SHARE_HANDLE_LEN 128

typedef uint32_t rtMemType_t;

typedef enum {
    RT_MEM_MALLOC_HUGE_FIRST = 0,
    RT_MEM_MALLOC_HUGE_ONLY = 1,
    RT_MEM_MALLOC_NORMAL_ONLY = 2,
    RT_MEM_MALLOC_HUGE_FIRST_P2P = 3,
    RT_MEM_MALLOC_HUGE_ONLY_P2P = 4,
    RT_MEM_MALLOC_NORMAL_ONLY_P2P = 5,
    RT_MEM_MALLOC_HUGE1G_ONLY = 6,
    RT_MEM_MALLOC_HUGE1G_ONLY_P2P = 7,
    RT_MEM_TYPE_LOW_BAND_WIDTH = 0x100,
    RT_MEM_TYPE_HIGH_BAND_WIDTH = 0x1000,
    RT_MEM_ACCESS_USER_SPACE_READONLY = 0x100000
} rtMallocPolicy;

typedef enum {
    RT_MEM_ADVISE_NONE = 0,
    RT_MEM_ADVISE_DVPP = 1,
    RT_MEM_ADVISE_TS = 2,
    RT_MEM_ADVISE_CACHED = 3
} rtMallocAdvise;

typedef enum {
    RT_MEM_MALLOC_ATTR_RSV = 0,
    RT_MEM_MALLOC_ATTR_MODULE_ID = 1,
    RT_MEM_MALLOC_ATTR_DEVICE_ID = 2,
    RT_MEM_MALLOC_ATTR_VA_FLAG = 3,
    RT_MEM_MALLOC_ATTR_MAX = 4
} rtMallocAttr;

typedef union {
    uint16_t moduleId;
    uint32_t deviceId;
    uint32_t vaFlag;
    uint8_t rsv[8];
} rtMallocAttrValue;

typedef struct {
    rtMallocAttr attr;
    rtMallocAttrValue value;
} rtMallocAttribute_t;

typedef struct {
    rtMallocAttribute_t *attrs;
    size_t numAttrs;
} rtMallocConfig_t;

typedef enum tagRtMemcpyKind {
    RT_MEMCPY_HOST_TO_HOST = 0,
    RT_MEMCPY_HOST_TO_DEVICE = 1,
    RT_MEMCPY_DEVICE_TO_HOST = 2,
    RT_MEMCPY_DEVICE_TO_DEVICE = 3,
    RT_MEMCPY_MANAGED = 4,
    RT_MEMCPY_ADDR_DEVICE_TO_DEVICE = 5,
    RT_MEMCPY_HOST_TO_DEVICE_EX = 6,
    RT_MEMCPY_DEVICE_TO_HOST_EX = 7,
    RT_MEMCPY_DEFAULT = 8,
    RT_MEMCPY_RESERVED = 9
} rtMemcpyKind_t;

typedef void *rtDrvMemHandle;

typedef struct DrvMemProp {
    uint32_t side;
    uint32_t devid;
    uint32_t module_id;
    uint32_t pg_type;
    uint32_t mem_type;
    uint64_t reserve;
} rtDrvMemProp_t;

typedef enum {
    RT_MEMCPY_KIND_HOST_TO_HOST = 0,
    RT_MEMCPY_KIND_HOST_TO_DEVICE = 1,
    RT_MEMCPY_KIND_DEVICE_TO_HOST = 2,
    RT_MEMCPY_KIND_DEVICE_TO_DEVICE = 3,
    RT_MEMCPY_KIND_DEFAULT = 4,
    RT_MEMCPY_KIND_HOST_TO_BUF_TO_DEVICE = 5,
    RT_MEMCPY_KIND_INNER_DEVICE_TO_DEVICE = 6,
    RT_MEMCPY_KIND_INTER_DEVICE_TO_DEVICE = 7,
    RT_MEMCPY_KIND_MAX = 8
} rtMemcpyKind;

typedef enum {
    RT_MEMORY_LOC_HOST = 0,
    RT_MEMORY_LOC_DEVICE = 1,
    RT_MEMORY_LOC_UNREGISTERED = 2,
    RT_MEMORY_LOC_MANAGED = 3,
    RT_MEMORY_LOC_HOST_NUMA = 4,
    RT_MEMORY_LOC_MAX = 5
} rtMemLocationType;

typedef struct {
    uint32_t id;
    rtMemLocationType type;
} rtMemLocation;

typedef enum tagRtRecudeKind {
    RT_MEMCPY_SDMA_AUTOMATIC_ADD = 10,
    RT_MEMCPY_SDMA_AUTOMATIC_MAX = 11,
    RT_MEMCPY_SDMA_AUTOMATIC_MIN = 12,
    RT_MEMCPY_SDMA_AUTOMATIC_EQUAL = 13,
    RT_RECUDE_KIND_END = 14
} rtRecudeKind_t;

typedef enum tagRtDataType {
    RT_DATA_TYPE_FP32 = 0,
    RT_DATA_TYPE_FP16 = 1,
    RT_DATA_TYPE_INT16 = 2,
    RT_DATA_TYPE_INT4 = 3,
    RT_DATA_TYPE_INT8 = 4,
    RT_DATA_TYPE_INT32 = 5,
    RT_DATA_TYPE_BFP16 = 6,
    RT_DATA_TYPE_BFP32 = 7,
    RT_DATA_TYPE_UINT8 = 8,
    RT_DATA_TYPE_UINT16 = 9,
    RT_DATA_TYPE_UINT32 = 10,
    RT_DATA_TYPE_END = 11
} rtDataType_t;

typedef rtRecudeKind_t rtReduceKind;

typedef rtDataType_t rtDataType;

typedef enum tagRtMemInfoType {
    RT_MEMORYINFO_DDR = 0,
    RT_MEMORYINFO_HBM = 1,
    RT_MEMORYINFO_DDR_HUGE = 2,
    RT_MEMORYINFO_DDR_NORMAL = 3,
    RT_MEMORYINFO_HBM_HUGE = 4,
    RT_MEMORYINFO_HBM_NORMAL = 5,
    RT_MEMORYINFO_DDR_P2P_HUGE = 6,
    RT_MEMORYINFO_DDR_P2P_NORMAL = 7,
    RT_MEMORYINFO_HBM_P2P_HUGE = 8,
    RT_MEMORYINFO_HBM_P2P_NORMAL = 9,
    RT_MEMORYINFO_HBM_HUGE1G = 10,
    RT_MEMORYINFO_HBM_P2P_HUGE1G = 11,
    RT_MEMORYINFO_NORMAL = 12,
    RT_MEMORYINFO_HUGE = 13,
    RT_MEMORYINFO_HUGE1G = 14,
    RT_MEMORYINFO_P2P_NORMAL = 15,
    RT_MEMORYINFO_P2P_HUGE = 16,
    RT_MEMORYINFO_P2P_HUGE1G = 17
} rtMemInfoType_t;

typedef enum rtMemcpyAttributeId {
    RT_MEMCPY_ATTRIBUTE_RSV = 0,
    RT_MEMCPY_ATTRIBUTE_CHECK = 1,
    RT_MEMCPY_ATTRIBUTE_MAX = 2
} rtMemcpyAttributeId_t;

typedef union rtMemcpyAttributeValue_union {
    uint32_t rsv[4];
    uint32_t checkBitmap;
} rtMemcpyAttributeValue_t;

typedef struct rtMemcpyAttribute {
    rtMemcpyAttributeId_t id;
    rtMemcpyAttributeValue_t value;
} rtMemcpyAttribute_t;

typedef struct rtMemcpyConfig {
    rtMemcpyAttribute_t *attrs;
    uint32_t numAttrs;
} rtMemcpyConfig_t;

typedef enum tagRtMemoryType {
    RT_MEMORY_TYPE_HOST = 1,
    RT_MEMORY_TYPE_DEVICE = 2,
    RT_MEMORY_TYPE_SVM = 3,
    RT_MEMORY_TYPE_DVPP = 4,
    RT_MEMORY_TYPE_USER = 5
} rtMemoryType_t;

typedef enum tagRtIpcMemAttrType { RT_IPC_ATTR_SIO = 0, RT_IPC_ATTR_HCCS = 1, RT_IPC_ATTR_MAX = 2 } rtIpcMemAttrType;

typedef struct tagRtPointerAttributes {
    rtMemoryType_t memoryType;
    rtMemLocationType locationType;
    uint32_t deviceID;
    uint32_t pageSize;
} rtPointerAttributes_t;

typedef enum MemAccessFlags {
    RT_MEM_ACCESS_FLAGS_NONE = 0x0,
    RT_MEM_ACCESS_FLAGS_READ = 0x1,
    RT_MEM_ACCESS_FLAGS_READWRITE = 0x3,
    RT_MEM_ACCESS_FLAGS_MAX = 0x7fffffff
} rtMemAccessFlags;

typedef struct MemAccessDesc {
    rtMemAccessFlags flags;
    rtMemLocation location;
    uint8_t rsv[12];
} rtMemAccessDesc;

typedef enum DrvMemHandleType { RT_MEM_HANDLE_TYPE_NONE = 0x0, RT_MEM_HANDLE_TYPE_POSIX = 0x2 } rtDrvMemHandleType;

typedef enum rtMemSharedHandleType {
    RT_MEM_SHARE_HANDLE_TYPE_DEFAULT = 0x1,
    RT_MEM_SHARE_HANDLE_TYPE_FABRIC = 0x2
} rtMemSharedHandleType;

typedef enum DrvMemGranularityOptions {
    RT_MEM_ALLOC_GRANULARITY_MINIMUM = 0x0,
    RT_MEM_ALLOC_GRANULARITY_RECOMMENDED = 1,
    RT_MEM_ALLOC_GRANULARITY_INVALID = 2
} rtDrvMemGranularityOptions;

rtError_t rtMemAlloc(void **devPtr, uint64_t size, rtMallocPolicy policy, rtMallocAdvise advise, rtMallocConfig_t *cfg);
rtError_t rtDvppMallocWithFlag(void **devPtr, uint64_t size, uint32_t flag, const uint16_t moduleId);
rtError_t rtMemcpyAsyncPtr(void *memcpyAddrInfo, uint64_t destMax, uint64_t count, rtMemcpyKind_t kind,
                           rtStream_t stream, uint32_t qosCfg);
rtError_t rtMemcpyEx(void *dst, uint64_t destMax, const void *src, uint64_t cnt, rtMemcpyKind_t kind);
rtError_t rtMemcpy(void *dst, uint64_t destMax, const void *src, uint64_t cnt, rtMemcpyKind_t kind);
rtError_t rtMallocPhysical(rtDrvMemHandle *handle, size_t size, rtDrvMemProp_t *prop, uint64_t flags);
rtError_t rtMalloc(void **devPtr, uint64_t size, rtMemType_t type, const uint16_t moduleId);
rtError_t rtFree(void *devPtr);
rtError_t rtDvppMalloc(void **devPtr, uint64_t size, const uint16_t moduleId);
rtError_t rtDvppFree(void *devPtr);
rtError_t rtMallocHost(void **hostPtr, uint64_t size, const uint16_t moduleId);
rtError_t rtFreeHost(void *hostPtr);
rtError_t rtFreeWithDevSync(void *devPtr);
rtError_t rtFreeHostWithDevSync(void *hostPtr);
rtError_t rtMemAllocManaged(void **ptr, uint64_t size, uint32_t flag, const uint16_t moduleId);
rtError_t rtMemFreeManaged(void *ptr);
rtError_t rtMallocCached(void **devPtr, uint64_t size, rtMemType_t type, const uint16_t moduleId);
rtError_t rtFlushCache(void *base, size_t len);
rtError_t rtInvalidCache(void *base, size_t len);
rtError_t rtMemcpyHostTask(void *const dst, const uint64_t destMax, const void *const src, const uint64_t cnt,
                           rtMemcpyKind_t kind, rtStream_t stm);
rtError_t rtMemcpyAsync(void *dst, uint64_t destMax, const void *src, uint64_t cnt, rtMemcpyKind_t kind,
                        rtStream_t stm);
rtError_t rtMemcpyAsyncWithoutCheckKind(void *dst, uint64_t destMax, const void *src, uint64_t cnt, rtMemcpyKind_t kind,
                                        rtStream_t stm);
rtError_t rtMemcpyAsyncEx(void *dst, uint64_t destMax, const void *src, uint64_t cnt, rtMemcpyKind_t kind,
                          rtStream_t stm, rtMemcpyConfig_t *memcpyConfig);
rtError_t rtMemcpyAsyncWithCfg(void *dst, uint64_t destMax, const void *src, uint64_t cnt, rtMemcpyKind_t kind,
                               rtStream_t stm, uint32_t qosCfg);
rtError_t rtMemcpyAsyncWithCfgV2(void *dst, uint64_t destMax, const void *src, uint64_t cnt, rtMemcpyKind_t kind,
                                 rtStream_t stm, const rtTaskCfgInfo_t *cfgInfo);
rtError_t rtMemcpyAsyncPtrV2(void *memcpyAddrInfo, uint64_t destMax, uint64_t count, rtMemcpyKind_t kind,
                             rtStream_t stream, const rtTaskCfgInfo_t *cfgInfo);
rtError_t rtReduceAsync(void *dst, uint64_t destMax, const void *src, uint64_t cnt, rtRecudeKind_t kind,
                        rtDataType_t type, rtStream_t stm);
rtError_t rtReduceAsyncWithCfg(void *dst, uint64_t destMax, const void *src, uint64_t cnt, rtRecudeKind_t kind,
                               rtDataType_t type, rtStream_t stm, uint32_t qosCfg);
rtError_t rtReduceAsyncWithCfgV2(void *dst, uint64_t destMax, const void *src, uint64_t cnt, rtRecudeKind_t kind,
                                 rtDataType_t type, rtStream_t stm, const rtTaskCfgInfo_t *cfgInfo);
rtError_t rtReduceAsyncV2(void *dst, uint64_t destMax, const void *src, uint64_t cnt, rtRecudeKind_t kind,
                          rtDataType_t type, rtStream_t stm, void *overflowAddr);
rtError_t rtMemcpy2d(void *dst, uint64_t dstPitch, const void *src, uint64_t srcPitch, uint64_t width, uint64_t height,
                     rtMemcpyKind_t kind);
rtError_t rtMemcpy2dAsync(void *dst, uint64_t dstPitch, const void *src, uint64_t srcPitch, uint64_t width,
                          uint64_t height, rtMemcpyKind_t kind, rtStream_t stm);
rtError_t rtMemAdvise(void *devPtr, uint64_t count, uint32_t advise);
rtError_t rtMemset(void *devPtr, uint64_t destMax, uint32_t val, uint64_t cnt);
rtError_t rtMemsetAsync(void *ptr, uint64_t destMax, uint32_t val, uint64_t cnt, rtStream_t stm);
rtError_t rtMemGetInfo(size_t *freeSize, size_t *totalSize);
rtError_t rtMemGetInfoEx(rtMemInfoType_t memInfoType, size_t *freeSize, size_t *totalSize);
rtError_t rtMemPrefetchToDevice(void *devPtr, uint64_t len, int32_t devId);
rtError_t rtPointerGetAttributes(rtPointerAttributes_t *attributes, const void *ptr);
rtError_t rtIpcSetMemoryName(const void *ptr, uint64_t byteCount, char_t *name, uint32_t len);
rtError_t rtIpcSetMemoryAttr(const char *name, uint32_t type, uint64_t attr);
rtError_t rtIpcDestroyMemoryName(const char_t *name);
rtError_t rtIpcOpenMemory(void **ptr, const char_t *name);
rtError_t rtIpcCloseMemory(const void *ptr);
rtError_t rtSetIpcMemPid(const char_t *name, int32_t *pid, int32_t num);
rtError_t rtReserveMemAddress(void **devPtr, size_t size, size_t alignment, void *devAddr, uint64_t flags);
rtError_t rtReleaseMemAddress(void *devPtr);
rtError_t rtFreePhysical(rtDrvMemHandle handle);
rtError_t rtMapMem(void *devPtr, size_t size, size_t offset, rtDrvMemHandle handle, uint64_t flags);
rtError_t rtUnmapMem(void *devPtr);
rtError_t rtMemSetAccess(void *virPtr, size_t size, rtMemAccessDesc *desc, size_t count);
rtError_t rtMemGetAccess(void *virPtr, rtMemLocation *location, uint64_t *flags);
rtError_t rtMemExportToShareableHandle(rtDrvMemHandle handle, rtDrvMemHandleType handleType, uint64_t flags,
                                       uint64_t *shareableHandle);
rtError_t rtMemExportToShareableHandleV2(rtDrvMemHandle handle, rtMemSharedHandleType handleType, uint64_t flags,
                                         void *shareableHandle);
rtError_t rtMemImportFromShareableHandle(uint64_t shareableHandle, int32_t devId, rtDrvMemHandle *handle);
rtError_t rtMemImportFromShareableHandleV2(const void *shareableHandle, rtMemSharedHandleType handleType,
                                           uint64_t flags, int32_t devId, rtDrvMemHandle *handle);
rtError_t rtMemSetPidToShareableHandle(uint64_t shareableHandle, int *pid, uint32_t pidNum);
rtError_t rtMemSetPidToShareableHandleV2(const void *shareableHandle, rtMemSharedHandleType handleType, int *pid,
                                         uint32_t pidNum);
rtError_t rtMemGetAllocationGranularity(rtDrvMemProp_t *prop, rtDrvMemGranularityOptions option, size_t *granularity);
rtError_t rtMemRetainAllocationHandle(void *virPtr, rtDrvMemHandle *handle);
rtError_t rtMemGetAllocationPropertiesFromHandle(rtDrvMemHandle handle, rtDrvMemProp_t *prop);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
