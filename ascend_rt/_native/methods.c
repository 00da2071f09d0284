/* SPDX-License-Identifier: Apache-2.0 */
#include "methods.h"

#include "batches.h"
#include "deferred.h"
#include "handle_life.h"

const ascend_rt_shared *shared;

static PyObject *check;        /* ascend_rt._runtime.driver.check */
static PyObject *owners;       /* ascend_rt._runtime.lifecycle.owners */
static PyObject *given_events; /* ascend_rt._runtime.lifecycle.events */
static bool is_initialized;    /* true once ascend_rt._runtime.lifecycle.initialize() is done */

/* The owner that needs no call to be known, or NULL, and what finds it otherwise, a function of _runtime/owners.py. */
static struct place {
    const char *name;
    PyObject *known, *find;
} places[] = {
    [IN_CONTEXT] = {"owner_of_new", NULL, NULL},
    [ON_DEVICE] = {"owner_on_device", NULL, NULL},
};
static MUTEX(places_mutex);

static const hot_methods *const classes[] = {&event_paths, &stream_paths,      &graph_paths,  &buffer_paths,
                                             &pool_paths,  &pool_buffer_paths, &kernel_paths, &pinned_paths};

function functions[FUNCTIONS] = {
    [CREATE] = {"aclrtCreateEventExWithFlag", NULL},
    [DESTROY] = {"aclrtDestroyEvent", NULL},
    [RECORD] = {"aclrtRecordEvent", NULL},
    [WAIT] = {"aclrtStreamWaitEvent", NULL},
    [WAIT_WITHIN] = {"aclrtStreamWaitEventWithTimeout", NULL},
    [QUERY_EVENT] = {"aclrtQueryEventStatus", NULL},
    [QUERY_STREAM] = {"aclrtStreamQuery", NULL},
    [SYNCHRONIZE_EVENT] = {"aclrtSynchronizeEvent", NULL},
    [SYNCHRONIZE_STREAM] = {"aclrtSynchronizeStream", NULL},
    [EXECUTE] = {"aclmdlRIExecuteAsync", NULL},
    [COPY] = {"aclrtMemcpyAsync", NULL},
    [FILL] = {"aclrtMemsetAsync", NULL},
    [FILL_WORDS] = {"aclrtMemsetD32Async", NULL},
    [LAUNCH] = {"aclrtLaunchHostFunc", NULL},
    [MALLOC] = {"aclrtMalloc", NULL},
    [FREE] = {"aclrtFree", NULL},
    [LAUNCH_KERNEL] = {"aclrtLaunchKernelWithHostArgs", NULL},
    [WANTS_ACCESSES] = {"aclsimWantsAccesses", NULL},
    [ASK_QUIETLY] = {"aclsimAskQuietly", NULL},
    [POOL_MALLOC] = {"aclrtMemPoolMallocAsync", NULL},
    [POOL_FREE] = {"aclrtMemPoolFreeAsync", NULL},
    [CREATE_STREAM] = {"aclrtCreateStreamWithConfig", NULL},
    [DESTROY_STREAM] = {"aclrtDestroyStream", NULL},
    [DESTROY_STREAM_FORCE] = {"aclrtDestroyStreamForce", NULL},
    [CAPTURE_BEGIN] = {"aclmdlRICaptureBegin", NULL},
    [CAPTURE_END] = {"aclmdlRICaptureEnd", NULL},
    [DESTROY_GRAPH] = {"aclmdlRIDestroy", NULL},
    [GET_DEVICE] = {"aclrtGetDevice", NULL},
    [GET_CONTEXT] = {"aclrtGetCurrentContext", NULL},
    [GET_DEFAULT_STREAM] = {"aclrtCtxGetCurrentDefaultStream", NULL},
    [RECENT_MESSAGE] = {"aclGetRecentErrMsg", NULL},
    [SET_CONTEXT] = {"aclrtSetCurrentContext", NULL},
};

PyObject *fail(int code, const char *function) {
    PyObject *result = PyObject_CallFunction(check, "is", code, function);
    Py_XDECREF(result);
    return NULL;
}

PyObject *call_rare(const char *module, const char *name, const char *format, ...) {
    va_list values;
    va_start(values, format);
    PyObject *const args = Py_VaBuildValue(format, values);
    va_end(values);
    PyObject *const function = args != NULL ? attribute_of(module, name) : NULL;
    PyObject *const result = function != NULL ? PyObject_CallObject(function, args) : NULL;
    Py_XDECREF(function);
    Py_XDECREF(args);
    return result;
}

bool initialize(void) {
    PyObject *done =
        LOAD(is_initialized) ? Py_NewRef(Py_None) : call_rare("ascend_rt._runtime.lifecycle", "initialize", "()");
    Py_XDECREF(done);
    return done != NULL;
}

bool close_deferred(void) {
    PyObject *const done =
        has_deferred() ? call_rare("ascend_rt._runtime.lifecycle", "close_deferred", "()") : Py_NewRef(Py_None);
    Py_XDECREF(done);
    return done != NULL;
}

static PyObject *renew_locks(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    RENEW(places_mutex);
    batches_renew_locks();
    current_streams_renew_locks();
    handle_life_renew_locks();
    deferred_renew_locks();
    Py_RETURN_NONE;
}

static PyObject *note_initialized(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    STORE(is_initialized, true);
    Py_RETURN_NONE;
}

PyObject *stream_of_argument(PyObject *given) {
    return call_rare("ascend_rt.stream", "_given_or_current", "(O)", given);
}

raised put_aside(void) {
    raised before;
    PyErr_Fetch(&before.type, &before.value, &before.traceback);
    return before;
}

void bring_back(raised before) {
    if (before.type == NULL || PyErr_Occurred() == NULL) {
        if (before.type != NULL) {
            PyErr_Restore(before.type, before.value, before.traceback);
        }
        return;
    }
    raised now = put_aside();
    PyErr_NormalizeException(&before.type, &before.value, &before.traceback);
    PyErr_NormalizeException(&now.type, &now.value, &now.traceback);
    if (before.traceback != NULL) {
        PyException_SetTraceback(before.value, before.traceback);
    }
    PyException_SetContext(now.value, before.value);
    Py_XDECREF(before.traceback);
    Py_DECREF(before.type);
    PyErr_Restore(now.type, now.value, now.traceback);
}

/* The place of a parameter that was given by name, or -1. */
static int place_of_name(const signature *of, PyObject *name) {
    for (int i = of->only_positional; i < of->count; ++i) {
        if (name == of->names[i]) {
            return i;
        }
    }
    for (int i = of->only_positional; i < of->count; ++i) { /* a name that was made at run time, as for f(**keywords) */
        if (PyUnicode_Compare(name, of->names[i]) == 0) {
            return i;
        }
    }
    return -1;
}

bool parse_names(const signature *of, PyObject **values, arguments args, PyObject *names) {
    const Py_ssize_t count = PyTuple_Size(names);
    for (Py_ssize_t i = 0; i < count; ++i) {
        const int place = place_of_name(of, PyTuple_GetItem(names, i));
        if (place < 0 || values[place] != NULL) {
            return false;
        }
        values[place] = args[i];
    }
    return true;
}

bool find_finite_limit(PyObject *timeout, int units_per_second, int32_t *limit) {
    const bool is_number = Py_TYPE(timeout) == &PyFloat_Type || Py_TYPE(timeout) == &PyLong_Type;
    const double units = is_number ? PyFloat_AsDouble(timeout) * units_per_second : 0;
    PyErr_Clear(); /* an integer that is too large, of which Python makes what it means */
    if (units > 0 && units <= INT32_MAX) {
        *limit = (int32_t)units;
        *limit += *limit < units;
        return true;
    }
    const char *const convert = units_per_second == SECONDS ? "whole_seconds" : "milliseconds";
    PyObject *number = call_rare("ascend_rt._runtime.timeouts", convert, "(O)", timeout);
    *limit = number != NULL ? (int32_t)PyLong_AsLong(number) : 0;
    Py_XDECREF(number);
    return PyErr_Occurred() == NULL;
}

/* Calls the declaration of a method; a function has no self. */
static PyObject *call_declared(const hot_method *path, PyObject *self, arguments args, Py_ssize_t count,
                               PyObject *names) {
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
    PyObject *result = is_complete ? PyObject_Call(path->declared, tuple, dictionary) : NULL;
    Py_XDECREF(dictionary);
    Py_XDECREF(tuple);
    return result;
}

bool find_size(PyObject *given, const char *check_function, const char *too_big, size_t *nbytes) {
    int overflow = 0;
    const long long plain = PyLong_CheckExact(given) ? PyLong_AsLongLongAndOverflow(given, &overflow) : 0;
    *nbytes = (size_t)plain;
    if (plain > 0) {
        return true;
    }
    PyObject *checked = call_rare("ascend_rt._memory.sizes", check_function, "(O)", given);
    *nbytes = checked != NULL ? PyLong_AsSize_t(checked) : 0;
    if (checked != NULL && PyErr_Occurred() != NULL) {
        PyErr_SetString(PyExc_OverflowError, too_big);
    }
    Py_XDECREF(checked);
    return PyErr_Occurred() == NULL;
}

PyObject *refuse_call(const hot_method *path, PyObject *self, arguments args, Py_ssize_t count, PyObject *names) {
    PyObject *result = call_declared(path, self, args, count, names);
    if (result != NULL) {
        Py_CLEAR(result);
        PyErr_Format(PyExc_SystemError, "the declaration of %s() allows these arguments", path->name);
    }
    return result;
}

/* Owner of objects on the device of the calling thread's context, if that is known. Raises no exception. */
static PyObject *find_owner_on_device(void) {
    int32_t device = 0;
    aclError code;
    Py_BEGIN_ALLOW_THREADS;
    code = FUNCTION(aclrtGetDevice, GET_DEVICE)(&device);
    Py_END_ALLOW_THREADS;
    PyObject *number = code == ACL_SUCCESS ? PyLong_FromLong(device) : NULL;
    PyObject *owner = number != NULL ? get_item(owners, number) : NULL;
    Py_XDECREF(number);
    PyErr_Clear(); /* Python looks again */
    return owner;
}

PyObject *owner_of_new(enum living living) {
    LOCK(places_mutex);
    PyObject *owner = Py_XNewRef(places[living].known);
    UNLOCK(places_mutex);
    if (owner == NULL && living == ON_DEVICE) {
        owner = find_owner_on_device();
    }
    return owner != NULL ? owner : PyObject_CallNoArgs(places[living].find);
}

/* The owner that was found last, of streams in a context, while that of all objects was known without a call. */
static struct {
    void *context;
    PyObject *usual, *owner;
} last_of_streams;

PyObject *owner_of_stream(void *context) {
    LOCK(places_mutex);
    PyObject *const usual = Py_XNewRef(places[IN_CONTEXT].known);
    const bool is_last = usual != NULL && usual == last_of_streams.usual && context == last_of_streams.context &&
                         !LOAD(epoch_of(last_of_streams.owner)->is_over);
    PyObject *owner = is_last ? Py_NewRef(last_of_streams.owner) : NULL;
    UNLOCK(places_mutex);
    if (is_last) {
        Py_DECREF(usual);
        return owner;
    }
    owner = call_rare("ascend_rt._runtime.owners", "owner_of_stream", "(K)", (unsigned long long)(uintptr_t)context);
    if (owner == NULL || usual == NULL) {
        Py_XDECREF(usual);
        return owner;
    }
    LOCK(places_mutex);
    PyObject *const usual_before = exchange(&last_of_streams.usual, usual);
    PyObject *const owner_before = exchange(&last_of_streams.owner, Py_NewRef(owner));
    last_of_streams.context = context;
    UNLOCK(places_mutex);
    Py_XDECREF(owner_before);
    Py_XDECREF(usual_before);
    return owner;
}

static PyObject *note_owners(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    (void)module;
    if (count != sizeof places / sizeof places[0]) {
        PyErr_SetString(PyExc_TypeError, "note_owners() takes an owner, or None, for each kind of objects");
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
    bool is_found = (owners = attribute_of("ascend_rt._runtime.lifecycle", "owners")) != NULL &&
                    (given_events = attribute_of("ascend_rt._runtime.lifecycle", "events")) != NULL;
    for (size_t i = 0; i < sizeof places / sizeof places[0] && is_found; ++i) {
        is_found = (places[i].find = attribute_of("ascend_rt._runtime.owners", places[i].name)) != NULL;
    }
    return is_found;
}

/* Destroys what an object owns. If no call may reach the library any more, it is only closed. */
static aclError try_to_destroy(handle *self, int place) {
    void *const pointer = self->pointer;
    aclError code;
    if (!handle_shut(self)) {
        return ACL_SUCCESS; /* another thread has closed it */
    }
    if (place == DESTROY) {
        await_answer((event *)self);
    }
    const bool is_given = place == DESTROY && LOAD(((event *)self)->is_shared);
    PyObject *const number = is_given ? PyLong_FromVoidPtr(pointer) : NULL;
    PyObject *const its_owner = number != NULL ? pop_item(given_events, number) : NULL; /* before a new event has it */
    Py_BEGIN_ALLOW_THREADS;
    shared->await_left(pointer);
    code = (*(aclError(**)(void *))functions[place].slot->pointer)(pointer);
    Py_END_ALLOW_THREADS;
    if (code != ACL_SUCCESS && its_owner != NULL) {
        PyDict_SetItem(given_events, number, its_owner);
    }
    Py_XDECREF(its_owner);
    Py_XDECREF(number);
    return code != ASCEND_RT_REFUSED ? code : ACL_SUCCESS;
}

PyObject *destroy(handle *self, int place) {
    if (!has_pointer(self) || !LOAD(self->is_owned)) {
        PyObject *was_open = handle_forget((PyObject *)self, NULL);
        Py_XDECREF(was_open);
        return was_open != NULL ? Py_NewRef(Py_None) : NULL;
    }
    const aclError code = try_to_destroy(self, place);
    if (code == ACL_SUCCESS) {
        Py_RETURN_NONE;
    }
    if (!is_raised(code)) { /* otherwise it may be destroyed */
        handle_reopen(self);
    }
    return fail(code, functions[place].name);
}

void warn_of_discarded(handle *self, aclError code, const char *function) {
    if (code == ACL_SUCCESS) {
        return;
    }
    PyObject *type, *value, *traceback, *warned = NULL;
    fail(code, function);
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    if (value != NULL) {
        warned = PyObject_CallMethod((PyObject *)self, "_warn_of_discarded", "O", value);
    }
    if (warned == NULL) { /* a warning that is an error */
        PyErr_WriteUnraisable((PyObject *)self);
    }
    Py_XDECREF(warned);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
}

/* The function that destroys objects of a type whatever state they are in; or FUNCTIONS. */
static int destroying(PyObject *object) {
    return Py_TYPE(object) == plain_buffer ? FREE : is_event(object) ? DESTROY : FUNCTIONS;
}

bool discard(handle *self) {
    const int place = destroying((PyObject *)self);
    if (place == FUNCTIONS) {
        return PyType_IsSubtype(Py_TYPE(self), pool_buffer_type) && discard_pool_buffer(self);
    }
    if (has_pointer(self) && LOAD(self->is_owned)) {
        warn_of_discarded(self, try_to_destroy(self, place), functions[place].name);
    } else {
        PyObject *was_open = handle_forget((PyObject *)self, NULL);
        Py_XDECREF(was_open);
    }
    return true;
}

/* Replacing methods by paths. */

/* A definition as _in_c._definition() returns it: its text, the names of the parameters and numbers of them. */
enum { TEXT, NAMES, REQUIRED, POSITIONAL, ONLY_POSITIONAL };

static int number_at(PyObject *definition, int place) { return (int)PyLong_AsLong(PyTuple_GetItem(definition, place)); }

static bool set_signature(signature *of, PyObject *definition) {
    PyObject *const names = PyTuple_GetItem(definition, NAMES);
    const Py_ssize_t count = PyTuple_Size(names);
    if (count > MOST_PARAMETERS) {
        PyErr_SetString(PyExc_SystemError, "a method in C has too many parameters");
        return false;
    }
    of->count = (int)count;
    of->required = number_at(definition, REQUIRED);
    of->positional = number_at(definition, POSITIONAL);
    of->only_positional = number_at(definition, ONLY_POSITIONAL);
    for (Py_ssize_t i = 0; i < count; ++i) {
        of->names[i] = Py_NewRef(PyTuple_GetItem(names, i)); /* interned, as all names of parameters */
    }
    return PyErr_Occurred() == NULL;
}

/* Returns what Python shows of a method or a property: its parameters, if any, and its docstring. It lives forever. */
static char *documentation(const hot_method *path, PyObject *parameters) {
    PyObject *text = PyObject_GetAttrString(path->declared, "__doc__");
    PyObject *whole = NULL;
    if (text != NULL) {
        const char *format = text != Py_None ? "%s%S\n--\n\n%S" : "%s%S\n--\n\n";
        whole = path->get == NULL ? PyUnicode_FromFormat(format, path->name, parameters, text) : PyObject_Str(text);
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

/* Returns the replacement of a method, a property or a function, whose class or module is given; the definitions live
 * forever. */
static PyObject *in_its_place(const hot_method *path, PyObject *parameters, PyObject *owner) {
    char *const text = documentation(path, parameters);
    PyMethodDef *const method = PyMem_Malloc(sizeof *method);
    PyGetSetDef *const property = PyMem_Malloc(sizeof *property);
    if (text == NULL || method == NULL || property == NULL) {
        return PyErr_Occurred() != NULL ? NULL : PyErr_NoMemory();
    }
    *method = (PyMethodDef){path->name, path->call, METH_FASTCALL | METH_KEYWORDS, text};
    *property = (PyGetSetDef){path->name, path->get, NULL, text, NULL};
    if (!PyType_Check(owner)) {
        return PyCFunction_NewEx(method, NULL, owner);
    }
    PyTypeObject *const type = (PyTypeObject *)owner;
    return path->get != NULL ? PyDescr_NewGetSet(type, property) : PyDescr_NewMethod(type, method);
}

/* Takes the reference to the declaration. */
static PyObject *install(hot_method *path, PyObject *declared, PyObject *owner, PyObject *define) {
    path->declared = declared;
    PyObject *definition = declared != NULL ? PyObject_CallFunctionObjArgs(define, declared, NULL) : NULL;
    PyObject *installed = definition != NULL && set_signature(&path->of, definition)
                              ? in_its_place(path, PyTuple_GetItem(definition, TEXT), owner)
                              : NULL;
    Py_XDECREF(definition);
    return installed;
}

static bool install_in(PyObject *class, hot_method *path, PyObject *define) {
    PyObject *found = PyObject_GetAttrString(class, path->name);
    if (found != NULL && path->get != NULL) {
        set(&found, PyObject_GetAttrString(found, "fget"));
    }
    PyObject *installed = install(path, found, class, define);
    const bool is_installed = installed != NULL && PyObject_SetAttrString(class, path->name, installed) == 0;
    Py_XDECREF(installed);
    return is_installed;
}

static bool install_all(const hot_methods *of, PyObject *class, PyObject *define) {
    bool is_installed = of->connect == NULL || of->connect(class);
    for (size_t i = 0; i < of->count && is_installed; ++i) {
        is_installed = install_in(class, &of->paths[i], define);
    }
    return is_installed;
}

/* Finds those of the most derived type. */
static const hot_methods *paths_of(PyTypeObject *type) {
    const hot_methods *found = NULL;
    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; ++i) {
        const bool has_them = PyType_IsSubtype(type, *classes[i]->type);
        if (has_them && (found == NULL || PyType_IsSubtype(*classes[i]->type, *found->type))) {
            found = classes[i];
        }
    }
    return found;
}

static PyObject *install_in_class(PyObject *class, PyObject *define) {
    PyTypeObject *const type = (PyTypeObject *)class;
    if (host == NULL && PyType_IsSubtype(type, handle_type) &&
        ((host = attribute_of("ascend_rt._runtime.lifecycle", "HOST")) == NULL || !find_places())) {
        return NULL;
    }
    const hot_methods *const of = paths_of(type);
    return of == NULL || install_all(of, class, define) ? Py_NewRef(class) : NULL;
}

static PyObject *install_function(PyObject *function, PyObject *define) {
    PyObject *name = PyObject_GetAttrString(function, "__name__");
    PyObject *module = name != NULL ? PyObject_GetAttrString(function, "__module__") : NULL;
    PyObject *installed = NULL;
    for (size_t i = 0; i < copy_functions.count && module != NULL && installed == NULL; ++i) {
        hot_method *const path = &copy_functions.paths[i];
        if (PyUnicode_CompareWithASCIIString(name, path->name) == 0) {
            installed = install(path, Py_NewRef(function), module, define);
        }
    }
    Py_XDECREF(module);
    Py_XDECREF(name);
    return installed;
}

static PyObject *install_hot_methods(PyObject *module, arguments args, Py_ssize_t count) {
    (void)module;
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError,
                        "install_hot_methods() takes a class or a function, and what reads definitions");
        return NULL;
    }
    return PyType_Check(args[0]) ? install_in_class(args[0], args[1]) : install_function(args[0], args[1]);
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

bool hot_methods_add(PyObject *module, const ascend_rt_shared *parts) {
    static PyMethodDef functions_of_module[] = {
        {"install_hot_methods", (PyCFunction)(void (*)(void))install_hot_methods, METH_FASTCALL,
         "Replace the methods of a class, or a function, by the bodies in C; return the class or the function."},
        {"renew_locks", renew_locks, METH_NOARGS, "Free the locks in a forked child."},
        {"note_initialized", note_initialized, METH_NOARGS, "Note that the runtime is initialised."},
        {"note_owners", (PyCFunction)(void (*)(void))note_owners, METH_FASTCALL,
         "Note where new objects live that need a context, and those that need but a device; None: it depends."},
        {"release", release_complete, METH_O,
         "Release a batch whose tasks have completed, or None, and all before it; any thread may, and again."},
        {"release_synchronized", release_synchronized, METH_O,
         "The same after a synchronization of the stream that has reported no failure."},
        {"note_graphs", note_graphs, METH_O, "Know the mapping from the handles of graphs to their batches."},
        {"abort_or_failure_epoch", epoch_now, METH_NOARGS,
         "Return what may make a stream complete although it has not waited: the number of failures and aborts."},
        {0},
    };
    shared = parts;
    return PyModule_AddObject(module, "UNKNOWN", PyLong_FromUnsignedLongLong(UNKNOWN)) == 0 && find_functions() &&
           (check = attribute_of("ascend_rt._runtime.driver", "check")) != NULL &&
           PyModule_AddFunctions(module, functions_of_module) == 0 && copies_add(module) && kernels_add(module) &&
           current_streams_add(module) && places_add(module) && blocks_add(module) && captures_add(module);
}
