/* SPDX-License-Identifier: Apache-2.0 */
/* The short paths of device memory. */
#include "_short_paths.h"

PyTypeObject *plain_buffer;

enum { INIT, CLOSE, PATHS };

static short_path paths[PATHS];

static PyObject *buffer_init(PyObject *object, arguments args, Py_ssize_t count, PyObject *names) {
    buffer *const self = (buffer *)object;
    const bool is_plain = count == 1 && names == NULL && PyLong_CheckExact(args[0]) && LOAD(self->handle.state) == NEW;
    const size_t nbytes = is_plain ? PyLong_AsSize_t(args[0]) : 0;
    if (!is_plain || !is_direct(MALLOC) || PyErr_Occurred() != NULL) {
        PyErr_Clear(); /* the method in Python will raise it again */
        return call_python(&paths[INIT], object, args, count, names);
    }
    PyObject *const home = home_of_new(IN_CONTEXT); /* first: what is allocated has an owner at once */
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
    buffer *const self = (buffer *)object;
    if (count != 0 || names != NULL || Py_TYPE(object) != plain_buffer || !is_direct(FREE) ||
        !LOAD(self->handle.is_known) || !LOAD(self->handle.is_owned) || !is_none(LOAD(self->views))) {
        return call_python(&paths[CLOSE], object, args, count, names);
    }
    PyObject *const closed = destroy(&self->handle, FREE);
    if (closed == NULL || is_none(LOAD(self->views))) {
        return closed;
    }
    Py_DECREF(closed); /* another thread has sliced it meanwhile: the method in Python closes the views */
    return call_python(&paths[CLOSE], object, args, count, names);
}

static short_path paths[PATHS] = {
    [INIT] = {"__init__", "($self, nbytes, *, policy=0)", METHOD(buffer_init), NULL, NULL},
    [CLOSE] = {"close", "($self)", METHOD(buffer_close), NULL, NULL},
};

static bool connect(PyObject *class) {
    plain_buffer = (PyTypeObject *)Py_NewRef(class);
    return true;
}

const short_paths buffer_paths = {&buffer_type, paths, PATHS, connect};
