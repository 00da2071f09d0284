/* SPDX-License-Identifier: Apache-2.0 */
/* Lower bounds of any call, and the hand-over of streams, which is compared with them. */
#define _GNU_SOURCE

#include <sched.h>
#include <stdatomic.h>

#include "bench.h"

double call_floor(uint64_t loops) { RETURN_TIME_OF(loops, the.no_op(NULL, NULL)); }

void pin(pthread_t thread, size_t number) {
    static cpu_set_t allowed; /* before any thread was pinned */
    cpu_set_t one;
    if (CPU_COUNT(&allowed) == 0) {
        require(sched_getaffinity(0, sizeof allowed, &allowed) == 0, "sched_getaffinity");
    }
    size_t skipped = number % (size_t)CPU_COUNT(&allowed);
    int processor = 0;
    while (!CPU_ISSET(processor, &allowed) || skipped-- > 0) {
        ++processor;
    }
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    require(pthread_setaffinity_np(thread, sizeof one, &one) == 0, "pthread_setaffinity_np");
}

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

typedef struct {
    pthread_t thread;
    uint64_t first, rounds;
    double begin, end;
} Player;

static void *play(void *argument) {
    Player *const player = argument;
    for (uint64_t round = 0; round < player->rounds; ++round) {
        wait_for_turn(2 * round + player->first);
        atomic_store_explicit(&turn, 2 * round + player->first + 1, memory_order_release);
        player->begin = round == 0 ? seconds() : player->begin;
    }
    player->end = seconds();
    return NULL;
}

double spin_round_trip(uint64_t loops) {
    const uint64_t rounds = loops + 1; /* the first one waits for the other thread to start */
    Player players[2] = {{.first = 0, .rounds = rounds}, {.first = 1, .rounds = rounds}};
    atomic_store(&turn, 0);
    for (size_t i = 0; i < 2; ++i) {
        require(pthread_create(&players[i].thread, NULL, play, &players[i]) == 0, "pthread_create");
        pin(players[i].thread, i);
    }
    for (size_t i = 0; i < 2; ++i) {
        require(pthread_join(players[i].thread, NULL) == 0, "pthread_join");
    }
    return players[1].end - players[1].begin;
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
