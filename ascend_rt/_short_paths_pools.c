/* SPDX-License-Identifier: Apache-2.0 */
/* The short paths of memory pools and of their memory. */
#include "_short_paths.h"

static PyTypeObject *plain_pool_buffer; /* ascend_rt.memory_pool.PoolBuffer */
static PyObject *context_name;          /* "_context" */

enum { ALLOCATE, POOL_PATHS };
enum { CLOSE, BUFFER_PATHS };

static short_path of_pool[POOL_PATHS], of_buffer[BUFFER_PATHS];

/* A new object for memory that is freed in the order of a stream, still without a handle. NULL without an exception:
 * the context of the stream is not known. */
static pool_buffer *new_buffer(PyObject *pool, PyObject *stream_, size_t nbytes) {
    PyObject *context = PyObject_GetAttr(stream_, context_name);
    pool_buffer *self = NULL;
    if (context != NULL && context != Py_None) {
        self = (pool_buffer *)PyType_GenericAlloc(plain_pool_buffer, 0);
    }
    if (self != NULL) {
        self->buffer.nbytes = nbytes;
        self->buffer.parent = Py_NewRef(pool);
        self->stream = Py_NewRef(stream_);
        self->context = Py_NewRef(context);
    }
    Py_XDECREF(context);
    return self;
}

/* NULL without an exception: Python has to do it. */
static PyObject *allocate(PyObject *pool, PyObject *stream_, size_t nbytes) {
    pool_buffer *const self = new_buffer(pool, stream_, nbytes);
    if (self == NULL) {
        return NULL;
    }
    void *const from = ((handle *)pool)->pointer, *const on = ((handle *)stream_)->pointer;
    void *pointer = NULL;
    aclError code;
    Py_BEGIN_ALLOW_THREADS;
    code = FUNCTION(aclrtMemPoolMallocAsync, POOL_MALLOC)(&pointer, nbytes, from, on);
    Py_END_ALLOW_THREADS;
    PyObject *object = (PyObject *)self;
    if (code != ACL_SUCCESS) {
        fail(code, functions[POOL_MALLOC].name);
        Py_CLEAR(object);
    } else if (!handle_own(object, pointer, get_field(pool, &((handle *)pool)->home))) {
        Py_CLEAR(object);
    }
    return object;
}

static bool find_size(PyObject *object, size_t *nbytes) {
    int overflow = 0;
    const long long found = PyLong_CheckExact(object) ? PyLong_AsLongLongAndOverflow(object, &overflow) : 0;
    *nbytes = (size_t)found;
    return overflow == 0 && found > 0;
}

static PyObject *pool_allocate(PyObject *pool, arguments args, Py_ssize_t count, PyObject *names) {
    enum { NBYTES, STREAM, PARAMETERS };
    PyObject *given[PARAMETERS] = {NULL}, *on = NULL, *result = NULL;
    size_t nbytes = 0;
    if (parse(&of_pool[ALLOCATE].of, given, args, count, names) && plain_pool_buffer != NULL &&
        find_size(given[NBYTES], &nbytes) && !has_deferred() && has_pointer((handle *)pool) &&
        (on = given_or_current(given[STREAM])) != NULL && has_pointer((handle *)on) && LOAD(((handle *)on)->is_owned)) {
        result = allocate(pool, on, nbytes);
    }
    Py_XDECREF(on);
    return result_or_python(result, &of_pool[ALLOCATE], pool, args, count, names);
}

static bool can_free(pool_buffer *self, PyObject *pool, PyObject *stream_) {
    const handle *const freed = &self->buffer.handle;
    return LOAD(freed->is_known) && LOAD(freed->is_owned) && pool != NULL && stream_ != NULL &&
           has_pointer((handle *)pool) && is_stream(stream_) && has_pointer((handle *)stream_);
}

static aclError free_in_order(handle *freed, stream *stream_) {
    void *const pointer = freed->pointer, *const on = stream_->handle.pointer;
    aclError code;
    if (!handle_shut(freed)) {
        return ACL_SUCCESS; /* another thread has closed it */
    }
    Py_BEGIN_ALLOW_THREADS;
    code = FUNCTION(aclrtMemPoolFreeAsync, POOL_FREE)(pointer, on);
    Py_END_ALLOW_THREADS;
    return code != ASCEND_RT_REFUSED ? code : ACL_SUCCESS; /* the pool ends with the process */
}

/* Returns true if Python has another way to free it: in the stream's context, or without the stream. */
static bool has_other_way(aclError code) {
    return code == ACL_ERROR_RT_STREAM_CONTEXT || code == ACL_ERROR_RT_INVALID_HANDLE;
}

/* NULL without an exception: nothing was freed, and Python has to do it. */
static PyObject *close_in_order(handle *freed, stream *stream_) {
    const aclError code = free_in_order(freed, stream_);
    if (code == ACL_SUCCESS) {
        Py_RETURN_NONE;
    }
    handle_reopen(freed);
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

static PyObject *pool_buffer_close(PyObject *object, arguments args, Py_ssize_t count, PyObject *names) {
    pool_buffer *const self = (pool_buffer *)object;
    PyObject *pool = get_field(self, &self->buffer.parent), *stream_ = get_field(self, &self->stream);
    PyObject *result = NULL;
    if (count == 0 && names == NULL && Py_TYPE(object) == plain_pool_buffer && can_free(self, pool, stream_)) {
        result = close_in_order(&self->buffer.handle, (stream *)stream_);
    }
    Py_XDECREF(stream_);
    Py_XDECREF(pool);
    return result_or_python(result, &of_buffer[CLOSE], object, args, count, names);
}

static short_path of_pool[POOL_PATHS] = {
    [ALLOCATE] = {.name = "allocate", .call = METHOD(pool_allocate)},
};

static short_path of_buffer[BUFFER_PATHS] = {
    [CLOSE] = {.name = "close", .call = METHOD(pool_buffer_close)},
};

static bool connect(PyObject *class) {
    plain_pool_buffer = (PyTypeObject *)Py_NewRef(class);
    return (context_name = PyUnicode_InternFromString("_context")) != NULL;
}

const short_paths pool_paths = {&pool_type, of_pool, POOL_PATHS, NULL};
const short_paths pool_buffer_paths = {&pool_buffer_type, of_buffer, BUFFER_PATHS, connect};
