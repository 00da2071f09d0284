/* SPDX-License-Identifier: Apache-2.0 */
/* Waits that were left behind: what they use lives until they are back. */
#include <pthread.h>

#include "aclrt_support.h"

typedef struct wait {
    const void *object; /* NULL: a device */
    const int32_t *is_left;
    struct wait *next;
} wait;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t is_back = PTHREAD_COND_INITIALIZER;
static wait *_Atomic under_way; /* changed with the mutex */

static bool is_left(const wait *self) { return __atomic_load_n(self->is_left, __ATOMIC_RELAXED); }

static void begin(wait *self) {
    pthread_mutex_lock(&mutex);
    self->next = under_way;
    under_way = self;
    pthread_mutex_unlock(&mutex);
}

static void end(const wait *self) {
    pthread_mutex_lock(&mutex);
    if (under_way == self) {
        under_way = self->next;
    } else {
        wait *before = under_way;
        while (before->next != self) {
            before = before->next;
        }
        before->next = self->next;
    }
    pthread_cond_broadcast(&is_back);
    pthread_mutex_unlock(&mutex);
}

/* A wait that is left before it has begun uses nothing, not even the context. */
static int wait_in(void *context, const ascend_rt_awaited *awaited, const wait *self, int32_t timeout_ms) {
    if (context != NULL && !is_left(self)) {
        ASCEND_RT_IN_TABLE(aclrtSetCurrentContext)(context);
    }
    return ascend_rt_wait_for(awaited, (void *)self->object, timeout_ms, self->is_left);
}

int ascend_rt_wait_in(void *context, const ascend_rt_awaited *awaited, void *object, int32_t timeout_ms,
                      const int32_t *is_left) {
    wait self = {object, is_left, NULL};
    if (ascend_rt_is_simulated()) { /* which answers a wait whose object is destroyed */
        return wait_in(context, awaited, &self, timeout_ms);
    }
    begin(&self);
    const int code = wait_in(context, awaited, &self, timeout_ms);
    end(&self);
    return code;
}

static bool is_any_left(const void *object) {
    const wait *each = under_way;
    while (each != NULL && !(is_left(each) && (object == NULL || each->object == object))) {
        each = each->next;
    }
    return each != NULL;
}

void ascend_rt_await_left(void *object) {
    if (under_way == NULL) {
        return;
    }
    pthread_mutex_lock(&mutex);
    while (is_any_left(object)) {
        pthread_cond_wait(&is_back, &mutex);
    }
    pthread_mutex_unlock(&mutex);
}

void ascend_rt_renew_left_waits(void) {
    pthread_mutex_init(&mutex, NULL);
    pthread_cond_init(&is_back, NULL);
    under_way = NULL;
}
