/* SPDX-License-Identifier: Apache-2.0 */
/* Short paths: hot methods. A method is declared and documented in Python, and its body is here; it takes the place of
 * the declaration (install_short_paths). It parses the arguments that are declared, by position and by name, and makes
 * the call through the table of ascend_rt._aclrt without the GIL. What is rare is in small functions in Python: time
 * limits that are no plain numbers, finding the current stream, the error for a code. A function that the library
 * lacks, or that must not be called any more, answers with a code, too.
 *
 * Each kind of object has its file; _short_paths.c installs the paths. */
#pragma once

#include "_handles.h"

extern const ascend_rt_shared *shared; /* the table of ascend_rt._aclrt */

extern PyTypeObject *plain_event;  /* ascend_rt.Event */
extern PyTypeObject *plain_stream; /* ascend_rt.Stream */

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
    POOL_MALLOC,
    POOL_FREE,
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

typedef struct short_path {
    const char *name;
    PyCFunction call; /* NULL: a property */
    getter get;
    PyObject *declared;
    signature of;
} short_path;

#define METHOD(name) (PyCFunction)(void (*)(void)) name

/* Those of a class, which has the fields that they use. */
typedef struct short_paths {
    PyTypeObject **type;
    short_path *paths;
    size_t count;
    bool (*connect)(PyObject *class); /* finds what they need of modules that need this one; NULL: nothing */
} short_paths;

extern const short_paths event_paths, stream_paths, in_flight_paths, graph_paths, buffer_paths, pool_paths,
    pool_buffer_paths, kernel_paths, pinned_paths, copy_functions;

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

/* A new reference to the current stream. */
PyObject *current_stream(void);
/* A new reference to what stands for a stream in an argument that is none; or with an exception. */
PyObject *stream_of_argument(PyObject *given);

/* A new reference to the stream that was given, or to the current one; or with an exception. */
static inline PyObject *given_or_current(PyObject *given) {
    return is_none(given) ? current_stream() : is_stream(given) ? Py_NewRef(given) : stream_of_argument(given);
}

/* Returns true if an object is open; otherwise with an exception. */
static inline bool is_usable(void *object) { return has_pointer(object) || handle_refuse(object) != NULL; }

/* Returns true if the runtime is initialised, which is done first if necessary; otherwise with an exception. */
bool initialize(void);

/* Calls a function of the package that is rarely needed; the format is that of Py_BuildValue() for a tuple. */
PyObject *call_rare(const char *module, const char *name, const char *format, ...);

/* Adds the functions by which Python makes current streams known. */
bool current_streams_add(PyObject *module);

PyObject *tuple_of(arguments args, Py_ssize_t count);

/* Raises the error of a wrong call, which is that of the declaration in Python. */
PyObject *refuse_call(const short_path *path, PyObject *self, arguments args, Py_ssize_t count, PyObject *names);

/* Calls what a path is in the place of; a function has no self. */
PyObject *call_declared(const short_path *path, PyObject *self, arguments args, Py_ssize_t count, PyObject *names);

/* Adds the type Place. */
bool places_add(PyObject *module);

/* Add what the short paths need that are of these. */
bool copies_add(PyObject *module);
bool kernels_add(PyObject *module);

/* What several paths do. */

typedef struct submission {
    aclError code;
    bool is_captured; /* the stream, and nothing was called: submit_to_graph() does */
    bool begins_capture;
} submission;

/* Makes a call, without the GIL, that submits a task to a stream. One that uses nothing need not look for captures. */
#define SUBMIT(result, on, looks, call)                                           \
    do {                                                                          \
        (result) = (submission){ACL_SUCCESS, false, false};                       \
        Py_BEGIN_ALLOW_THREADS;                                                   \
        (result).is_captured = (looks) && shared->captured_graph(on) != 0;        \
        if (!(result).is_captured) {                                              \
            (result).code = (call);                                               \
            (result).begins_capture = (looks) && shared->captured_graph(on) != 0; \
        }                                                                         \
        Py_END_ALLOW_THREADS;                                                     \
    } while (0)

/* Returns true for the code of an exception, which a function in Python has raised in the place of the C function: the
 * call may have been made. */
static inline bool is_raised(aclError code) { return code >= ASCEND_RT_RAISED && code < ASCEND_RT_REFUSED; }

/* Ends a call that was made, and keeps what the task uses; the second may be NULL. */
PyObject *submitted(submission made, int place, PyObject *stream_, PyObject *first, PyObject *second);
/* Makes the call by a method in Python, which makes the task one of the graph that the stream is being captured into.
 * The format is that of Py_BuildValue() for the tuple of the arguments. */
PyObject *submit_to_graph(PyObject *stream_, int place, PyObject *first, PyObject *second, const char *format, ...);

/* Whether nothing has to be asked about failures of a work, which is a field of an object. If the library tells of no
 * failure, only a synchronization of the stream finds out: who has made one need not ask. */
static inline bool has_no_failure(void *owner, PyObject *const *field, bool is_synchronized) {
    bool has_none = false;
    (void)owner;
    BEGIN_LOCKED(owner);
    const work *found = (const work *)*field;
    has_none = is_none(*field) ||
               ((is_synchronized || !LOAD(found->must_ask)) && LOAD(found->seen) == atomic_load(shared->failed_tasks));
    END_LOCKED();
    return has_none;
}

/* What may make a stream complete although it has not waited for what it should: failures and aborts so far. */
static inline uint64_t disruptions(uint64_t aborts) {
    return aborts != UNKNOWN ? atomic_load(shared->failed_tasks) + atomic_load(shared->reports) + aborts : UNKNOWN;
}

/* Lets Python warn if an object that is discarded could not be destroyed. */
void warn_of_discarded(handle *self, aclError code, const char *function);
/* Frees memory of a pool that is discarded; returns false if Python has to. */
bool discard_pool_buffer(handle *freed);

/* Home of a new object as a new reference, or NULL: its context, as for memory, or only its device. */
enum living { IN_CONTEXT, ON_DEVICE };
PyObject *home_of_new(enum living living);

/* Closes an object, by a function that takes its handle if it owns one; if that fails, it stays open. */
PyObject *destroy(handle *self, int place);

/* A new event, as Event() makes it. */
PyObject *new_event(void);

/* Returns whether the event is recorded; otherwise with an exception. */
bool record(event *self, stream *on);

/* Keeps what a task uses that was submitted to a stream; the second may be NULL. If another thread has begun a capture
 * meanwhile, nobody knows whether the task is in it, and the graph keeps it too. */
bool keep_used(in_flight *self, bool begins_capture, PyObject *first, PyObject *second);

/* Keeps the batch that was open before the record of an event for which a stream waits: it may be complete with the
 * stream's work. The number of disruptions before the wait is given. */
bool keep_waited_for(in_flight *self, PyObject *waited_for, PyObject *before, uint64_t disruptions);

/* Releases a batch whose tasks have completed, and all before it; any thread may, and again. Or nothing: None, NULL.
 *
 * A wait may have ended without the record that it was for, and its failure may become known later than the completion.
 * So what another stream has used is released if a synchronization of this one, which reports failures, proves the wait
 * (is_synchronized), or if the event itself is complete. Otherwise it is asked for again with the next release. */
bool release(PyObject *ended, bool is_synchronized);
/* Functions of the module. */
PyObject *release_complete(PyObject *module, PyObject *ended);
PyObject *release_synchronized(PyObject *module, PyObject *ended);
PyObject *disruptions_so_far(PyObject *module, PyObject *unused);
