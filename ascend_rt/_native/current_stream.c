/* SPDX-License-Identifier: Apache-2.0 */
/* The current stream: of calls without one. ascend_rt.Stream.current() finds it, and this finds what that has found. */
#include "methods.h"

static PyObject *chosen; /* get() of the context variable with the stream of the innermost block; NULL: no block yet */

/* Default streams of contexts, by their handles. */
enum { PLACES_LOG2 = 6 };
static PyObject *default_streams[1 << PLACES_LOG2];
static PyObject *last_default; /* the one that was found last */
static MUTEX(default_streams_mutex);

static PyObject **place_of(const void *handle) {
    const uint64_t mixed = (uint64_t)(uintptr_t)handle * 0x9E3779B97F4A7C15; /* multiplicative hashing */
    return &default_streams[mixed >> (64 - PLACES_LOG2)];
}

static PyObject *find_default(void) {
    void *handle = NULL;
    aclError code;
    Py_BEGIN_ALLOW_THREADS; /* while a snapshot locks the process, even this waits */
    code = FUNCTION(aclrtCtxGetCurrentDefaultStream, GET_DEFAULT_STREAM)(&handle);
    Py_END_ALLOW_THREADS;
    LOCK(default_streams_mutex);
    stream *const found = (stream *)*place_of(handle);
    const bool is_right =
        code == ACL_SUCCESS && found != NULL && LOAD(found->handle.is_known) && found->handle.pointer == handle;
    PyObject *const result = is_right ? Py_NewRef((PyObject *)found) : NULL;
    PyObject *const before = is_right ? exchange(&last_default, Py_NewRef(result)) : NULL;
    UNLOCK(default_streams_mutex);
    Py_XDECREF(before);
    return result;
}

PyObject *likely_current_stream(enum chosen_by *by) {
    PyObject *const found = LOAD(chosen) != NULL ? PyObject_CallNoArgs(chosen) : Py_NewRef(Py_None);
    *by = BY_BLOCK;
    if (found == NULL || is_stream(found)) {
        return found;
    }
    Py_DECREF(found);
    *by = BY_CONTEXT;
    LOCK(default_streams_mutex);
    PyObject *const likely = Py_XNewRef(last_default);
    UNLOCK(default_streams_mutex);
    return likely;
}

/* Takes the reference to what a block has chosen, which is for one context. */
static PyObject *for_this_context(PyObject *object) {
    stream *const found = (stream *)object;
    const uint64_t its = LOAD(found->context);
    void *context = NULL;
    aclError code;
    Py_BEGIN_ALLOW_THREADS;
    code = FUNCTION(aclrtGetCurrentContext, GET_CONTEXT)(&context);
    Py_END_ALLOW_THREADS;
    const bool is_right = code == ACL_SUCCESS && (its == 0 || its == (uint64_t)(uintptr_t)context);
    if (!is_right || LOAD(found->handle.state) == ENDED) {
        Py_CLEAR(object);
    }
    return object;
}

/* NULL, without an exception, if Python has to find it. */
static PyObject *find_chosen(void) {
    PyObject *const found = PyObject_CallNoArgs(chosen);
    if (found == NULL || is_stream(found)) {
        return found != NULL ? for_this_context(found) : NULL;
    }
    Py_DECREF(found);
    return find_default();
}

PyObject *current_stream(void) {
    PyObject *const found = LOAD(chosen) != NULL ? find_chosen() : find_default();
    return found != NULL || PyErr_Occurred() != NULL ? found : stream_of_argument(Py_None);
}

static PyObject *note_default_stream(PyObject *module, PyObject *object) {
    (void)module;
    if (!PyType_IsSubtype(Py_TYPE(object), stream_type)) {
        return PyErr_Format(PyExc_TypeError, "expected a Stream, got %R", (PyObject *)Py_TYPE(object));
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
    LOCK(default_streams_mutex);
    if (chosen == NULL) { /* it stays: threads may be about to call it */
        STORE(chosen, Py_NewRef(get));
    }
    UNLOCK(default_streams_mutex);
    Py_RETURN_NONE;
}

static PyObject *stream_to_use(PyObject *module, PyObject *given) {
    (void)module;
    return given_or_current(given);
}

void current_streams_renew_locks(void) { RENEW(default_streams_mutex); }

bool current_streams_add(PyObject *module) {
    static PyMethodDef functions_of_module[] = {
        {"given_or_current", stream_to_use, METH_O,
         "Return the stream to enqueue on: the calling thread's current one, unless one is given."},
        {"note_chosen_stream", note_chosen, METH_O,
         "Note what returns the stream of the innermost block that has chosen one, or None."},
        {"note_default_stream", note_default_stream, METH_O, "Note the default stream of the thread's context."},
        {0},
    };
    return PyModule_AddFunctions(module, functions_of_module) == 0;
}
