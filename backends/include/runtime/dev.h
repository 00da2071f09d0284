/* SPDX-License-Identifier: Apache-2.0 */
/* Devices. The functions are in libruntime.so. */
/* @refused ACL_ERROR_RT_FEATURE_NOT_SUPPORT: the simulator does not have this function of the runtime */
#pragma once

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

#define RT_DEVICE_FLAG_DEFAULT 0x0
#define RT_DEVICE_FLAG_NOT_START_CPU_SCHED 0x1
#define RT_CAPABILITY_SUPPORT 0x1
#define RT_CAPABILITY_NOT_SUPPORT 0x0
#define MEMORY_INFO_TS_4G_LIMITED 0x0
#define INFO_TYPE_CUBE_NUM 0x775A5A5A
#define RT_FFTS_MAX_SUB_TASK_NUM 32
#define RT_FFTS_MAX_TICKET_CACHE_NUM 64
#define RT_FFTS_MAX_MANUAL_THREAD_NUM 16
#define RT_FFTS_MAX_TICKET_CACHE_PER_SUBTASK 8
#define RT_FFTS_MANUAL_SRC_DEPEND_TBL_LEN 32

typedef enum tagRtDeviceFeatureType {
    FEATURE_TYPE_SCHE = 0,
    FEATURE_TYPE_BLOCKING_OPERATOR = 1,
    FEATURE_TYPE_FFTS_MODE = 2,
    FEATURE_TYPE_MEMQ_EVENT_CROSS_DEV = 3,
    FEATURE_TYPE_MODEL_TASK_UPDATE = 4,
    FEATURE_TYPE_END = 5
} rtDeviceFeatureType_t;

typedef enum tagRtDeviceModuleType {
    RT_MODULE_TYPE_SYSTEM = 0,
    RT_MODULE_TYPE_AICPU = 1,
    RT_MODULE_TYPE_CCPU = 2,
    RT_MODULE_TYPE_DCPU = 3,
    RT_MODULE_TYPE_AICORE = 4,
    RT_MODULE_TYPE_TSCPU = 5,
    RT_MODULE_TYPE_PCIE = 6,
    RT_MODULE_TYPE_VECTOR_CORE = 7,
    RT_MODULE_TYPE_HOST_AICPU = 8,
    RT_MODULE_TYPE_QOS = 9,
    RT_MODULE_TYPE_MEMORY = 10
} rtDeviceModuleType_t;

typedef enum tagRtMemRequestFeature {
    MEM_REQUEST_FEATURE_DEFAULT = 0,
    MEM_REQUEST_FEATURE_OPP = 1,
    MEM_REQUEST_FEATURE_RESERVED = 2
} rtMemRequestFeature_t;

typedef struct tagRTDeviceInfo {
    uint8_t env_type;
    uint32_t ctrl_cpu_ip;
    uint32_t ctrl_cpu_id;
    uint32_t ctrl_cpu_core_num;
    uint32_t ctrl_cpu_endian_little;
    uint32_t ts_cpu_core_num;
    uint32_t ai_cpu_core_num;
    uint32_t ai_core_num;
    uint32_t ai_core_freq;
    uint32_t ai_cpu_core_id;
    uint32_t ai_core_id;
    uint32_t aicpu_occupy_bitmap;
    uint32_t hardware_version;
    uint32_t ts_num;
} rtDeviceInfo_t;

typedef enum tagRtRunMode {
    RT_RUN_MODE_OFFLINE = 0,
    RT_RUN_MODE_ONLINE = 1,
    RT_RUN_MODE_AICPU_SCHED = 2,
    RT_RUN_MODE_RESERVED = 3
} rtRunMode;

typedef struct tagRtUuid {
    char bytes[16];
} rtUuid_t;

rtError_t rtSetSocVersion(const char_t *ver);
rtError_t rtInit(void);
void rtDeinit(void);
rtError_t rtSetDeviceWithoutTsd(int32_t devId);
rtError_t rtGetDeviceInfo(uint32_t deviceId, int32_t moduleType, int32_t infoType, int64_t *val);
rtError_t rtSetDeviceWithFlags(int32_t deviceId, uint64_t flags);
rtError_t rtEnableP2P(uint32_t devIdDes, uint32_t phyIdSrc, uint32_t flag);
rtError_t rtDisableP2P(uint32_t devIdDes, uint32_t phyIdSrc);
rtError_t rtGetP2PStatus(uint32_t devIdDes, uint32_t phyIdSrc, uint32_t *status);
rtError_t rtGetPairDevicesInfo(uint32_t devId, uint32_t otherDevId, int32_t infoType, int64_t *val);
rtError_t rtGetTSDevice(uint32_t *tsId);
rtError_t rtGetDeviceCapability(int32_t deviceId, int32_t moduleType, int32_t featureType, int32_t *val);
uint32_t rtGetTsMemType(rtMemRequestFeature_t featureType, uint32_t memSize);
rtError_t rtDeviceGetPCIBusId(const int32_t devId, char *pciBusId, const int32_t len);
rtError_t rtDeviceGetByPCIBusId(const char *pciBusId, int32_t *devId);
rtError_t rtGetDeviceCount(int32_t *cnt);
rtError_t rtGetDeviceIDs(uint32_t *devices, uint32_t len);
rtError_t rtSetDevice(int32_t devId);
rtError_t rtSetDeviceEx(int32_t devId);
rtError_t rtGetDeviceIndexByPhyId(uint32_t phyId, uint32_t *devIndex);
rtError_t rtGetDevicePhyIdByIndex(uint32_t devIndex, uint32_t *phyId);
rtError_t rtDeviceCanAccessPeer(int32_t *canAccessPeer, uint32_t devId, uint32_t peerDevice);
rtError_t rtDeviceGetBareTgid(uint32_t *pid);
rtError_t rtGetDevice(int32_t *devId);
rtError_t rtDeviceReset(int32_t devId);
rtError_t rtDeviceResetEx(int32_t devId);
rtError_t rtDeviceSetLimit(int32_t devId, rtLimitType_t type, uint32_t val);
rtError_t rtDeviceSynchronize(void);
rtError_t rtDeviceSynchronizeWithTimeout(int32_t timeout);
rtError_t rtDeviceTaskAbort(int32_t devId, uint32_t timeout);
rtError_t rtDeviceGetStreamPriorityRange(int32_t *leastPriority, int32_t *greatestPriority);
rtError_t rtSetTSDevice(uint32_t tsId);
rtError_t rtGetRunMode(rtRunMode *runMode);
rtError_t rtGetSocVersion(char_t *ver, const uint32_t maxLen);
rtError_t rtCheckArchCompatibility(const char_t *omSocVersion, int32_t *canCompatible);
rtError_t rtDeviceStatusQuery(const uint32_t devId, rtDeviceStatus *deviceStatus);
rtError_t rtDeviceResetWithoutTsd(int32_t devId);
rtError_t rtSetDeviceSatMode(rtFloatOverflowMode_t floatOverflowMode);
rtError_t rtGetDeviceSatMode(rtFloatOverflowMode_t *floatOverflowMode);
rtError_t rtGetDeviceSatModeForStream(rtStream_t stm, rtFloatOverflowMode_t *floatOverflowMode);
rtError_t rtGetVisibleDeviceIdByLogicDeviceId(const int32_t logicDeviceId, int32_t *const visibleDeviceId);
rtError_t rtGetAllUtilizations(const int32_t devId, const rtTypeUtil_t kind, uint8_t *const util);
rtError_t rtSetDefaultDeviceId(const int32_t deviceId);
rtError_t rtDeviceResetForce(int32_t devId);
rtError_t rtSetDeviceFailureMode(uint64_t failureMode);
rtError_t rtGetSysParamOpt(const rtSysParamOpt configOpt, int64_t *const configVal);
rtError_t rtSetSysParamOpt(const rtSysParamOpt configOpt, const int64_t configVal);
rtError_t rtGetLogicDevIdByUserDevId(const int32_t userDevId, int32_t *const logicDevId);
rtError_t rtGetUserDevIdByLogicDevId(const int32_t logicDevId, int32_t *const userDevId);
rtError_t rtGetDeviceUuid(const int32_t devId, rtUuid_t *uuid);
rtError_t rtGetC2cCtrlAddr(uint64_t *addr, uint32_t *len);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
