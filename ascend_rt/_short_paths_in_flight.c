/* SPDX-License-Identifier: Apache-2.0 */
/* The short path of keeping what tasks use. */
#include "_short_paths.h"

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

static short_path paths[PATHS] = {
    [KEEP] = {"keep", "($self, *objects)", METHOD(in_flight_keep), NULL, NULL},
};

const short_paths in_flight_paths = {&in_flight_type, paths, PATHS, NULL};
