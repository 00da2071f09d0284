/* SPDX-License-Identifier: Apache-2.0 */
/* Waits of the main thread, which Python must be able to interrupt: only short ones are made here. */
#include <pthread.h>
#include <sched.h>
#include <time.h>

#include "_aclrt_support.h"

enum { WOULD_WAIT = -1, SHORT_WAIT_MS = 20, NS_PER_MS = 1000000 };

static uint64_t main_thread;
static bool is_simulator;

void ascend_rt_prepare_waits(uint64_t identifier, bool is_simulated) {
    main_thread = identifier;
    is_simulator = is_simulated;
}

bool ascend_rt_is_main_thread(void) { return (uint64_t)(uintptr_t)pthread_self() == main_thread; }

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* Looks without a pause at first, because the work is often nearly done, and then ever more rarely: what a look comes
 * too late by is a small part of the time that has passed. */
static bool is_done_soon(const ascend_rt_awaited *awaited, void *object) {
    if (awaited->status == NULL) {
        return false;
    }
    enum { LOOKS = 8, NS_WITHOUT_PAUSE = 100000 };
    const int64_t begin = now_ns();
    for (int64_t passed = 0; passed < SHORT_WAIT_MS * (int64_t)NS_PER_MS; passed = now_ns() - begin) {
        for (int i = 0; i < LOOKS; ++i) {
            if (awaited->status(object) != awaited->pending) {
                return true;
            }
        }
        if (passed < NS_WITHOUT_PAUSE) {
            sched_yield();
        } else {
            const struct timespec pause = {.tv_nsec = passed / 32};
            nanosleep(&pause, NULL);
        }
    }
    return false;
}

static int synchronize(const ascend_rt_awaited *awaited, void *object, int32_t timeout_ms) {
    return timeout_ms == -1 ? (*awaited->synchronize)(object) : (*awaited->synchronize_within)(object, timeout_ms);
}

int ascend_rt_synchronize(const ascend_rt_awaited *awaited, void *object, int32_t timeout_ms) {
    const bool is_short = timeout_ms != -1 && timeout_ms <= SHORT_WAIT_MS;
    /* A failure is no status that waits, and the call will tell it. */
    const bool is_done = awaited->status != NULL && awaited->status(object) != awaited->pending;
    if (is_done || is_short || !ascend_rt_is_main_thread()) {
        return synchronize(awaited, object, timeout_ms);
    }
    if (!is_simulator) { /* whose time limits would be errors in the vendor's log */
        return is_done_soon(awaited, object) ? synchronize(awaited, object, timeout_ms) : WOULD_WAIT;
    }
    const aclError code = (*awaited->synchronize_within)(object, SHORT_WAIT_MS);
    if (code != ACL_ERROR_RT_STREAM_SYNC_TIMEOUT && code != ACL_ERROR_RT_EVENT_SYNC_TIMEOUT) {
        return code;
    }
    ASCEND_RT_IN_TABLE(aclGetRecentErrMsg)(); /* discard the text */
    return WOULD_WAIT;
}
