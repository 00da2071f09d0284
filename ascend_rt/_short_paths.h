/* SPDX-License-Identifier: Apache-2.0 */
/* Short paths of hot methods. Every method is written in Python, where it is complete and documented. A short path
 * stands in front of it (install_short_paths): it makes the call through the table of ascend_rt._aclrt, without the
 * GIL, if there is nothing to do but the call, and leaves everything else to the method in Python: other arguments,
 * closed objects, functions that the library lacks or that somebody has replaced, loading, fork and exit.
 *
 * Each kind of object has a file of its own; _short_paths.c puts them in front of the methods. */
#pragma once

#include "_handles.h"

extern const ascend_rt_shared *shared; /* the table of ascend_rt._aclrt */

extern PyTypeObject *plain_event;  /* ascend_rt.Event */
extern PyTypeObject *plain_stream; /* ascend_rt.Stream */
extern PyTypeObject *plain_buffer; /* ascend_rt.Buffer */

/* Functions of the table. */

enum {
    CREATE,
    DESTROY,
    RECORD,
    WAIT,
    QUERY_EVENT,
    QUERY_STREAM,
    SYNCHRONIZE_EVENT,
    SYNCHRONIZE_STREAM,
    EXECUTE,
    COPY,
    FILL,
    LAUNCH,
    MALLOC,
    FREE,
    GET_DEVICE,
    GET_CONTEXT,
    SET_CONTEXT,
    GET_MESSAGE,
    FUNCTIONS,
};

typedef struct function {
    const char *name;
    const ascend_rt_slot *slot;
} function;

extern function functions[FUNCTIONS];

#define FUNCTION(name, place) (*(__typeof__(name) **)functions[place].slot->pointer)

/* Whether a function may be called past Python. */
static inline bool is_direct(int place) { return atomic_load(&shared->is_direct) && functions[place].slot->present; }

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

typedef struct short_path {
    const char *name;
    const char *parameters; /* as inspect.signature() reads them; NULL: a property */
    PyCFunction call;
    getter get;
    PyObject *in_python;
} short_path;

#define METHOD(name) (PyCFunction)(void (*)(void)) name

/* Those of a class, which has the fields that they use. */
typedef struct short_paths {
    PyTypeObject **type;
    short_path *paths;
    size_t count;
    bool (*connect)(PyObject *class); /* finds what they need of modules that need this one; NULL: nothing */
} short_paths;

extern const short_paths event_paths, stream_paths, in_flight_paths, graph_paths, buffer_paths;

typedef PyObject *const *arguments;

PyObject *tuple_of(arguments args, Py_ssize_t count);

/* Of a function, which has no self, too. */
PyObject *call_python(const short_path *path, PyObject *self, arguments args, Py_ssize_t count, PyObject *names);
PyObject *get_in_python(const short_path *path, PyObject *self);

/* Returns the short path of a function. */
PyObject *short_function(short_path *path, PyObject *function);

/* Adds the type Place. */
bool places_add(PyObject *module);

/* Adds what the short paths of copies and fills need. */
bool copies_add(PyObject *module);

/* What several paths do. */

typedef struct submission {
    aclError code;
    bool is_captured; /* the stream, and nothing was called: Python makes the task one of the graph */
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
    return aborts != UNKNOWN ? atomic_load(shared->failed_tasks) + aborts : UNKNOWN;
}

/* Home of a new object as a new reference, or NULL: its context, as for memory, or only its device. */
enum living { IN_CONTEXT, ON_DEVICE };
PyObject *home_of_new(enum living living);

/* Closes an object by a function that takes its handle; if that fails, it stays open. */
PyObject *destroy(handle *self, int place);

bool can_record(PyObject *event, PyObject *stream);
/* Returns whether the event is recorded; otherwise with an exception. */
bool record(event *self, stream *on);

/* Keeps what a task uses that was submitted to a stream; the second may be NULL. If another thread has begun a capture
 * meanwhile, nobody knows whether the task is in it, and the graph keeps it too. */
bool keep_used(in_flight *self, bool begins_capture, PyObject *first, PyObject *second);

/* Keeps the batch that was open before the record for which a stream waits. That is complete with the stream's work,
 * unless there were disruptions since the wait was submitted; how many there were before is given. */
bool keep_waited_for(in_flight *self, PyObject *before, uint64_t disruptions);

/* Releases a batch whose tasks have completed, and all before it; any thread may, and again. Or nothing: None, NULL. */
bool release(PyObject *ended);
/* Functions of the module. */
PyObject *release_batch(PyObject *module, PyObject *ended);
PyObject *disruptions_so_far(PyObject *module, PyObject *unused);
