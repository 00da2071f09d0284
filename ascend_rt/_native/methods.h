/* SPDX-License-Identifier: Apache-2.0 */
/* Hot methods. A method is declared and documented in Python, and its body is here; it replaces the
 * declaration (install_hot_methods). It parses the arguments that are declared, by position and by name, and makes
 * the call through the table of ascend_rt._aclrt without the GIL. Rare cases are in small functions in Python: time
 * limits that are not plain numbers, finding the current stream, the error for a code. A function that the library
 * lacks, or that must not be called any more, answers with a code, too.
 *
 * Each kind of object has its file; methods.c installs the paths. */
#pragma once

#include "handles.h"

extern const ascend_rt_shared *shared; /* the table of ascend_rt._aclrt */

extern PyTypeObject *plain_event;  /* ascend_rt.Event */
extern PyTypeObject *plain_stream; /* ascend_rt.Stream */

/* Around calls without the GIL. The first of them is at the place in the program that Python is at now. */
#define BEGIN_CALLS                                                   \
    {                                                                 \
        const bool wants_frames_ = atomic_load(shared->wants_frames); \
        if (__builtin_expect(wants_frames_, 0)) {                     \
            shared->note_frames();                                    \
        }                                                             \
        Py_BEGIN_ALLOW_THREADS
#define END_CALLS                             \
    Py_END_ALLOW_THREADS;                     \
    if (__builtin_expect(wants_frames_, 0)) { \
        shared->forget_frames();              \
    }                                         \
    }

/* Functions of the table. */

enum {
    CREATE,
    DESTROY,
    RECORD,
    WAIT,
    WAIT_WITHIN,
    QUERY_EVENT,
    QUERY_STREAM,
    SYNCHRONIZE_EVENT,
    SYNCHRONIZE_STREAM,
    EXECUTE,
    COPY,
    FILL,
    FILL_WORDS,
    LAUNCH,
    MALLOC,
    FREE,
    LAUNCH_KERNEL,
    WANTS_ACCESSES,
    ASK_QUIETLY,
    POOL_MALLOC,
    POOL_FREE,
    CREATE_STREAM,
    DESTROY_STREAM,
    DESTROY_STREAM_FORCE,
    CAPTURE_BEGIN,
    CAPTURE_END,
    DESTROY_GRAPH,
    GET_DEVICE,
    GET_CONTEXT,
    GET_DEFAULT_STREAM,
    RECENT_MESSAGE,
    SET_CONTEXT,
    FUNCTIONS,
};

typedef struct function {
    const char *name;
    const ascend_rt_slot *slot;
} function;

extern function functions[FUNCTIONS];

#define FUNCTION(name, place) (*(__typeof__(name) **)functions[place].slot->pointer)

/* Raises the exception for a code. */
PyObject *fail(int code, const char *function);

static inline bool is_event(PyObject *object) {
    return Py_TYPE(object) == plain_event || PyType_IsSubtype(Py_TYPE(object), event_type);
}

static inline bool is_stream(PyObject *object) {
    return Py_TYPE(object) == plain_stream || PyType_IsSubtype(Py_TYPE(object), stream_type);
}

static inline bool is_buffer(PyObject *object) {
    return Py_TYPE(object) == plain_buffer || PyType_IsSubtype(Py_TYPE(object), buffer_type);
}

/* Paths. */

enum { MOST_PARAMETERS = 6 };

/* The parameters of a method without self, or of a function, as its definition in Python declares them. */
typedef struct signature {
    int count;
    int required;                    /* must be given */
    int positional, only_positional; /* may be given by position, and only so */
    PyObject *names[MOST_PARAMETERS];
} signature;

typedef struct hot_method {
    const char *name;
    PyCFunction call; /* NULL: a property */
    getter get;
    PyObject *declared;
    signature of;
} hot_method;

#define METHOD(name) (PyCFunction)(void (*)(void)) name

/* Hot methods of a class, which has the fields that they use. */
typedef struct hot_methods {
    PyTypeObject **type;
    hot_method *paths;
    size_t count;
    bool (*connect)(PyObject *class); /* finds what they need of modules that need this one; NULL: nothing */
} hot_methods;

extern const hot_methods event_paths, stream_paths, graph_paths, buffer_paths, pool_paths, pool_buffer_paths,
    kernel_paths, pinned_paths, copy_functions;

typedef PyObject *const *arguments;

/* Puts the arguments that were given by name into the places of their parameters. */
bool parse_names(const signature *of, PyObject **values, arguments args, PyObject *names);

/* Puts each argument into the place of its parameter; those that are not given stay NULL. The references are borrowed.
 * Returns false, without an exception, for a wrong call. */
static inline bool parse(const signature *of, PyObject **values, arguments args, Py_ssize_t count, PyObject *names) {
    if (count > of->positional) {
        return false;
    }
    for (Py_ssize_t i = 0; i < count; ++i) {
        values[i] = args[i];
        __asm__ volatile(""); /* one or two are not worth vectors */
    }
    if (names != NULL && !parse_names(of, values, args + count, names)) {
        return false;
    }
    for (Py_ssize_t i = count; i < of->required; ++i) {
        if (values[i] == NULL) {
            return false;
        }
    }
    return true;
}

enum { FOR_EVER = -1, SECONDS = 1, MILLISECONDS_PER_SECOND = 1000 };

/* Finds a time limit in whole units, rounded up; otherwise with an exception. */
bool find_finite_limit(PyObject *timeout, int units_per_second, int32_t *limit);

/* The same, or FOR_EVER if there is none. */
static inline bool find_limit(PyObject *timeout, int units_per_second, int32_t *limit) {
    *limit = FOR_EVER;
    return is_none(timeout) || find_finite_limit(timeout, units_per_second, limit);
}

/* Finds a size, which a function of ascend_rt.memory checks unless it is a plain integer, and positive; otherwise with
 * an exception, which has that text if C cannot take the size. */
bool find_size(PyObject *given, const char *check_function, const char *too_big, size_t *nbytes);

/* How a stream was chosen: by an argument, by a block, or as the default of the thread's context. */
enum chosen_by { BY_CALLER, BY_BLOCK, BY_CONTEXT };

/* A new reference to the stream that is current, unless the thread has another context than at the last call without a
 * stream; NULL: unknown, or with an exception. Asks the runtime nothing. */
PyObject *likely_current_stream(enum chosen_by *by);

/* Returns true if the stream is current for the thread, which asks without the GIL. */
static inline bool is_current(const stream *likely, void *pointer, enum chosen_by by) {
    void *found = NULL;
    if (by == BY_BLOCK) {
        return FUNCTION(aclrtGetCurrentContext, GET_CONTEXT)(&found) == ACL_SUCCESS &&
               (likely->context == 0 || likely->context == (uintptr_t)found);
    }
    return by == BY_CALLER ||
           (FUNCTION(aclrtCtxGetCurrentDefaultStream, GET_DEFAULT_STREAM)(&found) == ACL_SUCCESS && found == pointer);
}

/* A new reference to the current stream. */
PyObject *current_stream(void);
/* A new reference to the stream that an argument of another type means; or NULL with an exception. */
PyObject *stream_of_argument(PyObject *given);

/* A new reference to the stream that was given, or to the current one; or with an exception. */
static inline PyObject *given_or_current(PyObject *given) {
    return is_none(given) ? current_stream() : is_stream(given) ? Py_NewRef(given) : stream_of_argument(given);
}

/* Returns true if an object is open; otherwise with an exception. */
static inline bool is_usable(void *object) { return has_pointer(object) || handle_refuse(object) != NULL; }

/* Returns true if the runtime is initialised, which is done first if necessary; otherwise with an exception. */
bool initialize(void);

/* Closes objects that were discarded before and whose work is done; returns false with an exception. */
bool close_deferred(void);

/* Calls a function of the package that is rarely needed; the format is that of Py_BuildValue() for a tuple. */
PyObject *call_rare(const char *module, const char *name, const char *format, ...);

/* Adds the functions by which Python makes current streams known. */
bool current_streams_add(PyObject *module);
/* Frees the locks in a forked child. */
void current_streams_renew_locks(void);

/* Raises the error of a wrong call, which is that of the declaration in Python. */
PyObject *refuse_call(const hot_method *path, PyObject *self, arguments args, Py_ssize_t count, PyObject *names);

/* Add the types Place, Block and Capture. */
bool places_add(PyObject *module);
bool blocks_add(PyObject *module);
bool captures_add(PyObject *module);

/* A block that captures a stream, in a mode or NULL. */
PyObject *new_capture(PyObject *stream, PyObject *mode);

/* Add what the hot methods need that are of these. */
bool copies_add(PyObject *module);
bool kernels_add(PyObject *module);

/* An exception that is put aside while something must be done. */
typedef struct raised {
    PyObject *type, *value, *traceback;
} raised;

raised put_aside(void);
/* An exception that was raised meanwhile gets it as its context. */
void bring_back(raised before);

/* Shared by several methods. */

/* A call that submits a task to a stream, and what keeps the objects that the task uses: the stream, or, if that is
 * being captured, the graph, which has them before the call. */
typedef struct submission {
    aclError code;
    bool is_made;     /* otherwise with an exception */
    PyObject *before; /* the batch of the graph that was being captured before; NULL: none was */
    uint64_t graph;   /* that was being captured afterwards; 0: none was */
} submission;

/* Makes the call without the GIL. A first object that is NULL: the task uses nothing; the second may be NULL. */
#define SUBMIT(made, on, first, second, call)                                            \
    do {                                                                                 \
        (made) = (submission){.is_made = true};                                          \
        BEGIN_CALLS;                                                                     \
        (made).graph = (first) != NULL ? shared->captured_graph(on) : 0;                 \
        if ((made).graph == 0) {                                                         \
            (made).code = (call);                                                        \
            (made).graph = (first) != NULL ? shared->captured_graph(on) : 0;             \
        } else {                                                                         \
            (made).is_made = false;                                                      \
        }                                                                                \
        END_CALLS;                                                                       \
        if (!(made).is_made && submission_begin(&(made), (made).graph, first, second)) { \
            BEGIN_CALLS;                                                                 \
            (made).code = (call);                                                        \
            (made).graph = shared->captured_graph(on);                                   \
            END_CALLS;                                                                   \
        }                                                                                \
    } while (0)

/* Returns true for the code of an exception, which a function in Python has raised instead of the C function: the
 * call may have been made. */
static inline bool is_raised(aclError code) { return code >= ASCEND_RT_RAISED && code < ASCEND_RT_REFUSED; }

/* Before the call, if a graph is being captured: the graph keeps what the task uses. */
bool submission_begin(submission *made, uint64_t graph, PyObject *first, PyObject *second);

/* After the call: finds whether the graph is sure to have the task. If another thread has begun or ended a capture
 * meanwhile, that is not known: then the newest graph keeps what it uses, and the stream must, too. */
bool submission_is_of_graph(const submission *made, PyObject *first, PyObject *second, bool *is_of_graph);

/* Returns true if the task may have been submitted. */
static inline bool may_be_pending(const submission *made) { return made->code == ACL_SUCCESS || is_raised(made->code); }

/* Ends it: None, when what the task uses is kept, or NULL with an exception. */
PyObject *submission_end(submission *made, int place, retention *self, PyObject *first, PyObject *second);

/* Returns true if nothing has to be asked about failures of an error window, which is a field of an object. If the
 * library reports no failure, only a synchronization of the stream finds out: after one, nothing is asked. */
static inline bool has_no_failure(void *owner, PyObject *const *field, bool is_synchronized) {
    bool has_none = false;
    (void)owner;
    BEGIN_LOCKED(owner);
    const error_window *found = (const error_window *)*field;
    has_none = is_none(*field) || ((is_synchronized || !LOAD(found->needs_polling)) &&
                                   LOAD(found->seen) == atomic_load(shared->failed_tasks));
    END_LOCKED();
    return has_none;
}

/* Failures and aborts so far: each may complete a stream that has not waited as it should. */
static inline uint64_t abort_or_failure_epoch(uint64_t aborts) {
    return aborts != UNKNOWN ? atomic_load(shared->failed_tasks) + atomic_load(shared->reports) + aborts : UNKNOWN;
}

/* The same of all that a retention knows of, after a synchronization. */
static inline bool has_reported_nothing(retention *kept) {
    return LOAD(kept->failures->report.code) == ACL_SUCCESS && has_no_failure(kept, &kept->window, true);
}

/* Lets Python warn if an object that is discarded could not be destroyed. */
void warn_of_discarded(handle *self, aclError code, const char *function);
/* Frees memory of a pool that is discarded; returns false if Python has to. */
bool discard_pool_buffer(handle *freed);

/* Owner of a new object as a new reference, or NULL: its context, as for memory, or only its device. */
enum living { IN_CONTEXT, ON_DEVICE };
PyObject *owner_of_new(enum living living);

/* The same of a new stream in a context. */
PyObject *owner_of_stream(void *context);

/* Closes an object, by a function that takes its handle if it owns one; if that fails, it stays open. */
PyObject *destroy(handle *self, int place);

/* A new event, as Event() makes it. */
PyObject *new_event(void);

/* Records an event on a stream, if that is current or was chosen by the caller; a failure has an exception. */
enum recording { RECORDED, RECORD_FAILED, NOT_CURRENT };
enum recording record(event *self, stream *on, enum chosen_by by);

/* Keeps the batch that was open before the record of an event for which a stream waits: it may be complete with the
 * stream's work. The epoch before the wait is given. */
bool retain_across_wait(retention *self, PyObject *waited_for, PyObject *before, uint64_t epoch);

/* Releases a batch whose tasks have completed, and all before it; any thread may, and again. Or nothing: None, NULL.
 *
 * A wait may have ended without the record that it was for, and its failure may become known later than the completion.
 * So what another stream has used is released if a synchronization of this one, which reports failures, proves the wait
 * (is_synchronized), or if the event itself is complete. Otherwise it is asked for again with the next release. */
bool release(PyObject *ended, bool is_synchronized);
/* Functions of the module. */
PyObject *release_complete(PyObject *module, PyObject *ended);
PyObject *release_synchronized(PyObject *module, PyObject *ended);
PyObject *epoch_now(PyObject *module, PyObject *unused);
PyObject *note_graphs(PyObject *module, PyObject *batches);
