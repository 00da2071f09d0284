/* SPDX-License-Identifier: Apache-2.0 */
/* Knowledge of failed tasks: the log of a stream, or of the streams of a context, and the windows of its reports.
 * ascend_rt._runtime.failures has the rules. */
#include "failures.h"

/* After Python.h. */
#include <structmember.h>

enum { ANY = UINT32_MAX, NO_STREAM = ANY - 1 }; /* as in ascend_rt._runtime.failures */

PyTypeObject *life_type, *failure_log_type, *error_window_type;

static PyTypeObject *log_class, *window_class; /* in Python */
static PyObject *state;                        /* the dictionary of the module in Python */
static PyObject *needs_polling_key;
static ascend_rt_shared *parts; /* the table of ascend_rt._aclrt */

static ascend_rt_report *report_of(PyObject *log) { return &((failure_log *)log)->report; }

static void *new_of(PyTypeObject *type) { return PyType_GenericAlloc(type, 0); }

static void deallocate(PyObject *object, PyTypeObject *type) {
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

/* Lives of streams. */

life *new_life(void *stream, PyObject *its_epoch) {
    life *const self = new_of(life_type);
    if (self != NULL) {
        const long device = ((epoch *)its_epoch)->device_id;
        self->pointer = stream;
        self->epoch = Py_NewRef(its_epoch);
        self->device = device >= 0 ? (uint32_t)device : ANY;
        self->number = NO_STREAM;
    }
    return self;
}

static void life_deallocate(PyObject *object) {
    PyTypeObject *const type = Py_TYPE(object);
    Py_XDECREF(((life *)object)->epoch);
    deallocate(object, type);
}

static PyObject *life_get_handle(PyObject *self, void *unused) {
    (void)unused;
    return view_of(((life *)self)->pointer);
}

static PyObject *life_get_is_over(PyObject *self, void *unused) {
    (void)unused;
    return PyBool_FromLong(life_is_over((life *)self));
}

/* Logs of failures. */

failure_log *new_failure_log(void) { return new_of(log_class); }

static void failure_log_deallocate(PyObject *object) {
    PyTypeObject *const type = Py_TYPE(object);
    free(report_of(object)->text); /* without the lock, which another thread may have held in a fork */
    deallocate(object, type);
}

static PyObject *failure_log_get_address(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromVoidPtr(report_of(self));
}

static PyObject *failure_log_get_code(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromLong(LOAD(report_of(self)->code));
}

static PyObject *failure_log_get_text(PyObject *self, void *unused) {
    (void)unused;
    char *const text = parts->report_text(report_of(self));
    PyObject *const result = PyUnicode_DecodeUTF8(text != NULL ? text : "", text != NULL ? strlen(text) : 0, "replace");
    free(text);
    return result;
}

static PyObject *failure_log_discard(PyObject *self, PyObject *unused) {
    (void)unused;
    parts->take_report(report_of(self));
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
        return PyErr_Format(PyExc_TypeError, "report() raises an exception, not %R", error);
    }
    if (!parts->take_report(report_of(self))) { /* another thread has raised it */
        Py_RETURN_NONE;
    }
    if (begin_windows(pairs)) {
        PyErr_SetObject((PyObject *)Py_TYPE(error), error);
    }
    return NULL;
}

/* Error windows. */

/* Returns true if the library reports nothing to callbacks, as Python has found out; otherwise or with an exception,
 * false. */
static bool is_polling_needed(void) {
    PyObject *const value = get_item(state, needs_polling_key);
    const bool is_needed = value == Py_True;
    Py_XDECREF(value);
    return is_needed;
}

static error_window *window_of(PyTypeObject *type, life *of, failure_log *log, int reported) {
    error_window *const self = new_of(type);
    if (self != NULL) {
        self->stream = (life *)Py_NewRef((PyObject *)of);
        self->log = (failure_log *)Py_NewRef((PyObject *)log);
        self->reported = reported;
        self->seen = atomic_load(parts->failed_tasks);
        self->needs_polling = is_polling_needed();
    }
    return self;
}

error_window *first_error_window(life *of, failure_log *log) { return window_of(window_class, of, log, 0); }

static PyObject *error_window_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"stream", "log", "reported", NULL};
    PyObject *stream, *log;
    int reported = 0;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!O!|i", names, life_type, &stream, failure_log_type, &log,
                                     &reported)) {
        return NULL;
    }
    return (PyObject *)window_of(type, (life *)stream, (failure_log *)log, reported);
}

static void error_window_deallocate(PyObject *object) {
    PyTypeObject *const type = Py_TYPE(object);
    error_window *const self = (error_window *)object;
    Py_XDECREF((PyObject *)self->stream);
    Py_XDECREF((PyObject *)self->log);
    Py_XDECREF(self->failure);
    deallocate(object, type);
}

/* The types. None takes part in garbage collection: what they refer to does not lead back. */

#define MEMBER(type, name, member, kind, flags) {name, kind, offsetof(type, member), flags, NULL}

static PyMemberDef life_members[] = {
    MEMBER(life, "epoch", epoch, T_OBJECT_EX, READONLY),
    MEMBER(life, "device", device, T_UINT, READONLY),
    MEMBER(life, "number", number, T_UINT, 0),
    MEMBER(life, "is_destroyed", is_destroyed, T_BOOL, 0),
    {0},
};

static PyGetSetDef life_properties[] = {
    {"handle", life_get_handle, NULL, "The handle, which must not reach the library after the end.", NULL},
    {"is_over", life_get_is_over, NULL, "Return True if the stream was destroyed, by its owner or with its context.",
     NULL},
    {0},
};

static PyType_Slot life_slots[] = {
    {Py_tp_dealloc, (void *)life_deallocate},
    {Py_tp_members, life_members},
    {Py_tp_getset, life_properties},
    {Py_tp_doc, (void *)"A stream of the runtime, for all that outlives it."},
    {0},
};

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

static PyType_Slot failure_log_slots[] = {
    {Py_tp_dealloc, (void *)failure_log_deallocate},
    {Py_tp_getset, failure_log_properties},
    {Py_tp_methods, failure_log_methods},
    {Py_tp_doc, (void *)"The report of a failed task that waits to be raised."},
    {0},
};

static PyMemberDef error_window_members[] = {
    MEMBER(error_window, "_stream", stream, T_OBJECT_EX, READONLY),
    MEMBER(error_window, "_log", log, T_OBJECT_EX, READONLY),
    MEMBER(error_window, "_failure", failure, T_OBJECT, 0),
    MEMBER(error_window, "reported", reported, T_INT, READONLY),
    MEMBER(error_window, "seen", seen, T_ULONGLONG, 0),
    MEMBER(error_window, "needs_polling", needs_polling, T_BOOL, 0),
    {0},
};

static PyType_Slot error_window_slots[] = {
    {Py_tp_new, (void *)error_window_new},
    {Py_tp_dealloc, (void *)error_window_deallocate},
    {Py_tp_members, error_window_members},
    {Py_tp_doc, (void *)"The work of a stream between two reports of failures."},
    {0},
};

enum { BASE = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE };

static PyType_Spec life_spec = {"ascend_rt._native.handles.Life", sizeof(life), 0,
                                Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, life_slots};
static PyType_Spec failure_log_spec = {"ascend_rt._native.handles.FailureLog", sizeof(failure_log), 0, BASE,
                                       failure_log_slots};
static PyType_Spec error_window_spec = {"ascend_rt._native.handles.ErrorWindow", sizeof(error_window), 0, BASE,
                                        error_window_slots};

static PyTypeObject *add_type(PyObject *module, const char *name, PyType_Spec *specification) {
    PyObject *type = PyType_FromSpec(specification);
    if (type != NULL && PyModule_AddObjectRef(module, name, type) != 0) {
        Py_CLEAR(type);
    }
    return (PyTypeObject *)type;
}

bool failures_add(PyObject *module, ascend_rt_shared *shared_parts) {
    parts = shared_parts;
    return (life_type = add_type(module, "Life", &life_spec)) != NULL &&
           (failure_log_type = add_type(module, "FailureLog", &failure_log_spec)) != NULL &&
           (error_window_type = add_type(module, "ErrorWindow", &error_window_spec)) != NULL &&
           (needs_polling_key = PyUnicode_InternFromString("needs_polling")) != NULL;
}

bool failures_connect(void) {
    static const char module[] = "ascend_rt._runtime.failures";
    return (log_class = (PyTypeObject *)attribute_of(module, "FailureLog")) != NULL &&
           (window_class = (PyTypeObject *)attribute_of(module, "ErrorWindow")) != NULL &&
           (state = attribute_of(module, "__dict__")) != NULL;
}
