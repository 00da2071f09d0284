/* SPDX-License-Identifier: Apache-2.0 */
/* What the programs in C and C++ share: PROGRAM [-n SAMPLES] [-t MILLISECONDS] [-l LOOPS] ID...
 *
 * A benchmark takes a number of loops and returns the seconds they took, without what it prepares. The number is
 * doubled until a sample takes the given time, unless it is given. Each benchmark prints one line of JSON. */
#ifndef ASCEND_RT_BENCH_TIMING_H
#define ASCEND_RT_BENCH_TIMING_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct {
    const char *id;
    double (*run)(uint64_t loops);
    const char *symbol; /* what the library must have, or NULL */
} Benchmark;

typedef struct {
    long samples;
    double target;  /* seconds of a sample */
    uint64_t loops; /* of a sample; 0: as many as take that long */
} Plan;

static inline double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Takes an option of the command line into the plan; returns 0 for one that is not known. */
static inline int take_option(Plan *plan, int option, const char *value) {
    switch (option) {
        case 'n':
            plan->samples = strtol(value, NULL, 10);
            return 1;
        case 't':
            plan->target = strtod(value, NULL) * 1e-3;
            return 1;
        case 'l':
            plan->loops = strtoull(value, NULL, 10);
            return 1;
        default:
            return 0;
    }
}

static inline uint64_t calibrate(const Benchmark *benchmark, double target) {
    uint64_t loops = 1;
    while (benchmark->run(loops) < target) {
        loops *= 2;
    }
    return loops;
}

/* Does nothing: callgrind writes down its counts whenever it has been called. */
__attribute__((noinline, unused)) static void sampled(void) { __asm__ volatile("" ::: "memory"); }

static inline void measure(const Benchmark *benchmark, const Plan *plan) {
    const uint64_t loops = plan->loops != 0 ? plan->loops : calibrate(benchmark, plan->target);
    printf("{\"id\": \"%s\", \"loops\": %" PRIu64 ", \"seconds\": [", benchmark->id, loops);
    for (long sample = 0; sample < plan->samples; ++sample) {
        const double taken = benchmark->run(loops);
        sampled();
        printf("%s%.9f", sample == 0 ? "" : ", ", taken);
    }
    printf("]}\n");
    fflush(stdout);
}

static inline const Benchmark *find(const Benchmark *benchmarks, size_t count, const char *id) {
    for (size_t i = 0; i < count; ++i) {
        if (strcmp(benchmarks[i].id, id) == 0) {
            return &benchmarks[i];
        }
    }
    fprintf(stderr, "there is no benchmark %s\n", id);
    exit(EXIT_FAILURE);
}

#endif
