/* SPDX-License-Identifier: Apache-2.0 */
/* ascend_rt._native.handles: the base types of objects with a handle, and retentions. */
#include "batches.h"
#include "deferred.h"
#include "failures.h"
#include "handle_life.h"
#include "host_functions.h"

/* After Python.h. */
#include <sched.h>
#include <structmember.h>

PyTypeObject *handle_type, *event_type, *stream_type, *graph_type, *buffer_type, *pool_type, *pool_buffer_type,
    *kernel_type, *retention_type, *batch_type;

const ascend_rt_abort_count *aborts;

PyObject *resets;

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
#define STREAM_FIELDS(DO) DO(retention) DO(foreign)
#define GRAPH_FIELDS(DO) DO(retained) DO(captured) DO(changed) DO(submitted)
#define POOL_BUFFER_FIELDS(DO) DO(stream)
#define KERNEL_FIELDS(DO) DO(binary) DO(plan) DO(scalars)
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

static int retention_traverse(PyObject *object, visitproc visit, void *arg) {
    Py_VISIT(((retention *)object)->open);
    return root_traverse(object, visit, arg);
}

/* The rest leads to nothing that is collected, and may be needed until the end. */
static int retention_clear(PyObject *object) {
    Py_CLEAR(((retention *)object)->open);
    return 0;
}

static void retention_deallocate(PyObject *object) {
    retention *const self = (retention *)object;
    retention_leave(self);
    Py_CLEAR(self->life);
    Py_CLEAR(self->failures);
    Py_CLEAR(self->window);
    Py_CLEAR(self->reference);
    deallocate(object, retention_clear);
}

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

static PyMemberDef graph_members[] = {
    MEMBER(graph, "_captured", captured, T_OBJECT_EX),
    MEMBER(graph, "_changed", changed, T_OBJECT),
    MEMBER(graph, "_submitted", submitted, T_OBJECT),
    MEMBER(graph, "_context_address", context, T_ULONGLONG),
    {0},
};

static PyGetSetDef graph_properties[] = {
    {"_retained", graph_get_retained, graph_set_retained, NULL, NULL},
    {0},
};

static PyMemberDef stream_members[] = {
    MEMBER(stream, "_context_address", context, T_ULONGLONG),
    MEMBER(stream, "_foreign", foreign, T_OBJECT),
    {0},
};

static PyMemberDef buffer_members[] = {
    MEMBER(buffer, "_nbytes", nbytes, T_ULONGLONG),
    MEMBER(buffer, "_parent", parent, T_OBJECT),
    {0},
};

static PyMemberDef pool_buffer_members[] = {
    MEMBER(pool_buffer, "_stream", stream, T_OBJECT_EX),
    MEMBER(pool_buffer, "_context_address", context, T_ULONGLONG),
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

static PyMemberDef batch_members[] = {
    MEMBER(batch, "objects", objects, T_OBJECT_EX),
    MEMBER(batch, "previous", previous, T_OBJECT),
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
     "Return whether what was asked since was about the record of that number, as far as that can be known."},
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
    SLOT(tp_doc, "Fields for the hot methods of an event."),
    {0},
};

static PyType_Slot stream_slots[] = {
    COLLECTED_SLOTS(stream),
    SLOT(tp_members, stream_members),
    SLOT(tp_getset, stream_properties),
    SLOT(tp_doc, "Fields for the hot methods of a stream."),
    {0},
};

static PyType_Slot graph_slots[] = {
    COLLECTED_SLOTS(graph),
    SLOT(tp_members, graph_members),
    SLOT(tp_getset, graph_properties),
    SLOT(tp_doc, "Fields for the hot methods of a graph."),
    {0},
};

static PyType_Slot buffer_slots[] = {
    COLLECTED_SLOTS(buffer),
    SLOT(tp_members, buffer_members),
    SLOT(mp_subscript, buffer_part),
    SLOT(sq_item, buffer_item),
    SLOT(tp_doc, "Fields for the hot methods of a buffer."),
    {0},
};

static PyType_Slot pool_slots[] = {
    COLLECTED_SLOTS(handle),
    SLOT(tp_doc, "Base of a memory pool, which has a hot method."),
    {0},
};

static PyType_Slot pool_buffer_slots[] = {
    COLLECTED_SLOTS(pool_buffer),
    SLOT(tp_members, pool_buffer_members),
    SLOT(tp_doc, "Fields for the hot methods of memory of a pool."),
    {0},
};

static PyType_Slot kernel_slots[] = {
    COLLECTED_SLOTS(kernel),
    SLOT(tp_members, kernel_members),
    SLOT(tp_doc, "Fields for the hot method of a kernel."),
    {0},
};

static PyType_Slot retention_slots[] = {
    COLLECTED_SLOTS(retention),
    SLOT(tp_members, retention_members),
    SLOT(tp_getset, retention_properties),
    SLOT(tp_methods, retention_methods),
    SLOT(tp_doc, "Owner of the operands of a stream's tasks, until they are done."),
    {0},
};

static PyType_Slot batch_slots[] = {
    COLLECTED_SLOTS(batch),
    SLOT(tp_new, batch_new),
    SLOT(tp_members, batch_members),
    SLOT(tp_doc, "Operands of tasks that were submitted one after the other."),
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
static PyType_Spec retention_spec = {"ascend_rt._native.handles.Retention", sizeof(retention), 0,
                                     COLLECTED | Py_TPFLAGS_DISALLOW_INSTANTIATION, retention_slots};
static PyType_Spec batch_spec = {"ascend_rt._native.handles.Batch", sizeof(batch), 0, COLLECTED, batch_slots};
static PyMemberDef epoch_members[] = {
    {"is_over", T_BOOL, offsetof(epoch, is_over), READONLY, NULL},
    {"device_id", T_LONG, offsetof(epoch, device_id), 0, NULL},
    {0},
};

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
    return (parts = find_parts()) != NULL && (resets = PySet_New(NULL)) != NULL &&
           PyModule_AddObjectRef(module, "resets", resets) == 0 && add_types(module) && failures_add(module, parts) &&
           batches_add(module) && deferred_add(module) && handle_life_add(module, parts) &&
           host_functions_add(module, parts) && hot_methods_add(module, parts);
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
