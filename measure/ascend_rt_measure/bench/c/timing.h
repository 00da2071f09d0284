/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the programs in C and C++: PROGRAM [-n SAMPLES] [-t MILLISECONDS] [-l LOOPS] [-p SECONDS] ID...
 *
 * A benchmark takes a number of loops and returns the seconds they took, without what it prepares. The number is
 * doubled until a sample takes the given time, unless it is given. Samples are taken in quiet moments (quiet.py says
 * why), and again if they were not, as long as the patience lasts that -p gives; 0 takes them as they come. Each
 * benchmark prints one line of JSON, with the samples that were disturbed all the same by themselves. */
#ifndef ASCEND_RT_BENCH_TIMING_H
#define ASCEND_RT_BENCH_TIMING_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "quiet.h"

typedef struct {
    const char *id;
    double (*run)(uint64_t loops);
    const char *symbol; /* the function that the library must have, or NULL */
} Benchmark;

typedef struct {
    long samples;
    double target;   /* seconds of a sample */
    uint64_t loops;  /* loops of a sample; 0: as many as take that long */
    double patience; /* seconds to spend on waiting for quiet moments */
} Plan;

#define USUAL_PLAN {20, 0.010, 0, 0.0}
#define OPTIONS "n:t:l:p:"

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
        case 'p':
            plan->patience = strtod(value, NULL);
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

/* Returns whether the sample is of a quiet moment, or true if that does not matter. */
static inline int sample(const Benchmark *benchmark, uint64_t loops, Watch *watch, double *taken) {
    if (watch->deadline == 0.0) {
        *taken = benchmark->run(loops);
        return 1;
    }
    for (;;) {
        wait_for_quiet(watch);
        *taken = benchmark->run(loops);
        const int was_quiet = is_quiet(watch);
        if (was_quiet || seconds() > watch->deadline) {
            return was_quiet;
        }
    }
}

static inline void print_list(const char *name, const double *values, long count) {
    printf(", \"%s\": [", name);
    for (long i = 0; i < count; ++i) {
        printf("%s%.9f", i == 0 ? "" : ", ", values[i]);
    }
    printf("]");
}

/* Does nothing: callgrind writes down its counts whenever it has been called. */
__attribute__((noinline, unused)) static void sampled(void) { __asm__ volatile("" ::: "memory"); }

static inline void measure(const Benchmark *benchmark, const Plan *plan) {
    static Watch watch = {0.0, 1.0};
    const uint64_t loops = plan->loops != 0 ? plan->loops : calibrate(benchmark, plan->target);
    double *const quiet = (double *)calloc((size_t)plan->samples, sizeof(double));
    double *const disturbed = (double *)calloc((size_t)plan->samples, sizeof(double));
    long in_quiet = 0;
    long in_disturbed = 0;
    if (quiet == NULL || disturbed == NULL) {
        perror("calloc");
        exit(EXIT_FAILURE);
    }
    if (plan->patience > 0.0) {
        begin_watch(&watch, plan->patience);
    }
    for (long i = 0; i < plan->samples; ++i) {
        double taken = 0.0;
        const int was_quiet = sample(benchmark, loops, &watch, &taken);
        sampled();
        *(was_quiet ? &quiet[in_quiet++] : &disturbed[in_disturbed++]) = taken;
    }
    printf("{\"id\": \"%s\", \"loops\": %" PRIu64, benchmark->id, loops);
    print_list("seconds", quiet, in_quiet);
    print_list("disturbed", disturbed, in_disturbed);
    printf("}\n");
    fflush(stdout);
    free(disturbed);
    free(quiet);
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
