/* SPDX-License-Identifier: Apache-2.0 */
/* Creation and end of streams. A stream begins with all that outlives it: its life, its log and first window of
 * failures, and its retention. Its end waits for the work, which reports what has failed, and then destroys the stream.
 */
#include "stream_life.h"

#include "batches.h"
#include "failures.h"
#include "handle_life.h"
#include "host_functions.h"
#include "methods.h"

static PyObject *allocators; /* allocator_registry.registrations: of streams, by their handles */

enum { LOWEST_PRIORITY = 7 };

/* Creation. */

static bool find_priority(PyObject *given, uint32_t *priority) {
    PyObject *const number = given == NULL ? PyLong_FromLong(0) : PyNumber_Index(given);
    int overflow = 0;
    const long long value = number != NULL ? PyLong_AsLongLongAndOverflow(number, &overflow) : 0;
    const long long near = overflow > 0 ? LOWEST_PRIORITY : overflow < 0 || value < 0 ? 0 : value;
    *priority = near < LOWEST_PRIORITY ? (uint32_t)near : LOWEST_PRIORITY;
    Py_XDECREF(number);
    return number != NULL;
}

static bool find_flags(PyObject *given, uint32_t *flags) {
    PyObject *const number = given == NULL ? PyLong_FromLong(0) : PyNumber_Index(given);
    const unsigned long value = number != NULL ? PyLong_AsUnsignedLong(number) : 0;
    if (value > UINT32_MAX && PyErr_Occurred() == NULL) {
        PyErr_SetString(PyExc_OverflowError, "flags of a stream have 32 bits");
    }
    *flags = (uint32_t)value;
    Py_XDECREF(number);
    return PyErr_Occurred() == NULL;
}

/* Unregisters the allocator of a stream that is about to go; or, with None, of an older one that had the handle. */
static bool forget_allocator(const void *pointer, PyObject *its_epoch) {
    const unsigned long long number = (uintptr_t)pointer;
    PyObject *const done = PyDict_Size(allocators) > 0 ? call_rare("ascend_rt._memory.allocator_registry",
                                                                   "forget_stream", "KO", number, its_epoch)
                                                       : Py_NewRef(Py_None);
    Py_XDECREF(done);
    return done != NULL;
}

/* Owner of a new stream in the calling thread's context, as a new reference; or NULL with an exception. */
static PyObject *find_owner(void **context) {
    aclError code;
    Py_BEGIN_ALLOW_THREADS;
    code = FUNCTION(aclrtGetCurrentContext, GET_CONTEXT)(context);
    Py_END_ALLOW_THREADS;
    return code == ACL_SUCCESS ? owner_of_stream(*context) : fail(code, functions[GET_CONTEXT].name);
}

/* Gives an object its first retention, whose reference it takes; threads may be using one that is there, or about to
 * create the stream. Returns false with an exception. */
static bool has_first_retention(stream *self, retention *kept) {
    bool is_first = false;
    BEGIN_LOCKED(self);
    is_first = self->retention == NULL;
    if (is_first) {
        self->retention = kept;
    }
    END_LOCKED();
    if (!is_first) {
        Py_DECREF((PyObject *)kept);
        PyErr_SetString(PyExc_RuntimeError, "this stream exists already; create a new object");
    }
    return is_first;
}

static bool create(stream *self, uint32_t priority, uint32_t flags) {
    void *context = NULL, *created = NULL;
    PyObject *const owner = find_owner(&context);
    PyObject *const its_epoch = owner != NULL ? PyTuple_GetItem(owner, 0) : NULL;
    retention *const kept = owner != NULL ? new_retention(NULL, its_epoch, (uintptr_t)context) : NULL;
    if (kept == NULL) {
        Py_XDECREF(owner);
        return false;
    }
    if (!has_first_retention(self, kept)) {
        Py_DECREF(owner);
        return false;
    }
    aclError code;
    Py_BEGIN_ALLOW_THREADS;
    code = FUNCTION(aclrtCreateStreamWithConfig, CREATE_STREAM)(&created, priority, flags);
    Py_END_ALLOW_THREADS;
    if (code != ACL_SUCCESS) {
        set_field(self, (PyObject **)&self->retention, NULL);
        Py_DECREF(owner);
        fail(code, functions[CREATE_STREAM].name);
        return false;
    }
    retention_begin(kept, created);
    self->context = (uintptr_t)context;
    return handle_own((PyObject *)self, created, owner) && forget_allocator(created, Py_None);
}

bool stream_create(PyObject *object, PyObject *given_priority, PyObject *given_flags) {
    uint32_t priority, flags;
    if (!find_priority(given_priority, &priority) || !find_flags(given_flags, &flags) || !handle_can_be_made(object)) {
        return false;
    }
    return initialize() && close_deferred() && create((stream *)object, priority, flags);
}

/* The end. While a stream is closing it counts as closed; whatever is raised before it is destroyed opens it again. */

static bool is_done(PyObject *result) {
    Py_XDECREF(result);
    return result != NULL;
}

/* Returns true if no call reaches the library any more: tasks may be pending for as long as the process lives. */
static bool are_calls_refused(void) { return atomic_load(shared->refusal) == (int)ASCEND_RT_REFUSED; }

/* Waits for the work: the destruction would wait too, but report nothing. */
static bool wait_for_work(stream *self) {
    retention *const kept = self->retention;
    void *const pointer = kept->life->pointer;
    bool is_waited_for = false;
    int code = ACL_SUCCESS;
    if (life_is_over(kept->life)) {
        return true;
    }
    Py_BEGIN_ALLOW_THREADS;
    if ((is_waited_for = shared->captured_graph(pointer) == 0)) {
        code = shared->synchronize_stream(pointer, FOR_EVER, &kept->failures->report);
    }
    Py_END_ALLOW_THREADS;
    const bool is_plain = code == ACL_SUCCESS && has_reported_nothing(kept);
    return !is_waited_for || code == (int)ASCEND_RT_REFUSED || is_plain ||
           is_done(PyObject_CallMethod((PyObject *)self, "_finish", "i", code));
}

/* Calls what destroys the stream; if that needs the stream's context, there. */
static aclError call_destruction(stream *self, void *pointer, int place) {
    aclError code;
    Py_BEGIN_ALLOW_THREADS;
    shared->await_left(pointer);
    code = FUNCTION(aclrtDestroyStream, place)(pointer);
    if (code == ACL_ERROR_RT_CONTEXT_NULL || code == ACL_ERROR_RT_STREAM_CONTEXT) {
        FUNCTION(aclGetRecentErrMsg, RECENT_MESSAGE)(); /* discards the text */
    }
    Py_END_ALLOW_THREADS;
    if (code == ACL_ERROR_RT_CONTEXT_NULL || code == ACL_ERROR_RT_STREAM_CONTEXT) {
        PyObject *const result = PyObject_CallMethod((PyObject *)self, "_destroy_there", "s", functions[place].name);
        code = result != NULL ? (aclError)PyLong_AsLong(result) : code;
        Py_XDECREF(result);
    }
    if (code == ACL_ERROR_RT_INVALID_HANDLE) { /* its device was reset */
        FUNCTION(aclGetRecentErrMsg, RECENT_MESSAGE)();
    }
    return code == ACL_ERROR_RT_INVALID_HANDLE || code == ASCEND_RT_REFUSED ? ACL_SUCCESS : code;
}

static bool destroy_stream(stream *self, bool is_forced) {
    life *const its = self->retention->life;
    const int place = is_forced ? DESTROY_STREAM_FORCE : DESTROY_STREAM;
    if (LOAD(epoch_of(self->handle.owner)->is_over)) { /* it went with its context */
        STORE(its->is_destroyed, true);
        return true;
    }
    if (!forget_allocator(its->pointer, its->epoch)) {
        return false;
    }
    STORE(self->retention->is_ending, true);
    STORE(its->is_destroyed, true);
    const aclError code = call_destruction(self, its->pointer, place);
    const bool is_destroyed =
        PyErr_Occurred() != NULL ? LOAD(self->handle.state) != CLOSING : code == ACL_SUCCESS || is_raised(code);
    if (!is_destroyed) {
        STORE(its->is_destroyed, false);
    }
    STORE(self->retention->is_ending, false);
    if (code != ACL_SUCCESS && PyErr_Occurred() == NULL) {
        fail(code, functions[place].name);
    }
    return is_destroyed;
}

/* Releases what the tasks have used: now, or when the reset of the device in another thread is over. */
static bool let_go(retention *kept, PyObject *ended, PyObject *launched) {
    PyObject *const batch = ended != NULL ? ended : Py_None;
    if (are_calls_refused()) { /* since a moment ago */
        return true;
    }
    if (launched != NULL || PySet_Size(resets) > 0) {
        PyObject *const calls = launched != NULL ? launched : Py_None;
        return is_done(call_rare("ascend_rt.stream", "_let_go_when_over", "OOO", kept, batch, calls));
    }
    Py_XDECREF(release(batch, false) ? retention_end(kept) : NULL); /* which leaves nothing behind */
    return PyErr_Occurred() == NULL;
}

/* Raises what a task has failed with, which no synchronization has reported; also if an earlier close was interrupted
 * that has destroyed the stream, but not if a reset has, which reports nothing. */
static PyObject *conclude(stream *self) {
    retention *const kept = self->retention;
    const bool is_ours = LOAD(self->handle.is_owned) && !LOAD(epoch_of(self->handle.owner)->is_over);
    return is_ours && !has_reported_nothing(kept)
               ? PyObject_CallMethod((PyObject *)kept, "conclude", "is", 0, functions[SYNCHRONIZE_STREAM].name)
               : Py_NewRef(Py_None);
}

static bool end_owned(stream *self, bool is_forced) {
    retention *const kept = self->retention;
    PyObject *const ended = retention_end(kept);
    PyObject *launched = NULL;
    bool is_ended = PyErr_Occurred() == NULL;
    if (is_ended && host_functions_are_pending()) {
        launched = call_rare("ascend_rt._runtime.host_functions", "launched", "(K)",
                             (unsigned long long)(uintptr_t)kept->life->pointer);
        is_ended = launched != NULL;
    }
    is_ended = is_ended && (is_forced || wait_for_work(self)) && destroy_stream(self, is_forced);
    if (is_ended) {
        const raised before = put_aside();
        handle_end_closing(&self->handle);
        if (is_forced) {
            shared->take_report(&kept->failures->report);
        }
        let_go(kept, ended, launched);
        bring_back(before);
    }
    Py_XDECREF(launched);
    Py_XDECREF(ended);
    return is_ended && PyErr_Occurred() == NULL;
}

PyObject *stream_end(PyObject *object, bool is_forced) {
    stream *const self = (stream *)object;
    const bool is_owned = LOAD(self->handle.is_owned);
    if (is_owned && LOAD(self->handle.state) == OPEN && host_function_is_inside()) {
        return PyObject_CallMethod(object, "_refuse_inside", NULL);
    }
    if (LOAD(self->handle.state) == NEW) {
        return handle_refuse(object);
    }
    if (!handle_begin_closing(&self->handle)) {
        return conclude(self);
    }
    const bool is_ended =
        are_calls_refused() ||
        (is_owned ? end_owned(self, is_forced) : is_done(PyObject_CallMethod(object, "_let_tasks_go_on", NULL)));
    if (LOAD(self->handle.state) == CLOSING) {
        const raised before = put_aside();
        if (is_ended) {
            handle_end_closing(&self->handle);
        } else {
            handle_reopen(&self->handle);
        }
        bring_back(before);
    }
    return is_ended ? conclude(self) : NULL;
}

bool stream_life_connect(void) {
    return (allocators = attribute_of("ascend_rt._memory.allocator_registry", "registrations")) != NULL &&
           failures_connect() && batches_connect();
}
