/* SPDX-License-Identifier: Apache-2.0 */
/* The hand-written part of ascend_rt._aclrt: the loader that fills the table of functions, and the callback gate. */
#pragma once

#include <stdatomic.h>

#include "abi/acl.h"

/* One entry of the table. */
typedef struct ascend_rt_slot {
    const char *name;
    const char *parameters; /* their names, with a space between */
    void *pointer;          /* address of the function pointer that callers use */
    void *opened;           /* address of the one that leads to the library: the same, unless calls are counted */
    void (*fallback)(void); /* its value without a library: it answers ascend_rt_refusal */
    void *found;            /* the library's own function; NULL: there is none */
    bool present;           /* true if it may be called */
} ascend_rt_slot;

/* The answer of functions that are not there: 207000, as a runtime does that does not support them, until all refuse.
 */
extern atomic_int ascend_rt_refusal;

extern ascend_rt_slot ascend_rt_slots[];
extern const size_t ascend_rt_slot_count;

/* The function of that name as the table has it: the library's, or the default. */
void (*ascend_rt_function(const char *name))(void);
#define ASCEND_RT_IN_TABLE(name) ((__typeof__(name) *)ascend_rt_function(#name))
/* The same past what the table has, which may refuse calls: the library's, or the default. */
void (*ascend_rt_function_of_library(const char *name))(void);
#define ASCEND_RT_IN_LIBRARY(name) ((__typeof__(name) *)ascend_rt_function_of_library(#name))

/* Objects that host threads wait for, and how: places of functions, which are those of the table. */
typedef struct ascend_rt_awaited {
    int (*status)(void *object); /* NULL: there is none */
    int pending;                 /* the status until it is done */
    bool hides_drops;            /* true if the status stays pending when the work was dropped */
    aclError (*const *synchronize)(void *object);
    aclError (*const *synchronize_within)(void *object, int32_t timeout_ms);
} ascend_rt_awaited;

int ascend_rt_synchronize(const ascend_rt_awaited *awaited, void *object, int32_t timeout_ms);
int ascend_rt_wait_for(const ascend_rt_awaited *awaited, void *object, int32_t timeout_ms, const int32_t *is_left);
/* The same on another thread than the one that wants to know, in the same context. */
int ascend_rt_wait_in(void *context, const ascend_rt_awaited *awaited, void *object, int32_t timeout_ms,
                      const int32_t *is_left);
struct ascend_rt_report; /* below, because Python has it too */

/* Notes what a synchronization has failed with, if that may be a failed task, and returns the code. */
int ascend_rt_note_report(struct ascend_rt_report *report, int code);
/* A copy of its text, to be freed; NULL if there is none. */
char *ascend_rt_report_text(struct ascend_rt_report *report);
/* Ends the report; returns whether there was one, which no other thread has taken. */
bool ascend_rt_take_report(struct ascend_rt_report *report);
bool ascend_rt_is_simulated(void);
bool ascend_rt_is_main_thread(void); /* the one where Python handles signals */

extern atomic_uint_fast64_t ascend_rt_failed_tasks, ascend_rt_reports;

/* Calls that drop work. */
typedef struct ascend_rt_abort_count {
    _Atomic uint64_t begun, ended;
} ascend_rt_abort_count;

extern ascend_rt_abort_count ascend_rt_aborts;

/* Defined by cffi: enter Python with a call of an allocator or a kernel, and with the end of a graph. */
void *ascend_rt_python_allocate(void *allocator, size_t size, void *wish);
void ascend_rt_python_free(void *allocator, void *block);
size_t ascend_rt_python_threads(aclsimThread *threads, size_t capacity);
size_t ascend_rt_python_describe(uint64_t thread, char *text, size_t size);
aclError ascend_rt_python_kernel(const aclsimKernelBlock *block, void *kernel);
void ascend_rt_python_release(void *kernel);
void ascend_rt_python_graph_destroyed(void *graph);

/* The callback gate. Each enter() is followed by a leave(), even if the gate is closed. */
bool ascend_rt_enter(void);
void ascend_rt_leave(void);

/* Shared with ascend_rt.pyacl._pyacl and ascend_rt._native.handles: the table, the callback
 * gate, and what the module makes of calls, as declared below. Each enter() is followed by a leave(), even if the gate
 * is closed. */
typedef struct ascend_rt_shared {
    ascend_rt_slot *slots;
    size_t slot_count;
    bool (*enter)(void);
    void (*leave)(void);
    uint64_t (*captured_graph)(void *stream);
    int (*synchronize_event)(void *event, int32_t timeout_ms);
    int (*synchronize_stream)(void *stream, int32_t timeout_ms, struct ascend_rt_report *report);
    char *(*report_text)(struct ascend_rt_report *report);
    bool (*take_report)(struct ascend_rt_report *report);
    void (*await_left)(void *object);
    const atomic_bool *wants_frames; /* call_frames.c: frames of the next call are noted, with the GIL, and forgotten */
    void (*note_frames)(void);
    void (*forget_frames)(void);
    const atomic_uint_fast64_t *failed_tasks; /* how many have failed so far */
    const ascend_rt_abort_count *aborts;
    const atomic_uint_fast64_t *reports; /* how many synchronizations have reported a failure */
    const atomic_int *refusal;           /* the answer of functions that are not there, or refuse */
    atomic_bool has_ended;               /* true once an epoch of a device has ended: before, no handle has */
} ascend_rt_shared;

extern const atomic_bool *const ascend_rt_wants_frames;
void ascend_rt_note_frames(void);
void ascend_rt_forget_frames(void);

/* Parts of ascend_rt_renew_locks(). */
void ascend_rt_renew_failures(void);
void ascend_rt_renew_left_waits(void);

/* For Python. */

/* Codes that no runtime has. From the first one on, each is of an exception that a function in Python has raised whose
 * caller is C; the last one says that no call may reach the library any more. */
#define ASCEND_RT_RAISED 2130706432
#define ASCEND_RT_REFUSED 2147483647

/* Address of the only ascend_rt_shared. */
const void *ascend_rt_shared_parts(void);
/* Opens a library and fills the slots that are still empty; returns 0, or -1 with the dynamic loader's text in error.
 */
int ascend_rt_open(const char *path, char *error, size_t error_size);
/* Opens a library that passes calls on to the opened ones: its functions replace theirs, and its control functions are
 * added. Returns the same. */
int ascend_rt_wrap(const char *path, char *error, size_t error_size);
/* Forgets the functions of the libraries, which stay open. */
void ascend_rt_forget(void);
/* Lets all slots refuse calls from now on. Calls with a time limit still reach the library, until it is forgotten. */
void ascend_rt_refuse_calls(void);
/* Address of the slot of a function, where callers find it; NULL if there is none of that name. */
void **ascend_rt_place_of(const char *name);
/* Puts another function into a slot, unless that has been changed from what is expected. */
void ascend_rt_exchange(void **place, void *expected, void *function);
/* Path of the library of that file name that is in the process already, or NULL. */
const char *ascend_rt_loaded_path(const char *name);
/* Returns true if that library has a symbol. */
int ascend_rt_loaded_has(const char *name, const char *symbol);
size_t ascend_rt_symbol_count(void);
const char *ascend_rt_symbol_name(size_t index);
int ascend_rt_symbol_present(size_t index);
/* Path of the library that a function was found in, which may be one that the opened library needs; NULL if absent. */
const char *ascend_rt_symbol_library(size_t index);
/* Destructor of capsules: calls the function that is the capsule's context with the capsule. A capsule may die while an
 * exception is on its way, which has to be put aside before Python code may run. */
void ascend_rt_discard_capsule(void *capsule);
/* Does nothing: the floor for the cost of a call into C. */
aclError ascend_rt_no_op(void *first, void *second);

/* An item of a dataset: a tensor, or a mark without data. */
typedef struct ascend_rt_item {
    int32_t type; /* acltdtTensorType */
    int32_t data_type;
    size_t dimensions;
    const int64_t *shape;
    void *data;
    size_t size;
} ascend_rt_item;

/* Creates a queue; its number is written to queue[0] as a handle. */
int ascend_rt_create_queue(const void *attributes, void **queue);
int ascend_rt_destroy_queue(void *queue);
/* Creates a channel in channel[0]; returns ACL_ERROR_FAILURE if that fails, because the function itself has no code. */
int ascend_rt_create_channel(uint32_t device, const char *name, size_t capacity, void **channel);
/* Sends items as a dataset, which exists only during the call. */
int ascend_rt_send(void *channel, const ascend_rt_item *items, size_t count, int32_t timeout_ms);
/* Receives a new dataset[0]; keeps NULL there if that fails. */
int ascend_rt_receive(void *channel, int32_t timeout_ms, void **dataset);
/* Describes an item of a dataset, with its shape in an array of 128 numbers, the most that an item has. */
void ascend_rt_describe(void *dataset, size_t index, int64_t *shape, ascend_rt_item *item);
/* Destroys dataset[0] if there is one. */
void ascend_rt_discard_dataset(void **dataset);

/* Queries without an output that Python would have to allocate: the status, or the negative code of a failure. */
int ascend_rt_event_status(void *event);
int ascend_rt_stream_status(void *stream);
/* The handle of the graph that a stream is being captured into, or 0. */
uint64_t ascend_rt_captured_graph(void *stream);

/* A task that has failed, as the runtime reports it to exception callbacks. */
typedef struct ascend_rt_failed_task {
    uint64_t number; /* counts the failures of this process, from 1 */
    uint32_t task;   /* the runtime's numbers; UINT32_MAX where the whole device failed */
    uint32_t stream;
    uint32_t thread; /* the one that submitted it */
    uint32_t device;
    uint32_t code;
    char kernel[256]; /* the name of its function; "" for other tasks, or if the library does not report it */
} ascend_rt_failed_task;

/* The exception callback that notes failed tasks: the newest ones. */
extern const aclrtExceptionInfoCallback ascend_rt_exception_entry;
/* How many have failed so far. */
uint64_t ascend_rt_failed_task_count(void);
/* The newest one of a stream of a device with a number above that one; UINT32_MAX: any device, or any stream. Returns
 * whether there is one. */
int ascend_rt_find_failed_task(uint64_t above, uint32_t device, uint32_t stream, ascend_rt_failed_task *found);
/* For a thread that listens: waits until there is a failure with a number above that one, and finds the oldest that is
 * still kept. Returns whether there is one up to the end: UINT64_MAX until ascend_rt_end_listening() sets it. */
int ascend_rt_await_failed_task(uint64_t above, const uint64_t *end, ascend_rt_failed_task *found);
/* Lets the listener with that end hear what has failed so far, and no more. */
void ascend_rt_end_listening(uint64_t *end);

/* The report of a failed task that a synchronization has received, kept until it is raised, or until it turns out to
 * concern something else: the runtime reports a failure once. Threads that synchronize the same object share it. */
typedef struct ascend_rt_report {
    int32_t code; /* 0: there is none */
    char *text;   /* the runtime's for it; NULL: none */
} ascend_rt_report;

/* Waits that Ctrl-C can end. Python handles signals in its main thread, between two instructions: there a wait that
 * would take long answers -1, for another thread to make the call. In other threads these are the C functions, except
 * that a wait for a device keeps no other thread from using streams for long. A limit of -1 is none. A failure is noted
 * in the report before Python may run a signal handler, whose exception would replace the code. */
void ascend_rt_prepare_waits(uint64_t main_thread, bool is_simulated);
int ascend_rt_synchronize_device(int32_t timeout_ms, ascend_rt_report *report);
int ascend_rt_synchronize_event(void *event, int32_t timeout_ms);
int ascend_rt_synchronize_stream(void *stream, int32_t timeout_ms, ascend_rt_report *report);
/* The calls that another thread makes then, in that context. Return -2 soon after *is_left was set. */
int ascend_rt_wait_for_device(void *context, int32_t timeout_ms, const int32_t *is_left, ascend_rt_report *report);
int ascend_rt_wait_for_event(void *context, void *event, int32_t timeout_ms, const int32_t *is_left);
int ascend_rt_wait_for_stream(void *context, void *stream, int32_t timeout_ms, const int32_t *is_left,
                              ascend_rt_report *report);
/* Returns when no wait that was left uses the object any more, which may be destroyed then; NULL: any object. */
void ascend_rt_await_left(void *object);
/* Lets the process end without the destructors of the vendor's library: they delete objects that threads of the program
 * may be using inside a call. Its status and what C has buffered are kept. */
void ascend_rt_skip_destructors(void);

/* The functions of an allocator that is written in Python; a block is the address of its memory. While the gate is
 * closed nothing is allocated, and what is freed stays where it is. */
extern const aclrtAllocatorAllocFunc ascend_rt_allocate_entry;
extern const aclrtAllocatorAllocAdviseFunc ascend_rt_allocate_near_entry;
extern const aclrtAllocatorFreeFunc ascend_rt_free_entry;
extern const aclrtAllocatorGetAddrFromBlockFunc ascend_rt_address_entry;
/* Places of calls (call_frames.c). */
void ascend_rt_set_libraries(const char *own, const char *of_python);
extern const aclsimCaptureFrames ascend_rt_capture_frames_entry;
extern const aclsimNameFrame ascend_rt_name_frame_entry;
/* Names the threads of Python to the simulator's search for deadlocks; while the gate is closed they are not known. */
extern const aclsimThreadProvider ascend_rt_threads_entry;
/* Describes a thread of Python for a report of a deadlock. */
extern const aclsimThreadDescriber ascend_rt_describer_entry;
/* Returns true if Ctrl-C was pressed; asked by the main thread while it waits for a place in a full queue. */
extern const aclsimInterruptCheck ascend_rt_interrupt_entry;
/* The functions of a kernel of the simulator that is written in Python. While the gate is closed its blocks fail. */
extern const aclsimKernelFunction ascend_rt_kernel_entry;
extern const aclsimReleaseFunction ascend_rt_release_entry;
/* Called by the destruction of a graph, with the graph. */
extern const aclrtCallback ascend_rt_graph_destroyed_entry;
/* Closes the gate and waits for the callbacks that are inside; returns how many still are at the time limit. */
int ascend_rt_close_gate(int32_t timeout_ms);
void ascend_rt_open_gate(void);
/* For a forked child: makes the mutexes of the module free, and forgets the threads that only the parent has. */
void ascend_rt_renew_locks(void);

/* For the end of the interpreter: makes one of the calls that give the runtime back, each on the same other thread, and
 * waits for it no longer than the limit. Returns its code, with the runtime's text for a failure, or -1 if it has not
 * returned by then; no further call is made after that. The argument is the number of a device, the address of a
 * context or a number of milliseconds. */
int ascend_rt_call_within(int32_t limit_ms, const char *function, uint64_t argument, char *text, size_t text_size);
