/* SPDX-License-Identifier: Apache-2.0 */
/* The base types of ascend_rt._native.handles: what is in them, for their hot methods. */
#pragma once

#include "aclrt_support.h"
#include "epochs.h"
#include "python_api.h"

/* ENDED: the reset of its device has ended the object, and nothing of it may reach the library any more. CLOSING: a
 * thread gives the handle back, and for all others the object is closed. CLOSED_WITH_BUFFER: a view of a buffer that
 * was closed; if that fails, both are open again. */
enum state { NEW, OPEN, ENDED, CLOSING, CLOSED, CLOSED_WITH_BUFFER };

typedef struct handle {
    PyObject ob_base;
    PyObject *weak_references;
    PyObject *view;  /* an object of cffi, made when it is asked for; or the handle of an object that has no pointer */
    PyObject *owner; /* an ascend_rt._runtime.lifecycle.Owner; set once */
    PyObject *hash;  /* the value when it was first asked for */
    void *pointer;   /* the same as the view */
    bool is_known;   /* true if the pointer of an open object is */
    char is_owned;
    bool has_views; /* true for a buffer that may have views */
    enum state state;
    struct handle *next, **link; /* in the list of the epoch; link: what points to this, NULL: nothing */
} handle;

typedef struct event {
    handle handle;
    PyObject *before; /* released by its completion */
    PyObject *window; /* the one with the newest record; None if there is none, or it was not made here */
    const PyObject
        *recorder;    /* the retention of the stream of all records that have begun and not ended; NULL: of several */
    uint32_t records; /* how many those are */
    uint64_t newest;  /* the number of the newest record */
    uint64_t aborts;  /* aborts_known() when it began */
    int asked;        /* by how many threads that its user does not know of: it is destroyed afterwards */
    char is_shared;   /* others may record it, or it stays complete: that says nothing of our record */
    char has_time;
} event;

/* Operands of tasks that were submitted one after the other, or of a graph. */
typedef struct batch {
    PyObject ob_base;
    PyObject *objects;  /* a list of tuples */
    PyObject *previous; /* the batch before; None or NULL: there is none that is kept */
    PyObject *owner;    /* the retention that has ended it; NULL: it is open, was released, or is of a graph */
    bool is_complete;   /* true if all tasks are known to be */
} batch;

/* A stream of the runtime, for all that outlives it. */
typedef struct life {
    PyObject ob_base;
    void *pointer;     /* its handle; after its end, it must not reach the library */
    PyObject *epoch;   /* epoch of its context; the host's: unknown */
    uint32_t device;   /* UINT32_MAX: unknown */
    uint32_t number;   /* the runtime's, as it was when it was last asked for */
    char is_destroyed; /* by its owner */
} life;

/* Failures of a stream, or of the streams of a context; ascend_rt._runtime.failures explains the log. */
typedef struct failure_log {
    PyObject ob_base;
    ascend_rt_report report; /* deferred, if there is one */
} failure_log;

/* The work of a stream from one report of a failed task to the next. */
typedef struct error_window {
    PyObject ob_base;
    life *stream;
    failure_log *log;
    PyObject *failure;  /* an exception that is not raised; NULL or None: none is known */
    int reported;       /* the code of the failure that the stream has reported before; in STOP mode it stays */
    uint64_t seen;      /* how many failures of the process were looked at */
    char needs_polling; /* true if the library reports none, or the failure of this window is known */
} error_window;

/* Owner of the batches of a stream; all Python objects of the stream share it. */
typedef struct retention {
    PyObject ob_base;
    PyObject *weak_references;
    PyObject *reference; /* a weak one to this */
    life *life;          /* set once, as the failures */
    failure_log *failures;
    PyObject *window;               /* an error_window */
    batch *open;                    /* the mutex guards it, and its list; NULL: nothing was kept yet */
    uint64_t context;               /* address of its handle; 0: unknown */
    struct retention *next, **link; /* in a list of all; link: what points to this, NULL: nothing */
    bool is_used;                   /* true if anything is kept; changed with the mutex */
    char is_ending;                 /* a thread destroys the stream: its handle is gone while its tasks may still run */
    MUTEX(mutex);
} retention;

typedef struct stream {
    handle handle;
    retention *retention; /* set once */
    uint64_t context;     /* address of its handle; 0: unknown */
    PyObject *foreign;    /* another package's object of a borrowed stream, which may own it */
} stream;

typedef struct graph {
    handle handle;
    PyObject *retained;  /* a batch: what an execution uses that is launched now */
    PyObject *captured;  /* the same of the tasks since the capture */
    PyObject *changed;   /* a dictionary: operands of tasks that were changed, by their handles; NULL: none was */
    PyObject *submitted; /* the same of those that take their place with the next update that succeeds */
    uint64_t context;    /* address of the handle of the context that it was captured in */
} graph;

typedef struct buffer {
    handle handle;
    uint64_t nbytes;  /* set once */
    PyObject *parent; /* must live as long as the memory is used */
    struct buffer *first_view;
    struct buffer *next_view, **view_link; /* in the list of the one that this is a view of, as in that of an epoch */
} buffer;

/* Memory of a pool, which is freed in the order of a stream. */
typedef struct pool_buffer {
    buffer buffer;
    PyObject *stream;
    uint64_t context; /* address of the handle of the stream's context; 0: unknown */
} pool_buffer;

/* A function of a binary, and how its arguments are packed. */
typedef struct kernel {
    PyObject ob_base;
    PyObject *weak_references;
    PyObject *binary;  /* an object with a handle */
    PyObject *plan;    /* bytes: a kernel_parameter for each parameter; NULL or None: nothing is known of them */
    PyObject *scalars; /* a tuple: the type of numpy's scalars for each parameter, or None */
    uint64_t function; /* its handle */
} kernel;

extern PyTypeObject *handle_type, *event_type, *stream_type, *graph_type, *buffer_type, *pool_type, *pool_buffer_type,
    *kernel_type, *retention_type, *batch_type;

extern PyTypeObject *plain_buffer; /* ascend_rt.Buffer */

/* Functions that return whether something worked have set an exception otherwise. */

extern PyObject *host; /* ascend_rt._runtime.lifecycle.HOST, the owner of what no reset of a device frees */

static inline bool is_none(const PyObject *object) { return object == NULL || object == Py_None; }

/* Sets a variable; takes the reference. */
static inline void set(PyObject **variable, PyObject *value) {
    PyObject *before = *variable;
    *variable = value;
    Py_XDECREF(before);
}

/* Finds the pointer of an open object; without an exception. */
bool handle_find_pointer(handle *self);

/* Returns true if the object is open, and its pointer known. */
static inline bool has_pointer(handle *self) {
    return LOAD(self->is_known) || (LOAD(self->state) == OPEN && handle_find_pointer(self));
}

/* Raises the error of using an object that is not open. */
PyObject *handle_refuse(PyObject *object);

/* Makes an open object a closed one; returns true if it was open, and no other thread was faster. */
bool handle_shut(handle *self);
/* Closes an object without a call; returns whether it had a handle, as Python's, or raises that it never had one. */
PyObject *handle_forget(PyObject *object, PyObject *unused);
/* Makes an open object, or one that has ended, one that is about to be closed; returns true if it was, and no other
 * thread was faster. */
bool handle_begin_closing(handle *self);
/* Then it is closed. */
void handle_end_closing(handle *self);
/* Opens it again, and its views, because its handle, which was known, could not be destroyed. */
void handle_reopen(handle *self);

/* Returns true if an object has no handle, so that it can get one; otherwise with an exception. */
bool handle_can_be_made(PyObject *self);
/* Makes a new object own a handle; takes the owner. */
bool handle_own(PyObject *self, void *pointer, PyObject *owner);

/* A new reference to a view of a part of a buffer whose pointer is known. Closing the buffer closes the view. */
PyObject *buffer_view(buffer *self, uint64_t offset, uint64_t nbytes);
/* The same of a slice. */
PyObject *buffer_part(PyObject *self, PyObject *slice);
PyObject *buffer_item(PyObject *self, Py_ssize_t index);

/* Gives the handle of an object back that is discarded. Returns false if the method in Python has to. */
bool discard(handle *self);
/* Returns true if objects that own a handle are reported. */
bool is_open_watched(void);

/* Aborts of streams, among them resets. An event, or a stream whose wait was dropped, may look complete although its
 * aborted work still runs. So a function that infers completion from something else makes sure that no abort
 * has begun since that was submitted, and that none was under way then. */

extern const ascend_rt_abort_count *aborts;

static const uint64_t UNKNOWN = UINT64_MAX;

/* How many there were; UNKNOWN, which is equal to no number, while one is under way. */
static inline uint64_t aborts_known(void) {
    const uint64_t ended = atomic_load(&aborts->ended);
    return atomic_load(&aborts->begun) == ended ? ended : UNKNOWN;
}

/* Records of events. The order in which the runtime gets those under way at the same time is unknown. If all are
 * on one stream, the completion of any of them is also that of what was submitted before the others; otherwise the
 * completion of the newest says nothing. In line, because a record is little more than this. */

static inline void event_begin_record(event *self, const PyObject *recorder) {
    PyObject *before = NULL;
    BEGIN_LOCKED(self);
    before = exchange(&self->before, NULL); /* from here on it may be this record that another thread waits for */
    if (self->records == 0) {
        self->recorder = recorder;
    } else if (self->recorder != recorder) {
        self->recorder = NULL;
    }
    ++self->records;
    ++self->newest;
    self->aborts = aborts_known();
    END_LOCKED();
    Py_XDECREF(before);
}

/* Ends a record, with what its completion releases, or NULL. */
static inline void event_end_record(event *self, const PyObject *recorder, PyObject *ended) {
    PyObject *before = NULL;
    BEGIN_LOCKED(self);
    before = exchange(&self->before, self->recorder == recorder ? Py_XNewRef(ended) : NULL);
    --self->records;
    END_LOCKED();
    Py_XDECREF(before);
}

/* Waits for threads that ask an event what its completion releases, so that it can be destroyed; it is closed. */
void await_answer(event *self);

/* The newest record of an event, and what its completion releases. */
typedef struct recorded {
    PyObject *before; /* a reference; NULL: nothing */
    uint64_t number;
} recorded;

static inline recorded newest_record(event *self) {
    recorded found = {NULL, 0};
    BEGIN_LOCKED(self);
    found = (recorded){is_none(self->before) ? NULL : Py_NewRef(self->before), self->newest};
    END_LOCKED();
    return found;
}

/* Returns true if later questions to the event are known to have been about that record. */
static inline bool is_newest(event *self, uint64_t number) {
    bool is_newest = false;
    BEGIN_LOCKED(self);
    is_newest = number == self->newest && !self->is_shared && self->aborts == atomic_load(&aborts->begun);
    END_LOCKED();
    return is_newest;
}

/* Adds what a task uses that was submitted: a tuple. */
bool retention_add(retention *self, PyObject *objects);
/* Returns true if the task that was submitted last uses the same: its batch keeps that as long as this task needs it.
 * The second may be NULL. */
bool retention_has_last(retention *self, const PyObject *first, const PyObject *second);
/* Ends the open batch, and returns the newest that has ended; NULL if nothing is kept, or with an exception. */
PyObject *retention_end_used(retention *self);
static inline PyObject *retention_end(retention *self) { return LOAD(self->is_used) ? retention_end_used(self) : NULL; }

/* Methods. */
PyObject *retention_retain(PyObject *self, PyObject *objects);
PyObject *retention_retain_across_wait(PyObject *self, PyObject *args);
PyObject *retention_retain_if_captured(PyObject *self, PyObject *objects);

/* Calls a function with an object, unless that is NULL, and the arguments behind. */
PyObject *call_with(PyObject *function, PyObject *first, PyObject *const *rest, Py_ssize_t count);

extern PyObject *resets; /* a set: of devices and contexts that go on */

/* A view of a pointer, of cffi. */
PyObject *view_of(void *pointer);

/* An attribute of a module. */
PyObject *attribute_of(const char *module, const char *name);

/* Adds the functions that install hot methods. */
bool hot_methods_add(PyObject *module, const ascend_rt_shared *parts);
