/* SPDX-License-Identifier: Apache-2.0 */
/* The short path of keeping what tasks use. */
#include "_short_paths.h"

enum { ANY_DEVICE = UINT32_MAX }; /* _failures.ANY */

enum { KEEP, PATHS };

static short_path paths[PATHS];

static PyObject *in_flight_keep(PyObject *self, arguments args, Py_ssize_t count, PyObject *names) {
    const uint64_t number = ((in_flight *)self)->stream;
    bool is_captured = true;
    if (atomic_load(&shared->is_direct)) {
        Py_BEGIN_ALLOW_THREADS;
        is_captured = shared->captured_graph((void *)(uintptr_t)number) != 0;
        Py_END_ALLOW_THREADS;
    }
    if (is_captured) {
        return call_python(&paths[KEEP], self, args, count, names);
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

bool keep_waited_for(in_flight *self, PyObject *before, uint64_t disruptions) {
    /* If the library must be asked, nobody knows in time whether a wait has failed. Some products take a wait for an
     * event of another device for none, and nobody knows the device of some borrowed streams. */
    const uint32_t device = ((batch *)before)->device;
    if (must_ask(self) || device != self->device || device == ANY_DEVICE) {
        return true;
    }
    PyObject *objects = Py_BuildValue("OK", before, (unsigned long long)disruptions);
    const bool is_kept = objects != NULL && in_flight_add(self, objects);
    Py_XDECREF(objects);
    return is_kept;
}

PyObject *disruptions_so_far(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    return PyLong_FromUnsignedLongLong(disruptions(aborts_known()));
}

/* A new reference to the batch that a wait has kept, if it is complete with the wait; else NULL. */
static PyObject *completed_by_wait(PyObject *kept, uint64_t disruptions) {
    PyObject *const first = PyTuple_Size(kept) == 2 ? PyTuple_GetItem(kept, 0) : NULL;
    const bool is_complete = first != NULL && Py_TYPE(first) == batch_type &&
                             PyLong_AsUnsignedLongLong(PyTuple_GetItem(kept, 1)) == disruptions;
    return is_complete ? Py_NewRef(first) : NULL;
}

/* Adds such batches to a list, which is made when it is needed. */
static bool find_completed(PyObject *objects, PyObject **list) {
    const uint64_t now = disruptions(atomic_load(&aborts->begun));
    bool is_done = true;
    BEGIN_LOCKED(objects);
    for (Py_ssize_t i = 0; i < PyList_Size(objects) && is_done; ++i) {
        PyObject *found = completed_by_wait(PyList_GetItem(objects, i), now);
        if (found != NULL) {
            is_done = (*list != NULL || (*list = PyList_New(0)) != NULL) && PyList_Append(*list, found) == 0;
            Py_DECREF(found);
        }
    }
    END_LOCKED();
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

static bool release_all(PyObject *ended, bool with_waits) {
    PyObject *next = is_none(ended) ? NULL : Py_NewRef(ended), *completed = NULL;
    bool is_done = true;
    while (next != NULL && is_done) {
        batch *const self = (batch *)next;
        PyObject *objects = PyList_New(0);
        is_done = objects != NULL;
        if (is_done) {
            objects = swap_field(self, &self->objects, objects);
            is_done = objects == NULL /* a garbage collection took it */ || !with_waits ||
                      find_completed(objects, &completed);
            Py_XDECREF(objects);
            set(&next, swap_field(self, &self->previous, NULL));
        }
        if (is_done && is_none(next)) {
            set(&next, pop(completed));
        }
    }
    Py_XDECREF(next);
    Py_XDECREF(completed);
    return is_done && PyErr_Occurred() == NULL;
}

bool release(PyObject *ended) { return release_all(ended, true); }

static PyObject *release_batch_with(PyObject *ended, bool with_waits) {
    if (ended != Py_None && Py_TYPE(ended) != batch_type) {
        return PyErr_Format(PyExc_TypeError, "release() takes a Batch or None, not %R", (PyObject *)Py_TYPE(ended));
    }
    return release_all(ended, with_waits) ? Py_NewRef(Py_None) : NULL;
}

PyObject *release_batch(PyObject *module, PyObject *ended) {
    (void)module;
    return release_batch_with(ended, true);
}

PyObject *release_own(PyObject *module, PyObject *ended) {
    (void)module;
    return release_batch_with(ended, false);
}

static short_path paths[PATHS] = {
    [KEEP] = {.name = "keep", .call = METHOD(in_flight_keep)},
};

const short_paths in_flight_paths = {&in_flight_type, paths, PATHS, NULL};
