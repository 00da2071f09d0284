/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE

#include "_aclrt_support.h"

#include <Python.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#ifdef __linux__
#include <link.h>
#endif

/* Loader. */

static void fill(ascend_rt_slot *slot, void *library) {
    void *symbol = dlsym(library, slot->name);
    slot->present = symbol != NULL;
    if (slot->present) {
        memcpy(slot->pointer, &symbol, sizeof symbol);
    }
}

int ascend_rt_open(const char *path, char *error, size_t error_size) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        const char *reason = dlerror();
        snprintf(error, error_size, "%s", reason != NULL ? reason : "unknown reason");
        return -1;
    }
    for (size_t i = 0; i < ascend_rt_slot_count; ++i) {
        if (!ascend_rt_slots[i].present) {
            fill(&ascend_rt_slots[i], library);
        }
    }
    return 0;
}

void ascend_rt_forget(void) {
    for (size_t i = 0; i < ascend_rt_slot_count; ++i) {
        ascend_rt_slot *slot = &ascend_rt_slots[i];
        slot->present = false;
        memcpy(slot->pointer, &slot->fallback, sizeof slot->fallback);
    }
}

static const char *path_of(void *library) {
#ifdef __linux__
    struct link_map *map = NULL;
    return dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 ? map->l_name : NULL;
#else
    Dl_info info;
    void *symbol = dlsym(library, "aclrtGetDeviceCount");
    return symbol != NULL && dladdr(symbol, &info) != 0 ? info.dli_fname : NULL;
#endif
}

const char *ascend_rt_loaded_path(const char *name) {
    void *library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
    if (library == NULL) {
        return NULL;
    }
    const char *path = path_of(library);
    dlclose(library); /* gives back our reference only: whoever loaded the library keeps it and its path alive */
    return path;
}

int ascend_rt_loaded_has(const char *name, const char *symbol) {
    void *library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
    if (library == NULL) {
        return 0;
    }
    const int has = dlsym(library, symbol) != NULL;
    dlclose(library);
    return has;
}

size_t ascend_rt_symbol_count(void) { return ascend_rt_slot_count; }

const char *ascend_rt_symbol_name(size_t index) { return ascend_rt_slots[index].name; }

int ascend_rt_symbol_present(size_t index) { return ascend_rt_slots[index].present; }

const char *ascend_rt_symbol_library(size_t index) {
    const ascend_rt_slot *slot = &ascend_rt_slots[index];
    void *symbol = NULL;
    Dl_info info;
    memcpy(&symbol, slot->pointer, sizeof symbol);
    return slot->present && dladdr(symbol, &info) != 0 ? info.dli_fname : NULL;
}

aclError ascend_rt_no_op(void *first, void *second) {
    (void)first;
    (void)second;
    return ACL_SUCCESS;
}

void ascend_rt_discard_capsule(void *capsule) {
    PyObject *type = NULL;
    PyObject *value = NULL;
    PyObject *traceback = NULL;
    void *context = PyCapsule_GetContext(capsule);
    void (*discard)(void *) = NULL;
    memcpy(&discard, &context, sizeof context);
    PyErr_Fetch(&type, &value, &traceback);
    if (discard != NULL) {
        discard(capsule);
    }
    PyErr_Restore(type, value, traceback);
}

/* Callback gate. Callbacks arrive on threads of the runtime, which know nothing of the interpreter's life. A
 * thread that asks for the GIL while the interpreter shuts down never comes back, so it must not get that far. */

static atomic_int inside;
static atomic_bool closed;
static pthread_mutex_t leaving = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t left = PTHREAD_COND_INITIALIZER;

static void leave(void) {
    if (atomic_fetch_sub(&inside, 1) == 1 && atomic_load(&closed)) {
        pthread_mutex_lock(&leaving);
        pthread_cond_broadcast(&left);
        pthread_mutex_unlock(&leaving);
    }
}

/* Whoever has entered leaves, also when the gate is closed. */
static bool enter(void) {
    atomic_fetch_add(&inside, 1); /* before the test, so that closing either sees this thread or is seen by it */
    return !atomic_load(&closed);
}

static void host_func(void *args) {
    if (enter()) {
        ascend_rt_python_host_func(args);
    }
    leave();
}

static void *allocate_near(aclrtAllocator allocator, size_t size, aclrtAllocatorAddr wish) {
    void *block = enter() ? ascend_rt_python_allocate(allocator, size, wish) : NULL;
    leave();
    return block;
}

static void *allocate(aclrtAllocator allocator, size_t size) { return allocate_near(allocator, size, NULL); }

static void free_block(aclrtAllocator allocator, aclrtAllocatorBlock block) {
    if (enter()) {
        ascend_rt_python_free(allocator, block);
    }
    leave();
}

static int32_t call_site(char *text, size_t size) {
    const int32_t result = enter() ? ascend_rt_python_call_site(text, size) : -1;
    leave();
    return result;
}

static void *address_of(aclrtAllocatorBlock block) { return block; }

const aclrtHostFunc ascend_rt_host_func_entry = host_func;
const aclrtAllocatorAllocFunc ascend_rt_allocate_entry = allocate;
const aclrtAllocatorAllocAdviseFunc ascend_rt_allocate_near_entry = allocate_near;
const aclrtAllocatorFreeFunc ascend_rt_free_entry = free_block;
const aclrtAllocatorGetAddrFromBlockFunc ascend_rt_address_entry = address_of;
const aclsimCallSiteProvider ascend_rt_call_site_entry = call_site;

static struct timespec deadline_after(int32_t timeout_ms) {
    struct timespec deadline;
    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_sec += timeout_ms / 1000;
    deadline.tv_nsec += (timeout_ms % 1000) * 1000000L;
    deadline.tv_sec += deadline.tv_nsec / 1000000000L;
    deadline.tv_nsec %= 1000000000L;
    return deadline;
}

int ascend_rt_close_gate(int32_t timeout_ms) {
    struct timespec deadline = deadline_after(timeout_ms);
    int status = 0;
    atomic_store(&closed, true);
    pthread_mutex_lock(&leaving);
    while (atomic_load(&inside) > 0 && status == 0) {
        status = pthread_cond_timedwait(&left, &leaving, &deadline);
    }
    pthread_mutex_unlock(&leaving);
    return atomic_load(&inside);
}

void ascend_rt_open_gate(void) { atomic_store(&closed, false); }
