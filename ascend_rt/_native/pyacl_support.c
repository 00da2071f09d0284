/* SPDX-License-Identifier: Apache-2.0 */
#include "pyacl_support.h"

#include <stdarg.h>
#include <string.h>

#include "epochs.h"
#include "python_objects.h"

static const ascend_rt_shared *shared; /* the table and the gate of ascend_rt._aclrt */
static PyObject *provide;              /* ascend_rt._runtime.driver.provide */
static PyObject *lifecycle, *events;   /* the dictionary of ascend_rt._runtime.lifecycle, and its events */
static PyObject *only_owner;           /* "only_owner" */

bool pyacl_provide(const char *name) {
    PyObject *result = PyObject_CallFunction(provide, "s", name);
    Py_XDECREF(result);
    return result != NULL;
}

/* Arguments. */

bool pyacl_to_s(PyObject *object, const char **value) {
    Py_ssize_t size = 0;
    *value = PyUnicode_Check(object) ? PyUnicode_AsUTF8AndSize(object, &size) : NULL;
    return *value != NULL && strlen(*value) == (size_t)size;
}

PyObject *pyacl_refuse(const char *text) {
    PyErr_SetString(PyExc_TypeError, text);
    return NULL;
}

/* Refuses the first argument for k or K that is not an int although it has __index__; returns whether it did. From 3.14
 * on, CPython takes those. */
static bool refuse_index(PyObject *const *args, Py_ssize_t count, const char *format) {
    Py_ssize_t i = 0;
    while (i < count && ((format[i] != 'k' && format[i] != 'K') || PyLong_Check(args[i]))) {
        ++i;
    }
    if (i == count || !PyIndex_Check(args[i])) {
        return false;
    }
    PyObject *name = PyObject_GetAttrString((PyObject *)Py_TYPE(args[i]), "__name__");
    if (name != NULL) {
        PyErr_Format(PyExc_TypeError, "argument %zd must be int, not %U", i + 1, name);
    }
    Py_XDECREF(name);
    return true;
}

PyObject *pyacl_refuse_as_cpython(PyObject *const *args, Py_ssize_t count, const char *format) {
    uint64_t unused[2] = {0, 0};
    PyErr_Clear();
    if ((size_t)count == strlen(format) && refuse_index(args, count, format)) {
        return NULL;
    }
    PyObject *tuple = tuple_of(args, count);
    if (tuple != NULL && PyArg_ParseTuple(tuple, format, &unused[0], &unused[1])) {
        PyErr_SetString(PyExc_SystemError, "the arguments are refused without a reason");
    }
    Py_XDECREF(tuple);
    return NULL;
}

/* Results. */

PyObject *pyacl_box_text(const char *value) {
    return value != NULL ? PyUnicode_DecodeUTF8(value, (Py_ssize_t)strlen(value), "replace") : Py_NewRef(Py_None);
}

PyObject *pyacl_pack(int count, ...) {
    va_list values;
    PyObject *tuple = PyTuple_New(count);
    bool is_complete = tuple != NULL;
    va_start(values, count);
    for (int i = 0; i < count; ++i) {
        PyObject *value = va_arg(values, PyObject *);
        is_complete = is_complete && value != NULL;
        if (tuple == NULL) {
            Py_XDECREF(value);
        } else {
            PyTuple_SetItem(tuple, i, value);
        }
    }
    va_end(values);
    if (!is_complete) {
        Py_CLEAR(tuple);
    }
    return tuple;
}

PyObject *pyacl_raise_from_callback(const char *name, PyObject *value) {
    PyObject *cause = pyacl_here.exception;
    pyacl_here.exception = NULL;
    Py_XDECREF(value);
    /* CPython's own text for a callback that leaves its exception set, which is what the vendor's extension does. */
    PyErr_Format(PyExc_SystemError, "<built-in function %s> returned a result with an exception set", name);
    PyObject *error = take_exception();
    PyException_SetCause(error, cause);
    PyErr_SetObject((PyObject *)Py_TYPE(error), error);
    Py_DECREF(error);
    return NULL;
}

PyObject *pyacl_call_python(const char *module, const char *name, PyObject *args) {
    PyObject *owner = args != NULL ? PyImport_ImportModule(module) : NULL;
    PyObject *function = owner != NULL ? PyObject_GetAttrString(owner, name) : NULL;
    PyObject *result = function != NULL ? PyObject_CallObject(function, args) : NULL;
    Py_XDECREF(function);
    Py_XDECREF(owner);
    Py_XDECREF(args);
    return result;
}

/* Callbacks. They run on the thread that calls process_report, or on one of the runtime's. */

_Thread_local pyacl_thread pyacl_here;

/* A callback on its way through Python, where it may make more calls. Each begin() needs an end(). */
typedef struct visit {
    bool is_in; /* not if the interpreter is about to end */
    PyGILState_STATE state;
    pyacl_thread outside;
} visit;

static visit begin(void) {
    visit visit = {.is_in = shared->enter(), .outside = pyacl_here};
    if (visit.is_in) {
        visit.state = PyGILState_Ensure();
        pyacl_here = (pyacl_thread){.depth = 0};
    }
    return visit;
}

static void end(const visit *visit) {
    if (visit->is_in) {
        pyacl_here = visit->outside;
        PyGILState_Release(visit->state);
    }
    shared->leave();
}

/* An exception is left to the call of this module that the callback runs inside, if there is one, and the first only:
 * others have no caller. */
static void call_back(visit *visit, PyObject *function, PyObject *argument) {
    PyObject *result = argument != NULL ? PyObject_CallFunctionObjArgs(function, argument, NULL) : NULL;
    if (result == NULL && visit->outside.depth > 0 && visit->outside.exception == NULL) {
        visit->outside.exception = take_exception();
    } else if (result == NULL) {
        PyErr_WriteUnraisable(function);
    }
    Py_XDECREF(result);
}

enum { LAUNCH_CALLBACK, SET_EXCEPTION_CALLBACK };

static pyacl_function functions[] = {
    [LAUNCH_CALLBACK] = {"aclrtLaunchCallback", NULL},
    [SET_EXCEPTION_CALLBACK] = {"aclrtSetExceptionInfoCallback", NULL},
    {NULL, NULL},
};

/* Callbacks in streams that have not run yet: number -> (function, user data, stream). The runtime gets the number, so
 * one that it runs although its stream was aborted finds nothing, rather than what is gone. */
static PyObject *callbacks;
static atomic_uint_fast64_t last_callback;

uint64_t pyacl_last_callback(void) { return last_callback; }

static void run_callback(void *user_data) {
    visit visit = begin();
    if (visit.is_in) {
        PyObject *number = PyLong_FromVoidPtr(user_data);
        PyObject *callback = number != NULL ? pop_item(callbacks, number) : NULL;
        if (callback != NULL) {
            call_back(&visit, PyTuple_GetItem(callback, 0), PyTuple_GetItem(callback, 1));
        }
        Py_XDECREF(callback);
        Py_XDECREF(number);
    }
    end(&visit);
}

PyObject *pyacl_launch_callback(PyObject *function, PyObject *user_data, uint64_t block_type, uint64_t stream) {
    if (!PyCallable_Check(function)) {
        return pyacl_refuse("parameter must be callable");
    }
    if (!pyacl_is_ready(&functions[LAUNCH_CALLBACK])) {
        return NULL;
    }
    PyObject *number = PyLong_FromUnsignedLongLong(atomic_fetch_add(&last_callback, 1) + 1);
    PyObject *callback = pyacl_pack(3, Py_NewRef(function), Py_NewRef(user_data), PyLong_FromUnsignedLongLong(stream));
    PyObject *result = NULL;
    if (number != NULL && callback != NULL && PyDict_SetItem(callbacks, number, callback) == 0) {
        void *const argument = PyLong_AsVoidPtr(number);
        aclError code;
        PYACL_WITHOUT_GIL(
            code = PYACL_FUNCTION(aclrtLaunchCallback, &functions[LAUNCH_CALLBACK])(
                run_callback, argument, (aclrtCallbackBlockType)block_type, (aclrtStream)(uintptr_t)stream));
        if (code != ACL_SUCCESS) {
            Py_XDECREF(pop_item(callbacks, number));
        }
        result = pyacl_result("launch_callback", PyLong_FromLong(code));
    }
    Py_XDECREF(callback);
    Py_XDECREF(number);
    return result;
}

/* The numbers of a stream's callbacks up to the last. */
static PyObject *numbers_of(uint64_t stream, uint64_t last) {
    PyObject *numbers = PyList_New(0);
    PyObject *number = NULL, *callback = NULL;
    Py_ssize_t position = 0;
    BEGIN_LOCKED(callbacks);
    while (numbers != NULL && PyDict_Next(callbacks, &position, &number, &callback)) {
        if (PyLong_AsUnsignedLongLong(number) <= last &&
            PyLong_AsUnsignedLongLong(PyTuple_GetItem(callback, 2)) == stream && PyList_Append(numbers, number) != 0) {
            Py_CLEAR(numbers);
        }
    }
    END_LOCKED();
    return numbers;
}

void pyacl_drop_callbacks(aclError code, uint64_t stream, uint64_t last) {
    if (code != ACL_SUCCESS || PyDict_Size(callbacks) == 0) {
        return;
    }
    PyObject *numbers = numbers_of(stream, last);
    if (numbers == NULL) {
        PyErr_Clear(); /* no memory: they stay */
    }
    for (Py_ssize_t i = 0; numbers != NULL && i < PyList_Size(numbers); ++i) {
        Py_XDECREF(pop_item(callbacks, PyList_GetItem(numbers, i))); /* some may have run while others were dropped */
    }
    Py_XDECREF(numbers);
}

/* The one exception callback of the process, or NULL. */
static PyObject *exception_callback;
static MUTEX(exception_mutex); /* not renewed in a forked child, whose calls are refused before they take it */

static PyObject *replace_exception_callback(PyObject *function) {
    LOCK(exception_mutex);
    PyObject *before = exchange(&exception_callback, function);
    UNLOCK(exception_mutex);
    return before;
}

static void run_exception_callback(aclrtExceptionInfo *info) {
    visit visit = begin();
    if (visit.is_in) {
        LOCK(exception_mutex);
        PyObject *function = Py_XNewRef(exception_callback); /* it may be replaced meanwhile */
        UNLOCK(exception_mutex);
        PyObject *address = function != NULL ? PyLong_FromVoidPtr(info) : NULL;
        if (function != NULL) {
            call_back(&visit, function, address);
        }
        Py_XDECREF(address);
        Py_XDECREF(function);
    }
    end(&visit);
}

PyObject *pyacl_set_exception_info_callback(PyObject *function) {
    const bool is_set = function != NULL && function != Py_None;
    if (is_set && !PyCallable_Check(function)) {
        return pyacl_refuse("acl.rt.set_exception_info_callback args parse failed");
    }
    if (!pyacl_is_ready(&functions[SET_EXCEPTION_CALLBACK])) {
        return NULL;
    }
    /* Before the call: a task may fail during it. */
    PyObject *before = replace_exception_callback(is_set ? Py_NewRef(function) : NULL);
    aclError code;
    PYACL_WITHOUT_GIL(code = PYACL_FUNCTION(aclrtSetExceptionInfoCallback, &functions[SET_EXCEPTION_CALLBACK])(
                          is_set ? run_exception_callback : NULL));
    if (code != ACL_SUCCESS) {
        before = replace_exception_callback(before);
    }
    Py_XDECREF(before);
    return pyacl_result("set_exception_info_callback", PyLong_FromLong(code));
}

/* Events. */

bool pyacl_has_ended(uint64_t event) {
    if (!atomic_load(&shared->has_ended)) {
        return false;
    }
    PyObject *number = PyLong_FromUnsignedLongLong(event);
    PyObject *owner = number != NULL ? get_item(events, number) : NULL;
    const bool has_ended = owner != NULL && LOAD(epoch_of(owner)->is_over);
    Py_XDECREF(owner);
    Py_XDECREF(number);
    return has_ended;
}

/* Where a new event lives: on the only device, or on that of the thread's context. */
static PyObject *find_owner(void) {
    PyObject *owner = get_item(lifecycle, only_owner);
    if (owner == Py_None) {
        Py_DECREF(owner);
        owner = pyacl_call_python("ascend_rt._runtime.owners", "owner_on_device", PyTuple_New(0));
    }
    return owner;
}

void pyacl_note_event(aclError code, const void *event) {
    PyObject *number = code == ACL_SUCCESS ? PyLong_FromVoidPtr((void *)event) : NULL;
    PyObject *owner = number != NULL ? find_owner() : NULL;
    if (owner != NULL) {
        PyDict_SetItem(events, number, owner);
    }
    PyErr_Clear(); /* without a note, which needs memory and a device, the event is used as before */
    Py_XDECREF(owner);
    Py_XDECREF(number);
}

PyObject *pyacl_forget_event(uint64_t event) {
    PyObject *number = PyLong_FromUnsignedLongLong(event);
    PyObject *owner = number != NULL ? pop_item(events, number) : NULL;
    Py_XDECREF(number);
    return owner;
}

void pyacl_restore_event(aclError code, uint64_t event, PyObject *note) {
    PyObject *number = code != ACL_SUCCESS && note != NULL ? PyLong_FromUnsignedLongLong(event) : NULL;
    if (number != NULL) {
        PyDict_SetItem(events, number, note);
    }
    PyErr_Clear();
    Py_XDECREF(number);
    Py_XDECREF(note);
}

/* Bytes. */

PyObject *pyacl_bytes_to_ptr(PyObject *data) {
    if (!PyBytes_Check(data)) {
        PyErr_SetString(PyExc_ValueError, "needs an byte as argument");
        return NULL;
    }
    return PyLong_FromVoidPtr(PyBytes_AsString(data));
}

PyObject *pyacl_ptr_to_bytes(uint64_t address, uint64_t size) {
    /* From NULL, CPython would make bytes without a content. */
    PyObject *bytes =
        address != 0 || size == 0 ? PyBytes_FromStringAndSize((const char *)address, (Py_ssize_t)size) : NULL;
    if (bytes == NULL) {
        PyErr_SetString(PyExc_ValueError, "convert c pointer to bytes failed");
    }
    return bytes;
}

/* The module. */

static bool resolve(pyacl_function *list) {
    for (pyacl_function *function = list; function->name != NULL; ++function) {
        for (size_t i = 0; i < shared->slot_count && function->slot == NULL; ++i) {
            if (strcmp(shared->slots[i].name, function->name) == 0) {
                function->slot = &shared->slots[i];
            }
        }
        if (function->slot == NULL) {
            PyErr_Format(PyExc_ImportError, "ascend_rt._aclrt is of another version: it has no %s", function->name);
            return false;
        }
    }
    return true;
}

static bool connect(void) {
    PyObject *driver = PyImport_ImportModule("ascend_rt._runtime.driver");
    PyObject *address = driver != NULL ? PyObject_CallMethod(driver, "shared_parts", NULL) : NULL;
    shared = address != NULL ? PyLong_AsVoidPtr(address) : NULL;
    provide = shared != NULL ? PyObject_GetAttrString(driver, "provide") : NULL;
    callbacks = PyDict_New();
    Py_XDECREF(address);
    Py_XDECREF(driver);
    PyObject *owner = PyImport_ImportModule("ascend_rt._runtime.lifecycle");
    lifecycle = owner != NULL ? PyObject_GetAttrString(owner, "__dict__") : NULL;
    events = owner != NULL ? PyObject_GetAttrString(owner, "events") : NULL;
    only_owner = PyUnicode_InternFromString("only_owner");
    Py_XDECREF(owner);
    return lifecycle != NULL && events != NULL && only_owner != NULL && provide != NULL && callbacks != NULL &&
           resolve(functions) && resolve(pyacl_functions);
}

/* As in the vendor's extension, the functions have no __module__, which also keeps it out of CPython's texts. */
static bool add_functions(PyObject *module, PyMethodDef *methods) {
    bool is_added = true;
    for (PyMethodDef *method = methods; method->ml_name != NULL && is_added; ++method) {
        PyObject *function = PyCFunction_NewEx(method, NULL, NULL);
        is_added = function != NULL && PyModule_AddObjectRef(module, method->ml_name, function) == 0;
        Py_XDECREF(function);
    }
    return is_added;
}

/* A module "acl.rt" as the attribute "rt". */
static bool add_module(PyObject *parent, const pyacl_module *module) {
    PyObject *name = PyUnicode_FromFormat("acl.%s", module->name);
    PyObject *child = name != NULL ? PyModule_NewObject(name) : NULL;
    const bool is_added = child != NULL && add_functions(child, module->methods) &&
                          PyModule_AddObjectRef(parent, module->name, child) == 0;
    Py_XDECREF(child);
    Py_XDECREF(name);
    return is_added;
}

PyMODINIT_FUNC PyInit__pyacl(void) {
    static PyModuleDef definition = {
        PyModuleDef_HEAD_INIT,
        .m_name = "ascend_rt.pyacl._pyacl",
        .m_doc = "The functions of pyACL, over the table of functions of ascend_rt._aclrt.",
        .m_size = -1,
    };
    PyObject *self = connect() ? without_gil(PyModule_Create(&definition)) : NULL;
    bool is_complete = self != NULL;
    for (const pyacl_module *module = pyacl_modules; module->name != NULL && is_complete; ++module) {
        const bool is_top = module->name[0] == '\0';
        is_complete = is_top ? add_functions(self, module->methods) : add_module(self, module);
    }
    if (!is_complete) {
        Py_CLEAR(self);
    }
    return self;
}
