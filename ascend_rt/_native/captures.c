/* SPDX-License-Identifier: Apache-2.0 */
/* Captures of streams: blocks whose value is a graph. The beginning is one step in C, and so is the end: no handler of
 * a signal can leave a stream in capture. A capture that is discarded while it goes on is given up. */
#include "batches.h"
#include "methods.h"

typedef struct capture {
    PyObject ob_base;
    stream *stream;
    graph *graph;       /* NULL: the block was not entered yet */
    PyObject *owner;    /* owner of the graph */
    PyObject *failures; /* a list of CaptureFailure: calls that failed meanwhile */
    void *pointer;      /* handle of the stream */
    uint64_t number;    /* handle of the graph while it is being captured; 0: the library does not give it */
    bool is_going_on;
    aclmdlRICaptureMode mode;
} capture;

static PyTypeObject *capture_class; /* in Python */
static PyTypeObject *graph_class;   /* ascend_rt.Graph, which most programs do not need */
static PyObject *graphs;            /* batches by the handles of graphs, of ascend_rt._runtime.captures */
static PyObject *active;            /* the failures of captures that go on, by the same */

static const char *const modes[] = {"global", "thread_local", "relaxed"}; /* as the constants of C are numbered */
static_assert(ACL_MODEL_RI_CAPTURE_MODE_GLOBAL == 0 && ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL == 1 &&
                  ACL_MODEL_RI_CAPTURE_MODE_RELAXED == 2,
              "places of the names");

static bool find_mode(PyObject *given, aclmdlRICaptureMode *mode) {
    *mode = ACL_MODEL_RI_CAPTURE_MODE_GLOBAL;
    for (size_t i = 0; given != NULL && PyUnicode_Check(given) && i < sizeof modes / sizeof modes[0]; ++i) {
        if (PyUnicode_CompareWithASCIIString(given, modes[i]) == 0) {
            *mode = (aclmdlRICaptureMode)i;
            return true;
        }
    }
    if (given != NULL) {
        PyErr_Format(PyExc_ValueError, "the capture mode %R is not one of global, thread_local, relaxed", given);
    }
    return given == NULL;
}

static bool find_modules(void) {
    static const char captures[] = "ascend_rt._runtime.captures";
    return (graph_class != NULL || (graph_class = (PyTypeObject *)attribute_of("ascend_rt.graph", "Graph")) != NULL) &&
           (graphs != NULL || (graphs = attribute_of(captures, "graphs")) != NULL) &&
           (capture_class != NULL || (capture_class = (PyTypeObject *)attribute_of(captures, "Capture")) != NULL) &&
           (active != NULL || (active = attribute_of(captures, "active")) != NULL);
}

PyObject *new_capture(PyObject *of, PyObject *mode) {
    aclmdlRICaptureMode found;
    if (!find_mode(mode, &found) || !find_modules()) {
        return NULL;
    }
    capture *const self = (capture *)PyType_GenericAlloc(capture_class, 0);
    if (self != NULL) {
        self->stream = (stream *)Py_NewRef(of);
        self->mode = found;
    }
    return (PyObject *)self;
}

static batch *new_batch_after(PyObject *previous) {
    batch *const new = (batch *)batch_new(batch_type, NULL, NULL);
    if (new != NULL) {
        new->previous = Py_XNewRef(previous);
    }
    return new;
}

/* A new graph, which is closed until its capture has ended. */
static graph *new_graph(const capture *of) {
    graph *const self = (graph *)PyType_GenericAlloc(graph_class, 0);
    if (self == NULL) {
        return NULL;
    }
    self->context = of->stream->context;
    self->handle.owner = Py_NewRef(of->owner);
    STORE(self->handle.state, CLOSED);
    if ((self->captured = (PyObject *)new_batch_after(NULL)) == NULL ||
        (self->retained = (PyObject *)new_batch_after(self->captured)) == NULL) {
        Py_DECREF((PyObject *)self);
        return NULL;
    }
    return self;
}

/* Makes the batch of a graph and its capture known by the handle. */
static bool publish(capture *self) {
    if (self->number == 0) { /* no task can ask for it either */
        return true;
    }
    PyObject *const number = PyLong_FromUnsignedLongLong(self->number);
    PyObject *const found =
        number != NULL ? PyObject_CallMethod(graphs, "setdefault", "OO", number, self->graph->captured) : NULL;
    bool is_done = found != NULL && PyDict_SetItem(active, number, self->failures) == 0;
    if (is_done && found != self->graph->captured) { /* another thread has submitted a task already */
        PyObject *const faster = PyTuple_Pack(1, found);
        is_done = faster != NULL && PyList_Append(((batch *)self->graph->captured)->objects, faster) == 0;
        Py_XDECREF(faster);
    }
    Py_XDECREF(found);
    Py_XDECREF(number);
    return is_done;
}

/* The opposite; an exception on its way stays. */
static void withdraw(capture *self) {
    self->is_going_on = false;
    if (self->number == 0) {
        return;
    }
    const raised before = put_aside();
    PyObject *const number = PyLong_FromUnsignedLongLong(self->number);
    PyObject *const was_active = number != NULL ? pop_item(active, number) : NULL;
    PyObject *const had_batch = number != NULL ? pop_item(graphs, number) : NULL;
    self->number = 0;
    Py_XDECREF(had_batch);
    Py_XDECREF(was_active);
    Py_XDECREF(number);
    bring_back(before);
}

/* Ends the capture after an exception; that is what the caller is to see. */
static void give_up(capture *self) {
    const raised before = put_aside();
    PyObject *const done = call_rare("ascend_rt.graph", "_give_up", "(O)", self->stream);
    Py_XDECREF(done);
    bring_back(before);
}

static PyObject *begin(capture *self) {
    aclError code;
    uint64_t number = 0;
    Py_BEGIN_ALLOW_THREADS;
    code = FUNCTION(aclmdlRICaptureBegin, CAPTURE_BEGIN)(self->pointer, self->mode);
    if (code == ACL_SUCCESS) {
        number = shared->captured_graph(self->pointer);
    }
    Py_END_ALLOW_THREADS;
    if (code != ACL_SUCCESS && !is_raised(code)) {
        return fail(code, functions[CAPTURE_BEGIN].name);
    }
    self->number = number;
    self->is_going_on = code == ACL_SUCCESS;
    if (code != ACL_SUCCESS) { /* an exception, after which it may have begun */
        fail(code, functions[CAPTURE_BEGIN].name);
        give_up(self);
    } else if (!publish(self)) {
        withdraw(self);
        give_up(self);
    }
    return PyErr_Occurred() == NULL ? Py_NewRef((PyObject *)self->graph) : NULL;
}

static PyObject *capture_enter(PyObject *object, PyObject *unused) {
    (void)unused;
    capture *const self = (capture *)object;
    if (self->graph != NULL) {
        return PyErr_Format(PyExc_RuntimeError, "this block was entered before");
    }
    if (!is_usable(self->stream) || (self->owner = owner_of_new(IN_CONTEXT)) == NULL ||
        (self->failures = PyList_New(0)) == NULL || (self->graph = new_graph(self)) == NULL) {
        return NULL;
    }
    self->pointer = self->stream->handle.pointer;
    return begin(self);
}

/* Ends the capture, and lets the graph own what was captured. */
static bool end(capture *self) {
    void *created = NULL;
    aclError code;
    Py_BEGIN_ALLOW_THREADS;
    code = FUNCTION(aclmdlRICaptureEnd, CAPTURE_END)(self->pointer, (aclmdlRI *)&created);
    Py_END_ALLOW_THREADS;
    if (code == ACL_SUCCESS) {
        return handle_own((PyObject *)self->graph, created, Py_NewRef(self->owner));
    }
    PyObject *const never = call_rare("ascend_rt.graph", "_refuse_broken", "iO", (int)code, self->failures);
    Py_XDECREF(never);
    give_up(self);
    return false;
}

static PyObject *capture_exit(PyObject *object, arguments args, Py_ssize_t count) {
    enum { TYPE, VALUE, TRACEBACK, ARGUMENTS };
    capture *const self = (capture *)object;
    if (count != ARGUMENTS || !self->is_going_on) {
        PyErr_SetString(PyExc_RuntimeError, "this block was not entered, or has ended");
        return NULL;
    }
    withdraw(self);
    if (is_none(args[VALUE])) {
        return end(self) ? PyBool_FromLong(false) : NULL;
    }
    give_up(self);
    return PyErr_Occurred() == NULL ? PyBool_FromLong(false) : NULL;
}

/* A block that was entered and does not end. */
static void capture_finalize(PyObject *object) {
    capture *const self = (capture *)object;
    if (self->is_going_on) {
        const raised before = put_aside();
        withdraw(self);
        give_up(self);
        if (PyErr_Occurred() != NULL) {
            PyErr_WriteUnraisable(object);
        }
        PyErr_Restore(before.type, before.value, before.traceback);
    }
}

static int capture_traverse(PyObject *object, visitproc visit, void *arg) {
    capture *const self = (capture *)object;
    Py_VISIT(Py_TYPE(object));
    Py_VISIT((PyObject *)self->stream);
    Py_VISIT((PyObject *)self->graph);
    Py_VISIT(self->owner);
    Py_VISIT(self->failures);
    return 0;
}

static int capture_clear(PyObject *object) {
    capture *const self = (capture *)object;
    Py_CLEAR(self->stream);
    Py_CLEAR(self->graph);
    Py_CLEAR(self->owner);
    Py_CLEAR(self->failures);
    return 0;
}

static void capture_deallocate(PyObject *object) {
    PyTypeObject *const type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    capture_clear(object);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

bool captures_add(PyObject *module) {
    static PyMethodDef methods[] = {
        {"__enter__", capture_enter, METH_NOARGS, "Begin the capture, and return the graph."},
        {"__exit__", METHOD(capture_exit), METH_FASTCALL, "End the capture; after an exception it is given up."},
        {0},
    };
    static PyType_Slot slots[] = {
        {Py_tp_methods, methods},
        {Py_tp_traverse, (void *)capture_traverse},
        {Py_tp_clear, (void *)capture_clear},
        {Py_tp_finalize, (void *)capture_finalize},
        {Py_tp_dealloc, (void *)capture_deallocate},
        {Py_tp_doc, "A block in which a stream is captured."},
        {0, NULL},
    };
    static PyType_Spec specification = {
        "ascend_rt._native.handles.Capture", sizeof(capture), 0,
        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
    PyObject *const type = PyType_FromSpec(&specification);
    const bool is_added = type != NULL && PyModule_AddObjectRef(module, "Capture", type) == 0;
    Py_XDECREF(type);
    return is_added;
}
