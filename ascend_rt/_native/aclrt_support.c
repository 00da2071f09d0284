/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE

#include "aclrt_support.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "python_api.h"

#ifdef __linux__
#include <link.h>
#endif

/* Loader. */

atomic_int ascend_rt_refusal = ACL_ERROR_RT_FEATURE_NOT_SUPPORT;

/* Threads may be calling the function that was there. */
static void set_function(void *place, void *function) { __atomic_store_n((void **)place, function, __ATOMIC_RELEASE); }

static void *fallback_of(const ascend_rt_slot *slot) {
    void *fallback;
    memcpy(&fallback, &slot->fallback, sizeof fallback);
    return fallback;
}

static void fill(ascend_rt_slot *slot, void *library) {
    slot->found = dlsym(library, slot->name);
    slot->present = slot->found != NULL;
    if (slot->present) {
        set_function(slot->opened, slot->found);
    }
}

static void *open_library(const char *path, char *error, size_t error_size) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        const char *reason = dlerror();
        snprintf(error, error_size, "%s", reason != NULL ? reason : "unknown reason");
    }
    return library;
}

int ascend_rt_open(const char *path, char *error, size_t error_size) {
    void *library = open_library(path, error, error_size);
    if (library == NULL) {
        return -1;
    }
    for (size_t i = 0; i < ascend_rt_slot_count; ++i) {
        if (!ascend_rt_slots[i].present) {
            fill(&ascend_rt_slots[i], library);
        }
    }
    return 0;
}

int ascend_rt_wrap(const char *path, char *error, size_t error_size) {
    void *library = open_library(path, error, error_size);
    if (library == NULL) {
        return -1;
    }
    for (size_t i = 0; i < ascend_rt_slot_count; ++i) {
        ascend_rt_slot *slot = &ascend_rt_slots[i];
        bool is_additional = strncmp(slot->name, "aclsim", strlen("aclsim")) == 0;
        if ((slot->present || is_additional) && dlsym(library, slot->name) != NULL) {
            fill(slot, library);
        }
    }
    return 0;
}

void ascend_rt_forget(void) {
    for (size_t i = 0; i < ascend_rt_slot_count; ++i) {
        ascend_rt_slot *slot = &ascend_rt_slots[i];
        slot->present = false;
        slot->found = NULL;
        set_function(slot->opened, fallback_of(slot));
    }
}

void ascend_rt_refuse_calls(void) {
    ascend_rt_refusal = ASCEND_RT_REFUSED;
    for (size_t i = 0; i < ascend_rt_slot_count; ++i) {
        ascend_rt_slot *slot = &ascend_rt_slots[i];
        slot->present = false;
        set_function(slot->pointer, fallback_of(slot));
    }
}

static ascend_rt_slot *slot_of(const char *name) {
    for (size_t i = 0; i < ascend_rt_slot_count; ++i) {
        if (strcmp(ascend_rt_slots[i].name, name) == 0) {
            return &ascend_rt_slots[i];
        }
    }
    return NULL;
}

void **ascend_rt_place_of(const char *name) {
    const ascend_rt_slot *slot = slot_of(name);
    return slot != NULL ? slot->pointer : NULL;
}

void ascend_rt_exchange(void **place, void *expected, void *function) {
    __atomic_compare_exchange_n(place, &expected, function, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
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
    dlclose(library); /* drops our reference only: the first loader keeps the library and its path alive */
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
    memcpy(&symbol, slot->opened, sizeof symbol);
    return slot->present && dladdr(symbol, &info) != 0 ? info.dli_fname : NULL;
}

void (*ascend_rt_function(const char *name))(void) {
    void (*function)(void) = NULL;
    const ascend_rt_slot *slot = slot_of(name);
    if (slot != NULL) {
        memcpy(&function, slot->pointer, sizeof function);
    }
    return function;
}

void (*ascend_rt_function_of_library(const char *name))(void) {
    const ascend_rt_slot *slot = slot_of(name);
    void (*function)(void) = slot->fallback;
    if (slot->found != NULL) {
        memcpy(&function, &slot->found, sizeof function);
    }
    return function;
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

/* Calls with a time limit. Many functions wait for the device without one, and a device, or a process that is locked
 * for a snapshot, may never answer. So another thread makes the call: always the same one, because a thread has a
 * current context. It is not a thread of Python, which starts none when the interpreter ends. */

static aclError set_context(uint64_t context) {
    return ASCEND_RT_IN_LIBRARY(aclrtSetCurrentContext)((aclrtContext)(uintptr_t)context);
}
static aclError destroy_context(uint64_t context) {
    return ASCEND_RT_IN_LIBRARY(aclrtDestroyContext)((aclrtContext)(uintptr_t)context);
}
static aclError set_device(uint64_t device) { return ASCEND_RT_IN_LIBRARY(aclrtSetDevice)((int32_t)device); }
static aclError reset_device(uint64_t device) { return ASCEND_RT_IN_LIBRARY(aclrtResetDevice)((int32_t)device); }
static aclError synchronize(uint64_t timeout_ms) {
    return ASCEND_RT_IN_LIBRARY(aclrtSynchronizeDeviceWithTimeout)((int32_t)timeout_ms);
}
static aclError finalize_reference(uint64_t unused) {
    (void)unused;
    return ASCEND_RT_IN_LIBRARY(aclFinalizeReference)(NULL);
}
static aclError finalize(uint64_t unused) {
    (void)unused;
    return ASCEND_RT_IN_LIBRARY(aclFinalize)();
}

typedef aclError (*limited_call)(uint64_t argument);

static const struct {
    const char *name;
    limited_call call;
} limited_calls[] = {
    {"aclrtSetCurrentContext", set_context},
    {"aclrtDestroyContext", destroy_context},
    {"aclrtSetDevice", set_device},
    {"aclrtResetDevice", reset_device},
    {"aclrtSynchronizeDeviceWithTimeout", synchronize},
    {"aclFinalizeReference", finalize_reference},
    {"aclFinalize", finalize},
};

/* State shared by the calling thread and the other one. */
static struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool has_thread;
    limited_call pending; /* NULL once it has returned */
    uint64_t argument;
    aclError code;
    char text[512];
} limited = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void *make_limited_calls(void *unused) {
    (void)unused;
    pthread_mutex_lock(&limited.mutex);
    for (;;) {
        while (limited.pending == NULL) {
            pthread_cond_wait(&limited.changed, &limited.mutex);
        }
        const limited_call call = limited.pending;
        const uint64_t argument = limited.argument;
        pthread_mutex_unlock(&limited.mutex);
        const aclError code = call(argument);
        const char *text = code != ACL_SUCCESS ? ASCEND_RT_IN_LIBRARY(aclGetRecentErrMsg)() : NULL;
        pthread_mutex_lock(&limited.mutex);
        limited.code = code;
        snprintf(limited.text, sizeof limited.text, "%s", text != NULL ? text : "");
        limited.pending = NULL;
        pthread_cond_broadcast(&limited.changed);
    }
    return NULL;
}

static bool start_thread(void) {
    pthread_t thread;
    if (!limited.has_thread && pthread_create(&thread, NULL, make_limited_calls, NULL) == 0) {
        pthread_detach(thread);
        limited.has_thread = true;
    }
    return limited.has_thread;
}

static limited_call limited_call_of(const char *name) {
    for (size_t i = 0; i < sizeof limited_calls / sizeof limited_calls[0]; ++i) {
        if (strcmp(limited_calls[i].name, name) == 0) {
            return limited_calls[i].call;
        }
    }
    return NULL;
}

static struct timespec deadline_after(int32_t timeout_ms) {
    struct timespec deadline;
    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_sec += timeout_ms / 1000;
    deadline.tv_nsec += (timeout_ms % 1000) * 1000000L;
    deadline.tv_sec += deadline.tv_nsec / 1000000000L;
    deadline.tv_nsec %= 1000000000L;
    return deadline;
}

int ascend_rt_call_within(int32_t limit_ms, const char *function, uint64_t argument, char *text, size_t text_size) {
    const struct timespec deadline = deadline_after(limit_ms);
    const limited_call call = limited_call_of(function);
    int result = -1;
    pthread_mutex_lock(&limited.mutex);
    if (call != NULL && limited.pending == NULL && start_thread()) {
        limited.pending = call;
        limited.argument = argument;
        pthread_cond_broadcast(&limited.changed);
        int status = 0;
        while (limited.pending != NULL && status == 0) {
            status = pthread_cond_timedwait(&limited.changed, &limited.mutex, &deadline);
        }
        if (limited.pending == NULL) {
            result = limited.code;
            snprintf(text, text_size, "%s", limited.text);
        }
    }
    pthread_mutex_unlock(&limited.mutex);
    return result;
}

/* Callback gate. Callbacks arrive on threads of the runtime, which do not know whether the interpreter still runs. A
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

/* Every enter() is followed by a leave(), even if the gate is closed. */
static bool enter(void) {
    atomic_fetch_add(&inside, 1); /* before the test, so that closing either sees this thread or is seen by it */
    return !atomic_load(&closed);
}

bool ascend_rt_enter(void) { return enter(); }
void ascend_rt_leave(void) { leave(); }

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

static size_t name_threads(aclsimThread *threads, size_t capacity) {
    const size_t count = enter() ? ascend_rt_python_threads(threads, capacity) : 0;
    leave();
    return count;
}

static size_t describe_thread(uint64_t thread, char *text, size_t size) {
    const size_t length = enter() ? ascend_rt_python_describe(thread, text, size) : 0;
    leave();
    return length;
}

/* Python handles the interrupt when the call has returned. */
static int32_t is_interrupted(void) {
    if (!ascend_rt_is_main_thread()) {
        return 0;
    }
    int is_interrupted = 0;
    if (enter()) {
        const PyGILState_STATE state = PyGILState_Ensure();
        is_interrupted = PyOS_InterruptOccurred();
        if (is_interrupted) {
            PyErr_SetInterrupt(); /* again: asking has cleared it */
        }
        PyGILState_Release(state);
    }
    leave();
    return is_interrupted;
}

/* As host functions, kernels that are still under way when the interpreter ends do nothing. */
static aclError run_kernel(const aclsimKernelBlock *block, void *kernel) {
    const aclError code = enter() ? ascend_rt_python_kernel(block, kernel) : ACL_SUCCESS;
    leave();
    return code;
}

static void release_kernel(void *kernel) {
    if (enter()) {
        ascend_rt_python_release(kernel);
    }
    leave();
}

static void graph_destroyed(void *graph) {
    if (enter()) {
        ascend_rt_python_graph_destroyed(graph);
    }
    leave();
}

static void *address_of(aclrtAllocatorBlock block) { return block; }

const aclrtAllocatorAllocFunc ascend_rt_allocate_entry = allocate;
const aclrtAllocatorAllocAdviseFunc ascend_rt_allocate_near_entry = allocate_near;
const aclrtAllocatorFreeFunc ascend_rt_free_entry = free_block;
const aclrtAllocatorGetAddrFromBlockFunc ascend_rt_address_entry = address_of;
const aclsimThreadProvider ascend_rt_threads_entry = name_threads;
const aclsimThreadDescriber ascend_rt_describer_entry = describe_thread;
const aclsimInterruptCheck ascend_rt_interrupt_entry = is_interrupted;
const aclsimKernelFunction ascend_rt_kernel_entry = run_kernel;
const aclsimReleaseFunction ascend_rt_release_entry = release_kernel;
const aclrtCallback ascend_rt_graph_destroyed_entry = graph_destroyed;

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

ascend_rt_abort_count ascend_rt_aborts;

static ascend_rt_shared shared = {
    .slots = ascend_rt_slots,
    .enter = enter,
    .leave = leave,
    .captured_graph = ascend_rt_captured_graph,
    .synchronize_event = ascend_rt_synchronize_event,
    .synchronize_stream = ascend_rt_synchronize_stream,
    .report_text = ascend_rt_report_text,
    .take_report = ascend_rt_take_report,
    .await_left = ascend_rt_await_left,
    .note_frames = ascend_rt_note_frames,
    .forget_frames = ascend_rt_forget_frames,
    .failed_tasks = &ascend_rt_failed_tasks,
    .aborts = &ascend_rt_aborts,
    .reports = &ascend_rt_reports,
    .refusal = &ascend_rt_refusal,
};

const void *ascend_rt_shared_parts(void) {
    shared.slot_count = ascend_rt_slot_count;
    shared.wants_frames = ascend_rt_wants_frames;
    return &shared;
}

void ascend_rt_open_gate(void) { atomic_store(&closed, false); }

/* By initialisation and not by release: the threads that have them are not there. */
void ascend_rt_renew_locks(void) {
    ascend_rt_renew_failures();
    ascend_rt_renew_left_waits();
    pthread_mutex_init(&limited.mutex, NULL);
    pthread_cond_init(&limited.changed, NULL);
    limited.has_thread = false;
    limited.pending = NULL;
    pthread_mutex_init(&leaving, NULL);
    pthread_cond_init(&left, NULL);
    atomic_store(&inside, 0);
}
