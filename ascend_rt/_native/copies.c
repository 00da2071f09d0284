/* SPDX-License-Identifier: Apache-2.0 */
/* The hot methods of copies and fills. */
#include "methods.h"

static PyTypeObject *plain_pinned; /* ascend_rt.PinnedBuffer */
static PyObject *itemsize_name;    /* "itemsize" */

enum { COPY_ASYNC, FILL_ASYNC, PATHS };
enum { FINALIZE, PINNED_PATHS };

static hot_method paths[PATHS], of_pinned[PINNED_PATHS];

/* One side of a copy, or what is filled. */
typedef struct span {
    void *address;
    size_t nbytes;
    bool is_on_device;
    PyObject *kept; /* a reference: what must live until the task is done, the whole memory instead of a part */
} span;

/* An array of numpy, as every extension that is compiled for numpy 1 or 2 has it from ndarraytypes.h
 * (PyArrayObject_fields; https://numpy.org/doc/stable/reference/c-api/types-and-structures.html). */
typedef struct array {
    PyObject ob_base;
    char *data;
    int dimensions_count;
    intptr_t *dimensions, *strides;
    PyObject *base, *type;
    int flags;
} array;

enum { IS_IN_ORDER = 0x0001, IS_WRITABLE = 0x0400 }; /* NPY_ARRAY_C_CONTIGUOUS, NPY_ARRAY_WRITEABLE */

static size_t size_of_element(PyObject *object) {
    PyObject *number = PyObject_GetAttr(object, itemsize_name);
    const size_t size = number != NULL ? PyLong_AsSize_t(number) : 0;
    Py_XDECREF(number);
    PyErr_Clear(); /* Python finds the memory, and raises it again */
    return size;
}

/* Size of an array in C order; 0: it is empty. The stride of a dimension of 1 may be anything. */
static size_t size_of(const array *of) {
    size_t nbytes = 0;
    for (int i = 0; i < of->dimensions_count; ++i) {
        if (of->dimensions[i] == 0) {
            return 0;
        }
        if (of->dimensions[i] > 1 && nbytes == 0) {
            nbytes = (size_t)of->dimensions[i] * (size_t)of->strides[i];
        }
    }
    return nbytes != 0 ? nbytes : size_of_element((PyObject *)of);
}

/* Called by numpy for each slice: it is a part of a pinned buffer, as its base says. */
static PyObject *finalize(PyObject *self, arguments args, Py_ssize_t count, PyObject *names) {
    const PyObject *const base = ((const array *)self)->base, *const plain_array =
                                                                  PyType_GetSlot(plain_pinned, Py_tp_base);
    PyObject *source = NULL;
    if (!parse(&of_pinned[FINALIZE].of, &source, args, count, names)) {
        return refuse_call(&of_pinned[FINALIZE], self, args, count, names);
    }
    if (base != NULL && (const PyObject *)Py_TYPE(base) != plain_array) {
        Py_RETURN_NONE;
    }
    return PyObject_CallMethod(self, "_become_pageable", NULL);
}

/* The allocation that a view is in: tasks on parts of one memory keep the same object, and the parts go at once. */
static PyObject *whole_buffer(PyObject *view) {
    PyObject *parent = ((const buffer *)view)->parent;
    while (parent != NULL && is_buffer(parent)) {
        view = parent;
        parent = ((const buffer *)view)->parent;
    }
    return view;
}

static PyObject *whole_pinned(PyObject *view) {
    PyObject *const base = ((const array *)view)->base;
    return base != NULL && Py_TYPE(base) == plain_pinned ? base : view;
}

/* A pinned buffer that is closed has no bytes. */
static bool find_pinned(PyObject *operand, bool is_written, span *found) {
    const array *const of = (const array *)operand;
    const int needed = IS_IN_ORDER | (is_written ? IS_WRITABLE : 0);
    *found = (span){of->data, (of->flags & needed) == needed ? size_of(of) : 0, false, NULL};
    return found->nbytes != 0;
}

/* Any other memory of the host, which Python finds, with what keeps it where it is. */
static bool find_other(PyObject *operand, bool is_written, span *found) {
    PyObject *const memory = call_rare("ascend_rt.transfer", "_host_span", "(Oi)", operand, is_written), *view = NULL;
    unsigned long long address = 0, nbytes = 0;
    if (memory != NULL && PyArg_ParseTuple(memory, "KKO", &address, &nbytes, &view)) {
        *found = (span){(void *)(uintptr_t)address, (size_t)nbytes, false, PyTuple_Pack(2, view, operand)};
    }
    Py_XDECREF(memory);
    return PyErr_Occurred() == NULL;
}

/* Finds where an operand is; otherwise with an exception. */
static bool find_span(PyObject *operand, bool is_written, span *found) {
    if (is_buffer(operand)) {
        if (!is_usable(operand)) {
            return false;
        }
        *found = (span){((handle *)operand)->pointer, ((buffer *)operand)->nbytes, true, NULL};
        found->kept = Py_NewRef(whole_buffer(operand));
    } else if (Py_TYPE(operand) == plain_pinned && find_pinned(operand, is_written, found)) {
        found->kept = Py_NewRef(whole_pinned(operand));
    } else {
        return find_other(operand, is_written, found);
    }
    return true;
}

static void drop_span(const span *of) { Py_XDECREF(of->kept); }

enum { DST, SRC, VALUE = SRC, STREAM, OPTION, PARAMETERS };

/* Makes sure that a copy between a device and pageable memory does not wait in the runtime, where Ctrl-C ends nothing.
 */
static bool wait_if_pageable(const span *host, PyObject *on) {
    if (!PyTuple_Check(host->kept)) { /* a buffer, or pinned */
        return true;
    }
    PyObject *waited = call_rare("ascend_rt.transfer", "_wait_for_span", "(OO)", on, host->kept);
    Py_XDECREF(waited);
    return waited != NULL;
}

static bool is_ready(const span *to, const span *from, bool is_snapshot, PyObject *on) {
    const bool may_wait = from->is_on_device != to->is_on_device && from->nbytes <= to->nbytes && !is_snapshot;
    return (!may_wait || wait_if_pageable(to->is_on_device ? from : to, on)) && is_usable(on);
}

static PyObject *copy_between(const span *to, const span *from, bool is_snapshot, PyObject *stream_) {
    static const aclrtMemcpyKind kinds[2][2] = {
        /* from, to the device */
        {ACL_MEMCPY_HOST_TO_HOST, ACL_MEMCPY_HOST_TO_DEVICE},
        {ACL_MEMCPY_DEVICE_TO_HOST, ACL_MEMCPY_DEVICE_TO_DEVICE},
    };
    const aclrtMemcpyKind kind =
        is_snapshot ? ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE : kinds[from->is_on_device][to->is_on_device];
    void *const on = ((handle *)stream_)->pointer;
    submission made;
    SUBMIT(made, on, to->kept, is_snapshot ? NULL : from->kept,
           FUNCTION(aclrtMemcpyAsync, COPY)(to->address, to->nbytes, from->address, from->nbytes, kind, on));
    return submission_end(&made, COPY, ((stream *)stream_)->retention, to->kept, is_snapshot ? NULL : from->kept);
}

static PyObject *copy_async(PyObject *module, arguments args, Py_ssize_t count, PyObject *names) {
    PyObject *given[PARAMETERS] = {NULL}, *on = NULL, *result = NULL;
    span to = {0}, from = {0};
    (void)module;
    if (!parse(&paths[COPY_ASYNC].of, given, args, count, names)) {
        return refuse_call(&paths[COPY_ASYNC], NULL, args, count, names);
    }
    const int is_snapshot = given[OPTION] != NULL ? PyObject_IsTrue(given[OPTION]) : 0;
    if (is_snapshot >= 0 && find_span(given[DST], true, &to) && find_span(given[SRC], false, &from) &&
        (on = given_or_current(given[STREAM])) != NULL && is_ready(&to, &from, is_snapshot, on)) {
        result = copy_between(&to, &from, is_snapshot, on);
    }
    Py_XDECREF(on);
    drop_span(&from);
    drop_span(&to);
    return result;
}

/* Returns true for a plain integer that fits into a byte. */
static bool find_byte(PyObject *value, unsigned *found) {
    int overflow = 0;
    const long number = Py_TYPE(value) == &PyLong_Type ? PyLong_AsLongAndOverflow(value, &overflow) : -1;
    *found = (unsigned)number;
    return overflow == 0 && number >= 0 && number <= UINT8_MAX;
}

typedef struct filling {
    int place; /* the function: for bytes, or for words */
    unsigned value;
    unsigned long long count;
} filling;

/* Finds what to do; otherwise with an exception. */
static bool find_filling(PyObject *const *given, filling *found) {
    PyObject *const dst = given[DST];
    *found = (filling){FILL, 0, 0};
    if (is_buffer(dst) && given[OPTION] == NULL && find_byte(given[VALUE], &found->value)) {
        found->count = ((buffer *)dst)->nbytes;
        return is_usable(dst);
    }
    PyObject *pointer, *nbytes,
        *checked = call_rare("ascend_rt.transfer", "_filling", given[OPTION] != NULL ? "(OOO)" : "(OO)", dst,
                             given[VALUE], given[OPTION]);
    if (checked != NULL && PyArg_ParseTuple(checked, "OOIK", &pointer, &nbytes, &found->value, &found->count) &&
        found->count != ((buffer *)dst)->nbytes) {
        found->place = FILL_WORDS;
    }
    Py_XDECREF(checked);
    return PyErr_Occurred() == NULL && is_usable(dst);
}

static PyObject *fill_with(const filling *what, PyObject *dst, PyObject *stream_) {
    void *const to = ((handle *)dst)->pointer, *const on = ((handle *)stream_)->pointer;
    const size_t nbytes = ((buffer *)dst)->nbytes;
    PyObject *const kept = whole_buffer(dst);
    submission made;
    SUBMIT(made, on, kept, NULL,
           what->place == FILL ? FUNCTION(aclrtMemsetAsync, FILL)(to, nbytes, (int32_t)what->value, what->count, on)
                               : FUNCTION(aclrtMemsetD32Async, FILL_WORDS)(to, nbytes, what->value, what->count, on));
    return submission_end(&made, what->place, ((stream *)stream_)->retention, kept, NULL);
}

static PyObject *fill_async(PyObject *module, arguments args, Py_ssize_t count, PyObject *names) {
    PyObject *given[PARAMETERS] = {NULL}, *on = NULL, *result = NULL;
    filling what;
    (void)module;
    if (!parse(&paths[FILL_ASYNC].of, given, args, count, names)) {
        return refuse_call(&paths[FILL_ASYNC], NULL, args, count, names);
    }
    if (find_filling(given, &what) && (on = given_or_current(given[STREAM])) != NULL && is_usable(on) &&
        is_usable(given[DST])) {
        result = fill_with(&what, given[DST], on);
    }
    Py_XDECREF(on);
    return result;
}

static hot_method paths[PATHS] = {
    [COPY_ASYNC] = {.name = "copy_async", .call = METHOD(copy_async)},
    [FILL_ASYNC] = {.name = "fill_async", .call = METHOD(fill_async)},
};

const hot_methods copy_functions = {NULL, paths, PATHS, NULL};

static hot_method of_pinned[PINNED_PATHS] = {
    [FINALIZE] = {.name = "__array_finalize__", .call = METHOD(finalize)},
};

const hot_methods pinned_paths = {&plain_pinned, of_pinned, PINNED_PATHS, NULL};

static PyObject *pinned(PyObject *module, PyObject *class) {
    (void)module;
    plain_pinned = (PyTypeObject *)Py_NewRef(class);
    return Py_NewRef(class);
}

bool copies_add(PyObject *module) {
    static PyMethodDef functions_of_module[] = {
        {"pinned", pinned, METH_O, "Know the class of pinned memory; return it."},
        {0},
    };
    return (itemsize_name = PyUnicode_InternFromString("itemsize")) != NULL &&
           PyModule_AddFunctions(module, functions_of_module) == 0;
}
