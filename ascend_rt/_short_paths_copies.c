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

/* Ends a call that was made, and keeps what the task uses; the second may be NULL. */
static PyObject *submitted(submission made, int place, PyObject *stream_, PyObject *first, PyObject *second) {
    if (made.code != ACL_SUCCESS) {
        return fail(made.code, functions[place].name);
    }
    return keep_used(((stream *)stream_)->in_flight, made.begins_capture, first, second) ? Py_NewRef(Py_None) : NULL;
}

static PyObject *copy_async(PyObject *module, arguments args, Py_ssize_t count, PyObject *names) {
    (void)module;
    span to, from;
    if (count != 3 || names != NULL || !is_stream(args[2]) || !is_direct(COPY) || !has_pointer((handle *)args[2]) ||
        !find_span(args[0], true, &to) || !find_span(args[1], false, &from) ||
        (!to.is_on_device && !from.is_on_device)) {
        return call_python(&paths[COPY_ASYNC], NULL, args, count, names);
    }
    static const aclrtMemcpyKind kinds[2][2] = {
        /* from, to the device */
        {ACL_MEMCPY_HOST_TO_HOST, ACL_MEMCPY_HOST_TO_DEVICE},
        {ACL_MEMCPY_DEVICE_TO_HOST, ACL_MEMCPY_DEVICE_TO_DEVICE},
    };
    const aclrtMemcpyKind kind = kinds[from.is_on_device][to.is_on_device];
    void *const on = ((handle *)args[2])->pointer;
    submission made;
    SUBMIT(made, on, true,
           FUNCTION(aclrtMemcpyAsync, COPY)(to.address, to.nbytes, from.address, from.nbytes, kind, on));
    return made.is_captured ? call_python(&paths[COPY_ASYNC], NULL, args, count, names)
                            : submitted(made, COPY, args[2], args[0], args[1]);
}

/* Whether an object is a plain integer that fits into a byte. */
static bool find_byte(PyObject *value, long *found) {
    int overflow = 0;
    *found = Py_TYPE(value) == &PyLong_Type ? PyLong_AsLongAndOverflow(value, &overflow) : -1;
    return overflow == 0 && *found >= 0 && *found <= UINT8_MAX;
}

static PyObject *fill_async(PyObject *module, arguments args, Py_ssize_t count, PyObject *names) {
    (void)module;
    long value = 0;
    if (count != 3 || names != NULL || !is_stream(args[2]) || !is_direct(FILL) || !has_pointer((handle *)args[2]) ||
        !is_buffer(args[0]) || !has_pointer((handle *)args[0]) || !find_byte(args[1], &value)) {
        return call_python(&paths[FILL_ASYNC], NULL, args, count, names);
    }
    void *const on = ((handle *)args[2])->pointer, *const to = ((handle *)args[0])->pointer;
    const size_t nbytes = ((buffer *)args[0])->nbytes;
    submission made;
    SUBMIT(made, on, true, FUNCTION(aclrtMemsetAsync, FILL)(to, nbytes, (int32_t)value, nbytes, on));
    return made.is_captured ? call_python(&paths[FILL_ASYNC], NULL, args, count, names)
                            : submitted(made, FILL, args[2], args[0], NULL);
}

static short_path paths[PATHS] = {
    [COPY_ASYNC] = {"copy_async", "(dst, src, stream=None, *, snapshot=False)", METHOD(copy_async), NULL, NULL},
    [FILL_ASYNC] = {"fill_async", "(dst, value, stream=None, *, itemsize=1)", METHOD(fill_async), NULL, NULL},
};

static PyObject *short_copy_async(PyObject *module, PyObject *function) {
    (void)module;
    return short_function(&paths[COPY_ASYNC], function);
}

static PyObject *short_fill_async(PyObject *module, PyObject *function) {
    (void)module;
    return short_function(&paths[FILL_ASYNC], function);
}

static PyObject *pinned(PyObject *module, PyObject *class) {
    (void)module;
    plain_pinned = (PyTypeObject *)Py_NewRef(class);
    return Py_NewRef(class);
}

bool copies_add(PyObject *module) {
    static PyMethodDef functions_of_module[] = {
        {"short_copy_async", short_copy_async, METH_O, "Return the short path of copy_async()."},
        {"short_fill_async", short_fill_async, METH_O, "Return the short path of fill_async()."},
        {"pinned", pinned, METH_O, "Know a class of pinned memory, whose objects tell their _span; return the class."},
        {0},
    };
    return (span_name = PyUnicode_InternFromString("_span")) != NULL &&
           (flags_name = PyUnicode_InternFromString("flags")) != NULL &&
           (writeable_name = PyUnicode_InternFromString("writeable")) != NULL &&
           PyModule_AddFunctions(module, functions_of_module) == 0;
}
