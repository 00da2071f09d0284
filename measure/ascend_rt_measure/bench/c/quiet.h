/* SPDX-License-Identifier: Apache-2.0 */
/* The clock, and what finds quiet moments for samples; quiet.py says why. */
#ifndef ASCEND_RT_BENCH_QUIET_H
#define ASCEND_RT_BENCH_QUIET_H

#include <stdint.h>
#include <time.h>

/* The slowest probe of the threads that a benchmark has made; each program defines it. */
extern double slowest_probe;

static inline double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* How long a fixed piece of work takes, in seconds: independent arithmetic, which shares the core with others. Not
 * inlined, because copies of a loop differ in speed. */
__attribute__((noinline, unused)) static double probe(void) {
    double fastest = 1.0;
    for (int attempt = 0; attempt < 3; ++attempt) { /* a timer may interrupt one of them */
        uint64_t a = 1, b = 2, c = 3, d = 4;
        const double begin = seconds();
        for (uint64_t i = 0; i < 8000; ++i) {
            a = a * 3 + i;
            b = b * 5 + i;
            c ^= i + a;
            d += i ^ b;
            __asm__ volatile("" : : "r"(a), "r"(b), "r"(c), "r"(d));
        }
        const double taken = seconds() - begin;
        fastest = taken < fastest ? taken : fastest;
    }
    return fastest;
}

typedef struct {
    double deadline; /* until when to wait for quiet moments; 0: samples are taken as they come */
    double fastest;  /* probe */
} Watch;

static inline int is_quiet(Watch *watch) {
    const double now = probe();
    const double slowest = slowest_probe > now ? slowest_probe : now;
    watch->fastest = now < watch->fastest ? now : watch->fastest;
    slowest_probe = 0.0;
    return slowest <= 1.15 * watch->fastest; /* a disturbed one is seen at 1.5 and more */
}

/* From now on. Calibrates the threshold of a quiet moment first. */
static inline void begin_watch(Watch *watch, double patience) {
    if (watch->deadline == 0.0) {
        for (const double end = seconds() + 0.3; seconds() < end;) {
            is_quiet(watch);
        }
    }
    watch->deadline = seconds() + patience;
}

static inline void wait_for_quiet(Watch *watch) {
    const struct timespec a_millisecond = {0, 1000000};
    while (!is_quiet(watch) && seconds() < watch->deadline) {
        nanosleep(&a_millisecond, NULL);
    }
}

#endif
