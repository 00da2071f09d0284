/* SPDX-License-Identifier: Apache-2.0 */
#include "host_functions.h"

#include <pthread.h>
#include <structmember.h>

#include "python_objects.h"

typedef struct call {
    PyObject ob_base;
    PyObject *function;
    PyObject *arguments;
    PyObject *keywords;
    uint64_t stream;
    char is_launched;
} call;

static const ascend_rt_shared *shared; /* the callback gate of ascend_rt._aclrt */
static PyTypeObject *call_type;
static PyObject *pending; /* a set: the calls that have not run */
static pthread_key_t own_state;
static _Thread_local bool is_inside;

/* Threads of the runtime. As Python's own, they have one state until they end, with all that is local to the thread. */

static PyGILState_STATE take_gil(void) {
    const bool is_new = PyGILState_GetThisThreadState() == NULL;
    const PyGILState_STATE state = PyGILState_Ensure();
    if (is_new && pthread_setspecific(own_state, PyGILState_GetThisThreadState()) == 0) {
        PyGILState_Ensure(); /* never released, so that the state stays */
    }
    return state;
}

/* Python has no key to the state any more: the C library may empty all keys before it calls for one of them. */
static void end_state(void *own) {
    if (shared->enter()) {
        PyEval_RestoreThread(own);
        PyThreadState_Clear(own);
        PyEval_SaveThread();
        PyThreadState_Delete(own);
    }
    shared->leave();
}

/* Reports an exception, which has no caller to be raised in. */
static void report(PyObject *function, uint64_t stream) {
    PyObject *const value = take_exception();
    PyObject *owner = PyImport_ImportModule("ascend_rt._runtime.host_functions");
    PyObject *result = owner != NULL ? PyObject_CallMethod(owner, "report_host_function", "OOK", value, function,
                                                           (unsigned long long)stream)
                                     : NULL;
    if (result == NULL) {
        PyErr_WriteUnraisable(function);
    }
    Py_XDECREF(result);
    Py_XDECREF(owner);
    Py_XDECREF(value);
}

void host_function_run(void *argument) {
    if (shared->enter()) {
        const PyGILState_STATE state = take_gil();
        const bool was_inside = is_inside;
        is_inside = true;
        call *const self = (call *)Py_NewRef((PyObject *)argument);
        host_function_forget((PyObject *)self);
        PyObject *result = PyObject_Call(self->function, self->arguments, self->keywords);
        if (result == NULL) {
            report(self->function, self->stream);
        }
        Py_XDECREF(result);
        Py_DECREF(self); /* and with it the arguments, unless a graph has them */
        is_inside = was_inside;
        PyGILState_Release(state);
    }
    shared->leave();
}

/* Calls. */

PyObject *host_function_call(uint64_t stream, PyObject *function, PyObject *arguments, PyObject *keywords) {
    call *self = (call *)PyType_GenericAlloc(call_type, 0);
    if (self == NULL) {
        Py_XDECREF(arguments);
        Py_XDECREF(keywords);
        return NULL;
    }
    self->stream = stream;
    self->function = Py_NewRef(function);
    self->arguments = arguments;
    self->keywords = keywords;
    return (PyObject *)self;
}

bool host_function_keep(PyObject *self) { return PySet_Add(pending, self) == 0; }

void host_function_forget(PyObject *self) {
    if (PySet_Discard(pending, self) < 0) {
        PyErr_WriteUnraisable(self);
    }
}

bool host_functions_are_pending(void) { return PySet_Size(pending) > 0; }

bool host_function_is_inside(void) { return is_inside; }

void host_function_launched(PyObject *self) { STORE(((call *)self)->is_launched, true); }

static PyObject *call_address(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromVoidPtr(self);
}

static int call_traverse(PyObject *object, visitproc visit, void *arg) {
    call *self = (call *)object;
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->function);
    Py_VISIT(self->arguments);
    Py_VISIT(self->keywords);
    return 0;
}

static int call_clear(PyObject *object) {
    call *self = (call *)object;
    Py_CLEAR(self->function);
    Py_CLEAR(self->arguments);
    Py_CLEAR(self->keywords);
    return 0;
}

static void call_deallocate(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    call_clear(self);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

static PyMemberDef call_members[] = {
    {"stream", T_ULONGLONG, offsetof(call, stream), READONLY, NULL},
    {"is_launched", T_BOOL, offsetof(call, is_launched), 0, NULL},
    {0},
};

static PyGetSetDef call_properties[] = {
    {"address", call_address, NULL, "The argument of the entry, for the runtime.", NULL},
    {0},
};

static PyType_Slot call_slots[] = {
    {Py_tp_dealloc, (void *)call_deallocate},
    {Py_tp_traverse, (void *)call_traverse},
    {Py_tp_clear, (void *)call_clear},
    {Py_tp_members, call_members},
    {Py_tp_getset, call_properties},
    {Py_tp_doc, (void *)"A call of a Python function in a stream."},
    {0},
};

static PyType_Spec call_specification = {
    "ascend_rt._native.handles.Call",
    sizeof(call),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    call_slots,
};

static PyObject *asks_inside(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    return PyBool_FromLong(is_inside);
}

bool host_functions_add(PyObject *module, const ascend_rt_shared *parts) {
    static PyMethodDef functions[] = {
        {"is_inside", asks_inside, METH_NOARGS, "Return True if the calling thread runs a host function."},
        {0},
    };
    shared = parts;
    pending = PySet_New(NULL);
    call_type = (PyTypeObject *)PyType_FromSpec(&call_specification);
    return pending != NULL && call_type != NULL && pthread_key_create(&own_state, end_state) == 0 &&
           PyModule_AddObjectRef(module, "Call", (PyObject *)call_type) == 0 &&
           PyModule_AddObjectRef(module, "pending", pending) == 0 && PyModule_AddFunctions(module, functions) == 0;
}
