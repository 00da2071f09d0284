/* SPDX-License-Identifier: Apache-2.0 */
/* Batches of operands, and the retentions that own them: added to, ended, found by the stream. When a batch may be
 * released is in retention.c. */
#include "batches.h"

#include "failures.h"
#include "handle_life.h"

static PyObject *used;                /* a set: the retentions that keep anything */
static PyTypeObject *retention_class; /* in Python */

/* Retentions by the handle of their stream, in lists. Each is there until it is discarded, or until a newer stream has
 * its handle. A reference is taken by a weak one: the object may be in its deallocation. */
enum { LISTS_LOG2 = 8, LISTS = 1 << LISTS_LOG2 };
static retention *lists[LISTS];
static size_t in_lists;
static MUTEX(lists_mutex);

static retention **list_of(const void *stream) {
    const uint64_t mixed = (uint64_t)(uintptr_t)stream * 0x9E3779B97F4A7C15; /* multiplicative hashing */
    return &lists[mixed >> (64 - LISTS_LOG2)];
}

/* With the mutex. */
static void leave_list(retention *self) {
    if (self->link != NULL) {
        *self->link = self->next;
        if (self->next != NULL) {
            self->next->link = self->link;
        }
        self->link = NULL;
        --in_lists;
    }
}

void retention_leave(retention *self) {
    LOCK(lists_mutex);
    leave_list(self);
    UNLOCK(lists_mutex);
}

/* With the mutex. A new reference to what is known of a stream; NULL: nothing. NULL is another stream in each context.
 */
static retention *find_in_list(const void *stream) {
    retention *found = stream != NULL ? *list_of(stream) : NULL;
    while (found != NULL && (found->life->pointer != stream || life_is_over(found->life))) {
        found = found->next;
    }
    return found != NULL ? (retention *)referent(found->reference) : NULL;
}

/* With the mutex. */
static void enter_list(retention *self) {
    retention **const list = list_of(self->life->pointer);
    for (retention *each = *list, *next; each != NULL && self->life->pointer != NULL; each = next) {
        next = each->next;
        if (each->life->pointer == self->life->pointer) { /* an older stream had this handle */
            leave_list(each);
        }
    }
    self->next = *list;
    self->link = list;
    *list = self;
    ++in_lists;
    if (self->next != NULL) {
        self->next->link = &self->next;
    }
}

void retention_begin(retention *self, void *stream) {
    self->life->pointer = stream;
    LOCK(lists_mutex);
    enter_list(self);
    UNLOCK(lists_mutex);
}

PyObject *batch_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    (void)args;
    (void)keywords;
    PyObject *self = PyType_GenericAlloc(type, 0); /* a garbage collection may discard streams, which get here too */
    if (self != NULL && (((batch *)self)->objects = PyList_New(0)) == NULL) {
        Py_CLEAR(self);
    }
    return self;
}

retention *new_retention(void *stream, PyObject *its_epoch, uint64_t context) {
    retention *const self = (retention *)PyType_GenericAlloc(retention_class, 0);
    if (self == NULL) {
        return NULL;
    }
    self->context = context;
    if ((self->life = new_life(stream, its_epoch)) == NULL || (self->failures = new_failure_log()) == NULL ||
        (self->window = (PyObject *)first_error_window(self->life, self->failures)) == NULL ||
        (self->reference = PyWeakref_NewRef((PyObject *)self, NULL)) == NULL) {
        Py_DECREF((PyObject *)self);
        return NULL;
    }
    return self;
}

/* Returns the retention of a stream of another owner. */
static PyObject *retention_of(PyObject *module, PyObject *args) {
    (void)module;
    unsigned long long handle, context;
    PyObject *its_epoch;
    if (!PyArg_ParseTuple(args, "KO!K", &handle, epoch_type, &its_epoch, &context)) {
        return NULL;
    }
    void *const stream = (void *)(uintptr_t)handle;
    retention *const new =
        new_retention(stream, its_epoch, context); /* first: a garbage collection may begin one, too */
    if (new == NULL) {
        return NULL;
    }
    LOCK(lists_mutex);
    retention *const found = find_in_list(stream);
    if (found == NULL) {
        enter_list(new);
    }
    UNLOCK(lists_mutex);
    if (found != NULL) {
        Py_DECREF((PyObject *)new);
    }
    return (PyObject *)(found != NULL ? found : new);
}

/* New references to all of them, in an array that has room; returns how many, or SIZE_MAX if there was too little. */
static size_t find_all(PyObject **found, size_t room) {
    size_t count = 0;
    LOCK(lists_mutex);
    const bool is_enough = in_lists <= room;
    for (size_t i = 0; i < LISTS && is_enough; ++i) {
        for (retention *each = lists[i]; each != NULL; each = each->next) {
            found[count] = referent(each->reference);
            count += found[count] != NULL;
        }
    }
    UNLOCK(lists_mutex);
    return is_enough ? count : SIZE_MAX;
}

static PyObject *retentions(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    PyObject **found = NULL;
    size_t count = SIZE_MAX;
    while (count == SIZE_MAX) {
        const size_t room = LOAD(in_lists) + 1;
        PyMem_Free(found);
        if ((found = PyMem_Malloc(room * sizeof *found)) == NULL) {
            return PyErr_NoMemory();
        }
        count = find_all(found, room);
    }
    PyObject *const list = PyList_New(0);
    bool is_done = list != NULL;
    for (size_t i = 0; i < count; ++i) {
        is_done = is_done && PyList_Append(list, found[i]) == 0;
        Py_DECREF(found[i]);
    }
    PyMem_Free(found);
    if (!is_done) {
        Py_XDECREF(list);
    }
    return is_done ? list : NULL;
}

void batches_renew_locks(void) {
    RENEW(lists_mutex);
    for (size_t i = 0; i < LISTS; ++i) {
        for (retention *each = lists[i]; each != NULL; each = each->next) {
            RENEW(each->mutex);
        }
    }
}

static batch *new_batch(void) { return (batch *)batch_new(batch_type, NULL, NULL); }

bool retention_add(retention *self, PyObject *objects) {
    batch *const first = LOAD(self->open) == NULL ? new_batch() : NULL;
    LOCK(self->mutex);
    const bool is_first = self->open == NULL;
    if (is_first) {
        STORE(self->open, first);
    }
    bool is_added = self->open != NULL && PyList_Append(self->open->objects, objects) == 0;
    if (is_added && !self->is_used) {
        is_added = PySet_Add(used, (PyObject *)self) == 0;
        STORE(self->is_used, is_added);
    }
    UNLOCK(self->mutex);
    if (!is_first) {
        Py_XDECREF((PyObject *)first);
    }
    return is_added;
}

bool retention_has_last(retention *self, const PyObject *first, const PyObject *second) {
    LOCK(self->mutex);
    PyObject *const objects = self->open != NULL ? self->open->objects : NULL;
    const Py_ssize_t count = objects != NULL ? PyList_Size(objects) : 0;
    PyObject *const last = count > 0 ? PyList_GetItem(objects, count - 1) : NULL;
    const bool is_same = last != NULL && PyTuple_Size(last) == (second != NULL ? 2 : 1) &&
                         PyTuple_GetItem(last, 0) == first && (second == NULL || PyTuple_GetItem(last, 1) == second);
    UNLOCK(self->mutex);
    return is_same;
}

/* Returns true if a batch, or one before it, keeps anything. Python releases batches without the mutex. */
static bool keeps_anything(batch *ended) {
    bool keeps = false;
    if (!is_none((PyObject *)ended)) {
        BEGIN_LOCKED(ended);
        keeps = PyList_Size(ended->objects) > 0 || !is_none(ended->previous);
        END_LOCKED();
    }
    return keeps;
}

/* Replaces the open batch by a new one, unless it is empty; returns whether that worked. */
static bool begin_batch(retention *self) {
    if (PyList_Size(self->open->objects) == 0) {
        return true;
    }
    batch *new = (batch *)batch_new(batch_type, NULL, NULL);
    if (new == NULL) {
        return false;
    }
    if (PyList_Size(self->open->objects) > 0) { /* no garbage collection has ended it */
        STORE(self->open->owner, Py_NewRef((PyObject *)self));
        new->previous = (PyObject *)self->open;
        self->open = new;
    } else {
        Py_DECREF(new);
    }
    return true;
}

PyObject *retention_end_used(retention *self) {
    PyObject *ended = NULL, *unneeded = NULL;
    LOCK(self->mutex);
    if (begin_batch(self)) {
        if (keeps_anything((batch *)self->open->previous)) {
            ended = Py_NewRef(self->open->previous);
        } else {
            STORE(self->is_used, PyList_Size(self->open->objects) > 0);
            if (!self->is_used) {
                PySet_Discard(used, (PyObject *)self);
            }
            unneeded = exchange(&self->open->previous, NULL);
        }
    }
    UNLOCK(self->mutex);
    Py_XDECREF(unneeded);
    return ended;
}

static PyObject *retention_end_batch(PyObject *self, PyObject *unused) {
    (void)unused;
    PyObject *ended = retention_end((retention *)self);
    return ended != NULL || PyErr_Occurred() != NULL ? ended : Py_NewRef(Py_None);
}

static PyObject *retention_append(PyObject *self, PyObject *objects) {
    return retention_add((retention *)self, objects) ? Py_NewRef(Py_None) : NULL;
}

static PyObject *retention_get_open(PyObject *self, void *unused) {
    (void)unused;
    LOCK(((retention *)self)->mutex);
    PyObject *open = Py_XNewRef((PyObject *)((retention *)self)->open);
    UNLOCK(((retention *)self)->mutex);
    return open != NULL ? open : Py_NewRef(Py_None);
}

static PyObject *retention_get_stream(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromVoidPtr(((retention *)self)->life->pointer);
}

static PyObject *retention_get_device(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromUnsignedLong(((retention *)self)->life->device);
}

PyMethodDef retention_methods[] = {
    {"append", retention_append, METH_O, "Keep a tuple of objects although the stream may be captured meanwhile."},
    {"retain", retention_retain, METH_VARARGS,
     "Keep objects until the tasks that were submitted so far are known to be done; during a capture of the stream, as "
     "long as the graph and its executions."},
    {"retain_if_captured", retention_retain_if_captured, METH_VARARGS,
     "Keep objects if the stream is being captured, and return the batch of the graph; None: it is not."},
    {"retain_across_wait", retention_retain_across_wait, METH_VARARGS,
     "Keep an event that the stream waits for, the batch that the record has ended, and the epoch before the wait."},
    {"end_batch", retention_end_batch, METH_NOARGS,
     "End the open batch, and return the newest that has ended; None if nothing is kept."},
    {0},
};

PyGetSetDef retention_properties[] = {
    {"open", retention_get_open, NULL, "The open batch; None if nothing was kept yet.", NULL},
    {"stream", retention_get_stream, NULL, "The handle of the stream.", NULL},
    {"device", retention_get_device, NULL, "The device; ascend_rt._runtime.failures.ANY if it is not known.", NULL},
    {0},
};

PyMemberDef retention_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(retention, weak_references), READONLY, NULL},
    {"life", T_OBJECT_EX, offsetof(retention, life), READONLY, NULL},
    {"window", T_OBJECT_EX, offsetof(retention, window), 0, NULL},
    {"failures", T_OBJECT_EX, offsetof(retention, failures), READONLY, NULL},
    {"context", T_ULONGLONG, offsetof(retention, context), READONLY, NULL},
    {"is_ending", T_BOOL, offsetof(retention, is_ending), READONLY, NULL},
    {0},
};

bool batches_add(PyObject *module) {
    static PyMethodDef functions[] = {
        {"retention_of", retention_of, METH_VARARGS,
         "Return the Retention of a stream, given its handle, its epoch and the handle of its context, or 0."},
        {"retentions", retentions, METH_NOARGS, "Return the Retention of every stream that has one."},
        {0},
    };
    return (used = PySet_New(NULL)) != NULL && PyModule_AddObjectRef(module, "used", used) == 0 &&
           PyModule_AddFunctions(module, functions) == 0;
}

bool batches_connect(void) {
    retention_class = (PyTypeObject *)attribute_of("ascend_rt._runtime.retention", "Retention");
    return retention_class != NULL;
}
