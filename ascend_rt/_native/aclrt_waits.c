/* SPDX-License-Identifier: Apache-2.0 */
/* Waits that Python must be able to interrupt: the main thread makes only short ones, and other threads come back when
 * they are left behind. */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "aclrt_support.h"

enum { WOULD_WAIT = -1, LEFT = -2, SHORT_WAIT_MS = 20, NS_PER_MS = 1000000 };

static uint64_t main_thread;
static bool is_simulator;

void ascend_rt_prepare_waits(uint64_t identifier, bool is_simulated) {
    main_thread = identifier;
    is_simulator = is_simulated;
}

bool ascend_rt_is_simulated(void) { return is_simulator; }

bool ascend_rt_is_main_thread(void) { return (uint64_t)(uintptr_t)pthread_self() == main_thread; }

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* The time between two looks after the wait has lasted that long: none at first, because the work is often nearly done,
 * and then ever more. The delay of a look is a small part of the time that has passed. */
static void pause_after(int64_t passed) {
    enum { NS_WITHOUT_PAUSE = 100000, LONGEST_PAUSE = 2 * NS_PER_MS, PART = 32 };
    if (passed < NS_WITHOUT_PAUSE) {
        sched_yield();
        return;
    }
    const int64_t share = passed / PART;
    const struct timespec pause = {.tv_nsec = share < LONGEST_PAUSE ? share : LONGEST_PAUSE};
    nanosleep(&pause, NULL);
}

/* A device cannot be queried. */
static bool is_of_device(const ascend_rt_awaited *awaited) { return awaited->status == NULL; }

/* UNKNOWN: the query has failed, which says nothing of how long a wait takes, or there is none. Discards its text. */
enum progress { PENDING, DONE, UNKNOWN };

static enum progress progress_of(const ascend_rt_awaited *awaited, void *object) {
    if (is_of_device(awaited)) {
        return UNKNOWN;
    }
    const int status = awaited->status(object);
    if (status < 0) {
        ASCEND_RT_IN_TABLE(aclGetRecentErrMsg)();
        return UNKNOWN;
    }
    return status == awaited->pending ? PENDING : DONE;
}

static bool is_done_soon(const ascend_rt_awaited *awaited, void *object) {
    enum { LOOKS = 8 };
    const int64_t begin = now_ns();
    for (int64_t passed = 0; passed < SHORT_WAIT_MS * (int64_t)NS_PER_MS; passed = now_ns() - begin) {
        for (int i = 0; i < LOOKS; ++i) {
            const enum progress progress = progress_of(awaited, object);
            if (progress != PENDING) {
                return progress == DONE;
            }
        }
        pause_after(passed);
    }
    return false;
}

static int synchronize(const ascend_rt_awaited *awaited, void *object, int32_t timeout_ms) {
    return timeout_ms == -1 ? (*awaited->synchronize)(object) : (*awaited->synchronize_within)(object, timeout_ms);
}

/* Returns whether the code says that a limit is over, and discards its text then. */
static bool is_timeout(aclError code) {
    if (code != ACL_ERROR_RT_STREAM_SYNC_TIMEOUT && code != ACL_ERROR_RT_EVENT_SYNC_TIMEOUT) {
        return false;
    }
    ASCEND_RT_IN_TABLE(aclGetRecentErrMsg)();
    return true;
}

/* The vendor's library holds a lock of the context while it waits for the device, and writes an error into its log
 * whenever a limit is over: the slices get longer, up to a quarter of a second. */
static int32_t slice_after(int64_t passed) {
    enum { LONGEST_MS = 250, PART = 8 };
    const int64_t share_ms = passed / PART / NS_PER_MS;
    return share_ms < SHORT_WAIT_MS ? SHORT_WAIT_MS : share_ms < LONGEST_MS ? (int32_t)share_ms : LONGEST_MS;
}

static bool is_set(const int32_t *is_left) { return is_left != NULL && __atomic_load_n(is_left, __ATOMIC_RELAXED); }

/* Threads that wait for the lock need that long to take it. */
static void let_others_in(void) {
    const struct timespec pause = {.tv_nsec = NS_PER_MS / 4};
    nanosleep(&pause, NULL);
}

/* Returns whether a wait would not last. An event stays pending if its record was dropped, by an abort or with a task
 * that has failed, and only a wait for it says so. A limit that is over is an error in the vendor's log, so this is
 * asked ever less often. */
static bool is_over(const ascend_rt_awaited *awaited, void *object, int64_t passed, int64_t *asked, aclError *code) {
    if (!awaited->hides_drops || passed - *asked < slice_after(passed) * (int64_t)NS_PER_MS) {
        return false;
    }
    *asked = passed;
    *code = synchronize(awaited, object, 1);
    return !is_timeout(*code);
}

/* Returns whether another thread captures a stream, which the runtime refuses to wait for, since its turn between two
 * slices of this wait; discards the text then. */
static bool is_in_turn_of_capture(const ascend_rt_awaited *awaited, int64_t passed, aclError code) {
    if (!is_of_device(awaited) || passed < SHORT_WAIT_MS * (int64_t)NS_PER_MS || code != ACL_ERROR_RT_STREAM_CAPTURED) {
        return false;
    }
    ASCEND_RT_IN_TABLE(aclGetRecentErrMsg)();
    return true;
}

/* The vendor's library cannot be left: its destructors delete what a thread inside it looks at. */
static int wait_in_slices(const ascend_rt_awaited *awaited, void *object, int32_t timeout_ms, const int32_t *is_left) {
    const int64_t begin = now_ns();
    int64_t asked = 0;
    while (!is_set(is_left)) {
        const int64_t passed = now_ns() - begin;
        const int64_t left_ms = timeout_ms == -1 ? INT32_MAX : timeout_ms - passed / NS_PER_MS;
        if (left_ms <= SHORT_WAIT_MS) {
            return synchronize(awaited, object, left_ms < 1 ? 1 : (int32_t)left_ms);
        }
        if (progress_of(awaited, object) == PENDING) {
            aclError code = ACL_SUCCESS;
            if (is_over(awaited, object, passed, &asked, &code)) {
                return code;
            }
            pause_after(passed);
            continue;
        }
        const int32_t slice = slice_after(passed); /* another thread may have submitted more to a stream */
        const aclError code = synchronize(awaited, object, slice < left_ms ? slice : (int32_t)left_ms);
        const bool goes_on = is_timeout(code) || is_in_turn_of_capture(awaited, passed, code);
        if (slice >= left_ms || !goes_on) {
            return code;
        }
        let_others_in();
    }
    return LEFT;
}

/* The wait for a device blocks no other thread for long, which may be the one that it waits for. */
static int wait_for_device(const ascend_rt_awaited *awaited, int32_t timeout_ms, const int32_t *is_left) {
    if (!is_simulator) {
        return wait_in_slices(awaited, NULL, timeout_ms, is_left);
    }
    const aclError code = ASCEND_RT_IN_TABLE(aclsimSynchronizeDevice)(timeout_ms, is_left);
    return is_set(is_left) && is_timeout(code) ? LEFT : code;
}

static int wait_here(const ascend_rt_awaited *awaited, void *object, int32_t timeout_ms) {
    return is_of_device(awaited) ? wait_for_device(awaited, timeout_ms, NULL)
                                 : synchronize(awaited, object, timeout_ms);
}

int ascend_rt_wait_for(const ascend_rt_awaited *awaited, void *object, int32_t timeout_ms, const int32_t *is_left) {
    if (is_of_device(awaited)) {
        return wait_for_device(awaited, timeout_ms, is_left);
    }
    return is_simulator ? synchronize(awaited, object, timeout_ms)
                        : wait_in_slices(awaited, object, timeout_ms, is_left);
}

int ascend_rt_synchronize(const ascend_rt_awaited *awaited, void *object, int32_t timeout_ms) {
    const bool is_short = timeout_ms != -1 && timeout_ms <= SHORT_WAIT_MS;
    if (progress_of(awaited, object) == DONE || is_short || !ascend_rt_is_main_thread()) {
        return wait_here(awaited, object, timeout_ms);
    }
    if (!is_simulator) { /* whose time limits would be errors in the vendor's log */
        return is_done_soon(awaited, object) ? synchronize(awaited, object, timeout_ms) : WOULD_WAIT;
    }
    const aclError code = wait_here(awaited, object, SHORT_WAIT_MS);
    return is_timeout(code) ? WOULD_WAIT : code;
}

static aclError (*note_end)(void); /* refused where nothing checks the program */

static void end_at_once(int status, void *nothing) {
    (void)nothing;
    note_end();
    fflush(NULL);
    _exit(status);
}

void ascend_rt_skip_destructors(void) {
    note_end = ASCEND_RT_IN_LIBRARY(aclsimNoteEnd);
    on_exit(end_at_once, NULL);
}
