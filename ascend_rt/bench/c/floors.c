/* SPDX-License-Identifier: Apache-2.0 */
/* What nothing can be faster than, and the hand-over of streams, which is compared with it. */
#define _GNU_SOURCE

#include <pthread.h>
#include <stdatomic.h>

#include "bench.h"

double call_floor(uint64_t loops) { RETURN_TIME_OF(loops, the.no_op(NULL, NULL)); }

/* Two threads and one number: the thread whose turn it is adds one. */
static _Atomic uint64_t turn;

static void wait_for_turn(uint64_t mine) {
    while (atomic_load_explicit(&turn, memory_order_acquire) != mine) {
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#elif defined(__aarch64__)
        __asm__ volatile("yield");
#endif
    }
}

static void *send_back(void *argument) {
    const uint64_t loops = *(const uint64_t *)argument;
    for (uint64_t loop = 0; loop < loops; ++loop) {
        wait_for_turn(2 * loop + 2);
        atomic_store_explicit(&turn, 2 * loop + 3, memory_order_release);
    }
    return NULL;
}

double spin_round_trip(uint64_t loops) {
    pthread_t other;
    uint64_t rounds = loops + 1; /* the first one waits for the thread to start */
    double begin = 0.0;
    atomic_store(&turn, 0);
    require(pthread_create(&other, NULL, send_back, &rounds) == 0, "pthread_create");
    for (uint64_t round = 0; round < rounds; ++round) {
        atomic_store_explicit(&turn, 2 * round + 2, memory_order_release);
        wait_for_turn(2 * round + 3);
        begin = round == 0 ? seconds() : begin;
    }
    const double taken = seconds() - begin;
    require(pthread_join(other, NULL) == 0, "pthread_join");
    return taken;
}

static void hand_over(aclrtStream from, aclrtStream to, aclrtEvent event, size_t offset) {
    char *const memory = (char *)the.device + offset;
    OK(aclrtMemcpyAsync(memory, SMALLEST, memory + SMALLEST, SMALLEST, ACL_MEMCPY_DEVICE_TO_DEVICE, from));
    OK(aclrtRecordEvent(event, from));
    OK(aclrtStreamWaitEvent(to, event));
}

/* Everything is submitted while no task may start, so that only the hand-overs are timed. */
double stream_hand_over(uint64_t batches) {
    double taken = 0.0;
    for (uint64_t batch = 0; batch < batches; ++batch) {
        the.hold(1);
        for (size_t pair = 0; pair < PAIRS; ++pair) {
            hand_over(the.a, the.b, the.hand_over[2 * pair], 0);
            hand_over(the.b, the.a, the.hand_over[2 * pair + 1], 2 * SMALLEST);
        }
        const double begin = seconds();
        the.hold(0);
        OK(aclrtSynchronizeStream(the.b));
        taken += seconds() - begin;
        OK(aclrtSynchronizeStream(the.a));
    }
    return taken;
}
