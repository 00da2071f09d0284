/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a handle: created, open, ended with its device, closed.
 *
 * Python handles signals between two of its instructions, and a handler may raise an exception there. So what must not
 * be torn is one step in C: the call that creates an object of the runtime and its owner's getting it, and the call
 * that destroys it and the owner's losing it. */
#include "handle_life.h"

#include "deferred.h"

PyTypeObject *epoch_type;

PyObject *host;
static PyObject *cast;          /* ascend_rt.ffi.cast */
static PyObject *number_type;   /* uintptr_t */
static PyObject *pointer_type;  /* void * */
static PyObject *closed_error;  /* ascend_rt.errors.ClosedError */
static PyObject *wrong_state;   /* ascend_rt.errors.WrongState */
static PyObject *ascend_error;  /* ascend_rt.errors.AscendError */
static PyObject *close_name;    /* "close" */
static PyObject *on_open;       /* called with each object that owns a handle; NULL: nothing */
static ascend_rt_shared *parts; /* the table of ascend_rt._aclrt */
static MUTEX(on_open_mutex);
static MUTEX(epochs_mutex); /* guards lists of objects, and the states of all objects against the ends of epochs */

/* Epochs. */

/* With the mutex. The object belongs to its epoch until it is closed: then also after the end, which may be taken back.
 */
static void enter_epoch(handle *self, epoch *of) {
    if (self->link == NULL) {
        self->next = of->first;
        self->link = &of->first;
        of->first = self;
        if (self->next != NULL) {
            self->next->link = &self->next;
        }
    }
}

static void leave_epoch(handle *self) {
    if (self->link != NULL) {
        *self->link = self->next;
        if (self->next != NULL) {
            self->next->link = self->link;
        }
        self->link = NULL;
    }
}

void handle_leave_epoch(handle *self) {
    LOCK(epochs_mutex);
    leave_epoch(self);
    UNLOCK(epochs_mutex);
}

/* With the mutex. */
static void set_open(handle *self, const epoch *of) {
    const bool is_known = LOAD(self->view) == NULL;
    STORE(self->is_known, is_known && !of->is_over);
    STORE(self->state, of->is_over ? ENDED : OPEN);
}

/* Ends all objects of an epoch, or takes that back: one compare in each method is enough to know. */
static PyObject *set_over(epoch *self, bool is_over) {
    const enum state before = is_over ? OPEN : ENDED;
    atomic_store(&parts->has_ended, true);
    LOCK(epochs_mutex);
    STORE(self->is_over, is_over);
    for (handle *each = self->first; each != NULL; each = each->next) {
        if (each->state == before) {
            set_open(each, self);
        }
    }
    UNLOCK(epochs_mutex);
    Py_RETURN_NONE;
}

static PyObject *epoch_end(PyObject *self, PyObject *unused) {
    (void)unused;
    return set_over((epoch *)self, true);
}

static PyObject *epoch_resume(PyObject *self, PyObject *unused) {
    (void)unused;
    return set_over((epoch *)self, false);
}

PyObject *epoch_has_objects(PyObject *self, void *unused) {
    (void)unused;
    LOCK(epochs_mutex);
    const bool has_objects = ((epoch *)self)->first != NULL;
    UNLOCK(epochs_mutex);
    return PyBool_FromLong(has_objects);
}

PyMethodDef epoch_methods[] = {
    {"end", epoch_end, METH_NOARGS,
     "End the objects that live in the epoch: none of them reaches the library any more."},
    {"resume", epoch_resume, METH_NOARGS, "Take that back: those that were not closed meanwhile are open again."},
    {0},
};

/* Returns true if the object can be an owner: a tuple whose first element is an epoch. */
static bool is_owner(PyObject *object) {
    return PyTuple_Check(object) && PyTuple_Size(object) > 0 &&
           PyObject_TypeCheck(PyTuple_GetItem(object, 0), epoch_type);
}

/* Handles. */

/* From pointer to view and back by C alone: in Python another thread might close the object meanwhile, and both would
 * have the handle; and the exception of a signal handler might come. */

PyObject *view_of(void *pointer) {
    PyObject *number = PyLong_FromVoidPtr(pointer);
    PyObject *view = number != NULL ? PyObject_CallFunctionObjArgs(cast, pointer_type, number, NULL) : NULL;
    Py_XDECREF(number);
    return view;
}

bool handle_find_pointer(handle *self) {
    PyObject *view = get_field(self, &self->view);
    PyObject *address = view != NULL ? PyObject_CallFunctionObjArgs(cast, number_type, view, NULL) : NULL;
    PyObject *number = address != NULL ? PyNumber_Long(address) : NULL;
    BEGIN_LOCKED(self);
    LOCK(epochs_mutex);
    if (number != NULL && self->state == OPEN && self->view == view && !self->is_known) {
        self->pointer = PyLong_AsVoidPtr(number);
        STORE(self->is_known, true);
    }
    UNLOCK(epochs_mutex);
    END_LOCKED();
    Py_XDECREF(number);
    Py_XDECREF(address);
    Py_XDECREF(view);
    PyErr_Clear(); /* the object counts as closed */
    return LOAD(self->is_known);
}

/* Returns true if the object has a handle: it is open, or in the other state given. */
static inline bool has_handle(const handle *self, enum state other) {
    const enum state state = LOAD(self->state);
    return state == OPEN || state == other;
}

/* A new reference to the view of an object that has a handle; NULL if it has none, or with an exception. */
static PyObject *find_view(handle *self, enum state other) {
    PyObject *view = NULL;
    bool is_there = false;
    BEGIN_LOCKED(self);
    is_there = has_handle(self, other);
    view = is_there ? Py_XNewRef(self->view) : NULL;
    END_LOCKED();
    if (is_there && view == NULL && (view = view_of(self->pointer)) != NULL) {
        BEGIN_LOCKED(self);
        if (has_handle(self, other) && self->view == NULL) {
            STORE(self->view, Py_NewRef(view));
        }
        END_LOCKED();
    }
    return view;
}

PyObject *handle_refuse(PyObject *object) {
    const enum state state = LOAD(((handle *)object)->state);
    if (state == ENDED) {
        return PyObject_CallMethod(object, "_refuse_ended", NULL);
    }
    PyObject *what = PyObject_GetAttrString(object, "_what");
    if (what != NULL && state != NEW) {
        PyErr_Format(closed_error, "this %U is closed", what);
    } else if (what != NULL) {
        PyErr_Format(PyExc_AttributeError, "this %U has no handle yet", what);
    }
    Py_XDECREF(what);
    return NULL;
}

static PyObject *handle_get(PyObject *object, void *unused) {
    (void)unused;
    PyObject *view = find_view((handle *)object, OPEN);
    return view != NULL || PyErr_Occurred() != NULL ? view : handle_refuse(object);
}

static PyObject *handle_is_closed(PyObject *self, void *unused) {
    (void)unused;
    return PyBool_FromLong(LOAD(((handle *)self)->state) >= CLOSING);
}

static PyObject *handle_is_open(PyObject *self, void *unused) {
    (void)unused;
    return PyBool_FromLong(LOAD(((handle *)self)->state) == OPEN);
}

static PyObject *handle_is_closing(PyObject *self, void *unused) {
    (void)unused;
    return PyBool_FromLong(LOAD(((handle *)self)->state) == CLOSING);
}

static PyObject *handle_is_ended(PyObject *self, void *unused) {
    (void)unused;
    return PyBool_FromLong(LOAD(((handle *)self)->state) == ENDED);
}

/* The view is a new reference, which it takes, or NULL: then the pointer is known. If the epoch has ended meanwhile, so
 * has the object. */
static void open_with(handle *self, void *pointer, PyObject *view) {
    epoch *const of = epoch_of(self->owner);
    PyObject *before;
    BEGIN_LOCKED(self);
    before = exchange(&self->view, view);
    if (view == NULL) {
        self->pointer = pointer;
    }
    LOCK(epochs_mutex);
    enter_epoch(self, of);
    set_open(self, of);
    UNLOCK(epochs_mutex);
    END_LOCKED();
    Py_XDECREF(before);
}

/* With the mutex. */
static void set_shut(handle *self, enum state to) {
    STORE(self->state, to);
    STORE(self->is_known, false);
    leave_epoch(self);
}

/* Views of memory. A view is in a list of its buffer until it is discarded or made anew. No Python code may run while
 * a list is used: views in it may be in their deallocation. */

/* With the mutex. */
static void enter_views(buffer *view, buffer *of) {
    of->handle.has_views = true;
    view->next_view = of->first_view;
    view->view_link = &of->first_view;
    of->first_view = view;
    if (view->next_view != NULL) {
        view->next_view->view_link = &view->next_view;
    }
}

/* With the mutex. */
static void leave_views(buffer *view) {
    if (view->view_link != NULL) {
        *view->view_link = view->next_view;
        if (view->next_view != NULL) {
            view->next_view->view_link = view->view_link;
        }
        view->view_link = NULL;
    }
}

void handle_leave_views(buffer *view) {
    LOCK(epochs_mutex);
    leave_views(view);
    UNLOCK(epochs_mutex);
}

/* With the mutex. The view after one, of all views of a buffer: views of views come first. The parent of what is in a
 * list is the buffer whose list that is. */
static buffer *next_view(const buffer *of, buffer *view) {
    if (view->first_view != NULL) {
        return view->first_view;
    }
    while (view != of && view->next_view == NULL) {
        view = (buffer *)view->parent;
    }
    return view != of ? view->next_view : NULL;
}

/* With the mutex. */
static void close_views(buffer *self) {
    for (buffer *view = self->first_view; view != NULL; view = next_view(self, view)) {
        if (has_handle(&view->handle, ENDED)) {
            set_shut(&view->handle, CLOSED_WITH_BUFFER);
        } else { /* closed before: it does not open again */
            STORE(view->handle.state, CLOSED);
        }
    }
}

/* Opens what was closed with a buffer whose handle could not be given back. */
static void reopen_views(handle *self) {
    LOCK(epochs_mutex);
    buffer *const of = self->has_views ? (buffer *)self : NULL;
    for (buffer *view = of != NULL ? of->first_view : NULL; view != NULL; view = next_view(of, view)) {
        if (view->handle.state == CLOSED_WITH_BUFFER) {
            enter_epoch(&view->handle, epoch_of(view->handle.owner));
            set_open(&view->handle, epoch_of(view->handle.owner));
        }
    }
    UNLOCK(epochs_mutex);
}

/* Ends the closing of an object: it is closed, or, with a view, open again. */
static void finish_closing(handle *self, PyObject *view) {
    if (view != NULL) {
        open_with(self, NULL, Py_NewRef(view));
        reopen_views(self);
        return;
    }
    BEGIN_LOCKED(self);
    STORE(self->state, CLOSED);
    view = exchange(&self->view, NULL);
    END_LOCKED();
    Py_XDECREF(view);
}

PyObject *buffer_view(buffer *self, uint64_t offset, uint64_t nbytes) {
    PyObject *object = PyType_GenericAlloc(plain_buffer, 0);
    if (object == NULL) {
        return NULL;
    }
    buffer *const view = (buffer *)object;
    handle *const of = &view->handle;
    view->nbytes = nbytes;
    view->parent = Py_NewRef((PyObject *)self);
    of->owner = get_field(self, &self->handle.owner);
    of->pointer = (char *)self->handle.pointer + offset;
    LOCK(epochs_mutex);
    const bool is_closed = self->handle.state >= CLOSING; /* by another thread, just now */
    if (is_closed) {
        set_shut(of, CLOSED);
    } else {
        enter_epoch(of, epoch_of(of->owner));
        set_open(of, epoch_of(of->owner));
        enter_views(view, self);
    }
    UNLOCK(epochs_mutex);
    return object;
}

/* Makes an object that has a handle a closed one, or one that is about to be closed; returns true if it had one, and
 * nothing was faster. The handle stays in it as long as it may be open again. */
static bool shut(handle *self, enum state other, enum state to) {
    PyObject *view = NULL;
    bool is_first = false;
    BEGIN_LOCKED(self);
    LOCK(epochs_mutex);
    is_first = has_handle(self, other);
    if (is_first) {
        set_shut(self, to);
        if (self->has_views) {
            close_views((buffer *)self);
        }
    } else if (self->state == CLOSED_WITH_BUFFER) { /* and now by the program: it does not open again */
        STORE(self->state, CLOSED);
    }
    UNLOCK(epochs_mutex);
    if (is_first && to == CLOSED) {
        view = exchange(&self->view, NULL);
    }
    END_LOCKED();
    Py_XDECREF(view);
    return is_first;
}

bool handle_shut(handle *self) { return shut(self, OPEN, CLOSED); }

bool handle_begin_closing(handle *self) { return shut(self, ENDED, CLOSING); }

void handle_end_closing(handle *self) { finish_closing(self, NULL); }

void handle_reopen(handle *self) {
    open_with(self, self->pointer, get_field(self, &self->view));
    reopen_views(self);
}

PyObject *handle_forget(PyObject *object, PyObject *unused) {
    (void)unused;
    if (LOAD(((handle *)object)->state) == NEW) {
        return handle_refuse(object);
    }
    return PyBool_FromLong(shut((handle *)object, ENDED, CLOSED));
}

PyObject *call_with(PyObject *function, PyObject *first, PyObject *const *rest, Py_ssize_t count) {
    enum { MOST = 9 };
    PyObject *a[MOST] = {first};
    const Py_ssize_t before = first != NULL;
    if (before + count > MOST) {
        PyErr_Format(PyExc_TypeError, "at most %d arguments are passed on", MOST);
        return NULL;
    }
    for (Py_ssize_t i = 0; i < count; ++i) {
        a[before + i] = rest[i];
    }
    return PyObject_CallFunctionObjArgs(function, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], NULL);
}

static bool is_success(PyObject *code) { return code != NULL && PyLong_AsLong(code) == ACL_SUCCESS; }

static PyObject *handle_closing(PyObject *object, PyObject *const *args, Py_ssize_t count) {
    handle *const self = (handle *)object;
    if (count < 1) {
        PyErr_SetString(PyExc_TypeError, "_closing() takes a function");
        return NULL;
    }
    PyObject *view = find_view(self, ENDED);
    if (view == NULL && PyErr_Occurred() == NULL) {
        return LOAD(self->state) == NEW ? handle_refuse(object) : Py_NewRef(Py_None);
    }
    if (view == NULL) {
        return NULL;
    }
    if (!shut(self, ENDED, CLOSING)) { /* another thread was faster */
        Py_DECREF(view);
        Py_RETURN_NONE;
    }
    PyObject *result = call_with(args[0], view, args + 1, count - 1);
    if (LOAD(self->state) == CLOSING) {
        finish_closing(self, result == NULL ? view : NULL);
    }
    Py_DECREF(view);
    return result;
}

static PyObject *handle_give_back(PyObject *object, PyObject *const *args, Py_ssize_t count) {
    handle *const self = (handle *)object;
    const bool is_closing = count > 0 && LOAD(self->state) == CLOSING;
    PyObject *view = is_closing ? get_field(self, &self->view) : NULL;
    if (is_closing && view == NULL) { /* the pointer is known, and nothing else was asked for */
        view = view_of(self->pointer);
    }
    if (view == NULL && PyErr_Occurred() == NULL) {
        PyErr_SetString(PyExc_TypeError, "_give_back() takes a function, while the object is closed");
    }
    if (view == NULL) {
        return NULL;
    }
    PyObject *code = call_with(args[0], view, args + 1, count - 1);
    /* Without a code, a signal handler may have raised inside a Python function that replaces the C function: the
     * handle may belong to a new object by then. */
    if (code != NULL ? is_success(code) : !PyErr_ExceptionMatches(ascend_error)) {
        finish_closing(self, NULL);
    }
    Py_DECREF(view);
    return code;
}

bool is_open_watched(void) { return LOAD(on_open) != NULL; }

static bool report_open(PyObject *self) {
    if (!is_open_watched()) {
        return true;
    }
    LOCK(on_open_mutex);
    PyObject *hook = on_open != NULL ? Py_NewRef(on_open) : NULL;
    UNLOCK(on_open_mutex);
    PyObject *result = hook != NULL ? PyObject_CallFunctionObjArgs(hook, self, NULL) : Py_NewRef(Py_None);
    Py_XDECREF(result);
    Py_XDECREF(hook);
    return result != NULL;
}

/* Takes the owner. */
static void move_in(handle *self, PyObject *owner) {
    if (LOAD(self->owner) != NULL) { /* the object is made anew */
        handle_leave_epoch(self);
    }
    set_field(self, &self->owner, owner);
}

/* Takes the view. */
static void take(handle *self, PyObject *view, PyObject *owner, bool is_owned) {
    STORE(self->is_owned, is_owned);
    move_in(self, Py_NewRef(owner));
    open_with(self, NULL, view);
}

/* The arguments are a handle, and an owner if it is not the host. */
static bool take_given(PyObject *object, PyObject *const *args, Py_ssize_t count, bool is_owned) {
    PyObject *const owner = count == 2 ? args[1] : host;
    if ((count != 1 && count != 2) || !is_owner(owner)) {
        PyErr_SetString(PyExc_TypeError, "expected a handle and an owner");
        return false;
    }
    take((handle *)object, Py_NewRef(args[0]), owner, is_owned);
    return true;
}

static bool take_over(PyObject *object, PyObject *view, PyObject *owner) {
    take((handle *)object, Py_NewRef(view), owner, true);
    return report_open(object);
}

static PyObject *handle_take_over(PyObject *object, PyObject *const *args, Py_ssize_t count) {
    return take_given(object, args, count, true) && report_open(object) ? Py_NewRef(Py_None) : NULL;
}

static PyObject *handle_borrow(PyObject *object, PyObject *const *args, Py_ssize_t count) {
    return take_given(object, args, count, false) ? Py_NewRef(Py_None) : NULL;
}

bool handle_can_be_made(PyObject *object) {
    const enum state state = LOAD(((handle *)object)->state);
    if (state >= CLOSED && PyObject_TypeCheck(object, buffer_type)) {
        handle_leave_views((buffer *)object); /* no view any more */
    }
    if (state == NEW || state >= CLOSED) {
        return true;
    }
    PyErr_Format(wrong_state, "%R exists already; create a new object", object);
    return false;
}

static PyObject *handle_expect_none(PyObject *object, PyObject *unused) {
    (void)unused;
    return handle_can_be_made(object) ? Py_NewRef(Py_None) : NULL;
}

enum { OWNER, CELL, FUNCTION_TO_CALL, FIXED };

/* Finds where a function of C writes a handle: then the handle can be read without memory. NULL: the cell is a tuple,
 * which has it. */
static bool find_place(PyObject *cell, void *const **place) {
    *place = NULL;
    if (PyTuple_Check(cell)) {
        return true;
    }
    PyObject *address = PyObject_CallFunctionObjArgs(cast, number_type, cell, NULL);
    PyObject *number = address != NULL ? PyNumber_Long(address) : NULL;
    *place = number != NULL ? PyLong_AsVoidPtr(number) : NULL;
    Py_XDECREF(number);
    Py_XDECREF(address);
    return *place != NULL;
}

static PyObject *handle_create(PyObject *object, PyObject *const *args, Py_ssize_t count) {
    void *const *place = NULL;
    if (count < FIXED || !is_owner(args[OWNER])) {
        PyErr_SetString(PyExc_TypeError, "_create() takes an owner, a cell, a function and its arguments");
        return NULL;
    }
    PyObject *code = handle_can_be_made(object) && find_place(args[CELL], &place)
                         ? call_with(args[FUNCTION_TO_CALL], NULL, args + FIXED, count - FIXED)
                         : NULL;
    if (!is_success(code)) {
        return code;
    }
    if (place != NULL ? !handle_own(object, *place, Py_NewRef(args[OWNER]))
                      : !take_over(object, PyTuple_GetItem(args[CELL], 0), args[OWNER])) {
        Py_CLEAR(code);
    }
    return code;
}

bool handle_own(PyObject *object, void *pointer, PyObject *owner) {
    handle *self = (handle *)object;
    STORE(self->is_owned, true);
    move_in(self, owner);
    open_with(self, pointer, NULL);
    return report_open(object);
}

static PyObject *handle_enter(PyObject *object, PyObject *unused) {
    (void)unused;
    return Py_NewRef(object);
}

/* Closes the object; after an exception, so that what fails then does not hide it. */
static PyObject *handle_exit(PyObject *object, PyObject *const *args, Py_ssize_t count) {
    if (count != 3) {
        return PyErr_Format(PyExc_TypeError, "__exit__() takes 3 arguments, not %zd", count);
    }
    PyObject *const closed = args[1] == Py_None ? PyObject_CallMethodObjArgs(object, close_name, NULL)
                                                : PyObject_CallMethod(object, "_close_after", "O", args[1]);
    Py_XDECREF(closed);
    return closed != NULL ? Py_NewRef(Py_None) : NULL;
}

/* An exception of a signal handler ends the method anywhere; then the object is closed later. */
void handle_finalize(PyObject *object) {
    if (!has_handle((handle *)object, ENDED)) {
        return;
    }
    if (Py_TYPE(object) == plain_buffer && !LOAD(((handle *)object)->is_owned)) { /* a view, for instance: no call */
        shut((handle *)object, ENDED, CLOSED);
        return;
    }
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *result = discard((handle *)object) ? Py_NewRef(Py_None) : PyObject_CallMethod(object, "_discard", NULL);
    if (result == NULL) {
        PyErr_WriteUnraisable(object);
        if (has_handle((handle *)object, ENDED)) {
            defer_closing(object);
        }
    }
    Py_XDECREF(result);
    PyErr_Restore(type, value, traceback);
}

PyGetSetDef handle_properties[] = {
    {"_handle", handle_get, NULL, NULL, NULL},
    {"_is_closed", handle_is_closed, NULL, NULL, NULL},
    {"_is_closing", handle_is_closing, NULL, NULL, NULL},
    {"_is_ended", handle_is_ended, NULL, NULL, NULL},
    {"_is_open", handle_is_open, NULL, NULL, NULL},
    {0},
};

#define FAST(name) (PyCFunction)(void (*)(void)) name, METH_FASTCALL

PyMethodDef handle_methods[] = {
    {"__enter__", handle_enter, METH_NOARGS, NULL},
    {"__exit__", FAST(handle_exit), NULL},
    {"_expect_none", handle_expect_none, METH_NOARGS, "Raise WrongState if the object has a handle."},
    {"_create", FAST(handle_create),
     "Call a C function that creates what the object is to own, and take that out of a cell, which is a pointer for C "
     "or "
     "a tuple; return the code."},
    {"_own", FAST(handle_take_over), "Take a handle whose owner keeps what frees it."},
    {"_borrow", FAST(handle_borrow), "Take a handle that is not to be destroyed."},
    {"_closing", FAST(handle_closing),
     "Call a function with the handle, which gives it back; meanwhile the object is closed. If it raises an exception "
     "before that, the object is open again. Return its result; None if the object is closed already."},
    {"_give_back", FAST(handle_give_back),
     "Inside of that, call a C function that destroys the handle, which it is given first; return the code."},
    {"_forget", handle_forget, METH_NOARGS, "Close the object without a call; return whether it was open."},
    {0},
};

static bool find_cast(void) {
    PyObject *ffi = attribute_of("ascend_rt._runtime.driver", "ffi");
    const bool is_found = ffi != NULL && (cast = PyObject_GetAttrString(ffi, "cast")) != NULL &&
                          (number_type = PyObject_CallMethod(ffi, "typeof", "s", "uintptr_t")) != NULL &&
                          (pointer_type = PyObject_CallMethod(ffi, "typeof", "s", "void *")) != NULL;
    Py_XDECREF(ffi);
    return is_found;
}

static PyObject *set_on_open(PyObject *module, PyObject *hook) {
    (void)module;
    LOCK(on_open_mutex);
    PyObject *before = exchange(&on_open, hook != Py_None ? Py_NewRef(hook) : NULL);
    UNLOCK(on_open_mutex);
    return before != NULL ? before : Py_NewRef(Py_None);
}

void handle_life_renew_locks(void) {
    RENEW(on_open_mutex);
    RENEW(epochs_mutex);
}

bool handle_life_add(PyObject *module, ascend_rt_shared *shared) {
    static PyMethodDef functions[] = {
        {"set_on_open", set_on_open, METH_O,
         "Set the function that is called with each object that owns a handle from now on; return the one before."},
        {0},
    };
    parts = shared;
    return find_cast() && (closed_error = attribute_of("ascend_rt.errors", "ClosedError")) != NULL &&
           (wrong_state = attribute_of("ascend_rt.errors", "WrongState")) != NULL &&
           (ascend_error = attribute_of("ascend_rt.errors", "AscendError")) != NULL &&
           (close_name = PyUnicode_InternFromString("close")) != NULL && PyModule_AddFunctions(module, functions) == 0;
}
