/* Collective communication: creation of communicators, and options. Functions that take a communicator are not
 * declared, because none can be created. */
/* @refused HCCL_E_NOT_SUPPORT: the simulator has no collective communication */
#pragma once

#include "abi/acl.h"

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

#define HCCL_SUCCESS 0
#define HCCL_E_PARA 1
#define HCCL_E_PTR 2
#define HCCL_E_NOT_SUPPORT 5

typedef struct HcclRootInfo HcclRootInfo;

typedef struct HcclCommConfig HcclCommConfig;

typedef void *HcclComm;

typedef enum HcclConfig {
    HCCL_DETERMINISTIC = 0,
    HCCL_ACCELERATOR = 1,
    HCCL_CONFIG_RESERVED = 2,
} HcclConfig;

typedef union HcclConfigValue {
    int32_t value;
} HcclConfigValue;

int32_t HcclSetConfig(HcclConfig config, HcclConfigValue configValue);
int32_t HcclGetConfig(HcclConfig config, HcclConfigValue *configValue);
int32_t HcclGetRootInfo(HcclRootInfo *rootInfo);
int32_t HcclGetRootInfoScalable(HcclRootInfo *rootInfo);
int32_t HcclCommInitAll(uint32_t ndev, int32_t *devices, HcclComm *comms);
int32_t HcclCommInitClusterInfo(const char *clusterInfo, uint32_t rank, HcclComm *comm);
int32_t HcclCommInitClusterInfoConfig(const char *clusterInfo, uint32_t rank, HcclCommConfig *config, HcclComm *comm);
int32_t HcclCommInitRootInfo(uint32_t nRanks, const HcclRootInfo *rootInfo, uint32_t rank, HcclComm *comm);
int32_t HcclCommInitRootInfoConfig(uint32_t nRanks, const HcclRootInfo *rootInfo, uint32_t rank,
                                   const HcclCommConfig *config, HcclComm *comm);
int32_t HcclCommInitRootInfoScalable(uint32_t nRanks, uint32_t nRoot, const HcclRootInfo *rootInfoList, uint32_t rank,
                                     uint32_t nExtRoot, const HcclCommConfig *config, HcclComm *comm);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
