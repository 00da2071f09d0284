/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks that have failed. They are noted here and not in Python, because the runtime may report them on any thread and
 * at any time, with its own locks held or while the interpreter ends. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "aclrt_support.h"

enum { KEPT = 256 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER; /* their number, or where a listener ends */
static ascend_rt_failed_task newest[KEPT];                /* number n is at n % KEPT */
atomic_uint_fast64_t ascend_rt_failed_tasks, ascend_rt_reports;

static void name_kernel(const aclrtExceptionInfo *info, char *name, size_t size) {
    aclrtFuncHandle function = NULL;
    const aclError code = ASCEND_RT_IN_TABLE(aclrtGetFuncHandleFromExceptionInfo)(info, &function);
    if (code != ACL_SUCCESS || function == NULL ||
        ASCEND_RT_IN_TABLE(aclrtGetFunctionName)(function, (uint32_t)size, name) != ACL_SUCCESS) {
        name[0] = '\0';
    }
}

static void note_failed_task(aclrtExceptionInfo *info) {
    ascend_rt_failed_task task = {
        .task = ASCEND_RT_IN_TABLE(aclrtGetTaskIdFromExceptionInfo)(info),
        .stream = ASCEND_RT_IN_TABLE(aclrtGetStreamIdFromExceptionInfo)(info),
        .thread = ASCEND_RT_IN_TABLE(aclrtGetThreadIdFromExceptionInfo)(info),
        .device = ASCEND_RT_IN_TABLE(aclrtGetDeviceIdFromExceptionInfo)(info),
        .code = ASCEND_RT_IN_TABLE(aclrtGetErrorCodeFromExceptionInfo)(info),
    };
    name_kernel(info, task.kernel, sizeof task.kernel);
    pthread_mutex_lock(&mutex);
    task.number = ascend_rt_failed_tasks + 1;
    newest[task.number % KEPT] = task;
    ascend_rt_failed_tasks = task.number;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
}

const aclrtExceptionInfoCallback ascend_rt_exception_entry = note_failed_task;

uint64_t ascend_rt_failed_task_count(void) { return ascend_rt_failed_tasks; }

static bool is_of(const ascend_rt_failed_task *task, uint32_t device, uint32_t stream) {
    const bool is_on_device = device == UINT32_MAX || task->device == device;
    return is_on_device && (stream == UINT32_MAX || task->stream == UINT32_MAX || task->stream == stream);
}

int ascend_rt_find_failed_task(uint64_t above, uint32_t device, uint32_t stream, ascend_rt_failed_task *found) {
    bool is_found = false;
    pthread_mutex_lock(&mutex);
    for (uint64_t number = ascend_rt_failed_tasks;
         !is_found && number > above && number + KEPT > ascend_rt_failed_tasks; --number) {
        is_found = is_of(&newest[number % KEPT], device, stream);
        if (is_found) {
            *found = newest[number % KEPT];
        }
    }
    pthread_mutex_unlock(&mutex);
    return is_found;
}

int ascend_rt_await_failed_task(uint64_t above, const uint64_t *end, ascend_rt_failed_task *found) {
    pthread_mutex_lock(&mutex);
    while (above == ascend_rt_failed_tasks && above < *end) {
        pthread_cond_wait(&changed, &mutex);
    }
    const bool is_found = above < *end;
    if (is_found) {
        const uint64_t oldest = ascend_rt_failed_tasks > KEPT ? ascend_rt_failed_tasks - KEPT + 1 : 1;
        *found = newest[(above < oldest ? oldest : above + 1) % KEPT];
    }
    pthread_mutex_unlock(&mutex);
    return is_found;
}

void ascend_rt_end_listening(uint64_t *end) {
    pthread_mutex_lock(&mutex);
    *end = ascend_rt_failed_tasks;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
}

void ascend_rt_renew_failures(void) {
    pthread_mutex_init(&mutex, NULL);
    pthread_cond_init(&changed, NULL);
}

/* Reports. They are noted in the call that receives them, on any thread, and taken in the call that raises them: what
 * happens in between loses none. */

/* Codes of a wait that was refused, or whose limit is over: they say nothing of tasks. */
static bool is_about_tasks(int code) {
    switch (code) {
        case ACL_ERROR_RT_WAIT_TIMEOUT:
        case ACL_ERROR_RT_TASK_TIMEOUT:
            return true; /* a failed task */
        case ACL_ERROR_RT_STREAM_SYNC_TIMEOUT:
        case ACL_ERROR_RT_FEATURE_NOT_SUPPORT:
            return false;
        default:
            return code >= ACL_ERROR_RT_FEATURE_NOT_SUPPORT && code < ASCEND_RT_RAISED;
    }
}

int ascend_rt_note_report(ascend_rt_report *report, int code) {
    if (code <= ACL_SUCCESS || !is_about_tasks(code)) {
        return code;
    }
    ++ascend_rt_reports;
    const char *text = ASCEND_RT_IN_TABLE(aclGetRecentErrMsg)();
    char *copy = text != NULL ? strdup(text) : NULL;
    pthread_mutex_lock(&mutex);
    if (report->code == ACL_SUCCESS) { /* the first stays: it may be about to be raised */
        report->text = copy;
        copy = NULL;
        __atomic_store_n(&report->code, code, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&mutex);
    free(copy);
    return code;
}

char *ascend_rt_report_text(ascend_rt_report *report) {
    pthread_mutex_lock(&mutex);
    char *const copy = report->text != NULL ? strdup(report->text) : NULL;
    pthread_mutex_unlock(&mutex);
    return copy;
}

bool ascend_rt_take_report(ascend_rt_report *report) {
    pthread_mutex_lock(&mutex);
    const bool is_taken = report->code != ACL_SUCCESS;
    free(report->text);
    report->text = NULL;
    __atomic_store_n(&report->code, ACL_SUCCESS, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&mutex);
    return is_taken;
}
