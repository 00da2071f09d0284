/* SPDX-License-Identifier: Apache-2.0 */
/* The short paths of events. */
#include "_short_paths.h"

PyTypeObject *plain_event;

enum { INIT, CLOSE, RECORD_ON, IS_DONE, SYNCHRONIZE, PATHS };

static short_path paths[PATHS];

static PyObject *event_init(PyObject *object, arguments args, Py_ssize_t count, PyObject *names) {
    handle *self = (handle *)object;
    if (count != 0 || names != NULL || !is_direct(CREATE) || LOAD(self->state) != NEW) {
        return call_python(&paths[INIT], object, args, count, names);
    }
    PyObject *const home = home_of_new(ON_DEVICE); /* first: what is created has an owner at once */
    if (home == NULL) {
        return NULL;
    }
    void *created = NULL;
    aclError code;
    Py_BEGIN_ALLOW_THREADS;
    code = FUNCTION(aclrtCreateEventExWithFlag, CREATE)(&created, ACL_EVENT_SYNC);
    Py_END_ALLOW_THREADS;
    if (code != ACL_SUCCESS) {
        Py_DECREF(home);
        return fail(code, "aclrtCreateEventExWithFlag");
    }
    return handle_own(object, created, home) ? Py_NewRef(Py_None) : NULL;
}

static PyObject *event_close(PyObject *object, arguments args, Py_ssize_t count, PyObject *names) {
    handle *const self = (handle *)object;
    if (count != 0 || names != NULL || !is_direct(DESTROY) || !LOAD(self->is_known) || !LOAD(self->is_owned) ||
        LOAD(((event *)object)->is_shared)) { /* others may have the handle, of which Python keeps a note */
        return call_python(&paths[CLOSE], object, args, count, names);
    }
    return destroy(self, DESTROY);
}

bool can_record(PyObject *event, PyObject *stream) {
    return is_direct(RECORD) && has_pointer((handle *)event) && has_pointer((handle *)stream);
}

bool record(event *self, stream *on) {
    in_flight *const recording = on->in_flight;
    PyObject *const ended = in_flight_end(recording);
    if (ended == NULL && LOAD(recording->is_used) && PyErr_Occurred() != NULL) {
        return false;
    }
    void *const event = self->handle.pointer, *const stream = on->handle.pointer;
    bool is_captured = false;
    aclError code;
    event_begin_record(self, (PyObject *)recording);
    Py_BEGIN_ALLOW_THREADS;
    /* In a capture, the record is one of the graph, and tells nothing of what was submitted before. */
    is_captured = ended != NULL && shared->captured_graph(stream) != 0;
    code = FUNCTION(aclrtRecordEvent, RECORD)(event, stream);
    is_captured = is_captured || (ended != NULL && shared->captured_graph(stream) != 0); /* begun by another thread */
    Py_END_ALLOW_THREADS;
    event_end_record(self, (PyObject *)recording, code == ACL_SUCCESS && !is_captured ? ended : NULL);
    Py_XDECREF(ended);
    if (code != ACL_SUCCESS) {
        fail(code, "aclrtRecordEvent");
        return false;
    }
    if (LOAD(self->work) != LOAD(recording->work)) {
        set_field(self, &self->work, get_field(recording, &recording->work));
    }
    return true;
}

static PyObject *event_record(PyObject *self, arguments args, Py_ssize_t count, PyObject *names) {
    if (count != 1 || names != NULL || !is_stream(args[0]) || !can_record(self, args[0])) {
        return call_python(&paths[RECORD_ON], self, args, count, names);
    }
    return record((event *)self, (stream *)args[0]) ? Py_NewRef(Py_None) : NULL;
}

/* Takes the reference to what the completion releases, unless the event was recorded meanwhile. */
static PyObject *release_and_check(event *self, recorded newest, const char *function, PyObject *result) {
    const bool is_released = newest.before == NULL || !is_newest(self, newest.number) || release(newest.before);
    Py_XDECREF(newest.before);
    if (!is_released) {
        return NULL;
    }
    if (has_no_failure(self, &self->work, false)) {
        return Py_NewRef(result);
    }
    PyObject *told = PyObject_CallMethod((PyObject *)self, "_after_completion", "Os", Py_None, function);
    Py_XDECREF(told);
    return told != NULL ? Py_NewRef(result) : NULL;
}

/* What the completion of an event tells. */
static inline PyObject *complete(event *self, recorded newest, const char *function, PyObject *result) {
    const bool is_plain = newest.before == NULL && has_no_failure(self, &self->work, false);
    return is_plain ? Py_NewRef(result) : release_and_check(self, newest, function, result);
}

static PyObject *event_is_done(PyObject *object, void *unused) {
    (void)unused;
    event *self = (event *)object;
    if (!is_direct(QUERY_EVENT) || !has_pointer(&self->handle)) {
        return get_in_python(&paths[IS_DONE], object);
    }
    void *const pointer = self->handle.pointer;
    const recorded newest = newest_record(self);
    aclrtEventRecordedStatus status;
    aclError code;
    Py_BEGIN_ALLOW_THREADS;
    code = FUNCTION(aclrtQueryEventStatus, QUERY_EVENT)(pointer, &status);
    Py_END_ALLOW_THREADS;
    if (code == ACL_SUCCESS && status == ACL_EVENT_RECORDED_STATUS_COMPLETE) {
        return complete(self, newest, "aclrtQueryEventStatus", Py_True);
    }
    Py_XDECREF(newest.before);
    return code == ACL_SUCCESS ? Py_NewRef(Py_False) : fail(code, "aclrtQueryEventStatus");
}

static PyObject *event_synchronize(PyObject *object, arguments args, Py_ssize_t count, PyObject *names) {
    event *self = (event *)object;
    if (count != 0 || names != NULL || !is_direct(SYNCHRONIZE_EVENT) || !has_pointer(&self->handle)) {
        return call_python(&paths[SYNCHRONIZE], object, args, count, names);
    }
    void *const pointer = self->handle.pointer;
    const recorded newest = newest_record(self);
    int code;
    Py_BEGIN_ALLOW_THREADS;
    code = shared->synchronize_event(pointer, -1);
    Py_END_ALLOW_THREADS;
    if (code != ACL_SUCCESS) {
        PyObject *result = PyObject_CallMethod(object, "_end_wait", "ii", code, -1);
        if (result == NULL) {
            Py_XDECREF(newest.before);
            return NULL;
        }
        Py_DECREF(result);
    }
    return complete(self, newest, "aclrtSynchronizeEvent", Py_None);
}

#define PARAMETERS "($self, options=None, /, *, timing=False, manual_reset=False, ipc=False)"

static short_path paths[PATHS] = {
    [INIT] = {"__init__", PARAMETERS, METHOD(event_init), NULL, NULL},
    [CLOSE] = {"close", "($self)", METHOD(event_close), NULL, NULL},
    [RECORD_ON] = {"record", "($self, stream=None)", METHOD(event_record), NULL, NULL},
    [IS_DONE] = {"is_done", NULL, NULL, event_is_done, NULL},
    [SYNCHRONIZE] = {"synchronize", "($self, timeout=None)", METHOD(event_synchronize), NULL, NULL},
};

static bool connect(PyObject *class) {
    plain_event = (PyTypeObject *)Py_NewRef(class);
    return true;
}

const short_paths event_paths = {&event_type, paths, PATHS, connect};
