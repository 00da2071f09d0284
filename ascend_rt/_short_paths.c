/* SPDX-License-Identifier: Apache-2.0 */
#include "_short_paths.h"

const ascend_rt_shared *shared;

static PyObject *check; /* ascend_rt._driver.check */
static PyObject *homes; /* ascend_rt._lifecycle.homes */

/* The home that needs no call to be known, or NULL, and what finds it otherwise, a function of ascend_rt.context. */
static struct place {
    const char *name;
    PyObject *known, *find;
} places[] = {
    [IN_CONTEXT] = {"home", NULL, NULL},
    [ON_DEVICE] = {"home_of_device", NULL, NULL},
};
static MUTEX(places_mutex);

static const short_paths *const classes[] = {&event_paths, &stream_paths, &in_flight_paths, &graph_paths,
                                             &buffer_paths};

function functions[FUNCTIONS] = {
    [CREATE] = {"aclrtCreateEventExWithFlag", NULL},
    [DESTROY] = {"aclrtDestroyEvent", NULL},
    [RECORD] = {"aclrtRecordEvent", NULL},
    [WAIT] = {"aclrtStreamWaitEvent", NULL},
    [QUERY_EVENT] = {"aclrtQueryEventStatus", NULL},
    [QUERY_STREAM] = {"aclrtStreamQuery", NULL},
    [SYNCHRONIZE_EVENT] = {"aclrtSynchronizeEvent", NULL},
    [SYNCHRONIZE_STREAM] = {"aclrtSynchronizeStream", NULL},
    [EXECUTE] = {"aclmdlRIExecuteAsync", NULL},
    [COPY] = {"aclrtMemcpyAsync", NULL},
    [FILL] = {"aclrtMemsetAsync", NULL},
    [LAUNCH] = {"aclrtLaunchHostFunc", NULL},
    [MALLOC] = {"aclrtMalloc", NULL},
    [FREE] = {"aclrtFree", NULL},
    [GET_DEVICE] = {"aclrtGetDevice", NULL},
    [GET_CONTEXT] = {"aclrtGetCurrentContext", NULL},
    [SET_CONTEXT] = {"aclrtSetCurrentContext", NULL},
    [GET_MESSAGE] = {"aclGetRecentErrMsg", NULL},
};

PyObject *fail(int code, const char *function) {
    PyObject *result = PyObject_CallFunction(check, "is", code, function);
    Py_XDECREF(result);
    return NULL;
}

/* What several paths do. */

PyObject *tuple_of(arguments args, Py_ssize_t count) {
    PyObject *tuple = PyTuple_New(count);
    for (Py_ssize_t i = 0; i < count && tuple != NULL; ++i) {
        PyTuple_SetItem(tuple, i, Py_NewRef(args[i]));
    }
    return tuple;
}

PyObject *call_python(const short_path *path, PyObject *self, arguments args, Py_ssize_t count, PyObject *names) {
    const Py_ssize_t named = names != NULL ? PyTuple_Size(names) : 0, first = self != NULL;
    PyObject *tuple = PyTuple_New(first + count);
    PyObject *dictionary = tuple != NULL && named > 0 ? PyDict_New() : NULL;
    bool is_complete = tuple != NULL && (named == 0 || dictionary != NULL);
    for (Py_ssize_t i = 0; i < first + count && tuple != NULL; ++i) {
        PyTuple_SetItem(tuple, i, Py_NewRef(i < first ? self : args[i - first]));
    }
    for (Py_ssize_t i = 0; i < named && is_complete; ++i) {
        is_complete = PyDict_SetItem(dictionary, PyTuple_GetItem(names, i), args[count + i]) == 0;
    }
    PyObject *result = is_complete ? PyObject_Call(path->in_python, tuple, dictionary) : NULL;
    Py_XDECREF(dictionary);
    Py_XDECREF(tuple);
    return result;
}

PyObject *get_in_python(const short_path *path, PyObject *self) {
    return PyObject_CallFunctionObjArgs(path->in_python, self, NULL);
}

/* Home of objects on the device of the calling thread's context, if that is known. Raises no exception. */
static PyObject *home_on_device(void) {
    int32_t device = 0;
    aclError code;
    if (!is_direct(GET_DEVICE)) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS;
    code = FUNCTION(aclrtGetDevice, GET_DEVICE)(&device);
    Py_END_ALLOW_THREADS;
    PyObject *number = code == ACL_SUCCESS ? PyLong_FromLong(device) : NULL;
    PyObject *home = number != NULL ? get_item(homes, number) : NULL;
    Py_XDECREF(number);
    PyErr_Clear(); /* Python looks again */
    return home;
}

PyObject *home_of_new(enum living living) {
    LOCK(places_mutex);
    PyObject *home = Py_XNewRef(places[living].known);
    UNLOCK(places_mutex);
    if (home == NULL && living == ON_DEVICE) {
        home = home_on_device();
    }
    return home != NULL ? home : PyObject_CallFunctionObjArgs(places[living].find, NULL);
}

static PyObject *note_homes(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    (void)module;
    if (count != sizeof places / sizeof places[0]) {
        PyErr_SetString(PyExc_TypeError, "note_homes() takes a home, or None, for each kind of objects");
        return NULL;
    }
    for (Py_ssize_t i = 0; i < count; ++i) {
        LOCK(places_mutex);
        PyObject *before = exchange(&places[i].known, args[i] != Py_None ? Py_NewRef(args[i]) : NULL);
        UNLOCK(places_mutex);
        Py_XDECREF(before);
    }
    Py_RETURN_NONE;
}

static bool find_places(void) {
    bool is_found = (homes = attribute_of("ascend_rt._lifecycle", "homes")) != NULL;
    for (size_t i = 0; i < sizeof places / sizeof places[0] && is_found; ++i) {
        is_found = (places[i].find = attribute_of("ascend_rt.context", places[i].name)) != NULL;
    }
    return is_found;
}

PyObject *destroy(handle *self, int place) {
    void *const pointer = self->pointer;
    aclError code;
    if (!handle_shut(self)) {
        Py_RETURN_NONE; /* another thread has closed it */
    }
    Py_BEGIN_ALLOW_THREADS;
    shared->await_left(pointer);
    code = (*(aclError(**)(void *))functions[place].slot->pointer)(pointer);
    Py_END_ALLOW_THREADS;
    if (code == ACL_SUCCESS) {
        Py_RETURN_NONE;
    }
    handle_reopen(self);
    return fail(code, functions[place].name);
}

/* Putting paths in front of methods. */

/* Returns what Python shows of a method or a property: its parameters, if any, and its docstring. It lives for ever. */
static char *documentation(const short_path *path) {
    PyObject *text = PyObject_GetAttrString(path->in_python, "__doc__");
    PyObject *whole = NULL;
    if (text != NULL) {
        const char *format = text != Py_None ? "%s%s\n--\n\n%S" : "%s%s\n--\n\n";
        whole =
            path->get == NULL ? PyUnicode_FromFormat(format, path->name, path->parameters, text) : PyObject_Str(text);
    }
    PyObject *bytes = whole != NULL ? PyUnicode_AsUTF8String(whole) : NULL;
    char *copy = bytes != NULL ? PyMem_Malloc((size_t)PyBytes_Size(bytes) + 1) : NULL;
    if (copy != NULL) {
        memcpy(copy, PyBytes_AsString(bytes), (size_t)PyBytes_Size(bytes) + 1);
    }
    Py_XDECREF(bytes);
    Py_XDECREF(whole);
    Py_XDECREF(text);
    return copy;
}

/* Returns the descriptor of a short path; its definition lives for ever. */
static PyObject *descriptor(const short_path *path, PyTypeObject *type) {
    char *const text = documentation(path);
    PyMethodDef *const method = PyMem_Malloc(sizeof *method);
    PyGetSetDef *const property = PyMem_Malloc(sizeof *property);
    if (text == NULL || method == NULL || property == NULL) {
        return PyErr_Occurred() != NULL ? NULL : PyErr_NoMemory();
    }
    *method = (PyMethodDef){path->name, path->call, METH_FASTCALL | METH_KEYWORDS, text};
    *property = (PyGetSetDef){path->name, path->get, NULL, text, NULL};
    return path->get != NULL ? PyDescr_NewGetSet(type, property) : PyDescr_NewMethod(type, method);
}

static bool install(short_path *path, PyObject *class) {
    PyObject *found = PyObject_GetAttrString(class, path->name);
    if (found != NULL && path->get != NULL) {
        set(&found, PyObject_GetAttrString(found, "fget"));
    }
    path->in_python = found;
    PyObject *installed = found != NULL ? descriptor(path, (PyTypeObject *)class) : NULL;
    const bool is_installed = installed != NULL && PyObject_SetAttrString(class, path->name, installed) == 0;
    Py_XDECREF(installed);
    return is_installed;
}

static bool install_all(const short_paths *of, PyObject *class) {
    bool is_installed = of->connect == NULL || of->connect(class);
    for (size_t i = 0; i < of->count && is_installed; ++i) {
        is_installed = install(&of->paths[i], class);
    }
    return is_installed;
}

static PyObject *install_short_paths(PyObject *module, PyObject *class) {
    (void)module;
    PyTypeObject *const type = (PyTypeObject *)class;
    if (host == NULL && PyType_IsSubtype(type, handle_type) &&
        ((host = attribute_of("ascend_rt._lifecycle", "HOST")) == NULL || !find_places())) {
        return NULL;
    }
    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; ++i) {
        if (PyType_IsSubtype(type, *classes[i]->type) && !install_all(classes[i], class)) {
            return NULL;
        }
    }
    return Py_NewRef(class);
}

PyObject *short_function(short_path *path, PyObject *function) {
    PyObject *home = PyObject_GetAttrString(function, "__module__");
    PyMethodDef *const definition = PyMem_Malloc(sizeof *definition);
    path->in_python = Py_NewRef(function);
    char *const text = documentation(path);
    if (home == NULL || definition == NULL || text == NULL) {
        return PyErr_Occurred() != NULL ? NULL : PyErr_NoMemory();
    }
    *definition = (PyMethodDef){path->name, path->call, METH_FASTCALL | METH_KEYWORDS, text};
    PyObject *installed = PyCFunction_NewEx(definition, NULL, home);
    Py_DECREF(home);
    return installed;
}

static bool find_functions(void) {
    for (int place = 0; place < FUNCTIONS; ++place) {
        for (size_t i = 0; i < shared->slot_count && functions[place].slot == NULL; ++i) {
            if (strcmp(shared->slots[i].name, functions[place].name) == 0) {
                functions[place].slot = &shared->slots[i];
            }
        }
        if (functions[place].slot == NULL) {
            PyErr_Format(PyExc_ImportError, "ascend_rt._aclrt is of another version: it has no %s",
                         functions[place].name);
            return false;
        }
    }
    return true;
}

bool short_paths_add(PyObject *module, const ascend_rt_shared *parts) {
    static PyMethodDef functions_of_module[] = {
        {"install_short_paths", install_short_paths, METH_O,
         "Put the short paths in front of the methods of a class; return the class."},
        {"note_homes", (PyCFunction)(void (*)(void))note_homes, METH_FASTCALL,
         "Note where new objects live that need a context, and those that need but a device; None: it depends."},
        {"release", release_batch, METH_O,
         "Release a batch whose tasks have completed, or None, and all before it; any thread may, and again."},
        {"disruptions", disruptions_so_far, METH_NOARGS,
         "Return what may make a stream complete although it has not waited: the number of failures and aborts."},
        {0},
    };
    shared = parts;
    return find_functions() && (check = attribute_of("ascend_rt._driver", "check")) != NULL &&
           PyModule_AddFunctions(module, functions_of_module) == 0 && copies_add(module) && places_add(module);
}
