/* SPDX-License-Identifier: Apache-2.0 */
/* The current stream: of calls without one. ascend_rt.Stream.current() finds it, and this finds what that has found. */
#include "_short_paths.h"

static PyObject *chosen; /* get() of the context variable with the stream of the innermost block of as_current() */

/* Default streams of contexts, by their handles. */
enum { PLACES = 64 };
static PyObject *default_streams[PLACES];
static MUTEX(default_streams_mutex);

static PyObject **place_of(const void *handle) {
    const uint64_t mixed = (uint64_t)(uintptr_t)handle * 0x9E3779B97F4A7C15; /* multiplicative hashing */
    return &default_streams[mixed >> 58];
}

static bool is_in(stream *found, const void *context) {
    return LOAD(found->context) == (uint64_t)(uintptr_t)context && LOAD(found->handle.state) == OPEN;
}

static PyObject *find_default(const void *handle, const void *context) {
    LOCK(default_streams_mutex);
    stream *const found = (stream *)*place_of(handle);
    const bool is_right =
        found != NULL && has_pointer(&found->handle) && found->handle.pointer == handle && is_in(found, context);
    PyObject *const result = is_right ? Py_NewRef((PyObject *)found) : NULL;
    UNLOCK(default_streams_mutex);
    return result;
}

/* Whether a stream that was chosen is for the calling thread's context. */
static bool is_current(PyObject *object, const void *context) {
    stream *const found = (stream *)object;
    const uint64_t its = is_stream(object) ? LOAD(found->context) : 0;
    return is_stream(object) && (its == 0 || its == (uint64_t)(uintptr_t)context) && LOAD(found->handle.state) != ENDED;
}

static PyObject *current(void) {
    PyObject *const found = chosen != NULL && is_direct(GET_CONTEXT) && is_direct(GET_DEFAULT_STREAM)
                                ? PyObject_CallFunctionObjArgs(chosen, NULL)
                                : NULL;
    if (found == NULL) {
        PyErr_Clear(); /* Python finds it again */
        return NULL;
    }
    void *context = NULL, *handle = NULL;
    aclError code;
    Py_BEGIN_ALLOW_THREADS;
    code = FUNCTION(aclrtGetCurrentContext, GET_CONTEXT)(&context);
    if (code == ACL_SUCCESS && found == Py_None) {
        code = FUNCTION(aclrtCtxGetCurrentDefaultStream, GET_DEFAULT_STREAM)(&handle);
    }
    Py_END_ALLOW_THREADS;
    if (code == ACL_SUCCESS && is_current(found, context)) {
        return found;
    }
    Py_DECREF(found);
    return code == ACL_SUCCESS && handle != NULL ? find_default(handle, context) : NULL;
}

PyObject *given_or_current(PyObject *given) {
    if (is_none(given)) {
        return current();
    }
    return is_stream(given) ? Py_NewRef(given) : NULL;
}

static PyObject *note_default_stream(PyObject *module, PyObject *object) {
    (void)module;
    if (!PyType_IsSubtype(Py_TYPE(object), stream_type)) {
        return PyErr_Format(PyExc_TypeError, "a stream is noted, not %R", (PyObject *)Py_TYPE(object));
    }
    if (has_pointer((handle *)object)) {
        LOCK(default_streams_mutex);
        PyObject *before = exchange(place_of(((handle *)object)->pointer), Py_NewRef(object));
        UNLOCK(default_streams_mutex);
        Py_XDECREF(before);
    }
    Py_RETURN_NONE;
}

static PyObject *note_chosen(PyObject *module, PyObject *get) {
    (void)module;
    set(&chosen, Py_NewRef(get));
    Py_RETURN_NONE;
}

bool current_streams_add(PyObject *module) {
    static PyMethodDef functions_of_module[] = {
        {"note_chosen_stream", note_chosen, METH_O,
         "Note what returns the stream of the innermost block that has chosen one, or None."},
        {"note_default_stream", note_default_stream, METH_O, "Note the default stream of the thread's context."},
        {0},
    };
    return PyModule_AddFunctions(module, functions_of_module) == 0;
}
