/* SPDX-License-Identifier: Apache-2.0 */
/* Short paths of hot methods. Every method is written in Python, where it is complete and documented. A short path
 * stands in front of it (install_short_paths): it makes the call through the table of ascend_rt._aclrt, without the
 * GIL, if there is nothing to do but the call, and leaves everything else to the method in Python: other arguments,
 * closed objects, functions that the library lacks or that somebody has replaced, loading, fork and exit. */
#include "_handles.h"
#include "_host_functions.h"

static const ascend_rt_shared *shared; /* the table of ascend_rt._aclrt */

/* Of Python, found when this module is imported, or with the first class that has short paths. */
static PyObject *check;            /* ascend_rt._driver.check */
static PyObject *ascend_error;     /* ascend_rt.errors.AscendError */
static PyObject *untold;           /* ascend_rt._failures.untold */
static PyObject *lifecycle;        /* the dictionary of ascend_rt._lifecycle */
static PyObject *usual_home;       /* "usual_home" */
static PyObject *span_name;        /* "_span" */
static PyObject *home_of_new;      /* ascend_rt.context.home */
static PyObject *allocate_again;   /* ascend_rt._in_flight.allocate_again */
static PyObject *release;          /* ascend_rt._in_flight.release */
static PyTypeObject *plain_event;  /* ascend_rt.Event */
static PyTypeObject *plain_stream; /* ascend_rt.Stream */
static PyTypeObject *plain_buffer; /* ascend_rt.Buffer */
static PyTypeObject *plain_pinned; /* ascend_rt.PinnedBuffer */

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
    LAUNCH,
    MALLOC,
    FREE,
    FUNCTIONS,
};

static struct {
    const char *name;
    const ascend_rt_slot *slot;
} functions[FUNCTIONS] = {
    [CREATE] = {"aclrtCreateEventExWithFlag", NULL},
    [DESTROY] = {"aclrtDestroyEvent", NULL},
    [RECORD] = {"aclrtRecordEvent", NULL},
    [WAIT] = {"aclrtStreamWaitEvent", NULL},
    [QUERY_EVENT] = {"aclrtQueryEventStatus", NULL},
    [QUERY_STREAM] = {"aclrtStreamQuery", NULL},
    [SYNCHRONIZE_EVENT] = {"aclrtSynchronizeEvent", NULL},
    [SYNCHRONIZE_STREAM] = {"aclrtSynchronizeStream", NULL},
    [EXECUTE] = {"aclmdlRIExecuteAsync", NULL},
    [COPY] = {"aclrtMemcpyAsync", NULL},
    [LAUNCH] = {"aclrtLaunchHostFunc", NULL},
    [MALLOC] = {"aclrtMalloc", NULL},
    [FREE] = {"aclrtFree", NULL},
};

#define FUNCTION(name, place) (*(__typeof__(name) **)functions[place].slot->pointer)

/* Whether a function may be called past Python. */
static inline bool is_direct(int place) { return atomic_load(&shared->is_direct) && functions[place].slot->present; }

/* Raises the exception for a code. */
static PyObject *fail(int code, const char *function) {
    PyObject *result = PyObject_CallFunction(check, "is", code, function);
    Py_XDECREF(result);
    return NULL;
}

static inline bool is_event(PyObject *object) {
    return Py_TYPE(object) == plain_event || PyType_IsSubtype(Py_TYPE(object), event_type);
}

static inline bool is_stream(PyObject *object) {
    return Py_TYPE(object) == plain_stream || PyType_IsSubtype(Py_TYPE(object), stream_type);
}

typedef struct short_path {
    PyTypeObject **type; /* that has the fields it uses */
    const char *name;
    const char *parameters; /* as inspect.signature() reads them; NULL: a property */
    PyCFunction call;
    getter get;
    PyObject *in_python;
} short_path;

enum {
    EVENT_INIT,
    EVENT_CLOSE,
    EVENT_RECORD,
    EVENT_IS_DONE,
    EVENT_SYNCHRONIZE,
    STREAM_RECORD,
    STREAM_WAIT,
    STREAM_IS_DONE,
    STREAM_SYNCHRONIZE,
    STREAM_LAUNCH,
    IN_FLIGHT_KEEP,
    GRAPH_LAUNCH,
    BUFFER_INIT,
    BUFFER_CLOSE,
    COPY_ASYNC,
    SHORT_PATHS,
};

static short_path short_paths[SHORT_PATHS];

typedef PyObject *const *arguments;

static PyObject *tuple_of(arguments args, Py_ssize_t count) {
    PyObject *tuple = PyTuple_New(count);
    for (Py_ssize_t i = 0; i < count && tuple != NULL; ++i) {
        PyTuple_SetItem(tuple, i, Py_NewRef(args[i]));
    }
    return tuple;
}

/* Without self it is a function. */
static PyObject *call_python(int path, PyObject *self, arguments args, Py_ssize_t count, PyObject *names) {
    const Py_ssize_t named = names != NULL ? PyTuple_Size(names) : 0, first = self != NULL;
    PyObject *tuple = PyTuple_New(first + count);
    PyObject *dictionary = tuple != NULL && named > 0 ? PyDict_New() : NULL;
    bool is_complete = tuple != NULL && (named == 0 || dictionary != NULL);
    for (Py_ssize_t i = 0; i < first + count && tuple != NULL; ++i) {
        PyTuple_SetItem(tuple, i, Py_NewRef(i < first ? self : args[i - first]));
    }
    for (Py_ssize_t i = 0; i < named && is_complete; ++i) {
        is_complete = PyDict_SetItem(dictionary, PyTuple_GetItem(names, i), args[count + i]) == 0;
    }
    PyObject *result = is_complete ? PyObject_Call(short_paths[path].in_python, tuple, dictionary) : NULL;
    Py_XDECREF(dictionary);
    Py_XDECREF(tuple);
    return result;
}

static PyObject *get_in_python(int path, PyObject *self) {
    return PyObject_CallFunctionObjArgs(short_paths[path].in_python, self, NULL);
}

/* Whether nothing has to be asked about failures of a work. */
static bool has_no_failure(PyObject *object) {
    const work *found = (const work *)object;
    return is_none(object) || (!found->must_ask && found->seen == atomic_load(shared->failed_tasks));
}

static PyObject *event_init(PyObject *object, arguments args, Py_ssize_t count, PyObject *names) {
    handle *self = (handle *)object;
    if (count != 0 || names != NULL || !is_direct(CREATE) || self->state != NEW) {
        return call_python(EVENT_INIT, object, args, count, names);
    }
    void *created = NULL;
    aclError code;
    Py_BEGIN_ALLOW_THREADS;
    code = FUNCTION(aclrtCreateEventExWithFlag, CREATE)(&created, ACL_EVENT_SYNC);
    Py_END_ALLOW_THREADS;
    if (code != ACL_SUCCESS) {
        return fail(code, "aclrtCreateEventExWithFlag");
    }
    return handle_own(object, created, Py_NewRef(host)) ? Py_NewRef(Py_None) : NULL;
}

/* Closes an object by a function that takes its handle; if that fails, it stays open. */
static PyObject *destroy(handle *self, int place) {
    void *const pointer = self->pointer;
    aclError code;
    self->state = CLOSED; /* for other threads */
    self->is_known = false;
    Py_CLEAR(self->view);
    Py_BEGIN_ALLOW_THREADS;
    code = (*(aclError(**)(void *))functions[place].slot->pointer)(pointer);
    Py_END_ALLOW_THREADS;
    if (code == ACL_SUCCESS) {
        Py_RETURN_NONE;
    }
    self->state = OPEN;
    self->is_known = true;
    return fail(code, functions[place].name);
}

static PyObject *event_close(PyObject *object, arguments args, Py_ssize_t count, PyObject *names) {
    handle *const self = (handle *)object;
    if (count != 0 || names != NULL || !is_direct(DESTROY) || !self->is_known || !self->is_owned) {
        return call_python(EVENT_CLOSE, object, args, count, names);
    }
    return destroy(self, DESTROY);
}

static bool can_record(PyObject *event, PyObject *stream) {
    return is_direct(RECORD) && has_pointer((handle *)event) && has_pointer((handle *)stream);
}

/* Returns whether the event is recorded; otherwise with an exception. */
static bool record(event *self, stream *on) {
    in_flight *const recording = on->in_flight;
    PyObject *const ended = in_flight_end(recording);
    if (ended == NULL && recording->is_used && PyErr_Occurred() != NULL) {
        return false;
    }
    void *const event = self->handle.pointer, *const stream = on->handle.pointer;
    PyObject *const recorder = ended != NULL ? ended : (PyObject *)recording;
    bool is_captured = false;
    aclError code;
    Py_CLEAR(self->before); /* from here on it may be this record that another thread waits for */
    if (self->recorder != recorder) {
        set(&self->recorder, Py_NewRef(recorder));
    }
    Py_BEGIN_ALLOW_THREADS;
    /* In a capture, the record is one of the graph, and tells nothing of what was submitted before. */
    is_captured = ended != NULL && shared->captured_graph(stream) != 0;
    code = FUNCTION(aclrtRecordEvent, RECORD)(event, stream);
    Py_END_ALLOW_THREADS;
    /* If another thread has begun a record meanwhile, nobody knows which one is newer. */
    const bool tells = code == ACL_SUCCESS && !is_captured && self->recorder == recorder;
    set(&self->before, tells ? Py_XNewRef(ended) : NULL);
    Py_XDECREF(ended);
    if (code != ACL_SUCCESS) {
        fail(code, "aclrtRecordEvent");
        return false;
    }
    if (self->work != recording->work) {
        set(&self->work, Py_XNewRef(recording->work));
    }
    return true;
}

static PyObject *event_record(PyObject *self, arguments args, Py_ssize_t count, PyObject *names) {
    if (count != 1 || names != NULL || !is_stream(args[0]) || !can_record(self, args[0])) {
        return call_python(EVENT_RECORD, self, args, count, names);
    }
    return record((event *)self, (stream *)args[0]) ? Py_NewRef(Py_None) : NULL;
}

/* The method in Python calls the event's own, which a derived class may have replaced. */
static PyObject *stream_record(PyObject *self, arguments args, Py_ssize_t count, PyObject *names) {
    if (count != 1 || names != NULL || Py_TYPE(args[0]) != plain_event || !can_record(args[0], self)) {
        return call_python(STREAM_RECORD, self, args, count, names);
    }
    return record((event *)args[0], (stream *)self) ? Py_NewRef(args[0]) : NULL;
}

/* Keeps the batch that the record has ended for which a stream waits. A wait in a capture tells nothing. */
static bool keep_waited_for(in_flight *self, PyObject *before, uint64_t failures) {
    if (((work *)self->work)->must_ask) { /* then nobody knows in time whether a wait has failed */
        return true;
    }
    PyObject *number = PyLong_FromUnsignedLongLong(failures);
    PyObject *objects = number != NULL ? PyTuple_Pack(2, before, number) : NULL;
    const bool is_kept = objects != NULL && in_flight_add(self, objects);
    Py_XDECREF(objects);
    Py_XDECREF(number);
    return is_kept;
}

static PyObject *wait_for_event(stream *self, event *other) {
    void *const stream = self->handle.pointer, *const event = other->handle.pointer;
    PyObject *const before = is_none(other->before) ? NULL : Py_NewRef(other->before);
    const uint64_t failures = atomic_load(shared->failed_tasks);
    bool is_captured = false;
    aclError code;
    Py_BEGIN_ALLOW_THREADS;
    is_captured = before != NULL && shared->captured_graph(stream) != 0;
    code = FUNCTION(aclrtStreamWaitEvent, WAIT)(stream, event);
    Py_END_ALLOW_THREADS;
    bool is_done = code == ACL_SUCCESS;
    if (!is_done) {
        fail(code, "aclrtStreamWaitEvent");
    } else if (before != NULL && !is_captured && before == other->before && !other->is_shared) {
        is_done = keep_waited_for(self->in_flight, before, failures);
    }
    Py_XDECREF(before);
    return is_done ? Py_NewRef(Py_None) : NULL;
}

/* An event is created, recorded, waited for and destroyed at once: the wait that is pending keeps what it needs. */
static PyObject *wait_for_stream(stream *self, stream *other) {
    void *const waiting = self->handle.pointer, *const recording = other->handle.pointer;
    PyObject *const before = in_flight_end(other->in_flight);
    const uint64_t failures = atomic_load(shared->failed_tasks);
    bool is_captured = false;
    const char *failed = functions[CREATE].name;
    void *event = NULL;
    aclError code;
    Py_BEGIN_ALLOW_THREADS;
    is_captured = before != NULL && (shared->captured_graph(waiting) != 0 || shared->captured_graph(recording) != 0);
    code = FUNCTION(aclrtCreateEventExWithFlag, CREATE)(&event, ACL_EVENT_SYNC);
    if (code == ACL_SUCCESS) {
        failed = functions[RECORD].name;
        code = FUNCTION(aclrtRecordEvent, RECORD)(event, recording);
        if (code == ACL_SUCCESS) {
            failed = functions[WAIT].name;
            code = FUNCTION(aclrtStreamWaitEvent, WAIT)(waiting, event);
        }
        const aclError destroyed = FUNCTION(aclrtDestroyEvent, DESTROY)(event);
        if (code == ACL_SUCCESS) {
            failed = functions[DESTROY].name;
            code = destroyed;
        }
    }
    Py_END_ALLOW_THREADS;
    bool is_done = code == ACL_SUCCESS && PyErr_Occurred() == NULL;
    if (code != ACL_SUCCESS) {
        fail(code, failed);
    } else if (before != NULL && !is_captured) {
        is_done = keep_waited_for(self->in_flight, before, failures);
    }
    Py_XDECREF(before);
    return is_done ? Py_NewRef(Py_None) : NULL;
}

static bool can_wait_for_stream(PyObject *self, PyObject *other) {
    return is_stream(other) && is_direct(CREATE) && is_direct(RECORD) && is_direct(WAIT) && is_direct(DESTROY) &&
           has_pointer((handle *)self) && has_pointer((handle *)other) && !is_open_told();
}

static PyObject *stream_wait(PyObject *self, arguments args, Py_ssize_t count, PyObject *names) {
    const bool is_plain = count == 1 && names == NULL;
    if (is_plain && is_event(args[0]) && is_direct(WAIT) && has_pointer((handle *)self) &&
        has_pointer((handle *)args[0])) {
        return wait_for_event((stream *)self, (event *)args[0]);
    }
    if (is_plain && can_wait_for_stream(self, args[0])) {
        return wait_for_stream((stream *)self, (stream *)args[0]);
    }
    return call_python(STREAM_WAIT, self, args, count, names);
}

/* What the completion of an event tells; takes what was to be released when it was asked for, or NULL. */
static PyObject *complete(event *self, PyObject *before, const char *function, PyObject *result) {
    if (before == NULL && has_no_failure(self->work)) {
        return Py_NewRef(result);
    }
    PyObject *released = before != NULL ? before : Py_None;
    PyObject *told = PyObject_CallMethod((PyObject *)self, "_after_completion", "Os", released, function);
    Py_XDECREF(before);
    Py_XDECREF(told);
    return told != NULL ? Py_NewRef(result) : NULL;
}

static PyObject *event_is_done(PyObject *object, void *unused) {
    (void)unused;
    event *self = (event *)object;
    if (!is_direct(QUERY_EVENT) || !has_pointer(&self->handle)) {
        return get_in_python(EVENT_IS_DONE, object);
    }
    void *const pointer = self->handle.pointer;
    PyObject *before = is_none(self->before) ? NULL : Py_NewRef(self->before);
    aclrtEventRecordedStatus status;
    aclError code;
    Py_BEGIN_ALLOW_THREADS;
    code = FUNCTION(aclrtQueryEventStatus, QUERY_EVENT)(pointer, &status);
    Py_END_ALLOW_THREADS;
    if (code == ACL_SUCCESS && status == ACL_EVENT_RECORDED_STATUS_COMPLETE) {
        return complete(self, before, "aclrtQueryEventStatus", Py_True);
    }
    Py_XDECREF(before);
    return code == ACL_SUCCESS ? Py_NewRef(Py_False) : fail(code, "aclrtQueryEventStatus");
}

static PyObject *event_synchronize(PyObject *object, arguments args, Py_ssize_t count, PyObject *names) {
    event *self = (event *)object;
    if (count != 0 || names != NULL || !is_direct(SYNCHRONIZE_EVENT) || !has_pointer(&self->handle)) {
        return call_python(EVENT_SYNCHRONIZE, object, args, count, names);
    }
    void *const pointer = self->handle.pointer;
    PyObject *before = is_none(self->before) ? NULL : Py_NewRef(self->before);
    int code;
    Py_BEGIN_ALLOW_THREADS;
    code = shared->synchronize_event(pointer, -1);
    Py_END_ALLOW_THREADS;
    if (code != ACL_SUCCESS) {
        PyObject *result = PyObject_CallMethod(object, "_end_wait", "ii", code, -1);
        if (result == NULL) {
            Py_XDECREF(before);
            return NULL;
        }
        Py_DECREF(result);
    }
    return complete(self, before, "aclrtSynchronizeEvent", Py_None);
}

/* Releases what is done; takes the batch and the result, either of which may be NULL. */
static PyObject *and_release(PyObject *ended, PyObject *result) {
    if (ended != NULL && result != NULL) {
        PyObject *released = PyObject_CallFunctionObjArgs(release, ended, NULL);
        if (released == NULL) {
            Py_CLEAR(result);
        }
        Py_XDECREF(released);
    }
    Py_XDECREF(ended);
    return result;
}

static PyObject *stream_is_done(PyObject *self, void *unused) {
    (void)unused;
    if (!is_direct(QUERY_STREAM) || !has_pointer((handle *)self)) {
        return get_in_python(STREAM_IS_DONE, self);
    }
    in_flight *const found = ((stream *)self)->in_flight;
    void *const pointer = ((handle *)self)->pointer;
    PyObject *const ended = in_flight_end(found);
    aclrtStreamStatus status;
    aclError code;
    Py_BEGIN_ALLOW_THREADS;
    code = FUNCTION(aclrtStreamQuery, QUERY_STREAM)(pointer, &status);
    Py_END_ALLOW_THREADS;
    if (code != ACL_SUCCESS || status != ACL_STREAM_STATUS_COMPLETE) {
        Py_XDECREF(ended);
        return code == ACL_SUCCESS ? Py_NewRef(Py_False) : fail(code, "aclrtStreamQuery");
    }
    PyObject *const result = and_release(ended, Py_NewRef(Py_True));
    if (result == NULL || has_no_failure(found->work)) {
        return result;
    }
    PyObject *const told = PyObject_CallMethod(self, "check", NULL);
    Py_DECREF(result);
    Py_XDECREF(told);
    return told != NULL ? Py_NewRef(Py_True) : NULL;
}

/* Keeps a report that the exception of a signal handler has replaced before anybody could raise it. */
static void keep_failure(stream *self) {
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *result = PyObject_CallMethod((PyObject *)self->in_flight, "keep_failure", NULL);
    if (result == NULL) {
        PyErr_WriteUnraisable((PyObject *)self);
    }
    Py_XDECREF(result);
    PyErr_Restore(type, value, traceback);
}

static PyObject *stream_synchronize(PyObject *self, arguments args, Py_ssize_t count, PyObject *names) {
    if (count != 0 || names != NULL || !is_direct(SYNCHRONIZE_STREAM) || !has_pointer((handle *)self)) {
        return call_python(STREAM_SYNCHRONIZE, self, args, count, names);
    }
    void *const pointer = ((handle *)self)->pointer;
    PyObject *const ended = in_flight_end(((stream *)self)->in_flight);
    int code;
    Py_BEGIN_ALLOW_THREADS;
    code = shared->synchronize_stream(pointer, -1);
    Py_END_ALLOW_THREADS;
    if (code == ACL_SUCCESS && PyDict_Size(untold) == 0) {
        return and_release(ended, Py_NewRef(Py_None));
    }
    PyObject *const result = PyObject_CallMethod(self, "_end_wait", "ii", code, -1);
    if (result == NULL && code > 0 && !PyErr_ExceptionMatches(ascend_error)) {
        keep_failure((stream *)self);
    }
    return and_release(ended, result);
}

static PyObject *stream_launch(PyObject *self, arguments args, Py_ssize_t count, PyObject *names) {
    if (count < 1 || names != NULL || !PyCallable_Check(args[0]) || !is_direct(LAUNCH) ||
        !has_pointer((handle *)self)) {
        return call_python(STREAM_LAUNCH, self, args, count, names);
    }
    void *const on = ((handle *)self)->pointer;
    PyObject *passed = tuple_of(args + 1, count - 1);
    PyObject *call = passed != NULL ? host_function_call((uintptr_t)on, args[0], passed, NULL) : NULL;
    if (call == NULL || !host_function_keep(call)) {
        Py_XDECREF(call);
        return NULL;
    }
    bool is_captured = false;
    aclError code;
    Py_BEGIN_ALLOW_THREADS;
    is_captured = shared->captured_graph(on) != 0;
    code = FUNCTION(aclrtLaunchHostFunc, LAUNCH)(on, host_function_run, call);
    Py_END_ALLOW_THREADS;
    PyObject *result = code == ACL_SUCCESS ? Py_NewRef(Py_None) : fail(code, "aclrtLaunchHostFunc");
    if (code != ACL_SUCCESS) {
        host_function_forget(call);
    } else if (is_captured) {
        set(&result, PyObject_CallMethod(((PyObject *)((stream *)self)->in_flight), "keep", "O", call));
        if (result != NULL) { /* otherwise it stays pending: the graph will run it */
            host_function_forget(call);
        }
    } else {
        host_function_launched(call);
    }
    Py_DECREF(call);
    return result;
}

static PyObject *in_flight_keep(PyObject *self, arguments args, Py_ssize_t count, PyObject *names) {
    const uint64_t number = ((in_flight *)self)->stream;
    bool is_captured = true;
    if (atomic_load(&shared->is_direct)) {
        Py_BEGIN_ALLOW_THREADS;
        is_captured = shared->captured_graph((void *)(uintptr_t)number) != 0;
        Py_END_ALLOW_THREADS;
    }
    if (is_captured) {
        return call_python(IN_FLIGHT_KEEP, self, args, count, names);
    }
    PyObject *objects = tuple_of(args, count);
    const bool is_kept = objects != NULL && in_flight_add((in_flight *)self, objects);
    Py_XDECREF(objects);
    return is_kept ? Py_NewRef(Py_None) : NULL;
}

/* Whether the task that was submitted last uses the same: its batch keeps that as long as this task needs it. */
static bool is_kept_already(const in_flight *self, const PyObject *first, const PyObject *second) {
    PyObject *const objects = self->open->objects;
    const Py_ssize_t count = PyList_Size(objects);
    PyObject *const last = count > 0 ? PyList_GetItem(objects, count - 1) : NULL;
    return last != NULL && PyTuple_Size(last) == (second != NULL ? 2 : 1) && PyTuple_GetItem(last, 0) == first &&
           (second == NULL || PyTuple_GetItem(last, 1) == second);
}

/* Keeps what a task uses, with the graph if the stream is being captured. */
static bool keep_or_capture(in_flight *self, bool is_captured, PyObject *first, PyObject *second) {
    if (!is_captured && is_kept_already(self, first, second)) {
        return true;
    }
    PyObject *objects = PyTuple_Pack(second != NULL ? 2 : 1, first, second);
    bool is_kept = objects != NULL;
    if (is_kept && is_captured) {
        PyObject *method = PyObject_GetAttrString((PyObject *)self, "keep");
        PyObject *result = method != NULL ? PyObject_CallObject(method, objects) : NULL;
        is_kept = result != NULL;
        Py_XDECREF(result);
        Py_XDECREF(method);
    } else if (is_kept) {
        is_kept = in_flight_add(self, objects);
    }
    Py_XDECREF(objects);
    return is_kept;
}

static PyObject *graph_launch(PyObject *object, arguments args, Py_ssize_t count, PyObject *names) {
    graph *const self = (graph *)object;
    if (count != 1 || names != NULL || !is_stream(args[0]) || !is_direct(EXECUTE) || !has_pointer(&self->handle) ||
        !has_pointer((handle *)args[0]) || self->kept == NULL) {
        return call_python(GRAPH_LAUNCH, object, args, count, names);
    }
    void *const pointer = self->handle.pointer, *const on = ((handle *)args[0])->pointer;
    PyObject *const kept = Py_NewRef(self->kept); /* another thread may close the graph, which gives the list up */
    const bool keeps = PyList_Size(kept) > 0;
    bool is_captured = false;
    aclError code;
    Py_BEGIN_ALLOW_THREADS;
    is_captured = keeps && shared->captured_graph(on) != 0;
    code = FUNCTION(aclmdlRIExecuteAsync, EXECUTE)(pointer, on);
    Py_END_ALLOW_THREADS;
    bool is_done = code == ACL_SUCCESS;
    if (!is_done) {
        fail(code, "aclmdlRIExecuteAsync");
    } else if (keeps) {
        is_done = keep_or_capture(((stream *)args[0])->in_flight, is_captured, kept, NULL);
    }
    Py_DECREF(kept);
    return is_done ? Py_NewRef(Py_None) : NULL;
}

/* Memory. */

static PyObject *home_of_buffer(void) {
    PyObject *usual = PyDict_GetItemWithError(lifecycle, usual_home);
    return is_none(usual) ? PyObject_CallFunctionObjArgs(home_of_new, NULL) : Py_NewRef(usual);
}

static PyObject *buffer_init(PyObject *object, arguments args, Py_ssize_t count, PyObject *names) {
    buffer *const self = (buffer *)object;
    const bool is_plain = count == 1 && names == NULL && PyLong_CheckExact(args[0]) && self->handle.state == NEW;
    const size_t nbytes = is_plain ? PyLong_AsSize_t(args[0]) : 0;
    if (!is_plain || !is_direct(MALLOC) || PyErr_Occurred() != NULL) {
        PyErr_Clear(); /* the method in Python will raise it again */
        return call_python(BUFFER_INIT, object, args, count, names);
    }
    void *pointer = NULL;
    aclError code;
    Py_BEGIN_ALLOW_THREADS;
    code = FUNCTION(aclrtMalloc, MALLOC)(&pointer, nbytes, ACL_MEM_MALLOC_HUGE_FIRST);
    Py_END_ALLOW_THREADS;
    if (code != ACL_SUCCESS) { /* which may be tried again */
        PyObject *address =
            PyObject_CallFunction(allocate_again, "isOi", code, "aclrtMalloc", args[0], ACL_MEM_MALLOC_HUGE_FIRST);
        pointer = address != NULL ? PyLong_AsVoidPtr(address) : NULL;
        Py_XDECREF(address);
    }
    PyObject *const home = pointer != NULL ? home_of_buffer() : NULL;
    if (home == NULL) {
        return NULL;
    }
    set(&self->nbytes, Py_NewRef(args[0]));
    return handle_own(object, pointer, home) ? Py_NewRef(Py_None) : NULL;
}

/* Whether an object may be closed without Python: only the reset of its device may have destroyed it before. */
static bool is_at_home(const handle *self) {
    if (self->home == NULL) {
        return false;
    }
    PyObject *era = self->home == host ? NULL : PyTuple_GetItem(self->home, 0);
    PyObject *is_over = era != NULL ? PyObject_GetAttrString(era, "is_over") : Py_NewRef(Py_False);
    Py_XDECREF(is_over);
    return is_over == Py_False;
}

static PyObject *buffer_close(PyObject *object, arguments args, Py_ssize_t count, PyObject *names) {
    buffer *const self = (buffer *)object;
    if (count != 0 || names != NULL || Py_TYPE(object) != plain_buffer || !is_direct(FREE) || !self->handle.is_known ||
        !self->handle.is_owned || !is_none(self->views) || !is_at_home(&self->handle)) {
        return call_python(BUFFER_CLOSE, object, args, count, names);
    }
    return destroy(&self->handle, FREE);
}

typedef struct span {
    void *address;
    size_t nbytes;
    bool is_on_device;
} span;

/* Whether memory of the host may be written to, which only numpy knows. */
static bool is_writable(PyObject *array) {
    PyObject *flags = PyObject_GetAttrString(array, "flags");
    PyObject *writable = flags != NULL ? PyObject_GetAttrString(flags, "writeable") : NULL;
    Py_XDECREF(flags);
    Py_XDECREF(writable);
    return writable == Py_True;
}

/* Finds where an operand is, if it is a buffer or a whole pinned one. */
static bool find_span(PyObject *operand, bool is_written, span *found) {
    PyObject *address = NULL, *nbytes = NULL, *place = NULL;
    found->is_on_device = Py_TYPE(operand) != plain_pinned;
    if (!found->is_on_device) {
        place = PyObject_GetAttr(operand, span_name);
        if (place != NULL && place != Py_None && (!is_written || is_writable(operand))) {
            address = PyTuple_GetItem(place, 0);
            nbytes = PyTuple_GetItem(place, 1);
            found->address = address != NULL ? PyLong_AsVoidPtr(address) : NULL;
        }
    } else if (PyObject_TypeCheck(operand, buffer_type) && has_pointer((handle *)operand)) {
        found->address = ((handle *)operand)->pointer;
        nbytes = ((buffer *)operand)->nbytes;
    }
    found->nbytes = nbytes != NULL ? PyLong_AsSize_t(nbytes) : 0;
    Py_XDECREF(place);
    const bool is_found = nbytes != NULL && PyErr_Occurred() == NULL;
    PyErr_Clear(); /* the function in Python will raise it again */
    return is_found;
}

static PyObject *copy_async(PyObject *module, arguments args, Py_ssize_t count, PyObject *names) {
    (void)module;
    span to, from;
    if (count != 3 || names != NULL || !is_stream(args[2]) || !is_direct(COPY) || !has_pointer((handle *)args[2]) ||
        !find_span(args[0], true, &to) || !find_span(args[1], false, &from) ||
        (!to.is_on_device && !from.is_on_device)) {
        return call_python(COPY_ASYNC, NULL, args, count, names);
    }
    static const aclrtMemcpyKind kinds[2][2] = {
        /* from, to the device */
        {ACL_MEMCPY_HOST_TO_HOST, ACL_MEMCPY_HOST_TO_DEVICE},
        {ACL_MEMCPY_DEVICE_TO_HOST, ACL_MEMCPY_DEVICE_TO_DEVICE},
    };
    const aclrtMemcpyKind kind = kinds[from.is_on_device][to.is_on_device];
    void *const on = ((handle *)args[2])->pointer;
    bool is_captured = false;
    aclError code;
    Py_BEGIN_ALLOW_THREADS;
    is_captured = shared->captured_graph(on) != 0;
    code = FUNCTION(aclrtMemcpyAsync, COPY)(to.address, to.nbytes, from.address, from.nbytes, kind, on);
    Py_END_ALLOW_THREADS;
    if (code != ACL_SUCCESS) {
        return fail(code, "aclrtMemcpyAsync");
    }
    const bool is_done = keep_or_capture(((stream *)args[2])->in_flight, is_captured, args[0], args[1]);
    return is_done ? Py_NewRef(Py_None) : NULL;
}

#define METHOD(name) (PyCFunction)(void (*)(void)) name

#define EVENT_PARAMETERS "($self, options=None, /, *, timing=False, manual_reset=False, ipc=False)"

#define BUFFER_PARAMETERS "($self, nbytes, *, policy=0)"
#define LAUNCH_PARAMETERS "($self, function, /, *arguments, **keywords)"
#define COPY_PARAMETERS "(dst, src, stream=None, *, snapshot=False)"

static short_path short_paths[SHORT_PATHS] = {
    [EVENT_INIT] = {&event_type, "__init__", EVENT_PARAMETERS, METHOD(event_init), NULL, NULL},
    [EVENT_CLOSE] = {&event_type, "close", "($self)", METHOD(event_close), NULL, NULL},
    [EVENT_RECORD] = {&event_type, "record", "($self, stream=None)", METHOD(event_record), NULL, NULL},
    [EVENT_IS_DONE] = {&event_type, "is_done", NULL, NULL, event_is_done, NULL},
    [EVENT_SYNCHRONIZE] = {&event_type, "synchronize", "($self, timeout=None)", METHOD(event_synchronize), NULL, NULL},
    [STREAM_RECORD] = {&stream_type, "record", "($self, event=None)", METHOD(stream_record), NULL, NULL},
    [STREAM_WAIT] = {&stream_type, "wait", "($self, other, timeout=None)", METHOD(stream_wait), NULL, NULL},
    [STREAM_IS_DONE] = {&stream_type, "is_done", NULL, NULL, stream_is_done, NULL},
    [STREAM_SYNCHRONIZE] = {&stream_type, "synchronize", "($self, timeout=None)", METHOD(stream_synchronize), NULL,
                            NULL},
    [STREAM_LAUNCH] = {&stream_type, "launch_host_func", LAUNCH_PARAMETERS, METHOD(stream_launch), NULL, NULL},
    [IN_FLIGHT_KEEP] = {&in_flight_type, "keep", "($self, *objects)", METHOD(in_flight_keep), NULL, NULL},
    [GRAPH_LAUNCH] = {&graph_type, "launch", "($self, stream=None)", METHOD(graph_launch), NULL, NULL},
    [BUFFER_INIT] = {&buffer_type, "__init__", BUFFER_PARAMETERS, METHOD(buffer_init), NULL, NULL},
    [BUFFER_CLOSE] = {&buffer_type, "close", "($self)", METHOD(buffer_close), NULL, NULL},
    [COPY_ASYNC] = {NULL, "copy_async", COPY_PARAMETERS, METHOD(copy_async), NULL, NULL},
};

/* Returns what Python shows of a method or a property: its parameters, if any, and its docstring. It lives for ever. */
static char *documentation(const short_path *path) {
    PyObject *text = PyObject_GetAttrString(path->in_python, "__doc__");
    PyObject *whole = NULL;
    if (text != NULL) {
        const char *format = text != Py_None ? "%s%s\n--\n\n%S" : "%s%s\n--\n\n";
        whole =
            path->get == NULL ? PyUnicode_FromFormat(format, path->name, path->parameters, text) : PyObject_Str(text);
    }
    PyObject *bytes = whole != NULL ? PyUnicode_AsUTF8String(whole) : NULL;
    char *copy = bytes != NULL ? PyMem_Malloc((size_t)PyBytes_Size(bytes) + 1) : NULL;
    if (copy != NULL) {
        memcpy(copy, PyBytes_AsString(bytes), (size_t)PyBytes_Size(bytes) + 1);
    }
    Py_XDECREF(bytes);
    Py_XDECREF(whole);
    Py_XDECREF(text);
    return copy;
}

/* Returns the descriptor of a short path; its definition lives for ever. */
static PyObject *descriptor(const short_path *path, PyTypeObject *type) {
    char *const text = documentation(path);
    PyMethodDef *const method = PyMem_Malloc(sizeof *method);
    PyGetSetDef *const property = PyMem_Malloc(sizeof *property);
    if (text == NULL || method == NULL || property == NULL) {
        return PyErr_Occurred() != NULL ? NULL : PyErr_NoMemory();
    }
    *method = (PyMethodDef){path->name, path->call, METH_FASTCALL | METH_KEYWORDS, text};
    *property = (PyGetSetDef){path->name, path->get, NULL, text, NULL};
    return path->get != NULL ? PyDescr_NewGetSet(type, property) : PyDescr_NewMethod(type, method);
}

static bool install(short_path *path, PyObject *class) {
    PyObject *found = PyObject_GetAttrString(class, path->name);
    if (found != NULL && path->get != NULL) {
        set(&found, PyObject_GetAttrString(found, "fget"));
    }
    path->in_python = found;
    PyObject *installed = found != NULL ? descriptor(path, (PyTypeObject *)class) : NULL;
    const bool is_installed = installed != NULL && PyObject_SetAttrString(class, path->name, installed) == 0;
    Py_XDECREF(installed);
    return is_installed;
}

/* What the short paths of handles need of modules that need this one. */
static bool find_rest(void) {
    return untold != NULL || ((host = attribute_of("ascend_rt._lifecycle", "HOST")) != NULL &&
                              (lifecycle = attribute_of("ascend_rt._lifecycle", "__dict__")) != NULL &&
                              (release = attribute_of("ascend_rt._in_flight", "release")) != NULL &&
                              (untold = attribute_of("ascend_rt._failures", "untold")) != NULL);
}

static PyObject *install_short_paths(PyObject *module, PyObject *class) {
    (void)module;
    PyTypeObject *const type = (PyTypeObject *)class;
    if (PyType_IsSubtype(type, handle_type) && !find_rest()) {
        return NULL;
    }
    for (int i = 0; i < SHORT_PATHS; ++i) {
        if (short_paths[i].type != NULL && PyType_IsSubtype(type, *short_paths[i].type) &&
            !install(&short_paths[i], class)) {
            return NULL;
        }
    }
    if (PyType_IsSubtype(type, event_type)) {
        plain_event = (PyTypeObject *)Py_NewRef(class);
    } else if (PyType_IsSubtype(type, stream_type)) {
        plain_stream = (PyTypeObject *)Py_NewRef(class);
    } else if (PyType_IsSubtype(type, buffer_type)) {
        plain_buffer = (PyTypeObject *)Py_NewRef(class);
        home_of_new = attribute_of("ascend_rt.context", "home");
        allocate_again = attribute_of("ascend_rt._in_flight", "allocate_again");
        return home_of_new != NULL && allocate_again != NULL ? Py_NewRef(class) : NULL;
    }
    return Py_NewRef(class);
}

static PyObject *short_copy_async(PyObject *module, PyObject *function) {
    (void)module;
    short_path *const path = &short_paths[COPY_ASYNC];
    PyObject *home = PyObject_GetAttrString(function, "__module__");
    PyMethodDef *const definition = PyMem_Malloc(sizeof *definition);
    path->in_python = Py_NewRef(function);
    char *const text = documentation(path);
    if (home == NULL || definition == NULL || text == NULL) {
        return PyErr_Occurred() != NULL ? NULL : PyErr_NoMemory();
    }
    *definition = (PyMethodDef){path->name, path->call, METH_FASTCALL | METH_KEYWORDS, text};
    PyObject *installed = PyCFunction_NewEx(definition, NULL, home);
    Py_DECREF(home);
    return installed;
}

static PyObject *pinned(PyObject *module, PyObject *class) {
    (void)module;
    plain_pinned = (PyTypeObject *)Py_NewRef(class);
    return Py_NewRef(class);
}

static bool find_functions(void) {
    for (int place = 0; place < FUNCTIONS; ++place) {
        for (size_t i = 0; i < shared->slot_count && functions[place].slot == NULL; ++i) {
            if (strcmp(shared->slots[i].name, functions[place].name) == 0) {
                functions[place].slot = &shared->slots[i];
            }
        }
        if (functions[place].slot == NULL) {
            PyErr_Format(PyExc_ImportError, "ascend_rt._aclrt is of another version: it has no %s",
                         functions[place].name);
            return false;
        }
    }
    return true;
}

bool short_paths_add(PyObject *module, const ascend_rt_shared *parts) {
    static PyMethodDef functions_of_module[] = {
        {"install_short_paths", install_short_paths, METH_O,
         "Put the short paths in front of the methods of a class; return the class."},
        {"short_copy_async", short_copy_async, METH_O, "Return the short path of copy_async()."},
        {"pinned", pinned, METH_O, "Know a class of pinned memory, whose objects tell their _span; return the class."},
        {0},
    };
    shared = parts;
    return find_functions() && (check = attribute_of("ascend_rt._driver", "check")) != NULL &&
           (ascend_error = attribute_of("ascend_rt.errors", "AscendError")) != NULL &&
           (span_name = PyUnicode_InternFromString("_span")) != NULL &&
           (usual_home = PyUnicode_InternFromString("usual_home")) != NULL &&
           PyModule_AddFunctions(module, functions_of_module) == 0;
}
