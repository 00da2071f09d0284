/* Time limits and task ids (API reference 12). */
#pragma once

#include "base.h"

aclError aclrtGetOpExecuteTimeout(uint32_t * const timeoutMs);
aclError aclrtGetOpTimeOutInterval(uint64_t *interval);
aclError aclrtGetThreadLastTaskId(uint32_t *taskId);
aclError aclrtSetOpExecuteTimeOutV2(uint64_t timeout, uint64_t *actualTimeout);
aclError aclrtSetOpExecuteTimeOutWithMs(uint32_t timeout);
aclError aclrtSetOpExecuteTimeOut(uint32_t timeout);
