/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of the driver, in libascend_hal.so. They answer about the simulated machine; devices have their numbers
 * from before ASCEND_RT_VISIBLE_DEVICES, and those that the process may not use are invalid where the answer depends on
 * their state. */
/* @refused DRV_ERROR_NOT_SUPPORT: the simulator has no driver */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

typedef enum tagDrvError {
    DRV_ERROR_NONE = 0,
    DRV_ERROR_NO_DEVICE = 1,
    DRV_ERROR_INVALID_DEVICE = 2,
    DRV_ERROR_INVALID_VALUE = 3,
    DRV_ERROR_INVALID_HANDLE = 4,
    DRV_ERROR_INVALID_MALLOC_TYPE = 5,
    DRV_ERROR_OUT_OF_MEMORY = 6,
    DRV_ERROR_INNER_ERR = 7,
    DRV_ERROR_PARA_ERROR = 8,
    DRV_ERROR_STATUS_FAIL = 30,
    DRV_ERROR_NOT_SUPPORT = 65534,
} drvError_t;

typedef drvError_t DVresult;
typedef uint32_t DVdevice;

typedef enum tagDrvStatus {
    DRV_STATUS_INITING = 0,
    DRV_STATUS_WORK = 1,
    DRV_STATUS_EXCEPTION = 2,
    DRV_STATUS_SLEEP = 3,
    DRV_STATUS_COMMUNICATION_LOST = 4,
    DRV_STATUS_RESERVED = 5,
} drvStatus_t;

#define MAX_CHIP_NAME 32
typedef struct hal_chip_info {
    unsigned char type[MAX_CHIP_NAME]; /* "Ascend" */
    unsigned char name[MAX_CHIP_NAME]; /* the rest of the name of the SoC, "910B1" */
    unsigned char version[MAX_CHIP_NAME];
} halChipInfo;

/* Modules and facts of halGetDeviceInfo that have an answer. */
#define MODULE_TYPE_SYSTEM 0
#define MODULE_TYPE_AICPU 1
#define MODULE_TYPE_AICORE 4
#define MODULE_TYPE_VECTOR_CORE 7
#define INFO_TYPE_CORE_NUM 3
#define INFO_TYPE_PHY_CHIP_ID 18
#define INFO_TYPE_PHY_DIE_ID 19
#define INFO_TYPE_UTILIZATION 23
#define INFO_TYPE_SDID 26
#define INFO_TYPE_SERVER_ID 27
#define INFO_TYPE_SUPER_POD_ID 29
#define INFO_TYPE_MAINBOARD_ID 39
#define INFO_TYPE_HD_CONNECT_TYPE 40

/* The flag of halMemAlloc: the device in the lowest ten bits, and where the memory is. */
#define MEM_DEVID_MASK 0x3FF
#define MEM_VIRT_BIT 10
#define MEM_VIRT_MASK 0xF
#define MEM_SVM (0x0 << MEM_VIRT_BIT)
#define MEM_DEV (0x1 << MEM_VIRT_BIT)
#define MEM_HOST (0x2 << MEM_VIRT_BIT)
#define MEM_TYPE_DDR (0x0UL << 14)
#define MEM_TYPE_HBM (0x1UL << 14)
#define MEM_PAGE_NORMAL (0x0UL << 17)
#define MEM_PAGE_HUGE (0x1UL << 17)

/* The flag of halHostRegister. */
#define HOST_MEM_MAP_DEV 0
#define HOST_SVM_MAP_DEV 1
#define DEV_SVM_MAP_HOST 2
#define HOST_MEM_MAP_DEV_PCIE_TH 3
#define DEV_MEM_MAP_HOST 4
#define HOST_MEM_MAP_DMA 5
#define HOST_IO_MAP_DEV 6

#define CTRL_TYPE_ADDR_MAP 0
#define CTRL_TYPE_ADDR_UNMAP 1
#define CTRL_TYPE_SUPPORT_FEATURE 2

struct supportFeaturePara {
    unsigned long long support_feature; /* CTRL_SUPPORT_*, of which the simulated driver has none */
    unsigned int devid;
};

#define MEM_INFO_TYPE_DDR_SIZE 1
#define MEM_INFO_TYPE_HBM_SIZE 2

/* In bytes. Pages of all sizes come from the same memory. */
struct MemPhyInfo {
    unsigned long total;
    unsigned long free;
    unsigned long huge_total;
    unsigned long huge_free;
    unsigned long giant_total;
    unsigned long giant_free;
};

/* The vendor's structure is a union of answers, of which the first has a meaning here. */
struct MemInfo {
    struct MemPhyInfo phy_info;
    unsigned char reserved[208];
};

drvError_t drvGetPlatformInfo(uint32_t *info); /* 1: the host */
drvError_t drvGetDevNum(uint32_t *num_dev);
drvError_t drvGetDevIDs(uint32_t *devices, uint32_t len);
drvError_t drvDeviceGetPhyIdByIndex(uint32_t devIndex, uint32_t *phyId);
drvError_t drvDeviceGetIndexByPhyId(uint32_t phyId, uint32_t *devIndex);
drvError_t drvDeviceStatus(uint32_t devId, drvStatus_t *status);
drvError_t halGetChipInfo(unsigned int devId, halChipInfo *chipInfo);
drvError_t halGetDeviceInfo(uint32_t devId, int32_t moduleType, int32_t infoType, int64_t *value);
DVresult halMemGetInfo(DVdevice device, unsigned int type, struct MemInfo *info);
drvError_t halMemCtl(int type, void *param_value, size_t param_value_size, void *out_value, size_t *out_size_ret);
/* The memory is there until it is freed, or the device is reset. */
drvError_t halMemAlloc(void **pp, unsigned long long size, unsigned long long flag);
drvError_t halMemFree(void *pp);
drvError_t halHostRegister(void *src_ptr, uint64_t size, uint32_t flag, uint32_t devid, void **dst_ptr);
drvError_t halHostUnregister(void *src_ptr, uint32_t devid);
drvError_t halHostUnregisterEx(void *src_ptr, uint32_t devid, uint32_t flag);

drvError_t drvDeviceOpen(void **devInfo, uint32_t devId);
drvError_t drvDeviceClose(uint32_t devId);
drvError_t halGetAPIVersion(int *halAPIVersion);
drvError_t halGetDeviceInfoByBuff(uint32_t devId, int32_t moduleType, int32_t infoType, void *buf, int32_t *size);
drvError_t halGetPairDevicesInfo(uint32_t devId, uint32_t otherDevId, int32_t infoType, int64_t *value);
drvError_t halMemRegUbSegment(uint32_t devid, uint64_t va, uint64_t size);
drvError_t halMemUnRegUbSegment(uint32_t devid, uint64_t va);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
