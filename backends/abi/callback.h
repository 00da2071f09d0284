/* SPDX-License-Identifier: Apache-2.0 */
/* Host functions and callbacks in a stream (API reference 12). */
#pragma once

#include "base.h"

typedef void (*aclrtCallback)(void *userData);

typedef enum aclrtCallbackBlockType {
    ACL_CALLBACK_NO_BLOCK = 0,
    ACL_CALLBACK_BLOCK = 1,
} aclrtCallbackBlockType;

typedef void (*aclrtHostFunc)(void *args);

aclError aclrtSubscribeReport(uint64_t threadId, aclrtStream stream);
aclError aclrtLaunchCallback(aclrtCallback fn, void *userData, aclrtCallbackBlockType blockType, aclrtStream stream);
aclError aclrtProcessReport(int32_t timeout);
aclError aclrtUnSubscribeReport(uint64_t threadId, aclrtStream stream);
aclError aclrtLaunchHostFunc(aclrtStream stream, aclrtHostFunc fn, void *args); /* since 8.5.0-beta.1 */
aclError aclrtSubscribeHostFunc(uint64_t hostFuncThreadId, aclrtStream exeStream); /* IPV350 */
aclError aclrtProcessHostFunc(int32_t timeout); /* IPV350 */
aclError aclrtUnSubscribeHostFunc(uint64_t hostFuncThreadId, aclrtStream exeStream); /* IPV350 */
