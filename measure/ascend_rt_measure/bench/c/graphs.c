/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs: submitting, capturing, replaying. */
#include "bench.h"

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

#define PAIRS_OF(n)                                                                                \
    double submit_pairs_##n(uint64_t loops) { return time_of_submitting(loops, submit_pairs, n); } \
    double capture_pairs_##n(uint64_t loops) { return time_of_capturing(loops, submit_pairs, n); } \
    double replay_pairs_##n(uint64_t loops) { return time_of_replaying(loops, submit_pairs, n); }

PAIRS_OF(1)
PAIRS_OF(10)
PAIRS_OF(100)
PAIRS_OF(1000)

double submit_tasks_1000(uint64_t loops) { return time_of_submitting(loops, submit_tasks, 1000); }

double replay_tasks_1000(uint64_t loops) { return time_of_replaying(loops, submit_tasks, 1000); }

double replay_tasks_1000_subscribed(uint64_t loops) {
    aclmdlRI graph = NULL;
    OK(capture(submit_tasks, 1000, &graph));
    subscribe_graph(graph);
    const double taken = time_of_graph(loops, graph);
    unsubscribe_graph(graph);
    OK(aclmdlRIDestroy(graph));
    return taken;
}
