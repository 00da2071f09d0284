/* SPDX-License-Identifier: Apache-2.0 */
/* The hot methods of events. */
#include "methods.h"

PyTypeObject *plain_event;

enum { INIT, CLOSE, RECORD_ON, IS_DONE, SYNCHRONIZE, PATHS };

static hot_method paths[PATHS];

/* Creates an event that others do not know: the usual kind, or with time stamps. */
static bool create(PyObject *object, uint32_t flags) {
    PyObject *const owner =
        initialize() ? owner_of_new(ON_DEVICE) : NULL; /* first: what is created has an owner at once */
    if (owner == NULL) {
        return false;
    }
    void *created = NULL;
    aclError code;
    BEGIN_CALLS;
    code = FUNCTION(aclrtCreateEventExWithFlag, CREATE)(&created, flags);
    END_CALLS;
    if (code != ACL_SUCCESS) {
        Py_DECREF(owner);
        fail(code, "aclrtCreateEventExWithFlag");
        return false;
    }
    ((event *)object)->has_time = (flags & ACL_EVENT_TIME_LINE) != 0;
    return handle_own(object, created, owner);
}

/* Another kind than the usual one. */
static PyObject *init_kind(PyObject *object, arguments args, Py_ssize_t count, PyObject *names) {
    enum { OPTIONS, TIMING, MANUAL_RESET, IPC, PARAMETERS };
    PyObject *given[PARAMETERS] = {NULL};
    if (!parse(&paths[INIT].of, given, args, count, names)) {
        return refuse_call(&paths[INIT], object, args, count, names);
    }
    const bool is_plain = is_none(given[OPTIONS]) && given[MANUAL_RESET] == NULL && given[IPC] == NULL;
    if (is_plain && given[TIMING] == Py_True && LOAD(((handle *)object)->state) == NEW) {
        return create(object, ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE) ? Py_NewRef(Py_None) : NULL;
    }
    for (int i = 0; i < PARAMETERS; ++i) {
        given[i] = given[i] != NULL ? given[i] : i == OPTIONS ? Py_None : Py_False;
    }
    return PyObject_CallMethod(object, "_make_kind", "OOOO", given[OPTIONS], given[TIMING], given[MANUAL_RESET],
                               given[IPC]);
}

static PyObject *event_init(PyObject *object, arguments args, Py_ssize_t count, PyObject *names) {
    if (count != 0 || names != NULL || LOAD(((handle *)object)->state) != NEW) {
        return init_kind(object, args, count, names);
    }
    return create(object, ACL_EVENT_SYNC) ? Py_NewRef(Py_None) : NULL;
}

PyObject *new_event(void) {
    PyObject *object = PyType_GenericAlloc(plain_event, 0);
    if (object != NULL && !create(object, ACL_EVENT_SYNC)) {
        Py_CLEAR(object);
    }
    return object;
}

static PyObject *event_close(PyObject *object, arguments args, Py_ssize_t count, PyObject *names) {
    handle *const self = (handle *)object;
    if (!parse(&paths[CLOSE].of, NULL, args, count, names)) {
        return refuse_call(&paths[CLOSE], object, args, count, names);
    }
    return destroy(self, DESTROY);
}

enum recording record(event *self, stream *on, enum chosen_by by) {
    retention *const recording = on->retention;
    PyObject *const ended = retention_end(recording);
    if (ended == NULL && LOAD(recording->is_used) && PyErr_Occurred() != NULL) {
        return RECORD_FAILED;
    }
    void *const event = self->handle.pointer, *const stream = on->handle.pointer;
    bool is_captured = false, is_right = true;
    aclError code = ACL_SUCCESS;
    event_begin_record(self, (PyObject *)recording);
    BEGIN_CALLS;
    /* In a capture, the record is one of the graph, and says nothing about what was submitted before. */
    is_captured = ended != NULL && shared->captured_graph(stream) != 0;
    is_right = is_current(on, stream, by);
    if (is_right) {
        code = FUNCTION(aclrtRecordEvent, RECORD)(event, stream);
    }
    is_captured = is_captured || (ended != NULL && shared->captured_graph(stream) != 0); /* begun by another thread */
    END_CALLS;
    event_end_record(self, (PyObject *)recording, is_right && code == ACL_SUCCESS && !is_captured ? ended : NULL);
    Py_XDECREF(ended);
    if (code != ACL_SUCCESS) {
        fail(code, "aclrtRecordEvent");
        return RECORD_FAILED;
    }
    if (!is_right) {
        return NOT_CURRENT;
    }
    if (LOAD(self->window) != LOAD(recording->window)) {
        set_field(self, &self->window, get_field(recording, &recording->window));
    }
    return RECORDED;
}

/* Records on the current stream. One release of the GIL asks for that and records, if it is the one of the last call.
 */
static enum recording record_on_current(event *self) {
    enum chosen_by by;
    PyObject *on = likely_current_stream(&by);
    enum recording done = PyErr_Occurred() == NULL ? NOT_CURRENT : RECORD_FAILED;
    if (on != NULL && has_pointer((handle *)on)) {
        done = record(self, (stream *)on, by);
    }
    if (done == NOT_CURRENT) {
        set(&on, current_stream());
        done = on != NULL && is_usable(self) && is_usable(on) ? record(self, (stream *)on, BY_CALLER) : RECORD_FAILED;
    }
    Py_XDECREF(on);
    return done;
}

static PyObject *event_record(PyObject *self, arguments args, Py_ssize_t count, PyObject *names) {
    PyObject *given = NULL;
    if (!parse(&paths[RECORD_ON].of, &given, args, count, names)) {
        return refuse_call(&paths[RECORD_ON], self, args, count, names);
    }
    if (!is_usable(self)) {
        return NULL;
    }
    if (is_none(given)) {
        return record_on_current((event *)self) == RECORDED ? Py_NewRef(Py_None) : NULL;
    }
    PyObject *const on = given_or_current(given);
    const bool is_recorded = on != NULL && is_usable(on) && record((event *)self, (stream *)on, BY_CALLER) == RECORDED;
    Py_XDECREF(on);
    return is_recorded ? Py_NewRef(Py_None) : NULL;
}

/* Takes the reference to what the completion releases, unless the event was recorded meanwhile. */
static PyObject *release_and_check(event *self, recorded newest, const char *function, PyObject *result) {
    const bool is_released = newest.before == NULL || !is_newest(self, newest.number) || release(newest.before, false);
    Py_XDECREF(newest.before);
    if (!is_released) {
        return NULL;
    }
    if (has_no_failure(self, &self->window, false)) {
        return Py_NewRef(result);
    }
    PyObject *reported = PyObject_CallMethod((PyObject *)self, "_after_completion", "Os", Py_None, function);
    Py_XDECREF(reported);
    return reported != NULL ? Py_NewRef(result) : NULL;
}

/* Ends a query or a wait that has found the event complete. */
static inline PyObject *complete(event *self, recorded newest, const char *function, PyObject *result) {
    const bool is_plain = newest.before == NULL && has_no_failure(self, &self->window, false);
    return is_plain ? Py_NewRef(result) : release_and_check(self, newest, function, result);
}

static PyObject *event_is_done(PyObject *object, void *unused) {
    (void)unused;
    event *self = (event *)object;
    if (!is_usable(self)) {
        return NULL;
    }
    void *const pointer = self->handle.pointer;
    const recorded newest = newest_record(self);
    aclrtEventRecordedStatus status;
    aclError code;
    BEGIN_CALLS;
    code = FUNCTION(aclrtQueryEventStatus, QUERY_EVENT)(pointer, &status);
    END_CALLS;
    if (code == ACL_SUCCESS && status == ACL_EVENT_RECORDED_STATUS_COMPLETE) {
        return complete(self, newest, "aclrtQueryEventStatus", Py_True);
    }
    Py_XDECREF(newest.before);
    return code == ACL_SUCCESS ? Py_NewRef(Py_False) : fail(code, "aclrtQueryEventStatus");
}

static PyObject *event_synchronize(PyObject *object, arguments args, Py_ssize_t count, PyObject *names) {
    event *self = (event *)object;
    PyObject *timeout = NULL;
    int32_t limit;
    if (!parse(&paths[SYNCHRONIZE].of, &timeout, args, count, names)) {
        return refuse_call(&paths[SYNCHRONIZE], object, args, count, names);
    }
    if (!find_limit(timeout, MILLISECONDS_PER_SECOND, &limit) || !is_usable(self)) {
        return NULL;
    }
    void *const pointer = self->handle.pointer;
    const recorded newest = newest_record(self);
    int code;
    BEGIN_CALLS;
    code = shared->synchronize_event(pointer, limit);
    END_CALLS;
    if (code != ACL_SUCCESS) {
        PyObject *result = PyObject_CallMethod(object, "_end_wait", "ii", code, limit);
        if (result == NULL) {
            Py_XDECREF(newest.before);
            return NULL;
        }
        Py_DECREF(result);
    }
    return complete(self, newest, "aclrtSynchronizeEvent", Py_None);
}

static hot_method paths[PATHS] = {
    [INIT] = {.name = "__init__", .call = METHOD(event_init)},
    [CLOSE] = {.name = "close", .call = METHOD(event_close)},
    [RECORD_ON] = {.name = "record", .call = METHOD(event_record)},
    [IS_DONE] = {.name = "is_done", .get = event_is_done},
    [SYNCHRONIZE] = {.name = "synchronize", .call = METHOD(event_synchronize)},
};

static bool connect(PyObject *class) {
    plain_event = (PyTypeObject *)Py_NewRef(class);
    return true;
}

const hot_methods event_paths = {&event_type, paths, PATHS, connect};
