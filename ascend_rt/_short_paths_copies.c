/* SPDX-License-Identifier: Apache-2.0 */
/* The short paths of copies and fills. */
#include "_short_paths.h"

static PyTypeObject *plain_pinned; /* ascend_rt.PinnedBuffer */
static PyObject *itemsize_name;    /* "itemsize" */

enum { COPY_ASYNC, FILL_ASYNC, PATHS };

static short_path paths[PATHS];

typedef struct span {
    void *address;
    size_t nbytes;
    bool is_on_device;
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
    PyErr_Clear(); /* the function in Python will raise it again */
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

/* A pinned buffer that is closed has no bytes, and its error is raised in Python. */
static bool find_pinned(PyObject *operand, bool is_written, span *found) {
    const array *const of = (const array *)operand;
    const int needed = IS_IN_ORDER | (is_written ? IS_WRITABLE : 0);
    *found = (span){of->data, (of->flags & needed) == needed ? size_of(of) : 0, false};
    return found->nbytes != 0;
}

/* Finds where an operand is, if it is a buffer or a pinned one in C order. */
static bool find_span(PyObject *operand, bool is_written, span *found) {
    if (Py_TYPE(operand) == plain_pinned) {
        return find_pinned(operand, is_written, found);
    }
    if (!is_buffer(operand) || !has_pointer((handle *)operand)) {
        return false;
    }
    *found = (span){((handle *)operand)->pointer, ((buffer *)operand)->nbytes, true};
    return true;
}

static bool can_submit(int place, PyObject *on) { return is_direct(place) && has_pointer((handle *)on); }

enum { DST, SRC, VALUE = SRC, STREAM, OPTION, PARAMETERS };

static bool find_spans(PyObject *const *given, span *to, span *from) {
    return find_span(given[DST], true, to) && find_span(given[SRC], false, from) &&
           (to->is_on_device || from->is_on_device);
}

static PyObject *copy_between(span to, span from, PyObject *const *given, PyObject *stream_) {
    static const aclrtMemcpyKind kinds[2][2] = {
        /* from, to the device */
        {ACL_MEMCPY_HOST_TO_HOST, ACL_MEMCPY_HOST_TO_DEVICE},
        {ACL_MEMCPY_DEVICE_TO_HOST, ACL_MEMCPY_DEVICE_TO_DEVICE},
    };
    const aclrtMemcpyKind kind = kinds[from.is_on_device][to.is_on_device];
    void *const on = ((handle *)stream_)->pointer;
    submission made;
    SUBMIT(made, on, given[DST], given[SRC],
           FUNCTION(aclrtMemcpyAsync, COPY)(to.address, to.nbytes, from.address, from.nbytes, kind, on));
    return submission_end(&made, COPY, ((stream *)stream_)->retention, given[DST], given[SRC]);
}

static PyObject *copy_async(PyObject *module, arguments args, Py_ssize_t count, PyObject *names) {
    PyObject *given[PARAMETERS] = {NULL}, *on = NULL, *result = NULL;
    span to, from;
    (void)module;
    if (parse(&paths[COPY_ASYNC].of, given, args, count, names) &&
        (given[OPTION] == NULL || given[OPTION] == Py_False) && find_spans(given, &to, &from) &&
        (on = given_or_current(given[STREAM])) != NULL && can_submit(COPY, on)) {
        result = copy_between(to, from, given, on);
    }
    Py_XDECREF(on);
    return result_or_python(result, &paths[COPY_ASYNC], NULL, args, count, names);
}

/* Whether an object is a plain integer that fits into a byte. */
static bool find_byte(PyObject *value, long *found) {
    int overflow = 0;
    *found = Py_TYPE(value) == &PyLong_Type ? PyLong_AsLongAndOverflow(value, &overflow) : -1;
    return overflow == 0 && *found >= 0 && *found <= UINT8_MAX;
}

static PyObject *fill_with_byte(span to, long value, PyObject *dst, PyObject *stream_) {
    void *const on = ((handle *)stream_)->pointer;
    submission made;
    SUBMIT(made, on, dst, NULL, FUNCTION(aclrtMemsetAsync, FILL)(to.address, to.nbytes, (int32_t)value, to.nbytes, on));
    return submission_end(&made, FILL, ((stream *)stream_)->retention, dst, NULL);
}

static PyObject *fill_async(PyObject *module, arguments args, Py_ssize_t count, PyObject *names) {
    PyObject *given[PARAMETERS] = {NULL}, *on = NULL, *result = NULL;
    span to;
    long value = 0;
    (void)module;
    if (parse(&paths[FILL_ASYNC].of, given, args, count, names) && given[OPTION] == NULL &&
        find_span(given[DST], true, &to) && to.is_on_device && find_byte(given[VALUE], &value) &&
        (on = given_or_current(given[STREAM])) != NULL && can_submit(FILL, on)) {
        result = fill_with_byte(to, value, given[DST], on);
    }
    Py_XDECREF(on);
    return result_or_python(result, &paths[FILL_ASYNC], NULL, args, count, names);
}

static short_path paths[PATHS] = {
    [COPY_ASYNC] = {.name = "copy_async", .call = METHOD(copy_async)},
    [FILL_ASYNC] = {.name = "fill_async", .call = METHOD(fill_async)},
};

const short_paths copy_functions = {NULL, paths, PATHS, NULL};

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
