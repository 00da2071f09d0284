/* SPDX-License-Identifier: Apache-2.0 */
/* Random tasks in many streams, and from many threads. */
#define _GNU_SOURCE

#include <stdatomic.h>

#include "bench.h"

/* One batch of random tasks: many enough that all of ten thousand streams get some. */
#define RANDOM_TASKS 100000

#define DEVICES ((size_t)8)
#define STRETCH 64                 /* tasks before the next device's turn */
#define QUEUED_COPY ((size_t)8192) /* bytes: too many for the call itself, which needs a thread for them */

typedef struct { /* the streams of one device */
    aclrtContext context;
    size_t count;
    aclrtStream *streams;
    aclrtEvent *events;
    char *memory; /* at least a byte per stream */
} Crowd;

static Crowd gather(size_t device, size_t count) {
    Crowd crowd = {.count = count, .streams = calloc(count, sizeof(void *)), .events = calloc(count, sizeof(void *))};
    void *memory = NULL;
    require(crowd.streams != NULL && crowd.events != NULL, "calloc");
    OK(aclrtSetDevice((int32_t)device));
    OK(aclrtGetCurrentContext(&crowd.context));
    OK(aclrtMalloc(&memory, count > 2 * QUEUED_COPY ? count : 2 * QUEUED_COPY, ACL_MEM_MALLOC_HUGE_FIRST));
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

double task_1_stream(uint64_t loops) { return random_tasks(loops, 1); }

double task_10_streams(uint64_t loops) { return random_tasks(loops, 10); }

double task_100_streams(uint64_t loops) { return random_tasks(loops, 100); }

double task_1000_streams(uint64_t loops) { return random_tasks(loops, 1000); }

double task_10000_streams(uint64_t loops) { return random_tasks(loops, 10000); }

#define STREAMS_OF_THREAD ((size_t)10)

/* One batch of what threads do: short, because all of them need a quiet moment at the same time. */
#define WORK_OF_THREADS 20000
#define QUEUED_WORK_OF_THREADS 2000

typedef void (*Work)(const Crowd *crowd, uint64_t times);

typedef struct {
    pthread_t thread;
    pthread_barrier_t *start;
    Crowd crowd;
    Work work;
    uint64_t times;
    double begin, end, probed;
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

/* host_func_round_trip, on one stream after the other. */
static void do_host_functions(const Crowd *crowd, uint64_t times) {
    aclError failed = ACL_SUCCESS;
    for (uint64_t time = 0; time < times; ++time) {
        const aclrtStream stream = crowd->streams[time % crowd->count];
        failed |= aclrtLaunchHostFunc(stream, do_nothing, NULL) | aclrtSynchronizeStream(stream);
    }
    require(failed == ACL_SUCCESS, "host functions");
}

/* A copy, and a wait for it, on one stream after the other. */
static void do_queued_copies(const Crowd *crowd, uint64_t times) {
    aclError failed = ACL_SUCCESS;
    for (uint64_t time = 0; time < times; ++time) {
        const aclrtStream stream = crowd->streams[time % crowd->count];
        failed |= aclrtMemcpyAsync(crowd->memory + QUEUED_COPY, QUEUED_COPY, crowd->memory, QUEUED_COPY,
                                   ACL_MEMCPY_DEVICE_TO_DEVICE, stream);
        failed |= aclrtSynchronizeStream(stream);
    }
    require(failed == ACL_SUCCESS, "queued copies");
}

/* Work of the same length that shares nothing: its scaling is the best that the machine can do. */
static void do_private_work(const Crowd *crowd, uint64_t times) {
    _Atomic uint32_t flag = 0;
    uint32_t state = 1;
    (void)crowd;
    for (uint64_t step = 0; step < 10 * times; ++step) {
        atomic_exchange(&flag, next_random(&state));
    }
    require(atomic_load(&flag) == state, "private work");
}

static void *submit_from_thread(void *argument) {
    Submitter *const mine = argument;
    OK(aclrtSetCurrentContext(mine->crowd.context));
    pthread_barrier_wait(mine->start);
    mine->begin = seconds();
    mine->work(&mine->crowd, mine->times);
    mine->end = seconds();
    mine->probed = probe();
    return NULL;
}

/* Each thread has separate streams; the time is from the start of the first to the end of the last one. */
static double work_of_threads(Work work, uint64_t times, size_t threads, size_t devices) {
    Submitter submitters[DEVICES];
    pthread_barrier_t start;
    require(pthread_barrier_init(&start, NULL, (unsigned)threads) == 0, "pthread_barrier_init");
    for (size_t i = 0; i < threads; ++i) {
        submitters[i].start = &start;
        submitters[i].crowd = gather(i % devices, STREAMS_OF_THREAD);
        submitters[i].work = work;
        submitters[i].times = times / threads;
        require(pthread_create(&submitters[i].thread, NULL, submit_from_thread, &submitters[i]) == 0, "pthread_create");
        pin(submitters[i].thread, i);
    }
    double begin = 0.0, end = 0.0; /* as the threads saw them: this one may wait for a processor */
    for (size_t i = 0; i < threads; ++i) {
        require(pthread_join(submitters[i].thread, NULL) == 0, "pthread_join");
        begin = i == 0 || submitters[i].begin < begin ? submitters[i].begin : begin;
        end = submitters[i].end > end ? submitters[i].end : end;
        slowest_probe = submitters[i].probed > slowest_probe ? submitters[i].probed : slowest_probe;
    }
    for (size_t i = threads; i-- > 0;) {
        dismiss(i % devices, &submitters[i].crowd);
    }
    require(pthread_barrier_destroy(&start) == 0, "pthread_barrier_destroy");
    back_to_device_0();
    return end - begin;
}

#define WORK_OF(name, work, n)                                                                    \
    double name##_##n##_threads(uint64_t loops) { return batches_of_threads(work, loops, n, n); } \
    double name##_##n##_threads_1_device(uint64_t loops) { return batches_of_threads(work, loops, n, 1); }

#define THREADS_OF(n)                                                                                              \
    WORK_OF(task, do_random_tasks, n)                                                                              \
    WORK_OF(cycle, do_record_wait_synchronize, n)                                                                  \
    double host_func_##n##_threads(uint64_t loops) { return queued_work_of_threads(do_host_functions, loops, n); } \
    double queued_copy_##n##_threads(uint64_t loops) { return queued_work_of_threads(do_queued_copies, loops, n); }

static double batches_of_threads(Work work, uint64_t loops, size_t threads, size_t devices) {
    return work_of_threads(work, loops * WORK_OF_THREADS, threads, devices);
}

static double queued_work_of_threads(Work work, uint64_t loops, size_t threads) {
    return work_of_threads(work, loops * QUEUED_WORK_OF_THREADS, threads, threads);
}

double task_1_thread(uint64_t loops) { return batches_of_threads(do_random_tasks, loops, 1, 1); }

double cycle_1_thread(uint64_t loops) { return batches_of_threads(do_record_wait_synchronize, loops, 1, 1); }

double host_func_1_thread(uint64_t loops) { return queued_work_of_threads(do_host_functions, loops, 1); }

double queued_copy_1_thread(uint64_t loops) { return queued_work_of_threads(do_queued_copies, loops, 1); }

double private_1_thread(uint64_t loops) { return batches_of_threads(do_private_work, loops, 1, 1); }

double private_2_threads(uint64_t loops) { return batches_of_threads(do_private_work, loops, 2, 2); }

THREADS_OF(2)
THREADS_OF(4)
THREADS_OF(8)
