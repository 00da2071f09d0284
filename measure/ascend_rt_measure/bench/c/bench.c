/* SPDX-License-Identifier: Apache-2.0 */
/* The benchmarks without Python: bench [-k KERNEL] [-m] and what timing.h takes.
 *
 * The ids and what they do are in ids.py; the entry points of the simulator are looked up by name, so that the program
 * links to any library. KERNEL is the binary with the kernel that is launched, empty_kernel.c. With -m there is no
 * memory to copy, for what has no room for it. */
#define _GNU_SOURCE

#include "bench.h"

#include <dlfcn.h>
#include <unistd.h>

struct Fixture the;
double slowest_probe;

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
    {"replay_tasks_1000_subscribed", replay_tasks_1000_subscribed, NULL},
    {"range_push_pop", range_push_pop, NULL},
    {"copy_async_4KiB", copy_async_4KiB, NULL},
    {"copy_async_1MiB", copy_async_1MiB, NULL},
    {"copy_async_64MiB", copy_async_64MiB, NULL},
    {"memcpy_1MiB", memcpy_1MiB, NULL},
    {"memcpy_64MiB", memcpy_64MiB, NULL},
    {"malloc_free_4KiB", malloc_free_4KiB, NULL},
    {"malloc_free_4MiB", malloc_free_4MiB, NULL},
    {"pool_malloc_free_4MiB", pool_malloc_free_4MiB, NULL},
    {"send_receive_4KiB", send_receive_4KiB, NULL},
    {"queue_round_trip", queue_round_trip, NULL},
    {"queue_round_trip_2_processes", queue_round_trip_2_processes, "aclsimHold"},
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
    {"host_func_1_thread", host_func_1_thread, "aclsimHold"},
    {"host_func_2_threads", host_func_2_threads, "aclsimHold"},
    {"host_func_4_threads", host_func_4_threads, "aclsimHold"},
    {"host_func_8_threads", host_func_8_threads, "aclsimHold"},
    {"queued_copy_1_thread", queued_copy_1_thread, "aclsimHold"},
    {"queued_copy_2_threads", queued_copy_2_threads, "aclsimHold"},
    {"queued_copy_4_threads", queued_copy_4_threads, "aclsimHold"},
    {"queued_copy_8_threads", queued_copy_8_threads, "aclsimHold"},
    {"private_1_thread", private_1_thread, NULL},
    {"private_2_threads", private_2_threads, NULL},
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

static void tear_down(void) {
    tear_down_memory();
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
    Plan plan = USUAL_PLAN;
    const char *kernel = NULL;
    bool has_memory = true;
    if (argc == 4 && strcmp(argv[1], PUTS_BACK) == 0) {
        return put_back(argv[2], argv[3]);
    }
    for (int option = getopt(argc, argv, OPTIONS "k:m"); option != -1; option = getopt(argc, argv, OPTIONS "k:m")) {
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
