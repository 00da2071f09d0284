/* SPDX-License-Identifier: Apache-2.0 */
/* The short paths of device memory. */
#include "_short_paths.h"

PyTypeObject *plain_buffer;

enum { INIT, CLOSE, PART, PATHS };
enum { SLICE_FIELDS = 3 };

static PyObject *slice_fields[SLICE_FIELDS]; /* their names */

static short_path paths[PATHS];

static PyObject *buffer_init(PyObject *object, arguments args, Py_ssize_t count, PyObject *names) {
    buffer *const self = (buffer *)object;
    const bool is_plain = count == 1 && names == NULL && PyLong_CheckExact(args[0]) && LOAD(self->handle.state) == NEW;
    const size_t nbytes = is_plain ? PyLong_AsSize_t(args[0]) : 0;
    if (!is_plain || PyErr_Occurred() != NULL) {
        PyErr_Clear(); /* the method in Python will raise it again */
        return call_python(&paths[INIT], object, args, count, names);
    }
    PyObject *const home =
        initialize() ? home_of_new(IN_CONTEXT) : NULL; /* first: what is allocated has an owner at once */
    if (home == NULL) {
        return NULL;
    }
    void *pointer = NULL;
    aclError code;
    Py_BEGIN_ALLOW_THREADS;
    code = FUNCTION(aclrtMalloc, MALLOC)(&pointer, nbytes, ACL_MEM_MALLOC_HUGE_FIRST);
    Py_END_ALLOW_THREADS;
    if (code != ACL_SUCCESS) { /* which may be tried again */
        PyObject *result = PyObject_CallMethod(object, "_allocate_again", "iOO", code, args[0], home);
        Py_DECREF(home);
        return result;
    }
    self->nbytes = nbytes;
    return handle_own(object, pointer, home) ? Py_NewRef(Py_None) : NULL;
}

static PyObject *buffer_close(PyObject *object, arguments args, Py_ssize_t count, PyObject *names) {
    handle *const self = (handle *)object;
    if (count != 0 || names != NULL || Py_TYPE(object) != plain_buffer) {
        return call_python(&paths[CLOSE], object, args, count, names);
    }
    return destroy(self, FREE);
}

/* Returns true if all fields of a slice are None or plain integers: reading them runs no code of the program. */
static bool is_plain(PyObject *part) {
    bool is_plain = true;
    for (int i = 0; i < SLICE_FIELDS && is_plain; ++i) {
        PyObject *value = PyObject_GetAttr(part, slice_fields[i]);
        is_plain = value == Py_None || (value != NULL && Py_TYPE(value) == &PyLong_Type);
        Py_XDECREF(value);
    }
    return is_plain;
}

/* Finds a part of a buffer that is a range of bytes and not empty. */
static bool find_part(const buffer *self, PyObject *part, Py_ssize_t *start, Py_ssize_t *nbytes) {
    Py_ssize_t stop = 0, step = 0;
    if (!PySlice_Check(part) || !is_plain(part) || self->nbytes > PY_SSIZE_T_MAX ||
        PySlice_Unpack(part, start, &stop, &step) != 0) {
        PyErr_Clear(); /* the method in Python will raise it again */
        return false;
    }
    *nbytes = PySlice_AdjustIndices((Py_ssize_t)self->nbytes, start, &stop, step);
    return *nbytes > 0 && step == 1;
}

static PyObject *buffer_part(PyObject *object, arguments args, Py_ssize_t count, PyObject *names) {
    buffer *const self = (buffer *)object;
    Py_ssize_t start = 0, nbytes = 0;
    if (count != 1 || names != NULL || !has_pointer(&self->handle) || !find_part(self, args[0], &start, &nbytes)) {
        return call_python(&paths[PART], object, args, count, names);
    }
    return buffer_view(self, (uint64_t)start, (uint64_t)nbytes);
}

static short_path paths[PATHS] = {
    [INIT] = {.name = "__init__", .call = METHOD(buffer_init)},
    [CLOSE] = {.name = "close", .call = METHOD(buffer_close)},
    [PART] = {.name = "__getitem__", .call = METHOD(buffer_part)},
};

static bool connect(PyObject *class) {
    static const char *const fields[SLICE_FIELDS] = {"start", "stop", "step"};
    plain_buffer = (PyTypeObject *)Py_NewRef(class);
    bool is_connected = true;
    for (int i = 0; i < SLICE_FIELDS && is_connected; ++i) {
        is_connected = (slice_fields[i] = PyUnicode_InternFromString(fields[i])) != NULL;
    }
    return is_connected;
}

const short_paths buffer_paths = {&buffer_type, paths, PATHS, connect};
