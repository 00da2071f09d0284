/* SPDX-License-Identifier: Apache-2.0 */
/* Writing to the runtime's log (API reference 24). */
#pragma once

#include "base.h"

typedef enum aclLogLevel {
    ACL_DEBUG = 0,
    ACL_INFO = 1,
    ACL_WARNING = 2,
    ACL_ERROR = 3,
} aclLogLevel;

void aclAppLog(aclLogLevel logLevel, const char *func, const char *file, uint32_t line, const char *fmt, ...);
