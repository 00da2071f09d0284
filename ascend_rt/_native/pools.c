/* SPDX-License-Identifier: Apache-2.0 */
/* The hot methods of memory pools and of their memory. */
#include "methods.h"

static PyTypeObject *plain_pool_buffer; /* ascend_rt.memory_pool.PoolBuffer */

enum { ALLOCATE, POOL_PATHS };
enum { INIT, CLOSE, BUFFER_PATHS };

static hot_method of_pool[POOL_PATHS], of_buffer[BUFFER_PATHS];

/* Notes the stream in whose order memory is freed, and its context. Python does it for a stream whose object may be
 * closed while the stream goes on, or whose context is not known. */
static bool use_stream(pool_buffer *self, PyObject *stream_) {
    const uint64_t context = ((stream *)stream_)->context;
    if (context != 0 && LOAD(((handle *)stream_)->is_owned)) {
        set_field(self, &self->stream, Py_NewRef(stream_));
        STORE(self->context, context);
        return true;
    }
    PyObject *done = PyObject_CallMethod((PyObject *)self, "_use", "O", stream_);
    Py_XDECREF(done);
    return done != NULL;
}

/* Makes memory of a new object, or of a closed one. */
static bool make(pool_buffer *self, PyObject *pool, PyObject *stream_, PyObject *size) {
    size_t nbytes;
    if (!close_deferred() || !find_size(size, "check_positive", "int too big to convert", &nbytes) ||
        !use_stream(self, stream_) || !is_usable(pool) || !is_usable(stream_)) {
        return false;
    }
    self->buffer.nbytes = nbytes;
    set_field(self, &self->buffer.parent, Py_NewRef(pool));
    void *const from = ((handle *)pool)->pointer, *const on = ((handle *)stream_)->pointer;
    void *pointer = NULL;
    aclError code;
    BEGIN_CALLS;
    code = FUNCTION(aclrtMemPoolMallocAsync, POOL_MALLOC)(&pointer, nbytes, from, on);
    END_CALLS;
    if (code != ACL_SUCCESS) {
        fail(code, functions[POOL_MALLOC].name);
        return false;
    }
    return handle_own((PyObject *)self, pointer, get_field(pool, &((handle *)pool)->owner));
}

static PyObject *pool_allocate(PyObject *pool, arguments args, Py_ssize_t count, PyObject *names) {
    enum { NBYTES, STREAM, PARAMETERS };
    PyObject *given[PARAMETERS] = {NULL};
    if (!parse(&of_pool[ALLOCATE].of, given, args, count, names)) {
        return refuse_call(&of_pool[ALLOCATE], pool, args, count, names);
    }
    PyObject *const on = given_or_current(given[STREAM]);
    PyObject *memory = on != NULL ? PyType_GenericAlloc(plain_pool_buffer, 0) : NULL;
    if (memory != NULL && !make((pool_buffer *)memory, pool, on, given[NBYTES])) {
        Py_CLEAR(memory);
    }
    Py_XDECREF(on);
    return memory;
}

static PyObject *pool_buffer_init(PyObject *self, arguments args, Py_ssize_t count, PyObject *names) {
    enum { NBYTES, POOL, STREAM, PARAMETERS };
    PyObject *given[PARAMETERS] = {NULL};
    if (!parse(&of_buffer[INIT].of, given, args, count, names)) {
        return refuse_call(&of_buffer[INIT], self, args, count, names);
    }
    if (!PyType_IsSubtype(Py_TYPE(given[POOL]), pool_type) || !is_stream(given[STREAM])) {
        PyErr_SetString(PyExc_TypeError, "expected a MemoryPool and a Stream");
        return NULL;
    }
    const bool is_made =
        handle_can_be_made(self) && make((pool_buffer *)self, given[POOL], given[STREAM], given[NBYTES]);
    return is_made ? Py_NewRef(Py_None) : NULL;
}

static bool can_free(pool_buffer *self, PyObject *pool, PyObject *stream_) {
    return has_pointer(&self->buffer.handle) && LOAD(self->buffer.handle.is_owned) && pool != NULL && stream_ != NULL &&
           has_pointer((handle *)pool) && is_stream(stream_) && has_pointer((handle *)stream_);
}

static aclError free_in_order(handle *freed, stream *stream_) {
    void *const pointer = freed->pointer, *const on = stream_->handle.pointer;
    aclError code;
    if (!handle_shut(freed)) {
        return ACL_SUCCESS; /* another thread has closed it */
    }
    BEGIN_CALLS;
    code = FUNCTION(aclrtMemPoolFreeAsync, POOL_FREE)(pointer, on);
    END_CALLS;
    return code != ASCEND_RT_REFUSED ? code : ACL_SUCCESS; /* the pool ends with the process */
}

/* Returns true if there is another way to free it, in Python: in the stream's context, or without the stream. */
static bool has_other_way(aclError code) {
    return code == ACL_ERROR_RT_STREAM_CONTEXT || code == ACL_ERROR_RT_INVALID_HANDLE;
}

/* NULL without an exception: nothing was freed. */
static PyObject *close_in_order(handle *freed, stream *stream_) {
    const aclError code = free_in_order(freed, stream_);
    if (code == ACL_SUCCESS) {
        Py_RETURN_NONE;
    }
    if (!is_raised(code)) { /* otherwise it may be free */
        handle_reopen(freed);
    }
    return has_other_way(code) ? NULL : fail(code, functions[POOL_FREE].name);
}

bool discard_pool_buffer(handle *freed) {
    pool_buffer *const self = (pool_buffer *)freed;
    PyObject *pool = get_field(self, &self->buffer.parent), *stream_ = get_field(self, &self->stream);
    const bool is_here = Py_TYPE(freed) == plain_pool_buffer && can_free(self, pool, stream_);
    const aclError code = is_here ? free_in_order(freed, (stream *)stream_) : ACL_ERROR_RT_INVALID_HANDLE;
    const bool is_done = is_here && !has_other_way(code);
    Py_XDECREF(stream_);
    Py_XDECREF(pool);
    if (is_here && !is_done) {
        handle_reopen(freed);
    } else if (is_done) {
        warn_of_discarded(freed, code, functions[POOL_FREE].name);
    }
    return is_done;
}

static PyObject *close_now(PyObject *object) {
    pool_buffer *const self = (pool_buffer *)object;
    PyObject *pool = get_field(self, &self->buffer.parent), *stream_ = get_field(self, &self->stream);
    PyObject *result = can_free(self, pool, stream_) ? close_in_order(&self->buffer.handle, (stream *)stream_) : NULL;
    Py_XDECREF(stream_);
    Py_XDECREF(pool);
    return result != NULL || PyErr_Occurred() != NULL ? result : PyObject_CallMethod(object, "_close", NULL);
}

static PyObject *pool_buffer_close(PyObject *object, arguments args, Py_ssize_t count, PyObject *names) {
    PyObject *given = NULL;
    if (!parse(&of_buffer[CLOSE].of, &given, args, count, names)) {
        return refuse_call(&of_buffer[CLOSE], object, args, count, names);
    }
    if (!is_none(given) && has_pointer((handle *)object)) {
        PyObject *const on = given_or_current(given);
        const bool is_used = on != NULL && use_stream((pool_buffer *)object, on);
        Py_XDECREF(on);
        if (!is_used) {
            return NULL;
        }
    }
    return close_now(object);
}

static hot_method of_pool[POOL_PATHS] = {
    [ALLOCATE] = {.name = "allocate", .call = METHOD(pool_allocate)},
};

static hot_method of_buffer[BUFFER_PATHS] = {
    [INIT] = {.name = "__init__", .call = METHOD(pool_buffer_init)},
    [CLOSE] = {.name = "close", .call = METHOD(pool_buffer_close)},
};

static bool connect(PyObject *class) {
    plain_pool_buffer = (PyTypeObject *)Py_NewRef(class);
    return true;
}

const hot_methods pool_paths = {&pool_type, of_pool, POOL_PATHS, NULL};
const hot_methods pool_buffer_paths = {&pool_buffer_type, of_buffer, BUFFER_PATHS, connect};
