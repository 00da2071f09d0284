/* SPDX-License-Identifier: Apache-2.0 */
/* The benchmarks without Python: bench [-k KERNEL] [-m] and what timing.h takes.
 *
 * The ids and what they do are in ids.py; the entry points of the simulator are looked up by name, so that the program
 * links to any library. KERNEL is the binary with the kernel that is launched, empty_kernel.c. With -m there is no
 * memory to copy, for what has no room for it. */
#define _GNU_SOURCE

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

#include "abi/acl.h"
#include "timing.h"

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)
#define LARGEST (64 * MIB)
#define SMALLEST ((size_t)64)

/* One batch of the hand-over: 3 tasks per pair and stream must fit into a stream's queue (1792 places on a 910B). */
#define PAIRS 500
#define HAND_OVERS (2 * PAIRS)
/* One batch of random tasks: many enough that all of ten thousand streams get some. */
#define RANDOM_TASKS 100000
#define LIVE ((size_t)1000000)

static struct {
    aclrtStream a, b;
    aclrtEvent complete; /* recorded, and known to be complete */
    aclrtEvent event;    /* to be recorded */
    aclrtEvent joined;   /* the same, at the end of pairs */
    aclrtEvent hand_over[HAND_OVERS];
    void *pinned, *device;
    void *memory, *copy; /* of malloc */
    void **live;         /* allocations of the device */
    aclrtFuncHandle kernel;
    aclrtArgsHandle kernel_arguments;
    aclError (*no_op)(void *, void *);
    int32_t (*hold)(int32_t);
} the;

static void require(bool is_so, const char *what) {
    if (!is_so) {
        const char *text = aclGetRecentErrMsg();
        fprintf(stderr, "bench: failed: %s\n%s\n", what, text != NULL ? text : "");
        exit(EXIT_FAILURE);
    }
}

#define OK(call) require((call) == ACL_SUCCESS, #call)

static uint32_t next_random(uint32_t *state) { /* xorshift, G. Marsaglia 2003 */
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

/* --- events and streams ------------------------------------------------------------------------------------------ */

static aclError create_and_destroy(void) {
    aclrtEvent event = NULL;
    const aclError created = aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC);
    return created | aclrtDestroyEvent(event);
}

static double event_create_destroy(uint64_t loops) { RETURN_TIME_OF(loops, create_and_destroy()); }

static double event_record(uint64_t loops) { RETURN_TIME_OF(loops, aclrtRecordEvent(the.event, the.a)); }

static double stream_wait_event(uint64_t loops) { RETURN_TIME_OF(loops, aclrtStreamWaitEvent(the.b, the.complete)); }

static double query(uint64_t loops, aclrtEvent event, aclrtEventRecordedStatus expected) {
    aclrtEventRecordedStatus status;
    RETURN_TIME_OF(loops, aclrtQueryEventStatus(event, &status) | (status != expected));
}

static double event_query_complete(uint64_t loops) {
    return query(loops, the.complete, ACL_EVENT_RECORDED_STATUS_COMPLETE);
}

/* An event of aclrtCreateEventWithFlag starts closed: a stream that waits for it is blocked until it is recorded. */
static double event_query_pending(uint64_t loops) {
    aclrtEvent gate = NULL;
    OK(aclrtCreateEventWithFlag(&gate, ACL_EVENT_SYNC));
    OK(aclrtStreamWaitEventWithTimeout(the.a, gate, 0));
    OK(aclrtRecordEvent(the.event, the.a));
    const double taken = query(loops, the.event, ACL_EVENT_RECORDED_STATUS_NOT_READY);
    OK(aclrtRecordEvent(gate, the.b));
    OK(aclrtSynchronizeStream(the.a));
    OK(aclrtDestroyEvent(gate));
    return taken;
}

static double event_synchronize_complete(uint64_t loops) { RETURN_TIME_OF(loops, aclrtSynchronizeEvent(the.complete)); }

static double record_wait_synchronize(uint64_t loops) {
    RETURN_TIME_OF(loops, aclrtRecordEvent(the.event, the.a) | aclrtStreamWaitEvent(the.b, the.event) |
                              aclrtSynchronizeStream(the.b));
}

static void do_nothing(void *argument) { (void)argument; }

static double host_func_round_trip(uint64_t loops) {
    RETURN_TIME_OF(loops, aclrtLaunchHostFunc(the.a, do_nothing, NULL) | aclrtSynchronizeStream(the.a));
}

/* --- kernels ----------------------------------------------------------------------------------------------------- */

#define RETURN_TIME_OF_LAUNCH(loops, launch) RETURN_TIME_OF(loops, (launch) | aclrtSynchronizeStream(the.a))

static double launch_kernel(uint64_t loops) {
    RETURN_TIME_OF_LAUNCH(loops, aclrtLaunchKernel(the.kernel, 1, the.device, sizeof(void *), the.a));
}

static double launch_kernel_v2(uint64_t loops) {
    RETURN_TIME_OF_LAUNCH(loops, aclrtLaunchKernelV2(the.kernel, 1, the.device, sizeof(void *), NULL, the.a));
}

static double launch_kernel_with_config(uint64_t loops) {
    RETURN_TIME_OF_LAUNCH(loops, aclrtLaunchKernelWithConfig(the.kernel, 1, the.a, NULL, the.kernel_arguments, NULL));
}

static double launch_kernel_with_host_args(uint64_t loops) {
    RETURN_TIME_OF_LAUNCH(
        loops, aclrtLaunchKernelWithHostArgs(the.kernel, 1, the.a, NULL, &the.device, sizeof(void *), NULL, 0));
}

static double launch_kernel_with_args_array(uint64_t loops) {
    void *arguments[] = {&the.device};
    RETURN_TIME_OF_LAUNCH(loops, aclrtLaunchKernelWithArgsArray(the.kernel, 1, the.a, NULL, arguments));
}

static const dim3 one = {1, 1, 1};

static double launch_simt_kernel_with_host_args(uint64_t loops) {
    RETURN_TIME_OF_LAUNCH(loops, aclrtLaunchSIMTKernelWithHostArgs(the.kernel, one, one, 0, the.a, NULL, &the.device,
                                                                   sizeof(void *), NULL, 0));
}

static double launch_simt_kernel_with_args_array(uint64_t loops) {
    void *arguments[] = {&the.device};
    RETURN_TIME_OF_LAUNCH(loops, aclrtLaunchSIMTKernelWithArgsArray(the.kernel, one, one, 0, the.a, NULL, arguments));
}

static void load_kernel(const char *path) {
    aclrtBinHandle binary = NULL;
    aclrtParamHandle parameter = NULL;
    OK(aclrtBinaryLoadFromFile(path, NULL, &binary)); /* until the device is reset */
    OK(aclrtBinaryGetFunction(binary, "empty", &the.kernel));
    OK(aclrtKernelArgsInit(the.kernel, &the.kernel_arguments));
    OK(aclrtKernelArgsAppend(the.kernel_arguments, &the.device, sizeof(void *), &parameter));
    OK(aclrtKernelArgsFinalize(the.kernel_arguments));
}

/* --- graphs ------------------------------------------------------------------------------------------------------ */

static aclError submit_pairs(size_t count) {
    int failed = ACL_SUCCESS;
    for (size_t i = 0; i < count; ++i) {
        failed |= aclrtRecordEvent(the.event, the.a) | aclrtStreamWaitEvent(the.b, the.event);
    }
    return failed | aclrtRecordEvent(the.joined, the.b) | aclrtStreamWaitEvent(the.a, the.joined);
}

static aclError submit_tasks(size_t count) {
    int failed = ACL_SUCCESS;
    for (size_t i = 0; i < count; ++i) {
        failed |= aclrtMemsetAsync(the.device, 1, 1, 1, the.a);
    }
    return failed;
}

static double time_of_submitting(uint64_t loops, aclError (*submit)(size_t), size_t count) {
    RETURN_TIME_OF(loops, submit(count) | aclrtSynchronizeStream(the.a));
}

static aclError capture(aclError (*submit)(size_t), size_t count, aclmdlRI *graph) {
    return aclmdlRICaptureBegin(the.a, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL) | submit(count) |
           aclmdlRICaptureEnd(the.a, graph);
}

static double time_of_capturing(uint64_t loops, aclError (*submit)(size_t), size_t count) {
    aclmdlRI graph = NULL;
    RETURN_TIME_OF(loops, capture(submit, count, &graph) | aclmdlRIDestroy(graph));
}

static double time_of_graph(uint64_t loops, aclmdlRI graph) {
    RETURN_TIME_OF(loops, aclmdlRIExecuteAsync(graph, the.a) | aclrtSynchronizeStream(the.a));
}

static double time_of_replaying(uint64_t loops, aclError (*submit)(size_t), size_t count) {
    aclmdlRI graph = NULL;
    OK(capture(submit, count, &graph));
    const double taken = time_of_graph(loops, graph);
    OK(aclmdlRIDestroy(graph));
    return taken;
}

#define PAIRS_OF(n)                                                                                       \
    static double submit_pairs_##n(uint64_t loops) { return time_of_submitting(loops, submit_pairs, n); } \
    static double capture_pairs_##n(uint64_t loops) { return time_of_capturing(loops, submit_pairs, n); } \
    static double replay_pairs_##n(uint64_t loops) { return time_of_replaying(loops, submit_pairs, n); }

PAIRS_OF(1)
PAIRS_OF(10)
PAIRS_OF(100)
PAIRS_OF(1000)

static double submit_tasks_1000(uint64_t loops) { return time_of_submitting(loops, submit_tasks, 1000); }

static double replay_tasks_1000(uint64_t loops) { return time_of_replaying(loops, submit_tasks, 1000); }

/* --- copies ------------------------------------------------------------------------------------------------------ */

static aclError copy_and_synchronize(size_t size) {
    const aclError copied = aclrtMemcpyAsync(the.device, size, the.pinned, size, ACL_MEMCPY_HOST_TO_DEVICE, the.a);
    return copied | aclrtSynchronizeStream(the.a);
}

static double copy_async_4KiB(uint64_t loops) { RETURN_TIME_OF(loops, copy_and_synchronize(4 * KIB)); }

static double copy_async_1MiB(uint64_t loops) { RETURN_TIME_OF(loops, copy_and_synchronize(1 * MIB)); }

static double copy_async_64MiB(uint64_t loops) { RETURN_TIME_OF(loops, copy_and_synchronize(LARGEST)); }

static aclError plain_copy(void) {
    memcpy(the.copy, the.memory, LARGEST);
    __asm__ volatile("" ::: "memory"); /* the compiler must not see that nobody reads the copy */
    return ACL_SUCCESS;
}

static double memcpy_64MiB(uint64_t loops) { RETURN_TIME_OF(loops, plain_copy()); }

/* --- allocations ------------------------------------------------------------------------------------------------- */

static aclError malloc_and_free(size_t size) {
    void *memory = NULL;
    const aclError allocated = aclrtMalloc(&memory, size, ACL_MEM_MALLOC_HUGE_FIRST);
    return allocated | aclrtFree(memory);
}

static double malloc_free_4KiB(uint64_t loops) { RETURN_TIME_OF(loops, malloc_and_free(4 * KIB)); }

static double malloc_free_4MiB(uint64_t loops) { RETURN_TIME_OF(loops, malloc_and_free(4 * MIB)); }

static aclError pool_malloc_and_free(aclrtMemPool pool, size_t size) {
    void *memory = NULL;
    const aclError allocated = aclrtMemPoolMallocAsync(&memory, size, pool, the.a);
    return allocated | aclrtMemPoolFreeAsync(memory, the.a);
}

static double time_of_pool(uint64_t loops, aclrtMemPool pool) {
    RETURN_TIME_OF(loops, pool_malloc_and_free(pool, 4 * MIB));
}

static double pool_malloc_free_4MiB(uint64_t loops) {
    const aclrtMemPoolProps properties = {.allocType = ACL_MEM_ALLOCATION_TYPE_PINNED,
                                          .location = {.type = ACL_MEM_LOCATION_TYPE_DEVICE}};
    aclrtMemPool pool = NULL;
    OK(aclrtMemPoolCreate(&pool, &properties));
    const double taken = time_of_pool(loops, pool);
    OK(aclrtSynchronizeStream(the.a));
    OK(aclrtMemPoolDestroy(pool));
    return taken;
}

static aclError malloc_random(void **memory, uint32_t *state) {
    return aclrtMalloc(memory, (next_random(state) % 8 + 1) * 512, ACL_MEM_MALLOC_HUGE_FIRST);
}

static aclError replace_random(uint32_t *state) {
    void **const memory = &the.live[next_random(state) % LIVE];
    const aclError freed = aclrtFree(*memory);
    return freed | malloc_random(memory, state);
}

static double malloc_free_among_1000000(uint64_t loops) {
    uint32_t state = 1;
    if (the.live == NULL) { /* they stay for all samples */
        the.live = calloc(LIVE, sizeof(void *));
        require(the.live != NULL, "calloc");
        for (size_t i = 0; i < LIVE; ++i) {
            OK(malloc_random(&the.live[i], &state));
        }
    }
    RETURN_TIME_OF(loops, replace_random(&state));
}

/* --- floors ------------------------------------------------------------------------------------------------------ */

static double call_floor(uint64_t loops) { RETURN_TIME_OF(loops, the.no_op(NULL, NULL)); }

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

static double spin_round_trip(uint64_t loops) {
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
static double stream_hand_over(uint64_t batches) {
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

/* --- many streams ------------------------------------------------------------------------------------------------ */

#define DEVICES ((size_t)8)
#define STRETCH 64 /* tasks before the next device's turn */

typedef struct { /* the streams of one device */
    aclrtContext context;
    size_t count;
    aclrtStream *streams;
    aclrtEvent *events;
    char *memory; /* a byte per stream */
} Crowd;

static Crowd gather(size_t device, size_t count) {
    Crowd crowd = {.count = count, .streams = calloc(count, sizeof(void *)), .events = calloc(count, sizeof(void *))};
    void *memory = NULL;
    require(crowd.streams != NULL && crowd.events != NULL, "calloc");
    OK(aclrtSetDevice((int32_t)device));
    OK(aclrtGetCurrentContext(&crowd.context));
    OK(aclrtMalloc(&memory, count, ACL_MEM_MALLOC_HUGE_FIRST));
    crowd.memory = memory;
    for (size_t i = 0; i < count; ++i) {
        OK(aclrtCreateStream(&crowd.streams[i]));
        OK(aclrtCreateEventExWithFlag(&crowd.events[i], ACL_EVENT_SYNC));
    }
    return crowd;
}

static void dismiss(size_t device, const Crowd *crowd) {
    OK(aclrtSetCurrentContext(crowd->context));
    for (size_t i = 0; i < crowd->count; ++i) {
        OK(aclrtDestroyEvent(crowd->events[i]));
        OK(aclrtDestroyStream(crowd->streams[i]));
    }
    OK(aclrtFree(crowd->memory));
    OK(aclrtResetDevice((int32_t)device));
    free(crowd->events);
    free(crowd->streams);
}

/* The other benchmarks expect it. */
static void back_to_device_0(void) {
    OK(aclrtSetDevice(0));
    OK(aclrtResetDevice(0));
}

static aclError random_task(const Crowd *crowd, uint32_t *state) {
    const size_t i = next_random(state) % crowd->count;
    const size_t other = next_random(state) % crowd->count;
    switch (next_random(state) % 3) {
        case 0:
            return aclrtRecordEvent(crowd->events[i], crowd->streams[i]);
        case 1:
            return aclrtStreamWaitEvent(crowd->streams[i], crowd->events[other]);
        default:
            return aclrtMemsetAsync(&crowd->memory[i], 1, 1, 1, crowd->streams[i]);
    }
}

/* From the first submit until all tasks are done. */
static double submit_and_synchronize(const Crowd *crowds, size_t count, uint64_t tasks) {
    uint32_t state = 1;
    aclError failed = ACL_SUCCESS;
    const double begin = seconds();
    for (uint64_t task = 0; task < tasks; ++task) {
        const Crowd *const crowd = &crowds[task / STRETCH % count];
        failed |= task % STRETCH == 0 ? aclrtSetCurrentContext(crowd->context) : ACL_SUCCESS;
        failed |= random_task(crowd, &state);
    }
    for (size_t i = 0; i < count; ++i) {
        failed |= aclrtSetCurrentContext(crowds[i].context) | aclrtSynchronizeDevice();
    }
    const double taken = seconds() - begin;
    require(failed == ACL_SUCCESS, "random tasks");
    return taken;
}

static double random_tasks(uint64_t loops, size_t streams) {
    const size_t devices = streams < DEVICES ? streams : DEVICES;
    Crowd crowds[DEVICES];
    for (size_t device = 0; device < devices; ++device) {
        crowds[device] = gather(device, streams / devices + (device < streams % devices));
    }
    const double taken = submit_and_synchronize(crowds, devices, loops * RANDOM_TASKS);
    for (size_t device = devices; device-- > 0;) {
        dismiss(device, &crowds[device]);
    }
    back_to_device_0();
    return taken;
}

static double task_1_stream(uint64_t loops) { return random_tasks(loops, 1); }

static double task_10_streams(uint64_t loops) { return random_tasks(loops, 10); }

static double task_100_streams(uint64_t loops) { return random_tasks(loops, 100); }

static double task_1000_streams(uint64_t loops) { return random_tasks(loops, 1000); }

static double task_10000_streams(uint64_t loops) { return random_tasks(loops, 10000); }

/* --- many threads ------------------------------------------------------------------------------------------------ */

#define STREAMS_OF_THREAD ((size_t)10)

typedef void (*Work)(const Crowd *crowd, uint64_t times);

typedef struct {
    pthread_t thread;
    pthread_barrier_t *start;
    Crowd crowd;
    Work work;
    uint64_t times;
} Submitter;

static void do_random_tasks(const Crowd *crowd, uint64_t times) { submit_and_synchronize(crowd, 1, times); }

/* record_wait_synchronize, from each stream to the next. */
static void do_record_wait_synchronize(const Crowd *crowd, uint64_t times) {
    aclError failed = ACL_SUCCESS;
    for (uint64_t time = 0; time < times; ++time) {
        const size_t i = time % crowd->count;
        const aclrtStream next = crowd->streams[(i + 1) % crowd->count];
        failed |= aclrtRecordEvent(crowd->events[i], crowd->streams[i]);
        failed |= aclrtStreamWaitEvent(next, crowd->events[i]);
        failed |= aclrtSynchronizeStream(next);
    }
    require(failed == ACL_SUCCESS, "record, wait, synchronize");
}

static void *submit_from_thread(void *argument) {
    const Submitter *const mine = argument;
    OK(aclrtSetCurrentContext(mine->crowd.context));
    pthread_barrier_wait(mine->start);
    mine->work(&mine->crowd, mine->times);
    return NULL;
}

/* Each thread has streams of its own; from the start of all to the end of the last one. */
static double work_of_threads(Work work, uint64_t loops, size_t threads, size_t devices) {
    Submitter submitters[DEVICES];
    pthread_barrier_t start;
    require(pthread_barrier_init(&start, NULL, (unsigned)threads + 1) == 0, "pthread_barrier_init");
    for (size_t i = 0; i < threads; ++i) {
        submitters[i].start = &start;
        submitters[i].crowd = gather(i % devices, STREAMS_OF_THREAD);
        submitters[i].work = work;
        submitters[i].times = loops * RANDOM_TASKS / threads;
        require(pthread_create(&submitters[i].thread, NULL, submit_from_thread, &submitters[i]) == 0, "pthread_create");
    }
    pthread_barrier_wait(&start);
    const double begin = seconds();
    for (size_t i = 0; i < threads; ++i) {
        require(pthread_join(submitters[i].thread, NULL) == 0, "pthread_join");
    }
    const double taken = seconds() - begin;
    for (size_t i = threads; i-- > 0;) {
        dismiss(i % devices, &submitters[i].crowd);
    }
    require(pthread_barrier_destroy(&start) == 0, "pthread_barrier_destroy");
    back_to_device_0();
    return taken;
}

#define WORK_OF(name, work, n)                                                                        \
    static double name##_##n##_threads(uint64_t loops) { return work_of_threads(work, loops, n, n); } \
    static double name##_##n##_threads_1_device(uint64_t loops) { return work_of_threads(work, loops, n, 1); }

#define THREADS_OF(n)                 \
    WORK_OF(task, do_random_tasks, n) \
    WORK_OF(cycle, do_record_wait_synchronize, n)

static double task_1_thread(uint64_t loops) { return work_of_threads(do_random_tasks, loops, 1, 1); }

static double cycle_1_thread(uint64_t loops) { return work_of_threads(do_record_wait_synchronize, loops, 1, 1); }

THREADS_OF(2)
THREADS_OF(4)
THREADS_OF(8)

/* --- all of them ------------------------------------------------------------------------------------------------- */

static const Benchmark benchmarks[] = {
    {"event_create_destroy", event_create_destroy, NULL},
    {"event_record", event_record, NULL},
    {"stream_wait_event", stream_wait_event, NULL},
    {"event_query_complete", event_query_complete, NULL},
    {"event_query_pending", event_query_pending, NULL},
    {"event_synchronize_complete", event_synchronize_complete, NULL},
    {"record_wait_synchronize", record_wait_synchronize, NULL},
    {"host_func_round_trip", host_func_round_trip, NULL},
    {"launch_kernel", launch_kernel, "aclsimRegisterKernel"},
    {"launch_kernel_v2", launch_kernel_v2, "aclsimRegisterKernel"},
    {"launch_kernel_with_config", launch_kernel_with_config, "aclsimRegisterKernel"},
    {"launch_kernel_with_host_args", launch_kernel_with_host_args, "aclsimRegisterKernel"},
    {"launch_kernel_with_args_array", launch_kernel_with_args_array, "aclsimRegisterKernel"},
    {"launch_simt_kernel_with_host_args", launch_simt_kernel_with_host_args, "aclsimRegisterKernel"},
    {"launch_simt_kernel_with_args_array", launch_simt_kernel_with_args_array, "aclsimRegisterKernel"},
    {"submit_pairs_1", submit_pairs_1, NULL},
    {"submit_pairs_10", submit_pairs_10, NULL},
    {"submit_pairs_100", submit_pairs_100, NULL},
    {"submit_pairs_1000", submit_pairs_1000, NULL},
    {"capture_pairs_1", capture_pairs_1, NULL},
    {"capture_pairs_10", capture_pairs_10, NULL},
    {"capture_pairs_100", capture_pairs_100, NULL},
    {"capture_pairs_1000", capture_pairs_1000, NULL},
    {"replay_pairs_1", replay_pairs_1, NULL},
    {"replay_pairs_10", replay_pairs_10, NULL},
    {"replay_pairs_100", replay_pairs_100, NULL},
    {"replay_pairs_1000", replay_pairs_1000, NULL},
    {"submit_tasks_1000", submit_tasks_1000, NULL},
    {"replay_tasks_1000", replay_tasks_1000, NULL},
    {"copy_async_4KiB", copy_async_4KiB, NULL},
    {"copy_async_1MiB", copy_async_1MiB, NULL},
    {"copy_async_64MiB", copy_async_64MiB, NULL},
    {"memcpy_64MiB", memcpy_64MiB, NULL},
    {"malloc_free_4KiB", malloc_free_4KiB, NULL},
    {"malloc_free_4MiB", malloc_free_4MiB, NULL},
    {"pool_malloc_free_4MiB", pool_malloc_free_4MiB, NULL},
    {"malloc_free_among_1000000", malloc_free_among_1000000, NULL},
    {"call_floor", call_floor, "aclsimNoOp"},
    {"spin_round_trip", spin_round_trip, NULL},
    {"task_1_stream", task_1_stream, "aclsimHold"},
    {"task_10_streams", task_10_streams, "aclsimHold"},
    {"task_100_streams", task_100_streams, "aclsimHold"},
    {"task_1000_streams", task_1000_streams, "aclsimHold"},
    {"task_10000_streams", task_10000_streams, "aclsimHold"},
    {"task_1_thread", task_1_thread, "aclsimHold"},
    {"task_2_threads", task_2_threads, "aclsimHold"},
    {"task_4_threads", task_4_threads, "aclsimHold"},
    {"task_8_threads", task_8_threads, "aclsimHold"},
    {"task_2_threads_1_device", task_2_threads_1_device, "aclsimHold"},
    {"task_4_threads_1_device", task_4_threads_1_device, "aclsimHold"},
    {"task_8_threads_1_device", task_8_threads_1_device, "aclsimHold"},
    {"cycle_1_thread", cycle_1_thread, "aclsimHold"},
    {"cycle_2_threads", cycle_2_threads, "aclsimHold"},
    {"cycle_4_threads", cycle_4_threads, "aclsimHold"},
    {"cycle_8_threads", cycle_8_threads, "aclsimHold"},
    {"cycle_2_threads_1_device", cycle_2_threads_1_device, "aclsimHold"},
    {"cycle_4_threads_1_device", cycle_4_threads_1_device, "aclsimHold"},
    {"cycle_8_threads_1_device", cycle_8_threads_1_device, "aclsimHold"},
    {"stream_hand_over", stream_hand_over, "aclsimHold"},
};

static void look_up(const char *name, void *function, size_t size) {
    void *symbol = dlsym(RTLD_DEFAULT, name);
    memcpy(function, &symbol, size); /* ISO C knows no conversion from void * to a function */
}

static void set_up(void) {
    look_up("aclsimNoOp", &the.no_op, sizeof the.no_op);
    look_up("aclsimHold", &the.hold, sizeof the.hold);
    OK(aclInit(NULL));
    OK(aclrtSetDevice(0));
    OK(aclrtCreateStreamWithConfig(&the.a, 0, 0));
    OK(aclrtCreateStreamWithConfig(&the.b, 0, 0));
    OK(aclrtCreateEventExWithFlag(&the.complete, ACL_EVENT_SYNC));
    OK(aclrtCreateEventExWithFlag(&the.event, ACL_EVENT_SYNC));
    OK(aclrtCreateEventExWithFlag(&the.joined, ACL_EVENT_SYNC));
    for (size_t i = 0; i < HAND_OVERS; ++i) {
        OK(aclrtCreateEventExWithFlag(&the.hand_over[i], ACL_EVENT_SYNC));
    }
    OK(aclrtRecordEvent(the.complete, the.a));
    OK(aclrtSynchronizeEvent(the.complete));
}

static void set_up_memory(void) {
    OK(aclrtMallocHost(&the.pinned, LARGEST));
    OK(aclrtMalloc(&the.device, LARGEST, ACL_MEM_MALLOC_HUGE_FIRST));
    the.memory = malloc(LARGEST);
    the.copy = malloc(LARGEST);
    require(the.memory != NULL && the.copy != NULL, "malloc");
    memset(the.pinned, 1, LARGEST); /* pages are there before they are measured */
    memset(the.memory, 1, LARGEST);
    memset(the.copy, 1, LARGEST);
    OK(copy_and_synchronize(LARGEST));
}

static void tear_down(void) {
    for (size_t i = 0; the.live != NULL && i < LIVE; ++i) {
        OK(aclrtFree(the.live[i]));
    }
    free(the.live);
    free(the.copy);
    free(the.memory);
    OK(aclrtFree(the.device));
    OK(aclrtFreeHost(the.pinned));
    for (size_t i = 0; i < HAND_OVERS; ++i) {
        OK(aclrtDestroyEvent(the.hand_over[i]));
    }
    OK(aclrtDestroyEvent(the.joined));
    OK(aclrtDestroyEvent(the.event));
    OK(aclrtDestroyEvent(the.complete));
    OK(aclrtDestroyStream(the.b));
    OK(aclrtDestroyStream(the.a));
    OK(aclrtResetDevice(0));
    OK(aclFinalize());
}

static bool is_there(const Benchmark *benchmark) {
    if (benchmark->symbol == NULL || dlsym(RTLD_DEFAULT, benchmark->symbol) != NULL) {
        return true;
    }
    printf("{\"id\": \"%s\", \"skipped\": \"the library has no %s\"}\n", benchmark->id, benchmark->symbol);
    return false;
}

int main(int argc, char **argv) {
    Plan plan = {.samples = 20, .target = 0.010};
    const char *kernel = NULL;
    bool has_memory = true;
    for (int option = getopt(argc, argv, "n:t:l:k:m"); option != -1; option = getopt(argc, argv, "n:t:l:k:m")) {
        if (option == 'k') {
            kernel = optarg;
        } else if (option == 'm') {
            has_memory = false;
        } else if (!take_option(&plan, option, optarg)) {
            return EXIT_FAILURE;
        }
    }
    set_up();
    if (has_memory) {
        set_up_memory();
    }
    if (kernel != NULL) {
        load_kernel(kernel);
    }
    for (int i = optind; i < argc; ++i) {
        const Benchmark *const benchmark = find(benchmarks, sizeof benchmarks / sizeof benchmarks[0], argv[i]);
        if (is_there(benchmark)) {
            measure(benchmark, &plan);
        }
    }
    if (has_memory) {
        tear_down();
    }
    return EXIT_SUCCESS;
}
