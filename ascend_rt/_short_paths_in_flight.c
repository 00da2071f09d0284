/* SPDX-License-Identifier: Apache-2.0 */
/* The short path of keeping what tasks use. */
#include "_short_paths.h"

enum { ANY_DEVICE = UINT32_MAX }; /* _failures.ANY */

enum { KEEP, PATHS };

static short_path paths[PATHS];

static PyObject *in_flight_keep(PyObject *self, arguments args, Py_ssize_t count, PyObject *names) {
    const uint64_t number = ((in_flight *)self)->stream;
    bool is_captured;
    Py_BEGIN_ALLOW_THREADS;
    is_captured = shared->captured_graph((void *)(uintptr_t)number) != 0;
    Py_END_ALLOW_THREADS;
    if (is_captured) {
        return call_declared(&paths[KEEP], self, args, count, names);
    }
    PyObject *objects = tuple_of(args, count);
    const bool is_kept = objects != NULL && in_flight_add((in_flight *)self, objects);
    Py_XDECREF(objects);
    return is_kept ? Py_NewRef(Py_None) : NULL;
}

bool keep_used(in_flight *self, bool begins_capture, PyObject *first, PyObject *second) {
    if (!begins_capture && in_flight_has_last(self, first, second)) {
        return true;
    }
    PyObject *objects = PyTuple_Pack(second != NULL ? 2 : 1, first, second);
    bool is_kept = objects != NULL;
    if (is_kept && begins_capture) {
        PyObject *method = PyObject_GetAttrString((PyObject *)self, "keep");
        PyObject *result = method != NULL ? PyObject_CallObject(method, objects) : NULL;
        is_kept = result != NULL;
        Py_XDECREF(result);
        Py_XDECREF(method);
    }
    is_kept = is_kept && in_flight_add(self, objects);
    Py_XDECREF(objects);
    return is_kept;
}

static bool must_ask(in_flight *self) {
    bool must_ask = false;
    BEGIN_LOCKED(self);
    must_ask = LOAD(((work *)self->work)->must_ask);
    END_LOCKED();
    return must_ask;
}

bool keep_waited_for(in_flight *self, PyObject *waited_for, PyObject *before, uint64_t disruptions) {
    /* If the library must be asked, nobody knows in time whether a wait has failed. Some products take a wait for an
     * event of another device for none, and nobody knows the device of some borrowed streams. */
    const uint32_t device = ((batch *)before)->device;
    const bool is_provable = !must_ask(self) && device == self->device && device != ANY_DEVICE;
    PyObject *objects =
        Py_BuildValue("OKO", before, (unsigned long long)(is_provable ? disruptions : UNKNOWN), waited_for);
    const bool is_kept = objects != NULL && in_flight_add(self, objects);
    Py_XDECREF(objects);
    return is_kept;
}

PyObject *disruptions_so_far(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    return PyLong_FromUnsignedLongLong(disruptions(aborts_known()));
}

/* Returns true for what a wait keeps: the batch that the record has ended, the disruptions before, and the event. */
static bool is_of_wait(PyObject *kept) {
    return PyTuple_Size(kept) == 3 && Py_TYPE(PyTuple_GetItem(kept, 0)) == batch_type &&
           is_event(PyTuple_GetItem(kept, 2));
}

/* Returns true if a synchronization of the waiting stream proves that the wait has succeeded. */
static bool is_proven(PyObject *of_wait, uint64_t now) {
    return PyLong_AsUnsignedLongLong(PyTuple_GetItem(of_wait, 1)) == now;
}

/* A new reference to what the completion of an event releases, if it is complete; else NULL. */
static PyObject *completed_by(event *self) {
    aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_NOT_READY;
    recorded newest = newest_record(self);
    if (newest.before == NULL) {
        return NULL;
    }
    __atomic_fetch_add(&self->asked, 1, __ATOMIC_SEQ_CST); /* from here on it is not destroyed */
    if (has_pointer(&self->handle)) {
        void *const pointer = self->handle.pointer;
        Py_BEGIN_ALLOW_THREADS;
        if (FUNCTION(aclrtQueryEventStatus, QUERY_EVENT)(pointer, &status) != ACL_SUCCESS) {
            FUNCTION(aclGetRecentErrMsg, RECENT_MESSAGE)(); /* discards the text */
        }
        Py_END_ALLOW_THREADS;
    }
    __atomic_fetch_sub(&self->asked, 1, __ATOMIC_SEQ_CST);
    if (status != ACL_EVENT_RECORDED_STATUS_COMPLETE || !is_newest(self, newest.number)) {
        Py_CLEAR(newest.before);
    }
    return newest.before;
}

/* Appends to a list, which is made when it is needed. */
static bool append(PyObject **list, PyObject *object) {
    return (*list != NULL || (*list = PyList_New(0)) != NULL) && PyList_Append(*list, object) == 0;
}

/* Adds to two lists: the batch that is complete, if it or the event says so, and what must be asked again. */
static bool look_at_wait(PyObject *of_wait, bool is_complete, PyObject **completed, PyObject **left) {
    PyObject *const before = PyTuple_GetItem(of_wait, 0);
    if (LOAD(((batch *)before)->is_complete)) {
        return true;
    }
    PyObject *const found = is_complete ? Py_NewRef(before) : completed_by((event *)PyTuple_GetItem(of_wait, 2));
    const bool is_done = (found == NULL || append(completed, found)) && (found == before || append(left, of_wait));
    Py_XDECREF(found);
    return is_done;
}

/* Releases a batch and all before it; what its waits have kept is complete, or is to be asked for again. */
static bool release_chain(PyObject *newest, bool is_synchronized, PyObject **completed) {
    const uint64_t now = disruptions(atomic_load(&aborts->begun));
    PyObject *next = Py_NewRef(newest), *left = NULL;
    bool is_done = true;
    while (!is_none(next) && is_done) {
        batch *const self = (batch *)next;
        PyObject *objects = PyList_New(0);
        is_done = objects != NULL;
        if (is_done) {
            objects = swap_field(self, &self->objects, objects); /* NULL: a garbage collection took it */
            STORE(self->is_complete, true);
            for (Py_ssize_t i = 0; is_done && objects != NULL && i < PyList_Size(objects); ++i) {
                PyObject *const kept = PyList_GetItem(objects, i);
                is_done =
                    !is_of_wait(kept) || look_at_wait(kept, is_synchronized && is_proven(kept, now), completed, &left);
            }
            Py_XDECREF(objects);
            set(&next, swap_field(self, &self->previous, NULL));
        }
    }
    Py_XDECREF(next);
    for (Py_ssize_t i = 0; is_done && left != NULL && i < PyList_Size(left); ++i) {
        is_done = PyList_Append(((batch *)newest)->objects, PyList_GetItem(left, i)) == 0;
    }
    Py_XDECREF(left);
    return is_done;
}

/* A new reference to the last object of a list, which is taken out; NULL if there is none, or with an exception. */
static PyObject *pop(PyObject *list) {
    const Py_ssize_t count = list != NULL ? PyList_Size(list) : 0;
    PyObject *last = count > 0 ? Py_NewRef(PyList_GetItem(list, count - 1)) : NULL;
    if (last != NULL && PyList_SetSlice(list, count - 1, count, NULL) != 0) {
        Py_CLEAR(last);
    }
    return last;
}

bool release(PyObject *ended, bool is_synchronized) {
    PyObject *next = is_none(ended) ? NULL : Py_NewRef(ended), *completed = NULL;
    bool is_done = true;
    while (next != NULL && is_done) {
        is_done = release_chain(next, is_synchronized && next == ended, &completed);
        set(&next, pop(completed));
    }
    Py_XDECREF(next);
    Py_XDECREF(completed);
    return is_done && PyErr_Occurred() == NULL;
}

static PyObject *release_batch(PyObject *ended, bool is_synchronized) {
    if (ended != Py_None && Py_TYPE(ended) != batch_type) {
        return PyErr_Format(PyExc_TypeError, "a Batch or None is released, not %R", (PyObject *)Py_TYPE(ended));
    }
    return release(ended, is_synchronized) ? Py_NewRef(Py_None) : NULL;
}

PyObject *release_complete(PyObject *module, PyObject *ended) {
    (void)module;
    return release_batch(ended, false);
}

PyObject *release_synchronized(PyObject *module, PyObject *ended) {
    (void)module;
    return release_batch(ended, true);
}

static short_path paths[PATHS] = {
    [KEEP] = {.name = "keep", .call = METHOD(in_flight_keep)},
};

const short_paths in_flight_paths = {&in_flight_type, paths, PATHS, NULL};
