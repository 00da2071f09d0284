/* SPDX-License-Identifier: Apache-2.0 */
/* The short paths of copies and fills. */
#include "_short_paths.h"

static PyTypeObject *plain_pinned; /* ascend_rt.PinnedBuffer */
static PyObject *span_name;        /* "_span" */
static PyObject *flags_name;       /* "flags" */
static PyObject *writeable_name;   /* "writeable" */

enum { COPY_ASYNC, FILL_ASYNC, PATHS };

static short_path paths[PATHS];

typedef struct span {
    void *address; /* as the _span of a pinned buffer has it packed, and so the size */
    size_t nbytes;
    bool is_on_device;
} span;

enum { PACKED = offsetof(span, is_on_device) };

/* Whether memory of the host may be written to, which only numpy knows. */
static bool is_writable(PyObject *array) {
    PyObject *flags = PyObject_GetAttr(array, flags_name);
    PyObject *writable = flags != NULL ? PyObject_GetAttr(flags, writeable_name) : NULL;
    Py_XDECREF(flags);
    Py_XDECREF(writable);
    return writable == Py_True;
}

static bool find_pinned(PyObject *operand, bool is_written, span *found) {
    PyObject *packed = PyObject_GetAttr(operand, span_name);
    const bool is_known = packed != NULL && Py_TYPE(packed) == &PyBytes_Type;
    const bool is_whole = is_known && (!is_written || is_writable(operand));
    if (is_whole) {
        memcpy(found, PyBytes_AsString(packed), PACKED);
        found->is_on_device = false;
    } else {
        PyErr_Clear(); /* the function in Python will raise it again */
    }
    Py_XDECREF(packed);
    return is_whole;
}

/* Finds where an operand is, if it is a buffer or a whole pinned one. */
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

/* Ends a call that was made, and keeps what the task uses; the second may be NULL. NULL without an exception: the
 * stream is captured, and nothing was called. */
static PyObject *submitted(submission made, int place, PyObject *stream_, PyObject *first, PyObject *second) {
    if (made.code != ACL_SUCCESS) {
        return fail(made.code, functions[place].name);
    }
    const bool is_kept =
        !made.is_captured && keep_used(((stream *)stream_)->in_flight, made.begins_capture, first, second);
    return is_kept ? Py_NewRef(Py_None) : NULL;
}

static bool can_submit(int place, PyObject *on) { return is_direct(place) && has_pointer((handle *)on); }

static PyObject *copy_between(PyObject *dst, PyObject *src, PyObject *stream_) {
    span to, from;
    if (!can_submit(COPY, stream_) || !find_span(dst, true, &to) || !find_span(src, false, &from) ||
        (!to.is_on_device && !from.is_on_device)) {
        return NULL;
    }
    static const aclrtMemcpyKind kinds[2][2] = {
        /* from, to the device */
        {ACL_MEMCPY_HOST_TO_HOST, ACL_MEMCPY_HOST_TO_DEVICE},
        {ACL_MEMCPY_DEVICE_TO_HOST, ACL_MEMCPY_DEVICE_TO_DEVICE},
    };
    const aclrtMemcpyKind kind = kinds[from.is_on_device][to.is_on_device];
    void *const on = ((handle *)stream_)->pointer;
    submission made;
    SUBMIT(made, on, true,
           FUNCTION(aclrtMemcpyAsync, COPY)(to.address, to.nbytes, from.address, from.nbytes, kind, on));
    return submitted(made, COPY, stream_, dst, src);
}

static PyObject *copy_async(PyObject *module, arguments args, Py_ssize_t count, PyObject *names) {
    enum { DST, SRC, STREAM, SNAPSHOT, PARAMETERS };
    PyObject *given[PARAMETERS] = {NULL}, *on = NULL, *result = NULL;
    (void)module;
    if (parse(&paths[COPY_ASYNC].of, given, args, count, names) &&
        (given[SNAPSHOT] == NULL || given[SNAPSHOT] == Py_False) && (on = given_or_current(given[STREAM])) != NULL) {
        result = copy_between(given[DST], given[SRC], on);
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

static PyObject *fill_with_byte(PyObject *dst, PyObject *byte, PyObject *stream_) {
    long value = 0;
    if (!can_submit(FILL, stream_) || !is_buffer(dst) || !has_pointer((handle *)dst) || !find_byte(byte, &value)) {
        return NULL;
    }
    void *const on = ((handle *)stream_)->pointer, *const to = ((handle *)dst)->pointer;
    const size_t nbytes = ((buffer *)dst)->nbytes;
    submission made;
    SUBMIT(made, on, true, FUNCTION(aclrtMemsetAsync, FILL)(to, nbytes, (int32_t)value, nbytes, on));
    return submitted(made, FILL, stream_, dst, NULL);
}

static PyObject *fill_async(PyObject *module, arguments args, Py_ssize_t count, PyObject *names) {
    enum { DST, VALUE, STREAM, ITEMSIZE, PARAMETERS };
    PyObject *given[PARAMETERS] = {NULL}, *on = NULL, *result = NULL;
    (void)module;
    if (parse(&paths[FILL_ASYNC].of, given, args, count, names) && given[ITEMSIZE] == NULL &&
        (on = given_or_current(given[STREAM])) != NULL) {
        result = fill_with_byte(given[DST], given[VALUE], on);
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
        {"pinned", pinned, METH_O, "Know a class of pinned memory, whose objects tell their _span; return the class."},
        {0},
    };
    return (span_name = PyUnicode_InternFromString("_span")) != NULL &&
           (flags_name = PyUnicode_InternFromString("flags")) != NULL &&
           (writeable_name = PyUnicode_InternFromString("writeable")) != NULL &&
           PyModule_AddFunctions(module, functions_of_module) == 0;
}
