/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks: a generator as a context manager, whose end is one step. contextlib's is written in Python, which may call
 * the handler of a signal at its beginning: if that raises, the generator does not see it, and what it has begun goes
 * on. Here the handler is called inside of the generator, which sees the exception. */
#include "methods.h"

typedef struct block {
    PyObject ob_base;
    PyObject *generator;
} block;

static PyTypeObject *block_type;

static PyObject *block_enter(PyObject *self, PyObject *unused) {
    (void)unused;
    PyObject *entered = PyIter_Next(((block *)self)->generator);
    if (entered == NULL && PyErr_Occurred() == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "this block was entered already");
    }
    return entered;
}

/* Returns true if the generator has ended; otherwise with an exception. */
static bool has_ended(PyObject *yielded) {
    if (yielded != NULL) {
        Py_DECREF(yielded);
        PyErr_SetString(PyExc_RuntimeError, "the generator of a block goes on after its end");
    }
    return PyErr_Occurred() == NULL;
}

/* Returns true if a generator has replaced a StopIteration that passed through it by this exception (PEP 479). */
static bool is_of_stop(PyObject *now, PyObject *value) {
    PyObject *cause =
        now != NULL && PyErr_GivenExceptionMatches(value, PyExc_StopIteration) ? PyException_GetCause(now) : NULL;
    Py_XDECREF(cause);
    return cause == value;
}

/* Lets the generator see the exception of the block; returns true if that goes on, and is not raised here. */
static bool pass_on(block *self, PyObject *value) {
    PyObject *traceback = PyException_GetTraceback(value);
    PyObject *yielded = PyObject_CallMethod(self->generator, "throw", "O", value);
    if (yielded != NULL) {
        has_ended(yielded);
    }
    PyObject *type, *now, *its_traceback;
    PyErr_Fetch(&type, &now, &its_traceback);
    PyErr_NormalizeException(&type, &now, &its_traceback);
    const bool goes_on = now == value || is_of_stop(now, value);
    if (goes_on) { /* as it was: without the lines of the generator */
        PyException_SetTraceback(value, traceback != NULL ? traceback : Py_None);
    }
    if (goes_on || (type != NULL && PyErr_GivenExceptionMatches(type, PyExc_StopIteration))) {
        Py_XDECREF(type);
        Py_XDECREF(now);
        Py_XDECREF(its_traceback);
    } else {
        PyErr_Restore(type, now, its_traceback);
    }
    Py_XDECREF(traceback);
    return goes_on;
}

static PyObject *block_exit(PyObject *self, arguments args, Py_ssize_t count) {
    enum { TYPE, VALUE, TRACEBACK, ARGUMENTS };
    if (count != ARGUMENTS) {
        PyErr_SetString(PyExc_TypeError, "__exit__() takes a type, a value and a traceback");
        return NULL;
    }
    bool is_handled = false;
    if (is_none(args[VALUE])) {
        has_ended(PyIter_Next(((block *)self)->generator));
    } else {
        is_handled = !pass_on((block *)self, args[VALUE]);
    }
    return PyErr_Occurred() == NULL ? PyBool_FromLong(is_handled) : NULL;
}

static PyObject *new_block(PyObject *module, PyObject *generator) {
    (void)module;
    if (!PyIter_Check(generator)) {
        return PyErr_Format(PyExc_TypeError, "expected a generator, got %R", (PyObject *)Py_TYPE(generator));
    }
    PyObject *object = PyType_GenericAlloc(block_type, 0);
    if (object != NULL) {
        ((block *)object)->generator = Py_NewRef(generator);
    }
    return object;
}

static int block_traverse(PyObject *object, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(((block *)object)->generator);
    return 0;
}

static int block_clear(PyObject *object) {
    Py_CLEAR(((block *)object)->generator);
    return 0;
}

static void block_deallocate(PyObject *self) {
    PyTypeObject *const type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    block_clear(self);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

bool blocks_add(PyObject *module) {
    static PyMethodDef methods[] = {
        {"__enter__", block_enter, METH_NOARGS, "Begin the block; return what the generator yields."},
        {"__exit__", METHOD(block_exit), METH_FASTCALL, "End the block: let the generator go on."},
        {0},
    };
    static PyType_Slot slots[] = {
        {Py_tp_methods, methods},
        {Py_tp_traverse, (void *)block_traverse},
        {Py_tp_clear, (void *)block_clear},
        {Py_tp_dealloc, (void *)block_deallocate},
        {Py_tp_doc, "A generator as a context manager; no signal comes between its end and the block's."},
        {0, NULL},
    };
    static PyType_Spec specification = {"ascend_rt._native.handles.Block", sizeof(block), 0,
                                        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                        slots};
    static PyMethodDef functions_of_module[] = {
        {"block", new_block, METH_O, "Return a context manager of a generator, which yields once."},
        {0},
    };
    block_type = (PyTypeObject *)PyType_FromSpec(&specification);
    return block_type != NULL && PyModule_AddObjectRef(module, "Block", (PyObject *)block_type) == 0 &&
           PyModule_AddFunctions(module, functions_of_module) == 0;
}
