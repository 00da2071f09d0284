/* SPDX-License-Identifier: Apache-2.0 */
/* The hot methods of streams. */
#include "host_functions.h"
#include "methods.h"
#include "python_objects.h"
#include "stream_life.h"

PyTypeObject *plain_stream;

enum { INIT, CLOSE, RECORD_EVENT, WAIT_FOR, CAPTURE, IS_DONE, SYNCHRONIZE, LAUNCH_FUNCTION, PATHS };

static hot_method paths[PATHS];

static PyObject *stream_init(PyObject *object, arguments args, Py_ssize_t count, PyObject *names) {
    enum { OPTIONS, PRIORITY, FLAGS, PARAMETERS };
    PyObject *given[PARAMETERS] = {NULL}, *of_options = NULL;
    if (!parse(&paths[INIT].of, given, args, count, names)) {
        return refuse_call(&paths[INIT], object, args, count, names);
    }
    if (!is_none(given[OPTIONS])) {
        of_options = call_rare("ascend_rt.stream", "_options_alone", "OOO", given[OPTIONS],
                               given[PRIORITY] != NULL ? given[PRIORITY] : Py_None,
                               given[FLAGS] != NULL ? given[FLAGS] : Py_None);
        if (of_options == NULL || !PyArg_ParseTuple(of_options, "OO", &given[PRIORITY], &given[FLAGS])) {
            Py_XDECREF(of_options);
            return NULL;
        }
    }
    const bool is_created = stream_create(object, given[PRIORITY], given[FLAGS]);
    Py_XDECREF(of_options);
    return is_created ? Py_NewRef(Py_None) : NULL;
}

static PyObject *stream_close(PyObject *object, arguments args, Py_ssize_t count, PyObject *names) {
    PyObject *force = NULL;
    if (!parse(&paths[CLOSE].of, &force, args, count, names)) {
        return refuse_call(&paths[CLOSE], object, args, count, names);
    }
    const int is_forced = force != NULL ? PyObject_IsTrue(force) : false;
    return is_forced >= 0 ? stream_end(object, is_forced) : NULL;
}

static PyObject *refuse_type(const char *text, PyObject *object) {
    PyObject *name = PyObject_GetAttrString((PyObject *)Py_TYPE(object), "__name__");
    if (name != NULL) {
        PyErr_Format(PyExc_TypeError, text, name);
    }
    Py_XDECREF(name);
    return NULL;
}

/* Records an event by its own method, which a derived class may have replaced. */
static bool record_by_method(PyObject *recorded, PyObject *on) {
    PyObject *result = PyObject_CallMethod(recorded, "record", "O", on);
    Py_XDECREF(result);
    return result != NULL;
}

static PyObject *stream_record(PyObject *self, arguments args, Py_ssize_t count, PyObject *names) {
    PyObject *given = NULL;
    if (!parse(&paths[RECORD_EVENT].of, &given, args, count, names)) {
        return refuse_call(&paths[RECORD_EVENT], self, args, count, names);
    }
    if (!is_none(given) && !is_event(given)) {
        return refuse_type("expected an Event, got %U", given);
    }
    if (!is_none(given) && Py_TYPE(given) != plain_event) {
        return record_by_method(given, self) ? Py_NewRef(given) : NULL;
    }
    if ((!is_none(given) && !is_usable(given)) || !is_usable(self)) {
        return NULL;
    }
    PyObject *recorded = is_none(given) ? new_event() : Py_NewRef(given);
    if (recorded != NULL && record((event *)recorded, (stream *)self, BY_CALLER) != RECORDED) {
        Py_CLEAR(recorded);
    }
    return recorded;
}

static PyObject *wait_for_event(stream *self, event *other, const int32_t *seconds) {
    void *const stream = self->handle.pointer, *const event = other->handle.pointer;
    const recorded newest = newest_record(other);
    const uint64_t before_it = abort_or_failure_epoch(aborts_known());
    bool is_captured = false;
    aclError code;
    BEGIN_CALLS;
    is_captured = newest.before != NULL && shared->captured_graph(stream) != 0;
    code = seconds == NULL ? FUNCTION(aclrtStreamWaitEvent, WAIT)(stream, event)
                           : FUNCTION(aclrtStreamWaitEventWithTimeout, WAIT_WITHIN)(stream, event, *seconds);
    END_CALLS;
    bool is_done = code == ACL_SUCCESS;
    if (!is_done) {
        fail(code, functions[seconds == NULL ? WAIT : WAIT_WITHIN].name);
    } else if (newest.before != NULL && !is_captured && is_newest(other, newest.number)) {
        is_done = retain_across_wait(self->retention, (PyObject *)other, newest.before, before_it);
    }
    Py_XDECREF(newest.before);
    return is_done ? Py_NewRef(Py_None) : NULL;
}

/* The event is kept: it says when what the other stream keeps alive can be released. */
static PyObject *wait_by_event(stream *self, stream *other) {
    PyObject *const marker = PyObject_CallObject((PyObject *)plain_event, NULL);
    PyObject *result = marker != NULL ? PyObject_CallMethod(marker, "record", "O", (PyObject *)other) : NULL;
    if (result != NULL) {
        set(&result, PyObject_CallMethod((PyObject *)self, "wait", "O", marker));
    }
    Py_XDECREF(marker);
    return result;
}

/* An event is created, recorded, waited for and destroyed at once: the wait that is pending keeps what it needs. */
static PyObject *wait_by_handle(stream *self, stream *other) {
    void *const waiting = self->handle.pointer, *const recording = other->handle.pointer;
    const char *failed = functions[CREATE].name;
    void *event = NULL;
    aclError code;
    BEGIN_CALLS;
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
    END_CALLS;
    return code == ACL_SUCCESS ? Py_NewRef(Py_None) : fail(code, failed);
}

static PyObject *wait_for_stream(stream *self, stream *other) {
    PyObject *const before = retention_end(other->retention);
    const bool keeps_anything = before != NULL;
    Py_XDECREF(before);
    if (PyErr_Occurred() != NULL) {
        return NULL;
    }
    return keeps_anything ? wait_by_event(self, other) : wait_by_handle(self, other);
}

static PyObject *stream_wait(PyObject *self, arguments args, Py_ssize_t count, PyObject *names) {
    enum { OTHER, TIMEOUT, PARAMETERS };
    PyObject *given[PARAMETERS] = {NULL};
    int32_t limit;
    if (!parse(&paths[WAIT_FOR].of, given, args, count, names)) {
        return refuse_call(&paths[WAIT_FOR], self, args, count, names);
    }
    PyObject *const other = given[OTHER];
    if (is_event(other)) { /* a limit may run code of the program, which may close objects */
        const bool is_right = find_limit(given[TIMEOUT], SECONDS, &limit) && is_usable(self) && is_usable(other);
        return is_right ? wait_for_event((stream *)self, (event *)other, limit != FOR_EVER ? &limit : NULL) : NULL;
    }
    if (!is_usable(self)) {
        return NULL;
    }
    if (Py_TYPE(other) == plain_stream && is_none(given[TIMEOUT]) && !is_open_watched()) {
        return is_usable(other) ? wait_for_stream((stream *)self, (stream *)other) : NULL;
    }
    return PyObject_CallMethod(self, "_wait_for", "OO", other, given[TIMEOUT] != NULL ? given[TIMEOUT] : Py_None);
}

static PyObject *stream_capture(PyObject *self, arguments args, Py_ssize_t count, PyObject *names) {
    PyObject *mode = NULL;
    if (!parse(&paths[CAPTURE].of, &mode, args, count, names)) {
        return refuse_call(&paths[CAPTURE], self, args, count, names);
    }
    return new_capture(self, mode);
}

/* Releases what is done; takes the batch and the result, either of which may be NULL. */
static PyObject *and_release(PyObject *ended, bool is_synchronized, PyObject *result) {
    if (ended != NULL && result != NULL && !release(ended, is_synchronized)) {
        Py_CLEAR(result);
    }
    Py_XDECREF(ended);
    return result;
}

static PyObject *stream_is_done(PyObject *self, void *unused) {
    (void)unused;
    if (!is_usable(self)) {
        return NULL;
    }
    retention *const found = ((stream *)self)->retention;
    void *const pointer = ((handle *)self)->pointer;
    PyObject *const ended = retention_end(found);
    if (ended == NULL && PyErr_Occurred() != NULL) {
        return NULL;
    }
    aclrtStreamStatus status;
    aclError code;
    BEGIN_CALLS;
    code = FUNCTION(aclrtStreamQuery, QUERY_STREAM)(pointer, &status);
    END_CALLS;
    if (code != ACL_SUCCESS || status != ACL_STREAM_STATUS_COMPLETE) {
        Py_XDECREF(ended);
        return code == ACL_SUCCESS ? Py_NewRef(Py_False) : fail(code, "aclrtStreamQuery");
    }
    PyObject *const result = and_release(ended, false, Py_NewRef(Py_True));
    if (result == NULL || has_no_failure(found, &found->window, false)) {
        return result;
    }
    PyObject *const reported = PyObject_CallMethod(self, "check", NULL);
    Py_DECREF(result);
    Py_XDECREF(reported);
    return reported != NULL ? Py_NewRef(Py_True) : NULL;
}

static PyObject *stream_synchronize(PyObject *self, arguments args, Py_ssize_t count, PyObject *names) {
    PyObject *timeout = NULL;
    int32_t limit;
    if (!parse(&paths[SYNCHRONIZE].of, &timeout, args, count, names)) {
        return refuse_call(&paths[SYNCHRONIZE], self, args, count, names);
    }
    if (!find_limit(timeout, MILLISECONDS_PER_SECOND, &limit) || !is_usable(self)) {
        return NULL;
    }
    retention *const found = ((stream *)self)->retention;
    void *const pointer = ((handle *)self)->pointer;
    PyObject *const ended = retention_end(found);
    if (ended == NULL && PyErr_Occurred() != NULL) {
        return NULL;
    }
    int code;
    BEGIN_CALLS;
    code = shared->synchronize_stream(pointer, limit, &found->failures->report);
    END_CALLS;
    if (code == ACL_SUCCESS && has_reported_nothing(found)) {
        return and_release(ended, true, Py_NewRef(Py_None));
    }
    return and_release(ended, true, PyObject_CallMethod(self, "_end_wait", "ii", code, limit));
}

/* The arguments of a call by name, or NULL: also with an exception. */
static PyObject *keywords_of(arguments values, PyObject *names) {
    PyObject *keywords = names != NULL ? PyDict_New() : NULL;
    for (Py_ssize_t i = 0; keywords != NULL && i < PyTuple_Size(names); ++i) {
        if (PyDict_SetItem(keywords, PyTuple_GetItem(names, i), values[i]) != 0) {
            Py_CLEAR(keywords);
        }
    }
    return keywords;
}

static PyObject *new_call(void *on, arguments args, Py_ssize_t count, PyObject *names) {
    PyObject *passed = tuple_of(args + 1, count - 1), *keywords = keywords_of(args + count, names);
    if (PyErr_Occurred() != NULL) {
        Py_XDECREF(keywords);
        Py_XDECREF(passed);
        return NULL;
    }
    PyObject *call = host_function_call((uintptr_t)on, args[0], passed, keywords);
    if (call != NULL && !host_function_keep(call)) {
        Py_CLEAR(call);
    }
    return call;
}

/* Ends a launch. A call that was not launched, or that a graph has, needs to be kept no longer. */
static PyObject *launched(submission *made, PyObject *call) {
    bool is_done = made->is_made && may_be_pending(made), is_of_graph = !is_done;
    if (is_done) {
        is_done = submission_is_of_graph(made, call, NULL, &is_of_graph);
    }
    if (is_of_graph) {
        host_function_forget(call);
    } else {
        host_function_launched(call);
    }
    Py_XDECREF(made->before);
    if (made->code != ACL_SUCCESS && PyErr_Occurred() == NULL) {
        fail(made->code, functions[LAUNCH].name);
    }
    return is_done && made->code == ACL_SUCCESS ? Py_NewRef(Py_None) : NULL;
}

static PyObject *stream_launch(PyObject *self, arguments args, Py_ssize_t count, PyObject *names) {
    if (count < 1) {
        return refuse_call(&paths[LAUNCH_FUNCTION], self, args, count, names);
    }
    if (!is_usable(self)) {
        return NULL;
    }
    if (!PyCallable_Check(args[0])) {
        return refuse_type("a stream calls a function, not %U", args[0]);
    }
    void *const on = ((handle *)self)->pointer;
    PyObject *call = new_call(on, args, count, names);
    if (call == NULL) {
        return NULL;
    }
    submission made;
    SUBMIT(made, on, call, NULL, FUNCTION(aclrtLaunchHostFunc, LAUNCH)(on, host_function_run, call));
    PyObject *const result = launched(&made, call);
    Py_DECREF(call);
    return result;
}

static hot_method paths[PATHS] = {
    [INIT] = {.name = "__init__", .call = METHOD(stream_init)},
    [CLOSE] = {.name = "close", .call = METHOD(stream_close)},
    [RECORD_EVENT] = {.name = "record", .call = METHOD(stream_record)},
    [WAIT_FOR] = {.name = "wait", .call = METHOD(stream_wait)},
    [CAPTURE] = {.name = "capture", .call = METHOD(stream_capture)},
    [IS_DONE] = {.name = "is_done", .get = stream_is_done},
    [SYNCHRONIZE] = {.name = "synchronize", .call = METHOD(stream_synchronize)},
    [LAUNCH_FUNCTION] = {.name = "launch_host_func", .call = METHOD(stream_launch)},
};

static bool connect(PyObject *class) {
    plain_stream = (PyTypeObject *)Py_NewRef(class);
    return stream_life_connect();
}

const hot_methods stream_paths = {&stream_type, paths, PATHS, connect};
