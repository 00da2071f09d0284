/* SPDX-License-Identifier: Apache-2.0 */
/* ascend_rt._handles: the base types of objects with a handle, and what is in flight. */
#include "_handle_life.h"
#include "_host_functions.h"

/* After Python.h. */
#include <sched.h>
#include <structmember.h>

PyTypeObject *handle_type, *event_type, *stream_type, *graph_type, *buffer_type, *pool_type, *pool_buffer_type,
    *kernel_type, *in_flight_type, *batch_type;
static PyTypeObject *work_type, *failure_log_type;

const ascend_rt_abort_count *aborts;

static PyObject *resets; /* a set: of devices and contexts that go on */
static PyObject *used;   /* a set: what is in flight and keeps anything */

static ascend_rt_shared *parts; /* the table of ascend_rt._aclrt */

PyObject *attribute_of(const char *module, const char *name) {
    PyObject *home = PyImport_ImportModule(module);
    PyObject *found = home != NULL ? PyObject_GetAttrString(home, name) : NULL;
    Py_XDECREF(home);
    return found;
}

/* What the garbage collector asks of the types: each lists its fields that are references. */

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

#define HANDLE_FIELDS(DO) DO(view) DO(home) DO(hash)
#define EVENT_FIELDS(DO) DO(before) DO(work)
#define STREAM_FIELDS(DO) DO(in_flight)
#define GRAPH_FIELDS(DO) DO(kept)
#define POOL_BUFFER_FIELDS(DO) DO(stream) DO(context)
#define KERNEL_FIELDS(DO) DO(binary) DO(plan) DO(scalars)
#define IN_FLIGHT_FIELDS(DO) DO(work) DO(failures) DO(open)
#define BATCH_FIELDS(DO) DO(objects)

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

/* The era lives as long as the home. */
static int handle_clear(PyObject *object) {
    handle *self = (handle *)object;
    handle_leave_era(self);
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
COLLECTED_TYPE(in_flight, root, IN_FLIGHT_FIELDS)
COLLECTED_TYPE(batch, chain, BATCH_FIELDS)

static PyObject *stream_get_in_flight(PyObject *self, void *unused) {
    (void)unused;
    PyObject *found = (PyObject *)((stream *)self)->in_flight;
    if (found == NULL) {
        PyErr_SetString(PyExc_AttributeError, "this stream has no handle yet");
    }
    return Py_XNewRef(found);
}

static int stream_set_in_flight(PyObject *self, PyObject *value, void *unused) {
    (void)unused;
    if (value == NULL || !PyObject_TypeCheck(value, in_flight_type)) {
        PyErr_SetString(PyExc_TypeError, "what is in flight has its type");
        return -1;
    }
    if (((stream *)self)->in_flight != NULL) { /* threads may be using it */
        PyErr_SetString(PyExc_RuntimeError, "this stream was created before; create another object");
        return -1;
    }
    set_field(self, (PyObject **)&((stream *)self)->in_flight, Py_NewRef(value));
    return 0;
}

#define MEMBER(type, name, member, kind) {name, kind, offsetof(type, member), 0, NULL}
#define WEAK_REFERENCES(type) {"__weaklistoffset__", T_PYSSIZET, offsetof(type, weak_references), READONLY, NULL}

static PyMemberDef handle_members[] = {
    WEAK_REFERENCES(handle),
    {"_home", T_OBJECT_EX, offsetof(handle, home), READONLY, NULL},
    MEMBER(handle, "_hash", hash, T_OBJECT_EX),
    MEMBER(handle, "_owned", is_owned, T_BOOL),
    {0},
};

static PyMemberDef event_members[] = {
    MEMBER(event, "_before", before, T_OBJECT),
    MEMBER(event, "_work", work, T_OBJECT),
    MEMBER(event, "_is_shared", is_shared, T_BOOL),
    MEMBER(event, "_has_time", has_time, T_BOOL),
    {0},
};

static PyMemberDef graph_members[] = {MEMBER(graph, "_kept", kept, T_OBJECT_EX), {0}};

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

static PyMemberDef in_flight_members[] = {
    WEAK_REFERENCES(in_flight),
    MEMBER(in_flight, "work", work, T_OBJECT_EX),
    MEMBER(in_flight, "stream", stream, T_ULONGLONG),
    MEMBER(in_flight, "device", device, T_UINT),
    {0},
};

static PyMemberDef batch_members[] = {
    MEMBER(batch, "objects", objects, T_OBJECT_EX),
    MEMBER(batch, "previous", previous, T_OBJECT),
    MEMBER(batch, "device", device, T_UINT),
    {0},
};

static PyMemberDef work_members[] = {
    MEMBER(work, "seen", seen, T_ULONGLONG),
    MEMBER(work, "must_ask", must_ask, T_BOOL),
    {0},
};

static PyGetSetDef stream_properties[] = {
    {"_in_flight", stream_get_in_flight, stream_set_in_flight, NULL, NULL},
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

/* What is in flight. */

static PyObject *batch_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    (void)args;
    (void)keywords;
    PyObject *self = PyType_GenericAlloc(type, 0); /* a garbage collection may discard streams, which get here too */
    if (self != NULL && (((batch *)self)->objects = PyList_New(0)) == NULL) {
        Py_CLEAR(self);
    }
    return self;
}

static PyObject *in_flight_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    PyObject *self = PyType_GenericAlloc(type, 0);
    if (self != NULL && (((in_flight *)self)->open = (batch *)batch_new(batch_type, args, keywords)) == NULL) {
        Py_CLEAR(self);
    }
    return self;
}

bool in_flight_add(in_flight *self, PyObject *objects) {
    LOCK(self->mutex);
    bool is_added = PyList_Append(self->open->objects, objects) == 0;
    if (is_added && !self->is_used) {
        STORE(self->is_used, true);
        is_added = PySet_Add(used, (PyObject *)self) == 0;
    }
    UNLOCK(self->mutex);
    return is_added;
}

bool in_flight_has_last(in_flight *self, const PyObject *first, const PyObject *second) {
    LOCK(self->mutex);
    PyObject *const objects = self->open->objects;
    const Py_ssize_t count = PyList_Size(objects);
    PyObject *const last = count > 0 ? PyList_GetItem(objects, count - 1) : NULL;
    const bool is_same = last != NULL && PyTuple_Size(last) == (second != NULL ? 2 : 1) &&
                         PyTuple_GetItem(last, 0) == first && (second == NULL || PyTuple_GetItem(last, 1) == second);
    UNLOCK(self->mutex);
    return is_same;
}

/* Whether a batch, or one before it, keeps anything. Python releases batches without the mutex. */
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
static bool begin_batch(in_flight *self) {
    if (PyList_Size(self->open->objects) == 0) {
        return true;
    }
    batch *new = (batch *)batch_new(batch_type, NULL, NULL);
    if (new == NULL) {
        return false;
    }
    if (PyList_Size(self->open->objects) > 0) { /* no garbage collection has ended it */
        self->open->device = self->device;
        new->previous = (PyObject *)self->open;
        self->open = new;
    } else {
        Py_DECREF(new);
    }
    return true;
}

PyObject *in_flight_end_used(in_flight *self) {
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

static PyObject *in_flight_end_batch(PyObject *self, PyObject *unused) {
    (void)unused;
    PyObject *ended = in_flight_end((in_flight *)self);
    return ended != NULL || PyErr_Occurred() != NULL ? ended : Py_NewRef(Py_None);
}

static PyObject *in_flight_append(PyObject *self, PyObject *objects) {
    return in_flight_add((in_flight *)self, objects) ? Py_NewRef(Py_None) : NULL;
}

static PyObject *in_flight_get_open(PyObject *self, void *unused) {
    (void)unused;
    LOCK(((in_flight *)self)->mutex);
    PyObject *open = Py_NewRef((PyObject *)((in_flight *)self)->open);
    UNLOCK(((in_flight *)self)->mutex);
    return open;
}

static PyMethodDef in_flight_methods[] = {
    {"append", in_flight_append, METH_O, "Keep objects, a tuple, in the open batch."},
    {"end_batch", in_flight_end_batch, METH_NOARGS,
     "End the open batch, and return the newest that has ended; None if nothing is kept."},
    {0},
};

static PyObject *in_flight_get_failures(PyObject *self, void *unused) {
    (void)unused;
    PyObject *const failures = ((in_flight *)self)->failures;
    return failures != NULL ? Py_NewRef(failures) : PyErr_Format(PyExc_AttributeError, "failures");
}

static int in_flight_set_failures(PyObject *self, PyObject *value, void *unused) {
    (void)unused;
    if (value == NULL || !PyObject_TypeCheck(value, failure_log_type) || ((in_flight *)self)->failures != NULL) {
        PyErr_SetString(PyExc_TypeError, "failures is one FailureLog");
        return -1;
    }
    set_field(self, &((in_flight *)self)->failures, Py_NewRef(value));
    return 0;
}

static PyGetSetDef in_flight_properties[] = {
    {"open", in_flight_get_open, NULL, NULL, NULL},
    {"failures", in_flight_get_failures, in_flight_set_failures, NULL, NULL},
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

/* Begins the works that follow a report: pairs of what is in flight and its work. */
static bool begin_works(PyObject *pairs) {
    bool is_done = true;
    for (Py_ssize_t i = 0; is_done && i < PyTuple_Size(pairs); ++i) {
        PyObject *stream, *work;
        is_done = PyArg_ParseTuple(PyTuple_GetItem(pairs, i), "O!O!", in_flight_type, &stream, work_type, &work) != 0;
        if (is_done) {
            set_field(stream, &((in_flight *)stream)->work, Py_NewRef(work));
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
        return PyErr_Format(PyExc_TypeError, "report() raises an exception, not %R", error);
    }
    if (!parts->take_report(&((failure_log *)self)->report)) { /* another thread has raised it */
        Py_RETURN_NONE;
    }
    if (begin_works(pairs)) {
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
     "End the report, begin the works of pairs (InFlight, Work), and raise the error; nothing if there is none."},
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
    SLOT(tp_doc, "What the short paths of an event need."),
    {0},
};

static PyType_Slot stream_slots[] = {
    COLLECTED_SLOTS(stream),
    SLOT(tp_members, stream_members),
    SLOT(tp_getset, stream_properties),
    SLOT(tp_doc, "What the short paths of a stream need."),
    {0},
};

static PyType_Slot graph_slots[] = {
    COLLECTED_SLOTS(graph),
    SLOT(tp_members, graph_members),
    SLOT(tp_doc, "What the short paths of a graph need."),
    {0},
};

static PyType_Slot buffer_slots[] = {
    COLLECTED_SLOTS(buffer),
    SLOT(tp_members, buffer_members),
    SLOT(tp_doc, "What the short paths of a buffer need."),
    {0},
};

static PyType_Slot pool_slots[] = {
    COLLECTED_SLOTS(handle),
    SLOT(tp_doc, "What the short path of a memory pool needs."),
    {0},
};

static PyType_Slot pool_buffer_slots[] = {
    COLLECTED_SLOTS(pool_buffer),
    SLOT(tp_members, pool_buffer_members),
    SLOT(tp_doc, "What the short paths of memory of a pool need."),
    {0},
};

static PyType_Slot kernel_slots[] = {
    COLLECTED_SLOTS(kernel),
    SLOT(tp_members, kernel_members),
    SLOT(tp_doc, "What the short path of a kernel needs."),
    {0},
};

static PyType_Slot in_flight_slots[] = {
    COLLECTED_SLOTS(in_flight),
    SLOT(tp_new, in_flight_new),
    SLOT(tp_members, in_flight_members),
    SLOT(tp_getset, in_flight_properties),
    SLOT(tp_methods, in_flight_methods),
    SLOT(tp_doc, "What the tasks of a stream use."),
    {0},
};

static PyType_Slot batch_slots[] = {
    COLLECTED_SLOTS(batch),
    SLOT(tp_new, batch_new),
    SLOT(tp_members, batch_members),
    SLOT(tp_doc, "What tasks use that were submitted one after the other."),
    {0},
};

static PyType_Slot work_slots[] = {
    SLOT(tp_members, work_members),
    SLOT(tp_doc, "What the short paths ask of failures."),
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

static PyType_Spec handle_spec = {"ascend_rt._handles.Handle", sizeof(handle), 0, COLLECTED, handle_slots};
static PyType_Spec event_spec = {"ascend_rt._handles.EventHandle", sizeof(event), 0, COLLECTED, event_slots};
static PyType_Spec stream_spec = {"ascend_rt._handles.StreamHandle", sizeof(stream), 0, COLLECTED, stream_slots};
static PyType_Spec graph_spec = {"ascend_rt._handles.GraphHandle", sizeof(graph), 0, COLLECTED, graph_slots};
static PyType_Spec buffer_spec = {"ascend_rt._handles.BufferHandle", sizeof(buffer), 0, COLLECTED, buffer_slots};
static PyType_Spec pool_spec = {"ascend_rt._handles.PoolHandle", sizeof(handle), 0, COLLECTED, pool_slots};
static PyType_Spec pool_buffer_spec = {"ascend_rt._handles.PoolBufferHandle", sizeof(pool_buffer), 0, COLLECTED,
                                       pool_buffer_slots};
static PyType_Spec kernel_spec = {"ascend_rt._handles.KernelHandle", sizeof(kernel), 0, COLLECTED, kernel_slots};
static PyType_Spec in_flight_spec = {"ascend_rt._handles.InFlight", sizeof(in_flight), 0, COLLECTED, in_flight_slots};
static PyType_Spec batch_spec = {"ascend_rt._handles.Batch", sizeof(batch), 0, COLLECTED, batch_slots};
static PyType_Spec work_spec = {"ascend_rt._handles.Work", sizeof(work), 0, PLAIN, work_slots};
static PyType_Spec failure_log_spec = {"ascend_rt._handles.FailureLog", sizeof(failure_log), 0, PLAIN,
                                       failure_log_slots};

static PyMemberDef era_members[] = {{"is_over", T_BOOL, offsetof(era, is_over), READONLY, NULL}, {0}};

static PyGetSetDef era_properties[] = {{"has_objects", era_has_objects, NULL, NULL, NULL}, {0}};

static PyType_Slot era_slots[] = {
    SLOT(tp_members, era_members),
    SLOT(tp_getset, era_properties),
    SLOT(tp_methods, era_methods),
    SLOT(tp_doc, "The time in which objects live on a device."),
    {0},
};

static PyType_Spec era_spec = {"ascend_rt._handles.Era", sizeof(era), 0, PLAIN, era_slots};

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
           (in_flight_type = add_type(module, "InFlight", &in_flight_spec, NULL)) != NULL &&
           (batch_type = add_type(module, "Batch", &batch_spec, NULL)) != NULL &&
           (work_type = add_type(module, "Work", &work_spec, NULL)) != NULL &&
           (failure_log_type = add_type(module, "FailureLog", &failure_log_spec, NULL)) != NULL &&
           (era_type = add_type(module, "Era", &era_spec, NULL)) != NULL;
}

static ascend_rt_shared *find_parts(void) {
    PyObject *find = attribute_of("ascend_rt._driver", "shared_parts");
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
           handle_life_add(module, parts) && host_functions_add(module, parts) && short_paths_add(module, parts);
}

static PyObject *while_resetting(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    (void)module;
    if (count < 2) {
        PyErr_SetString(PyExc_TypeError, "a reset, a function and its arguments are taken");
        return NULL;
    }
    PyObject *result = PySet_Add(resets, args[0]) == 0 ? call_with(args[1], NULL, args + 2, count - 2) : NULL;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PySet_Discard(resets, args[0]);
    PyErr_Restore(type, value, traceback);
    return result;
}

PyMODINIT_FUNC PyInit__handles(void) {
    static PyMethodDef functions[] = {
        {"while_resetting", (PyCFunction)(void (*)(void))while_resetting, METH_FASTCALL,
         "Call a function that resets a device; the first argument is in the set of resets meanwhile."},
        {0},
    };
    static PyModuleDef definition = {
        PyModuleDef_HEAD_INIT,
        .m_name = "ascend_rt._handles",
        .m_doc = "The base types of objects with a handle, and the short paths of their hot methods.",
        .m_size = -1,
        .m_methods = functions,
    };
    PyObject *self = without_gil(PyModule_Create(&definition));
    if (self != NULL && !add_all(self)) {
        Py_CLEAR(self);
    }
    return self;
}
