/* SPDX-License-Identifier: Apache-2.0 */
/* ascend_rt._native.handles: the base types of objects with a handle, and retentions. */
#include "handle_life.h"
#include "host_functions.h"

/* After Python.h. */
#include <sched.h>
#include <structmember.h>

PyTypeObject *handle_type, *event_type, *stream_type, *graph_type, *buffer_type, *pool_type, *pool_buffer_type,
    *kernel_type, *retention_type, *batch_type;
static PyTypeObject *error_window_type, *failure_log_type;

const ascend_rt_abort_count *aborts;

static PyObject *resets; /* a set: of devices and contexts that go on */
static PyObject *used;   /* a set: the retentions that keep anything */

static ascend_rt_shared *parts; /* the table of ascend_rt._aclrt */

PyObject *attribute_of(const char *module, const char *name) {
    PyObject *owner = PyImport_ImportModule(module);
    PyObject *found = owner != NULL ? PyObject_GetAttrString(owner, name) : NULL;
    Py_XDECREF(owner);
    return found;
}

/* Fields that are references, of each type, for the garbage collector. */

static int root_traverse(PyObject *object, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(object));
    return 0;
}

static int root_clear(PyObject *object) {
    (void)object;
    return 0;
}

static void deallocate(PyObject *object, inquiry clear) {
    PyTypeObject *type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    if (type != batch_type && ((handle *)object)->weak_references != NULL) { /* at the same place in all others */
        PyObject_ClearWeakRefs(object);
    }
    clear(object);
    PyObject_GC_Del(object);
    Py_DECREF(type);
}

#define VISIT_FIELD(field) Py_VISIT(self->field);
#define CLEAR_FIELD(field) Py_CLEAR(self->field);
#define COLLECTED_TYPE(type, base, FIELDS)                                     \
    static int type##_traverse(PyObject *object, visitproc visit, void *arg) { \
        type *self = (type *)object;                                           \
        FIELDS(VISIT_FIELD)                                                    \
        return base##_traverse(object, visit, arg);                            \
    }                                                                          \
    static int type##_clear(PyObject *object) {                                \
        type *self = (type *)object;                                           \
        FIELDS(CLEAR_FIELD)                                                    \
        return base##_clear(object);                                           \
    }                                                                          \
    static void type##_deallocate(PyObject *object) { deallocate(object, type##_clear); }

#define HANDLE_FIELDS(DO) DO(view) DO(owner) DO(hash)
#define EVENT_FIELDS(DO) DO(before) DO(window)
#define STREAM_FIELDS(DO) DO(retention)
#define GRAPH_FIELDS(DO) DO(retained)
#define POOL_BUFFER_FIELDS(DO) DO(stream) DO(context)
#define KERNEL_FIELDS(DO) DO(binary) DO(plan) DO(scalars)
#define RETENTION_FIELDS(DO) DO(window) DO(failures) DO(open)
#define BATCH_FIELDS(DO) DO(objects) DO(owner)

/* A long chain goes batch by batch, not by recursion. */
static int chain_clear(PyObject *object) {
    PyObject *next = ((batch *)object)->previous;
    ((batch *)object)->previous = NULL;
    while (next != NULL && Py_TYPE(next) == batch_type && Py_REFCNT(next) == 1) {
        PyObject *const last = next;
        next = ((batch *)last)->previous;
        ((batch *)last)->previous = NULL;
        Py_DECREF(last);
    }
    Py_XDECREF(next);
    return 0;
}

static int chain_traverse(PyObject *object, visitproc visit, void *arg) {
    Py_VISIT(((batch *)object)->previous);
    return root_traverse(object, visit, arg);
}

static int handle_traverse(PyObject *object, visitproc visit, void *arg) {
    handle *self = (handle *)object;
    HANDLE_FIELDS(VISIT_FIELD)
    return root_traverse(object, visit, arg);
}

/* The epoch lives as long as the owner. */
static int handle_clear(PyObject *object) {
    handle *self = (handle *)object;
    handle_leave_epoch(self);
    HANDLE_FIELDS(CLEAR_FIELD)
    return root_clear(object);
}

static void handle_deallocate(PyObject *object) { deallocate(object, handle_clear); }

COLLECTED_TYPE(event, handle, EVENT_FIELDS)
COLLECTED_TYPE(stream, handle, STREAM_FIELDS)
COLLECTED_TYPE(graph, handle, GRAPH_FIELDS)

static int buffer_traverse(PyObject *object, visitproc visit, void *arg) {
    Py_VISIT(((buffer *)object)->parent);
    return handle_traverse(object, visit, arg);
}

/* A view leaves the list of its parent before that may go. */
static int buffer_clear(PyObject *object) {
    buffer *self = (buffer *)object;
    handle_leave_views(self);
    Py_CLEAR(self->parent);
    return handle_clear(object);
}

static void buffer_deallocate(PyObject *object) { deallocate(object, buffer_clear); }

COLLECTED_TYPE(pool_buffer, buffer, POOL_BUFFER_FIELDS)
COLLECTED_TYPE(kernel, root, KERNEL_FIELDS)
COLLECTED_TYPE(retention, root, RETENTION_FIELDS)
COLLECTED_TYPE(batch, chain, BATCH_FIELDS)

static PyObject *stream_get_retention(PyObject *self, void *unused) {
    (void)unused;
    PyObject *found = (PyObject *)((stream *)self)->retention;
    if (found == NULL) {
        PyErr_SetString(PyExc_AttributeError, "this stream has no handle yet");
    }
    return Py_XNewRef(found);
}

static int stream_set_retention(PyObject *self, PyObject *value, void *unused) {
    (void)unused;
    if (value == NULL || !PyObject_TypeCheck(value, retention_type)) {
        PyErr_SetString(PyExc_TypeError, "expected a Retention");
        return -1;
    }
    if (((stream *)self)->retention != NULL) { /* threads may be using it */
        PyErr_SetString(PyExc_RuntimeError, "this stream exists already; create a new object");
        return -1;
    }
    set_field(self, (PyObject **)&((stream *)self)->retention, Py_NewRef(value));
    return 0;
}

#define MEMBER(type, name, member, kind) {name, kind, offsetof(type, member), 0, NULL}
#define WEAK_REFERENCES(type) {"__weaklistoffset__", T_PYSSIZET, offsetof(type, weak_references), READONLY, NULL}

static PyMemberDef handle_members[] = {
    WEAK_REFERENCES(handle),
    {"_owner", T_OBJECT_EX, offsetof(handle, owner), READONLY, NULL},
    MEMBER(handle, "_hash", hash, T_OBJECT_EX),
    MEMBER(handle, "_owned", is_owned, T_BOOL),
    {0},
};

static PyMemberDef event_members[] = {
    MEMBER(event, "_before", before, T_OBJECT),
    MEMBER(event, "_window", window, T_OBJECT),
    MEMBER(event, "_is_shared", is_shared, T_BOOL),
    MEMBER(event, "_has_time", has_time, T_BOOL),
    {0},
};

static PyObject *graph_get_retained(PyObject *self, void *unused) {
    (void)unused;
    PyObject *const found = get_field(self, &((graph *)self)->retained);
    return found != NULL ? found : PyErr_Format(PyExc_AttributeError, "this graph retains nothing yet");
}

static int graph_set_retained(PyObject *self, PyObject *value, void *unused) {
    (void)unused;
    if (value == NULL || Py_TYPE(value) != batch_type) {
        PyErr_SetString(PyExc_TypeError, "expected a Batch");
        return -1;
    }
    set_field(self, &((graph *)self)->retained, Py_NewRef(value));
    return 0;
}

static PyGetSetDef graph_properties[] = {
    {"_retained", graph_get_retained, graph_set_retained, NULL, NULL},
    {0},
};

static PyMemberDef stream_members[] = {MEMBER(stream, "_context_address", context, T_ULONGLONG), {0}};

static PyMemberDef buffer_members[] = {
    MEMBER(buffer, "_nbytes", nbytes, T_ULONGLONG),
    MEMBER(buffer, "_parent", parent, T_OBJECT),
    {0},
};

static PyMemberDef pool_buffer_members[] = {
    MEMBER(pool_buffer, "_stream", stream, T_OBJECT_EX),
    MEMBER(pool_buffer, "_context", context, T_OBJECT_EX),
    {0},
};

static PyMemberDef kernel_members[] = {
    WEAK_REFERENCES(kernel),
    MEMBER(kernel, "binary", binary, T_OBJECT_EX),
    MEMBER(kernel, "_plan", plan, T_OBJECT),
    MEMBER(kernel, "_scalars", scalars, T_OBJECT),
    MEMBER(kernel, "_function_address", function, T_ULONGLONG),
    {0},
};

static PyMemberDef retention_members[] = {
    WEAK_REFERENCES(retention),
    MEMBER(retention, "window", window, T_OBJECT_EX),
    MEMBER(retention, "stream", stream, T_ULONGLONG),
    MEMBER(retention, "device", device, T_UINT),
    {0},
};

static PyMemberDef batch_members[] = {
    MEMBER(batch, "objects", objects, T_OBJECT_EX),
    MEMBER(batch, "previous", previous, T_OBJECT),
    {0},
};

static PyMemberDef error_window_members[] = {
    MEMBER(error_window, "seen", seen, T_ULONGLONG),
    MEMBER(error_window, "needs_polling", needs_polling, T_BOOL),
    {0},
};

static PyGetSetDef stream_properties[] = {
    {"_retention", stream_get_retention, stream_set_retention, NULL, NULL},
    {0},
};

static PyObject *event_newest_record(PyObject *self, PyObject *unused) {
    (void)unused;
    const recorded newest = newest_record((event *)self);
    return newest.before != NULL ? Py_BuildValue("NK", newest.before, newest.number) : Py_NewRef(Py_None);
}

static PyObject *event_is_newest(PyObject *self, PyObject *number) {
    const unsigned long long asked = PyLong_AsUnsignedLongLong(number);
    return PyErr_Occurred() == NULL ? PyBool_FromLong(is_newest((event *)self, asked)) : NULL;
}

void await_answer(event *self) {
    while (LOAD(self->asked) > 0) {
        Py_BEGIN_ALLOW_THREADS;
        sched_yield();
        Py_END_ALLOW_THREADS;
    }
}

static PyMethodDef event_methods[] = {
    {"_newest_record", event_newest_record, METH_NOARGS,
     "Return what the completion of the newest record releases, and its number; None if it releases nothing."},
    {"_is_newest", event_is_newest, METH_O,
     "Return whether what was asked since was about the record of that number, as far as anybody can know."},
    {0},
};

/* Retentions. */

static PyObject *batch_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    (void)args;
    (void)keywords;
    PyObject *self = PyType_GenericAlloc(type, 0); /* a garbage collection may discard streams, which get here too */
    if (self != NULL && (((batch *)self)->objects = PyList_New(0)) == NULL) {
        Py_CLEAR(self);
    }
    return self;
}

static PyObject *retention_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    PyObject *self = PyType_GenericAlloc(type, 0);
    if (self != NULL && (((retention *)self)->open = (batch *)batch_new(batch_type, args, keywords)) == NULL) {
        Py_CLEAR(self);
    }
    return self;
}

bool retention_add(retention *self, PyObject *objects) {
    LOCK(self->mutex);
    bool is_added = PyList_Append(self->open->objects, objects) == 0;
    if (is_added && !self->is_used) {
        STORE(self->is_used, true);
        is_added = PySet_Add(used, (PyObject *)self) == 0;
    }
    UNLOCK(self->mutex);
    return is_added;
}

bool retention_has_last(retention *self, const PyObject *first, const PyObject *second) {
    LOCK(self->mutex);
    PyObject *const objects = self->open->objects;
    const Py_ssize_t count = PyList_Size(objects);
    PyObject *const last = count > 0 ? PyList_GetItem(objects, count - 1) : NULL;
    const bool is_same = last != NULL && PyTuple_Size(last) == (second != NULL ? 2 : 1) &&
                         PyTuple_GetItem(last, 0) == first && (second == NULL || PyTuple_GetItem(last, 1) == second);
    UNLOCK(self->mutex);
    return is_same;
}

/* Returns true if a batch, or one before it, keeps anything. Python releases batches without the mutex. */
static bool keeps_anything(batch *ended) {
    bool keeps = false;
    if (!is_none((PyObject *)ended)) {
        BEGIN_LOCKED(ended);
        keeps = PyList_Size(ended->objects) > 0 || !is_none(ended->previous);
        END_LOCKED();
    }
    return keeps;
}

/* Puts a new batch in the place of the open one, unless that is empty; returns whether that worked. */
static bool begin_batch(retention *self) {
    if (PyList_Size(self->open->objects) == 0) {
        return true;
    }
    batch *new = (batch *)batch_new(batch_type, NULL, NULL);
    if (new == NULL) {
        return false;
    }
    if (PyList_Size(self->open->objects) > 0) { /* no garbage collection has ended it */
        STORE(self->open->owner, Py_NewRef((PyObject *)self));
        new->previous = (PyObject *)self->open;
        self->open = new;
    } else {
        Py_DECREF(new);
    }
    return true;
}

PyObject *retention_end_used(retention *self) {
    PyObject *ended = NULL, *unneeded = NULL;
    LOCK(self->mutex);
    if (begin_batch(self)) {
        if (keeps_anything((batch *)self->open->previous)) {
            ended = Py_NewRef(self->open->previous);
        } else {
            STORE(self->is_used, PyList_Size(self->open->objects) > 0);
            if (!self->is_used) {
                PySet_Discard(used, (PyObject *)self);
            }
            unneeded = exchange(&self->open->previous, NULL);
        }
    }
    UNLOCK(self->mutex);
    Py_XDECREF(unneeded);
    return ended;
}

static PyObject *retention_end_batch(PyObject *self, PyObject *unused) {
    (void)unused;
    PyObject *ended = retention_end((retention *)self);
    return ended != NULL || PyErr_Occurred() != NULL ? ended : Py_NewRef(Py_None);
}

static PyObject *retention_append(PyObject *self, PyObject *objects) {
    return retention_add((retention *)self, objects) ? Py_NewRef(Py_None) : NULL;
}

static PyObject *retention_get_open(PyObject *self, void *unused) {
    (void)unused;
    LOCK(((retention *)self)->mutex);
    PyObject *open = Py_NewRef((PyObject *)((retention *)self)->open);
    UNLOCK(((retention *)self)->mutex);
    return open;
}

static PyMethodDef retention_methods[] = {
    {"append", retention_append, METH_O, "Keep a tuple of objects although the stream may be captured meanwhile."},
    {"retain", retention_retain, METH_VARARGS,
     "Keep objects until the tasks that were submitted so far are known to be done; during a capture of the stream, as "
     "long as the graph and its executions."},
    {"retain_if_captured", retention_retain_if_captured, METH_VARARGS,
     "Keep objects if the stream is being captured, and return the batch of the graph; None: it is not."},
    {"retain_across_wait", retention_retain_across_wait, METH_VARARGS,
     "Keep an event that the stream waits for, the batch that the record has ended, and the epoch before the wait."},
    {"end_batch", retention_end_batch, METH_NOARGS,
     "End the open batch, and return the newest that has ended; None if nothing is kept."},
    {0},
};

static PyObject *retention_get_failures(PyObject *self, void *unused) {
    (void)unused;
    PyObject *const failures = ((retention *)self)->failures;
    return failures != NULL ? Py_NewRef(failures) : PyErr_Format(PyExc_AttributeError, "failures");
}

static int retention_set_failures(PyObject *self, PyObject *value, void *unused) {
    (void)unused;
    if (value == NULL || !PyObject_TypeCheck(value, failure_log_type) || ((retention *)self)->failures != NULL) {
        PyErr_SetString(PyExc_TypeError, "expected a FailureLog");
        return -1;
    }
    set_field(self, &((retention *)self)->failures, Py_NewRef(value));
    return 0;
}

static PyGetSetDef retention_properties[] = {
    {"open", retention_get_open, NULL, NULL, NULL},
    {"failures", retention_get_failures, retention_set_failures, NULL, NULL},
    {0},
};

/* Logs of failures. */

static void failure_log_deallocate(PyObject *self) {
    PyTypeObject *const type = Py_TYPE(self);
    free(((failure_log *)self)->report.text); /* without the lock, which another thread may have held in a fork */
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

static PyObject *failure_log_get_address(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromVoidPtr(&((failure_log *)self)->report);
}

static PyObject *failure_log_get_code(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromLong(LOAD(((failure_log *)self)->report.code));
}

static PyObject *failure_log_get_text(PyObject *self, void *unused) {
    (void)unused;
    char *const text = parts->report_text(&((failure_log *)self)->report);
    PyObject *const result = PyUnicode_DecodeUTF8(text != NULL ? text : "", text != NULL ? strlen(text) : 0, "replace");
    free(text);
    return result;
}

static PyObject *failure_log_discard(PyObject *self, PyObject *unused) {
    (void)unused;
    parts->take_report(&((failure_log *)self)->report);
    Py_RETURN_NONE;
}

/* Begins the error windows that follow a report: pairs of a retention and its window. */
static bool begin_windows(PyObject *pairs) {
    bool is_done = true;
    for (Py_ssize_t i = 0; is_done && i < PyTuple_Size(pairs); ++i) {
        PyObject *stream, *window;
        is_done = PyArg_ParseTuple(PyTuple_GetItem(pairs, i), "O!O!", retention_type, &stream, error_window_type,
                                   &window) != 0;
        if (is_done) {
            set_field(stream, &((retention *)stream)->window, Py_NewRef(window));
        }
    }
    return is_done;
}

/* One step: no handler of a signal runs between the end of the report and its exception. */
static PyObject *failure_log_report(PyObject *self, PyObject *args) {
    PyObject *error, *pairs;
    if (!PyArg_ParseTuple(args, "OO!", &error, &PyTuple_Type, &pairs)) {
        return NULL;
    }
    if (!PyExceptionInstance_Check(error)) {
        return PyErr_Format(PyExc_TypeError, "report() expected an exception, got %R", error);
    }
    if (!parts->take_report(&((failure_log *)self)->report)) { /* another thread has raised it */
        Py_RETURN_NONE;
    }
    if (begin_windows(pairs)) {
        PyErr_SetObject((PyObject *)Py_TYPE(error), error);
    }
    return NULL;
}

static PyGetSetDef failure_log_properties[] = {
    {"address", failure_log_get_address, NULL, "Where calls note a report.", NULL},
    {"code", failure_log_get_code, NULL, "The code of the report that is deferred; 0 if there is none.", NULL},
    {"text", failure_log_get_text, NULL, "The runtime's text for it.", NULL},
    {0},
};

static PyMethodDef failure_log_methods[] = {
    {"discard", failure_log_discard, METH_NOARGS, "End the report, which is no longer wanted."},
    {"report", failure_log_report, METH_VARARGS,
     "End the report, begin the windows of pairs (Retention, ErrorWindow), and raise the error; nothing if there is "
     "none."},
    {0},
};

/* The module. */

#define SLOT(name, value) {Py_##name, (void *)(value)}
#define COLLECTED_SLOTS(type) \
    SLOT(tp_dealloc, type##_deallocate), SLOT(tp_traverse, type##_traverse), SLOT(tp_clear, type##_clear)

static PyType_Slot handle_slots[] = {
    COLLECTED_SLOTS(handle),
    SLOT(tp_finalize, handle_finalize),
    SLOT(tp_members, handle_members),
    SLOT(tp_getset, handle_properties),
    SLOT(tp_methods, handle_methods),
    SLOT(tp_doc, "An object that owns or borrows a handle of the runtime."),
    {0},
};

static PyType_Slot event_slots[] = {
    COLLECTED_SLOTS(event),
    SLOT(tp_members, event_members),
    SLOT(tp_methods, event_methods),
    SLOT(tp_doc, "What the hot methods of an event need."),
    {0},
};

static PyType_Slot stream_slots[] = {
    COLLECTED_SLOTS(stream),
    SLOT(tp_members, stream_members),
    SLOT(tp_getset, stream_properties),
    SLOT(tp_doc, "What the hot methods of a stream need."),
    {0},
};

static PyType_Slot graph_slots[] = {
    COLLECTED_SLOTS(graph),
    SLOT(tp_getset, graph_properties),
    SLOT(tp_doc, "What the hot methods of a graph need."),
    {0},
};

static PyType_Slot buffer_slots[] = {
    COLLECTED_SLOTS(buffer),
    SLOT(tp_members, buffer_members),
    SLOT(tp_doc, "What the hot methods of a buffer need."),
    {0},
};

static PyType_Slot pool_slots[] = {
    COLLECTED_SLOTS(handle),
    SLOT(tp_doc, "What the hot method of a memory pool needs."),
    {0},
};

static PyType_Slot pool_buffer_slots[] = {
    COLLECTED_SLOTS(pool_buffer),
    SLOT(tp_members, pool_buffer_members),
    SLOT(tp_doc, "What the hot methods of memory of a pool need."),
    {0},
};

static PyType_Slot kernel_slots[] = {
    COLLECTED_SLOTS(kernel),
    SLOT(tp_members, kernel_members),
    SLOT(tp_doc, "What the hot method of a kernel needs."),
    {0},
};

static PyType_Slot retention_slots[] = {
    COLLECTED_SLOTS(retention),
    SLOT(tp_new, retention_new),
    SLOT(tp_members, retention_members),
    SLOT(tp_getset, retention_properties),
    SLOT(tp_methods, retention_methods),
    SLOT(tp_doc, "What the tasks of a stream use, until they are done."),
    {0},
};

static PyType_Slot batch_slots[] = {
    COLLECTED_SLOTS(batch),
    SLOT(tp_new, batch_new),
    SLOT(tp_members, batch_members),
    SLOT(tp_doc, "What tasks use that were submitted one after the other."),
    {0},
};

static PyType_Slot error_window_slots[] = {
    SLOT(tp_members, error_window_members),
    SLOT(tp_doc, "What the hot methods ask of failures."),
    {0},
};

static PyType_Slot failure_log_slots[] = {
    SLOT(tp_dealloc, failure_log_deallocate),
    SLOT(tp_getset, failure_log_properties),
    SLOT(tp_methods, failure_log_methods),
    SLOT(tp_doc, "The report of a failed task that waits to be raised."),
    {0},
};

enum { PLAIN = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, COLLECTED = PLAIN | Py_TPFLAGS_HAVE_GC };

static PyType_Spec handle_spec = {"ascend_rt._native.handles.Handle", sizeof(handle), 0, COLLECTED, handle_slots};
static PyType_Spec event_spec = {"ascend_rt._native.handles.EventHandle", sizeof(event), 0, COLLECTED, event_slots};
static PyType_Spec stream_spec = {"ascend_rt._native.handles.StreamHandle", sizeof(stream), 0, COLLECTED, stream_slots};
static PyType_Spec graph_spec = {"ascend_rt._native.handles.GraphHandle", sizeof(graph), 0, COLLECTED, graph_slots};
static PyType_Spec buffer_spec = {"ascend_rt._native.handles.BufferHandle", sizeof(buffer), 0, COLLECTED, buffer_slots};
static PyType_Spec pool_spec = {"ascend_rt._native.handles.PoolHandle", sizeof(handle), 0, COLLECTED, pool_slots};
static PyType_Spec pool_buffer_spec = {"ascend_rt._native.handles.PoolBufferHandle", sizeof(pool_buffer), 0, COLLECTED,
                                       pool_buffer_slots};
static PyType_Spec kernel_spec = {"ascend_rt._native.handles.KernelHandle", sizeof(kernel), 0, COLLECTED, kernel_slots};
static PyType_Spec retention_spec = {"ascend_rt._native.handles.Retention", sizeof(retention), 0, COLLECTED,
                                     retention_slots};
static PyType_Spec batch_spec = {"ascend_rt._native.handles.Batch", sizeof(batch), 0, COLLECTED, batch_slots};
static PyType_Spec error_window_spec = {"ascend_rt._native.handles.ErrorWindow", sizeof(error_window), 0, PLAIN,
                                        error_window_slots};
static PyType_Spec failure_log_spec = {"ascend_rt._native.handles.FailureLog", sizeof(failure_log), 0, PLAIN,
                                       failure_log_slots};

static PyMemberDef epoch_members[] = {{"is_over", T_BOOL, offsetof(epoch, is_over), READONLY, NULL}, {0}};

static PyGetSetDef epoch_properties[] = {{"has_objects", epoch_has_objects, NULL, NULL, NULL}, {0}};

static PyType_Slot epoch_slots[] = {
    SLOT(tp_members, epoch_members),
    SLOT(tp_getset, epoch_properties),
    SLOT(tp_methods, epoch_methods),
    SLOT(tp_doc, "The time in which objects live on a device."),
    {0},
};

static PyType_Spec epoch_spec = {"ascend_rt._native.handles.DeviceEpoch", sizeof(epoch), 0, PLAIN, epoch_slots};

static PyTypeObject *add_type(PyObject *module, const char *name, PyType_Spec *specification, PyTypeObject *base) {
    PyObject *bases = base != NULL ? PyTuple_Pack(1, base) : NULL;
    PyObject *type = PyErr_Occurred() == NULL ? PyType_FromSpecWithBases(specification, bases) : NULL;
    Py_XDECREF(bases);
    if (type != NULL && PyModule_AddObjectRef(module, name, type) != 0) {
        Py_CLEAR(type);
    }
    return (PyTypeObject *)type;
}

static bool add_types(PyObject *module) {
    return (handle_type = add_type(module, "Handle", &handle_spec, NULL)) != NULL &&
           (event_type = add_type(module, "EventHandle", &event_spec, handle_type)) != NULL &&
           (stream_type = add_type(module, "StreamHandle", &stream_spec, handle_type)) != NULL &&
           (graph_type = add_type(module, "GraphHandle", &graph_spec, handle_type)) != NULL &&
           (buffer_type = add_type(module, "BufferHandle", &buffer_spec, handle_type)) != NULL &&
           (pool_type = add_type(module, "PoolHandle", &pool_spec, handle_type)) != NULL &&
           (pool_buffer_type = add_type(module, "PoolBufferHandle", &pool_buffer_spec, buffer_type)) != NULL &&
           (kernel_type = add_type(module, "KernelHandle", &kernel_spec, NULL)) != NULL &&
           (retention_type = add_type(module, "Retention", &retention_spec, NULL)) != NULL &&
           (batch_type = add_type(module, "Batch", &batch_spec, NULL)) != NULL &&
           (error_window_type = add_type(module, "ErrorWindow", &error_window_spec, NULL)) != NULL &&
           (failure_log_type = add_type(module, "FailureLog", &failure_log_spec, NULL)) != NULL &&
           (epoch_type = add_type(module, "DeviceEpoch", &epoch_spec, NULL)) != NULL;
}

static ascend_rt_shared *find_parts(void) {
    PyObject *find = attribute_of("ascend_rt._runtime.driver", "shared_parts");
    PyObject *address = find != NULL ? PyObject_CallNoArgs(find) : NULL;
    ascend_rt_shared *const found = address != NULL ? PyLong_AsVoidPtr(address) : NULL;
    Py_XDECREF(address);
    Py_XDECREF(find);
    aborts = found != NULL ? found->aborts : NULL;
    return found;
}

static bool add_all(PyObject *module) {
    return (parts = find_parts()) != NULL && (used = PySet_New(NULL)) != NULL &&
           PyModule_AddObjectRef(module, "used", used) == 0 && (resets = PySet_New(NULL)) != NULL &&
           PyModule_AddObjectRef(module, "resets", resets) == 0 && add_types(module) &&
           handle_life_add(module, parts) && host_functions_add(module, parts) && hot_methods_add(module, parts);
}

static PyObject *while_resetting(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    (void)module;
    if (count < 2) {
        PyErr_SetString(PyExc_TypeError, "expected a reset, a function and its arguments");
        return NULL;
    }
    PyObject *result = PySet_Add(resets, args[0]) == 0 ? call_with(args[1], NULL, args + 2, count - 2) : NULL;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PySet_Discard(resets, args[0]);
    PyErr_Restore(type, value, traceback);
    return result;
}

PyMODINIT_FUNC PyInit_handles(void) {
    static PyMethodDef functions[] = {
        {"while_resetting", (PyCFunction)(void (*)(void))while_resetting, METH_FASTCALL,
         "Call a function that resets a device; the first argument is in the set of resets meanwhile."},
        {0},
    };
    static PyModuleDef definition = {
        PyModuleDef_HEAD_INIT,
        .m_name = "ascend_rt._native.handles",
        .m_doc = "The base types of objects with a handle, and their hot methods.",
        .m_size = -1,
        .m_methods = functions,
    };
    PyObject *self = without_gil(PyModule_Create(&definition));
    if (self != NULL && !add_all(self)) {
        Py_CLEAR(self);
    }
    return self;
}
