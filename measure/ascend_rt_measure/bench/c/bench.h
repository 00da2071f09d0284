/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the parts of bench.c. */
#ifndef ASCEND_RT_BENCH_BENCH_H
#define ASCEND_RT_BENCH_BENCH_H

#include <pthread.h>
#include <stdbool.h>

#include "abi/acl.h"
#include "timing.h"

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)
#define LARGEST (64 * MIB)
#define SMALLEST ((size_t)64)

/* One batch of the hand-over: 3 tasks per pair and stream must fit into a stream's queue (1792 places on a 910B). */
#define PAIRS 500
#define HAND_OVERS (2 * PAIRS)

/* Objects that the benchmarks work with. */
extern struct Fixture {
    aclrtStream a, b;
    aclrtEvent complete; /* recorded, and known to be complete */
    aclrtEvent event;    /* to be recorded */
    aclrtEvent joined;   /* the same, at the end of pairs */
    aclrtEvent hand_over[HAND_OVERS];
    void *pinned, *device;
    void *memory, *copy; /* from malloc */
    void **live;         /* allocations of the device */
    aclrtFuncHandle kernel;
    aclrtArgsHandle kernel_arguments;
    aclError (*no_op)(void *, void *);
    int32_t (*hold)(int32_t);
} the;

static inline void require(bool is_so, const char *what) {
    if (!is_so) {
        const char *text = aclGetRecentErrMsg();
        fprintf(stderr, "bench: failed: %s\n%s\n", what, text != NULL ? text : "");
        exit(EXIT_FAILURE);
    }
}

#define OK(call) require((call) == ACL_SUCCESS, #call)

/* Pins a thread to a separate processor, if there are enough: new threads share one for some milliseconds, as long as a
 * sample, until the scheduler moves one of them. */
void pin(pthread_t thread, size_t number);

static inline uint32_t next_random(uint32_t *state) { /* xorshift, G. Marsaglia 2003 */
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

/* The body of a benchmark: times the evaluation of an expression that yields an aclError. A macro, because a call
 * through a pointer would cost as much as the cheapest of what is measured. The codes are looked at afterwards. */
#define RETURN_TIME_OF(loops, expression)               \
    do {                                                \
        int failed = ACL_SUCCESS;                       \
        const double begin = seconds();                 \
        for (uint64_t loop = 0; loop < loops; ++loop) { \
            failed |= (expression);                     \
        }                                               \
        const double taken = seconds() - begin;         \
        require(failed == ACL_SUCCESS, #expression);    \
        return taken;                                   \
    } while (0)

void do_nothing(void *argument); /* a host function */
void load_kernel(const char *path);
void set_up_memory(void);
void tear_down_memory(void);

/* events.c */
double event_create_destroy(uint64_t loops);
double event_record(uint64_t loops);
double stream_wait_event(uint64_t loops);
double event_query_complete(uint64_t loops);
double event_query_pending(uint64_t loops);
double event_synchronize_complete(uint64_t loops);
double record_wait_synchronize(uint64_t loops);
double host_func_round_trip(uint64_t loops);

/* kernels.c */
double launch_kernel(uint64_t loops);
double launch_kernel_v2(uint64_t loops);
double launch_kernel_with_config(uint64_t loops);
double launch_kernel_with_host_args(uint64_t loops);
double launch_kernel_with_args_array(uint64_t loops);
double launch_simt_kernel_with_host_args(uint64_t loops);
double launch_simt_kernel_with_args_array(uint64_t loops);

/* graphs.c */
double submit_pairs_1(uint64_t loops);
double submit_pairs_10(uint64_t loops);
double submit_pairs_100(uint64_t loops);
double submit_pairs_1000(uint64_t loops);
double capture_pairs_1(uint64_t loops);
double capture_pairs_10(uint64_t loops);
double capture_pairs_100(uint64_t loops);
double capture_pairs_1000(uint64_t loops);
double replay_pairs_1(uint64_t loops);
double replay_pairs_10(uint64_t loops);
double replay_pairs_100(uint64_t loops);
double replay_pairs_1000(uint64_t loops);
double submit_tasks_1000(uint64_t loops);
double replay_tasks_1000(uint64_t loops);
double replay_tasks_1000_subscribed(uint64_t loops);

/* profiles.c */
double range_push_pop(uint64_t loops);
void subscribe_graph(aclmdlRI graph);
void unsubscribe_graph(aclmdlRI graph);

/* channels.c */
double send_receive_4KiB(uint64_t loops);
double queue_round_trip(uint64_t loops);
double queue_round_trip_2_processes(uint64_t loops);
#define PUTS_BACK "--put-back"
int put_back(const char *first, const char *second); /* the other process: puts what it gets into the second queue */

/* memory.c */
double copy_async_4KiB(uint64_t loops);
double copy_async_1MiB(uint64_t loops);
double copy_async_64MiB(uint64_t loops);
double memcpy_1MiB(uint64_t loops);
double memcpy_64MiB(uint64_t loops);
double malloc_free_4KiB(uint64_t loops);
double malloc_free_4MiB(uint64_t loops);
double pool_malloc_free_4MiB(uint64_t loops);
double malloc_free_among_1000000(uint64_t loops);

/* floors.c */
double call_floor(uint64_t loops);
double spin_round_trip(uint64_t loops);
double stream_hand_over(uint64_t loops);

/* crowds.c */
double task_1_stream(uint64_t loops);
double task_10_streams(uint64_t loops);
double task_100_streams(uint64_t loops);
double task_1000_streams(uint64_t loops);
double task_10000_streams(uint64_t loops);
double task_1_thread(uint64_t loops);
double task_2_threads(uint64_t loops);
double task_4_threads(uint64_t loops);
double task_8_threads(uint64_t loops);
double task_2_threads_1_device(uint64_t loops);
double task_4_threads_1_device(uint64_t loops);
double task_8_threads_1_device(uint64_t loops);
double cycle_1_thread(uint64_t loops);
double host_func_1_thread(uint64_t loops);
double host_func_2_threads(uint64_t loops);
double host_func_4_threads(uint64_t loops);
double host_func_8_threads(uint64_t loops);
double queued_copy_1_thread(uint64_t loops);
double queued_copy_2_threads(uint64_t loops);
double queued_copy_4_threads(uint64_t loops);
double queued_copy_8_threads(uint64_t loops);
double private_1_thread(uint64_t loops);
double private_2_threads(uint64_t loops);
double cycle_2_threads(uint64_t loops);
double cycle_4_threads(uint64_t loops);
double cycle_8_threads(uint64_t loops);
double cycle_2_threads_1_device(uint64_t loops);
double cycle_4_threads_1_device(uint64_t loops);
double cycle_8_threads_1_device(uint64_t loops);

#endif
