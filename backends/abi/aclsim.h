/* Control of the simulator: entry points that the vendor library does not have. */
#pragma once

#include "base.h"

/* What a simulator answers to aclsimGetInfo. */
typedef struct aclsimInfo {
    char product[16];     /* product profile, for instance "910B" */
    uint32_t deviceCount; /* simulated devices, before ASCEND_RT_VISIBLE_DEVICES */
    uint32_t workerCount; /* threads that move data */
} aclsimInfo;

/* on = 1: no task starts any more on any device, whatever is submitted; on = 0: go on. Running tasks end. */
int32_t aclsimHold(int32_t on);
aclError aclsimGetInfo(aclsimInfo *info);
/* 1 if the simulator simulates the named function, 0 if the function answers ACL_ERROR_RT_FEATURE_NOT_SUPPORT or is
 * unknown. */
int32_t aclsimIsSimulated(const char *function);
/* Does nothing and returns 0: the floor for the cost of a call through the binding. */
aclError aclsimNoOp(void *first, void *second);
