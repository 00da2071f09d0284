/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles: a range, and what a subscription of a graph costs its tasks. */
#define _GNU_SOURCE

#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench.h"

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place) {
    (void)status;
    (void)type;
    (void)place;
    return remove(path);
}

static double push_and_pop(uint64_t loops, void *stamp) { RETURN_TIME_OF(loops, aclprofPush(stamp) | aclprofPop()); }

double range_push_pop(uint64_t loops) {
    char path[] = "/tmp/bench_profile_XXXXXX";
    uint32_t device = 0;
    OK(mkdtemp(path) == NULL);
    OK(aclprofInit(path, strlen(path)));
    aclprofConfig *config = aclprofCreateConfig(&device, 1, ACL_AICORE_NONE, NULL, ACL_PROF_MSPROFTX);
    OK(aclprofStart(config));
    void *stamp = aclprofCreateStamp();
    OK(aclprofSetStampTraceMessage(stamp, "range", 5));
    const double taken = push_and_pop(loops, stamp);
    aclprofDestroyStamp(stamp);
    OK(aclprofStop(config));
    OK(aclprofDestroyConfig(config));
    OK(aclprofFinalize());
    OK(nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS));
    return taken;
}

void subscribe_graph(aclmdlRI graph) {
    int file = open("/dev/null", O_WRONLY | O_CLOEXEC); /* the end of the subscription closes it */
    uint32_t id = 0;
    OK(aclmdlRIGetId(graph, &id));
    aclprofSubscribeConfig *config = aclprofCreateSubscribeConfig(1, ACL_AICORE_NONE, &file);
    OK(aclprofModelSubscribe(id, config));
    OK(aclprofDestroySubscribeConfig(config));
}

void unsubscribe_graph(aclmdlRI graph) {
    uint32_t id = 0;
    OK(aclmdlRIGetId(graph, &id));
    OK(aclprofModelUnSubscribe(id));
}
