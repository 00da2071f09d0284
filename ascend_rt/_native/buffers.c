/* SPDX-License-Identifier: Apache-2.0 */
/* The hot methods of device memory. */
#include "methods.h"

PyTypeObject *plain_buffer;

enum { INIT, CLOSE, PATHS };

static hot_method paths[PATHS];

static bool find_policy(PyObject *given, int *policy) {
    if (given == NULL) {
        *policy = ACL_MEM_MALLOC_HUGE_FIRST;
        return true;
    }
    PyObject *number = PyNumber_Index(given);
    *policy = number != NULL ? (int)PyLong_AsLong(number) : 0;
    Py_XDECREF(number);
    return PyErr_Occurred() == NULL;
}

/* Allocates memory; takes the owner. */
static bool allocate(PyObject *object, size_t nbytes, int policy, PyObject *owner) {
    void *pointer = NULL;
    aclError code;
    BEGIN_CALLS;
    code = FUNCTION(aclrtMalloc, MALLOC)(&pointer, nbytes, (aclrtMemMallocPolicy)policy);
    END_CALLS;
    if (code == ACL_SUCCESS) {
        ((buffer *)object)->nbytes = nbytes;
        return handle_own(object, pointer, owner);
    }
    /* An allocation that fails may be tried again. */
    PyObject *result =
        PyObject_CallMethod(object, "_allocate_again", "iKiO", code, (unsigned long long)nbytes, policy, owner);
    Py_XDECREF(result);
    Py_DECREF(owner);
    return result != NULL;
}

static PyObject *buffer_init(PyObject *object, arguments args, Py_ssize_t count, PyObject *names) {
    enum { NBYTES, POLICY, PARAMETERS };
    PyObject *given[PARAMETERS] = {NULL};
    size_t nbytes;
    int policy;
    if (!parse(&paths[INIT].of, given, args, count, names)) {
        return refuse_call(&paths[INIT], object, args, count, names);
    }
    if (!initialize() ||
        !find_size(given[NBYTES], "check_size", "aclrtMalloc: argument 'size': int too big to convert", &nbytes) ||
        !find_policy(given[POLICY], &policy) || !handle_can_be_made(object)) {
        return NULL;
    }
    PyObject *const owner = owner_of_new(IN_CONTEXT); /* first: what is allocated has an owner at once */
    return owner != NULL && allocate(object, nbytes, policy, owner) ? Py_NewRef(Py_None) : NULL;
}

/* Derived classes have other ways to free memory. */
static PyObject *buffer_close(PyObject *object, arguments args, Py_ssize_t count, PyObject *names) {
    if (!parse(&paths[CLOSE].of, NULL, args, count, names)) {
        return refuse_call(&paths[CLOSE], object, args, count, names);
    }
    return Py_TYPE(object) == plain_buffer ? destroy((handle *)object, FREE)
                                           : PyObject_CallMethod(object, "_close", NULL);
}

typedef struct part {
    uint64_t start, nbytes;
} part;

static bool refuse_part(PyObject *slice) {
    PyObject *result = call_rare("ascend_rt.memory", "_refuse_part", "(O)", slice);
    Py_XDECREF(result);
    return false;
}

/* Part of memory that is larger than Python's sizes. */
static bool find_part_of_huge(const buffer *self, PyObject *slice, part *found) {
    PyObject *indices = PyObject_CallMethod(slice, "indices", "K", (unsigned long long)self->nbytes);
    if (indices == NULL) {
        return false;
    }
    int overflow = 0;
    const bool is_plain = PyLong_AsLongAndOverflow(PyTuple_GetItem(indices, 2), &overflow) == 1;
    const uint64_t stop = is_plain ? PyLong_AsUnsignedLongLong(PyTuple_GetItem(indices, 1)) : 0;
    found->start = is_plain ? PyLong_AsUnsignedLongLong(PyTuple_GetItem(indices, 0)) : 0;
    found->nbytes = stop - found->start;
    Py_DECREF(indices);
    return stop > found->start || refuse_part(slice);
}

/* Finds a part of a buffer that is a range of bytes and not empty; otherwise with an exception. */
static bool find_part(const buffer *self, PyObject *slice, part *found) {
    Py_ssize_t start = 0, stop = 0, step = 0;
    if (!PySlice_Check(slice)) {
        return refuse_part(slice);
    }
    if (self->nbytes > PY_SSIZE_T_MAX) {
        return find_part_of_huge(self, slice, found);
    }
    if (PySlice_Unpack(slice, &start, &stop, &step) != 0) {
        return false;
    }
    const Py_ssize_t nbytes = PySlice_AdjustIndices((Py_ssize_t)self->nbytes, &start, &stop, step);
    *found = (part){(uint64_t)start, (uint64_t)nbytes};
    return (nbytes > 0 && step == 1) || refuse_part(slice);
}

PyObject *buffer_part(PyObject *object, PyObject *slice) {
    buffer *const self = (buffer *)object;
    part found;
    /* An index may run code of the program, which may close the buffer. */
    return find_part(self, slice, &found) && is_usable(self) ? buffer_view(self, found.start, found.nbytes) : NULL;
}

/* Makes a buffer a sequence for numpy.asarray and its like, so that they ask for an element and get the TypeError. */
PyObject *buffer_item(PyObject *self, Py_ssize_t index) {
    PyObject *const number = PyLong_FromSsize_t(index);
    PyObject *const item = number == NULL ? NULL : buffer_part(self, number);
    Py_XDECREF(number);
    return item;
}

static hot_method paths[PATHS] = {
    [INIT] = {.name = "__init__", .call = METHOD(buffer_init)},
    [CLOSE] = {.name = "close", .call = METHOD(buffer_close)},
};

static bool connect(PyObject *class) {
    plain_buffer = (PyTypeObject *)Py_NewRef(class);
    return true;
}

const hot_methods buffer_paths = {&buffer_type, paths, PATHS, connect};
