/* SPDX-License-Identifier: Apache-2.0 */
/* Copies and allocations. */
#include "bench.h"

#define LIVE ((size_t)1000000)

static aclError copy_and_synchronize(size_t size) {
    const aclError copied = aclrtMemcpyAsync(the.device, size, the.pinned, size, ACL_MEMCPY_HOST_TO_DEVICE, the.a);
    return copied | aclrtSynchronizeStream(the.a);
}

double copy_async_4KiB(uint64_t loops) { RETURN_TIME_OF(loops, copy_and_synchronize(4 * KIB)); }

double copy_async_1MiB(uint64_t loops) { RETURN_TIME_OF(loops, copy_and_synchronize(1 * MIB)); }

double copy_async_64MiB(uint64_t loops) { RETURN_TIME_OF(loops, copy_and_synchronize(LARGEST)); }

static aclError plain_copy(size_t size) {
    memcpy(the.copy, the.memory, size);
    __asm__ volatile("" ::: "memory"); /* the compiler must not see that the copy is unused */
    return ACL_SUCCESS;
}

double memcpy_1MiB(uint64_t loops) { RETURN_TIME_OF(loops, plain_copy(1 * MIB)); }

double memcpy_64MiB(uint64_t loops) { RETURN_TIME_OF(loops, plain_copy(LARGEST)); }

static aclError malloc_and_free(size_t size) {
    void *memory = NULL;
    const aclError allocated = aclrtMalloc(&memory, size, ACL_MEM_MALLOC_HUGE_FIRST);
    return allocated | aclrtFree(memory);
}

double malloc_free_4KiB(uint64_t loops) { RETURN_TIME_OF(loops, malloc_and_free(4 * KIB)); }

double malloc_free_4MiB(uint64_t loops) { RETURN_TIME_OF(loops, malloc_and_free(4 * MIB)); }

static aclError pool_malloc_and_free(aclrtMemPool pool, size_t size) {
    void *memory = NULL;
    const aclError allocated = aclrtMemPoolMallocAsync(&memory, size, pool, the.a);
    return allocated | aclrtMemPoolFreeAsync(memory, the.a);
}

static double time_of_pool(uint64_t loops, aclrtMemPool pool) {
    RETURN_TIME_OF(loops, pool_malloc_and_free(pool, 4 * MIB));
}

double pool_malloc_free_4MiB(uint64_t loops) {
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

double malloc_free_among_1000000(uint64_t loops) {
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

void set_up_memory(void) {
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

void tear_down_memory(void) {
    for (size_t i = 0; the.live != NULL && i < LIVE; ++i) {
        OK(aclrtFree(the.live[i]));
    }
    free(the.live);
    free(the.copy);
    free(the.memory);
    OK(aclrtFree(the.device));
    OK(aclrtFreeHost(the.pinned));
}
