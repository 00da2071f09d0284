/* SPDX-License-Identifier: Apache-2.0 */
/* Writing a value and waiting for one in stream order (API reference 11-09). */
#pragma once

#include "base.h"

/* @enum ValueWaitFlag: conditions of aclrtValueWait */
#define ACL_STREAM_WAIT_VALUE_GEQ 0
#define ACL_STREAM_WAIT_VALUE_EQ 1
#define ACL_STREAM_WAIT_VALUE_AND 2
#define ACL_STREAM_WAIT_VALUE_NOR 3

aclError aclrtValueWait(
    void *devAddr, uint64_t value, uint32_t flag, aclrtStream stream); /* since 8.5.0-beta.1, 910B 910C 950 */
aclError aclrtValueWrite(
    void *devAddr, uint64_t value, uint32_t flag, aclrtStream stream); /* since 8.5.0-beta.1, 910B 910C 950 */
