/* SPDX-License-Identifier: Apache-2.0 */
/* The log that libraries of CANN write to. There are no log files: lines that ASCEND_GLOBAL_LOG_LEVEL selects are
 * printed if ASCEND_SLOG_PRINT_TO_STDOUT is 1. */
/* @refused ACL_ERROR_API_NOT_SUPPORT: the simulator keeps no log files */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

int32_t dlog_getlevel(int32_t moduleId, int32_t *enableEvent);
int32_t dlog_setlevel(int32_t moduleId, int32_t level, int32_t enableEvent);
int32_t CheckLogLevel(int32_t moduleId, int32_t logLevel); /* 1: it is printed */
void DlogRecord(int32_t moduleId, int32_t level, const char *fmt, ...);
void DlogFlush(void);
void DlogInner(int32_t moduleId, int32_t level, const char *fmt, ...);
void DlogErrorInner(int32_t moduleId, const char *fmt, ...);
void DlogWarnInner(int32_t moduleId, const char *fmt, ...);
void DlogInfoInner(int32_t moduleId, const char *fmt, ...);
void DlogDebugInner(int32_t moduleId, const char *fmt, ...);
void DlogEventInner(int32_t moduleId, const char *fmt, ...);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
