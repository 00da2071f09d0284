/* SPDX-License-Identifier: Apache-2.0 */
/* Default values of the settings of a communicator. Programs have this function themselves; no library has it. */
#pragma once

#include <string.h>

#include "hccl.h"

static inline void HcclCommConfigInit(HcclCommConfig *config) {
    const struct {
        size_t size;
        uint32_t mark;
        uint32_t version;
        uint64_t reserved;
    } head = {sizeof(HcclCommConfig), HCCL_COMM_CONFIG_MAGIC_WORD, HCCL_COMM_CONFIG_VERSION, 0};
    if (config == NULL) {
        return;
    }
    memset(config, 0, sizeof(HcclCommConfig));
    memcpy(config->reserved, &head, sizeof head);
    config->hcclBufferSize = HCCL_COMM_BUFFSIZE_CONFIG_NOT_SET;
    config->hcclDeterministic = HCCL_COMM_DETERMINISTIC_CONFIG_NOT_SET;
    config->hcclOpExpansionMode = HCCL_COMM_DEFAULT_OP_EXPANSION_MODE;
    config->hcclRdmaTrafficClass = HCCL_COMM_TRAFFIC_CLASS_CONFIG_NOT_SET;
    config->hcclRdmaServiceLevel = HCCL_COMM_SERVICE_LEVEL_CONFIG_NOT_SET;
    config->hcclExecTimeOut = HCCL_COMM_EXECTIMEOUT_CONFIG_NOT_SET;
    config->hcclQos = HCCL_COMM_QOS_CONFIG_NOT_SET;
    config->hcclSymWinMaxMemSizePerRank = HCCL_DEFAULT_SYMMETRIC_MEMORY_STRIDE;
}
