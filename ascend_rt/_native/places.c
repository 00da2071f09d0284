/* SPDX-License-Identifier: Apache-2.0 */
/* Places: another context for a block, or for a call, and the one before afterwards.
 *
 * To switch and to go back is one step in C each, so that the thread is as before whatever is raised in between, by a
 * signal handler too. A thread cannot give up its last context: one that had none keeps the other. */
#include "methods.h"

static PyObject *origins_key;

/* Finds the context of the calling thread, or NULL if it has none; returns whether that worked. */
static bool find_origin(void **context) {
    *context = NULL;
    if (!initialize()) {
        return false;
    }
    aclError code;
    Py_BEGIN_ALLOW_THREADS;
    code = FUNCTION(aclrtGetCurrentContext, GET_CONTEXT)(context);
    if (code == ACL_ERROR_RT_CONTEXT_NULL) {
        FUNCTION(aclGetRecentErrMsg, RECENT_MESSAGE)(); /* discard the text of a failure that is none */
        *context = NULL;
    }
    Py_END_ALLOW_THREADS;
    if (code != ACL_SUCCESS && code != ACL_ERROR_RT_CONTEXT_NULL) {
        fail(code, "aclrtGetCurrentContext");
        return false;
    }
    return true;
}

static void set_context(void *context) {
    aclError code;
    Py_BEGIN_ALLOW_THREADS;
    code = FUNCTION(aclrtSetCurrentContext, SET_CONTEXT)(context);
    Py_END_ALLOW_THREADS;
    if (code != ACL_SUCCESS && code != ACL_ERROR_RT_PARAM_INVALID) { /* it was destroyed: the thread stays there */
        fail(code, "aclrtSetCurrentContext");
    }
}

/* Goes back to a context; also while an exception is on its way. */
static void go_back(void *origin) {
    if (origin != NULL) {
        const raised before = put_aside();
        set_context(origin);
        bring_back(before);
    }
}

static void call_hook(PyObject *self, const char *name) {
    const raised before = put_aside();
    PyObject *result = PyObject_CallMethod(self, name, NULL);
    Py_XDECREF(result);
    bring_back(before);
}

/* Where the blocks of the calling thread go back to, a list, borrowed: threads may share the objects that are entered.
 */
static PyObject *origins_of_thread(void) {
    PyObject *const of_thread = PyThreadState_GetDict();
    PyObject *found = of_thread != NULL ? PyDict_GetItemWithError(of_thread, origins_key) : NULL;
    if (found == NULL && of_thread != NULL && PyErr_Occurred() == NULL) {
        PyObject *new = PyList_New(0);
        found = new != NULL && PyDict_SetItem(of_thread, origins_key, new) == 0 ? new : NULL;
        Py_XDECREF(new); /* the dictionary has it */
    }
    return found;
}

static PyObject *place_enter(PyObject *self, PyObject *unused) {
    (void)unused;
    void *origin;
    PyObject *number = find_origin(&origin) ? PyLong_FromVoidPtr(origin) : NULL;
    PyObject *const origins = number != NULL ? origins_of_thread() : NULL;
    if (origins == NULL) {
        Py_XDECREF(number);
        return NULL;
    }
    call_hook(self, "_switch");
    if (PyErr_Occurred() == NULL) {
        PyList_Append(origins, number);
    }
    Py_DECREF(number);
    if (PyErr_Occurred() != NULL) {
        go_back(origin);
        return NULL;
    }
    return Py_NewRef(self);
}

static PyObject *place_exit(PyObject *self, PyObject *raised_in_block) {
    (void)raised_in_block;
    PyObject *const origins = origins_of_thread();
    const Py_ssize_t last = origins != NULL ? PyList_Size(origins) - 1 : -1;
    if (last < 0) {
        if (origins != NULL) {
            PyErr_SetString(PyExc_RuntimeError, "this block was not entered by the calling thread");
        }
        return NULL;
    }
    void *const origin = PyLong_AsVoidPtr(PyList_GetItem(origins, last));
    if (PyList_SetSlice(origins, last, last + 1, NULL) == 0) {
        go_back(origin);
    }
    if (PyErr_Occurred() == NULL) {
        call_hook(self, "_left");
    }
    return PyErr_Occurred() == NULL ? Py_NewRef(Py_None) : NULL;
}

static PyObject *place_call(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    void *origin;
    if (count < 1) {
        PyErr_SetString(PyExc_TypeError, "_call() takes a function and its arguments");
        return NULL;
    }
    if (!find_origin(&origin)) {
        return NULL;
    }
    call_hook(self, "_switch");
    const bool is_there = PyErr_Occurred() == NULL;
    PyObject *result = is_there ? call_with(args[0], NULL, args + 1, count - 1) : NULL;
    go_back(origin);
    if (is_there) {
        call_hook(self, "_left");
    }
    if (PyErr_Occurred() != NULL) {
        Py_CLEAR(result);
    }
    return result;
}

/* A place that is the thread's own: a call there comes back to where it began. */
static PyObject *do_nothing(PyObject *self, PyObject *unused) {
    (void)self;
    (void)unused;
    Py_RETURN_NONE;
}

static PyObject *has_context(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    void *context;
    return find_origin(&context) ? PyBool_FromLong(context != NULL) : NULL;
}

bool places_add(PyObject *module) {
    static PyMethodDef methods[] = {
        {"__enter__", place_enter, METH_NOARGS, "Make the context current, until the block ends."},
        {"__exit__", place_exit, METH_VARARGS, "Make the context current that was before."},
        {"_call", METHOD(place_call), METH_FASTCALL, "Call a function there; return its result."},
        {"_switch", do_nothing, METH_NOARGS, "Make the context current; the place has its own way."},
        {"_left", do_nothing, METH_NOARGS, "Tidy up; called after the context before is current again."},
        {0},
    };
    static PyType_Slot slots[] = {
        {Py_tp_methods, methods},
        {Py_tp_doc, "Where calls may go for a moment: a device, or a context."},
        {0, NULL},
    };
    static PyType_Spec specification = {"ascend_rt._native.handles.Place", sizeof(PyObject), 0,
                                        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
    static PyMethodDef functions_of_module[] = {
        {"has_context", has_context, METH_NOARGS, "Return whether the calling thread has a context."},
        {0},
    };
    PyObject *type = PyType_FromSpec(&specification);
    const bool is_added = type != NULL && PyModule_AddObjectRef(module, "Place", type) == 0 &&
                          PyModule_AddFunctions(module, functions_of_module) == 0 &&
                          (origins_key = PyUnicode_InternFromString("ascend_rt.origins")) != NULL;
    Py_XDECREF(type);
    return is_added;
}
