/* SPDX-License-Identifier: Apache-2.0 */
/* Retentions keep the operands of tasks until those are done. ascend_rt._runtime.retention has the rules. */
#include "methods.h"

enum { ANY_DEVICE = UINT32_MAX }; /* _failures.ANY */

static PyObject *graphs; /* ascend_rt._runtime.captures.graphs: the batches of graphs, by their handles */

PyObject *note_graphs(PyObject *module, PyObject *batches) {
    (void)module;
    set(&graphs, Py_NewRef(batches));
    Py_RETURN_NONE;
}

/* A new reference to the batch of a graph that is being captured, or NULL with an exception. */
static PyObject *batch_of_graph(uint64_t graph) {
    PyObject *key = PyLong_FromUnsignedLongLong(graph);
    PyObject *found = key != NULL ? PyObject_GetItem(graphs, key) : NULL;
    Py_XDECREF(key);
    if (found != NULL && Py_TYPE(found) != batch_type) {
        PyErr_Format(PyExc_TypeError, "expected a Batch, got %R", (PyObject *)Py_TYPE(found));
        Py_CLEAR(found);
    }
    return found;
}

/* Finds the batch of the graph that a stream is being captured into, as a new reference; NULL: it is not captured. */
static bool find_batch_of_graph(retention *self, PyObject **batch) {
    void *const stream = self->life->pointer;
    uint64_t graph;
    Py_BEGIN_ALLOW_THREADS;
    graph = shared->captured_graph(stream);
    Py_END_ALLOW_THREADS;
    *batch = graph != 0 && PyErr_Occurred() == NULL ? batch_of_graph(graph) : NULL;
    return PyErr_Occurred() == NULL;
}

/* Adds to the batch of a graph, unless the task before uses the same: nothing is released while the graph is there. */
static bool add_to_batch(PyObject *to, PyObject *objects) {
    PyObject *const all = ((batch *)to)->objects;
    const Py_ssize_t count = PyList_Size(all), size = PyTuple_Size(objects);
    PyObject *const last = count > 0 ? PyList_GetItem(all, count - 1) : NULL;
    bool is_there = last != NULL && PyTuple_Size(last) == size;
    for (Py_ssize_t i = 0; i < size && is_there; ++i) {
        is_there = PyTuple_GetItem(last, i) == PyTuple_GetItem(objects, i);
    }
    return is_there || PyList_Append(all, objects) == 0;
}

PyObject *retention_retain_if_captured(PyObject *self, PyObject *objects) {
    PyObject *of_graph = NULL;
    if (!find_batch_of_graph((retention *)self, &of_graph) || (of_graph != NULL && !add_to_batch(of_graph, objects))) {
        Py_CLEAR(of_graph);
        return NULL;
    }
    return of_graph != NULL ? of_graph : Py_NewRef(Py_None);
}

PyObject *retention_retain(PyObject *self, PyObject *objects) {
    PyObject *of_graph = retention_retain_if_captured(self, objects);
    const bool is_kept = of_graph != NULL && (of_graph != Py_None || retention_add((retention *)self, objects));
    Py_XDECREF(of_graph);
    return is_kept ? Py_NewRef(Py_None) : NULL;
}

/* Operands of a task, as batches have them; the second may be NULL. */
static PyObject *pair(PyObject *first, PyObject *second) { return PyTuple_Pack(second != NULL ? 2 : 1, first, second); }

bool submission_begin(submission *made, uint64_t graph, PyObject *first, PyObject *second) {
    PyObject *objects = pair(first, second);
    made->before = objects != NULL ? batch_of_graph(graph) : NULL;
    made->is_made = made->before != NULL && add_to_batch(made->before, objects);
    Py_XDECREF(objects);
    return made->is_made;
}

bool submission_is_of_graph(const submission *made, PyObject *first, PyObject *second, bool *is_of_graph) {
    PyObject *after = made->graph != 0 ? batch_of_graph(made->graph) : NULL;
    bool is_done = made->graph == 0 || after != NULL;
    *is_of_graph = after != NULL && after == made->before;
    if (after != NULL && !*is_of_graph) {
        PyObject *objects = pair(first, second);
        is_done = objects != NULL && add_to_batch(after, objects);
        Py_XDECREF(objects);
    }
    Py_XDECREF(after);
    return is_done;
}

static bool retain_by_stream(retention *self, PyObject *first, PyObject *second) {
    if (retention_has_last(self, first, second)) {
        return true;
    }
    PyObject *objects = pair(first, second);
    const bool is_kept = objects != NULL && retention_add(self, objects);
    Py_XDECREF(objects);
    return is_kept;
}

PyObject *submission_end(submission *made, int place, retention *self, PyObject *first, PyObject *second) {
    bool is_done = made->is_made && may_be_pending(made), is_of_graph = false;
    if (is_done && first != NULL) {
        is_done = submission_is_of_graph(made, first, second, &is_of_graph);
        is_done = (is_of_graph || retain_by_stream(self, first, second)) && is_done;
    }
    Py_XDECREF(made->before);
    if (made->code != ACL_SUCCESS && PyErr_Occurred() == NULL) {
        fail(made->code, functions[place].name);
    }
    return is_done && made->code == ACL_SUCCESS ? Py_NewRef(Py_None) : NULL;
}

static bool needs_polling(retention *self) {
    bool needs_polling = false;
    BEGIN_LOCKED(self);
    needs_polling = is_none(self->window) || LOAD(((error_window *)self->window)->needs_polling);
    END_LOCKED();
    return needs_polling;
}

static uint32_t device_of(batch *before) {
    PyObject *owner = get_field(before, &before->owner); /* NULL: it was released */
    const uint32_t device = owner != NULL ? ((retention *)owner)->life->device : ANY_DEVICE;
    Py_XDECREF(owner);
    return device;
}

bool retain_across_wait(retention *self, PyObject *waited_for, PyObject *before, uint64_t epoch) {
    /* If the library must be asked, a wait that has failed is not known in time. Some products ignore a wait for an
     * event of another device, and the device of some borrowed streams is not known. */
    const uint32_t device = device_of((batch *)before);
    const bool is_provable = !needs_polling(self) && device == self->life->device && device != ANY_DEVICE;
    PyObject *objects = Py_BuildValue("OKO", before, (unsigned long long)(is_provable ? epoch : UNKNOWN), waited_for);
    const bool is_kept = objects != NULL && retention_add(self, objects);
    Py_XDECREF(objects);
    return is_kept;
}

PyObject *retention_retain_across_wait(PyObject *self, PyObject *args) {
    PyObject *waited_for = NULL, *before = NULL, *of_graph = NULL;
    unsigned long long epoch = 0;
    if (!PyArg_ParseTuple(args, "O!O!K", event_type, &waited_for, batch_type, &before, &epoch) ||
        !find_batch_of_graph((retention *)self, &of_graph)) {
        return NULL;
    }
    /* The wait of a graph is for a record of the graph. */
    const bool is_kept = of_graph != NULL || retain_across_wait((retention *)self, waited_for, before, epoch);
    Py_XDECREF(of_graph);
    return is_kept ? Py_NewRef(Py_None) : NULL;
}

PyObject *epoch_now(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    return PyLong_FromUnsignedLongLong(abort_or_failure_epoch(aborts_known()));
}

/* Returns true for what a wait keeps: the batch that the record has ended, the epoch before, and the event. */
static bool is_of_wait(PyObject *kept) {
    return PyTuple_Size(kept) == 3 && Py_TYPE(PyTuple_GetItem(kept, 0)) == batch_type &&
           is_event(PyTuple_GetItem(kept, 2));
}

/* Returns true if a synchronization of the waiting stream proves that the wait has succeeded. */
static bool is_proven(PyObject *of_wait, uint64_t now) {
    return PyLong_AsUnsignedLongLong(PyTuple_GetItem(of_wait, 1)) == now;
}

/* Does nothing on a library without a check for races. */
static void ask_quietly(int32_t on) {
    if (functions[ASK_QUIETLY].slot->present) {
        FUNCTION(aclsimAskQuietly, ASK_QUIETLY)(on);
    }
}

/* A new reference to what the completion of an event releases, if it is complete; else NULL. */
static PyObject *completed_by(event *self, recorded newest) {
    aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_NOT_READY;
    __atomic_fetch_add(&self->asked, 1, __ATOMIC_SEQ_CST); /* from here on it is not destroyed */
    if (has_pointer(&self->handle)) {
        void *const pointer = self->handle.pointer;
        Py_BEGIN_ALLOW_THREADS;
        ask_quietly(1); /* the program has learned nothing */
        if (FUNCTION(aclrtQueryEventStatus, QUERY_EVENT)(pointer, &status) != ACL_SUCCESS) {
            FUNCTION(aclGetRecentErrMsg, RECENT_MESSAGE)(); /* discards the text */
        }
        ask_quietly(0);
        Py_END_ALLOW_THREADS;
    }
    __atomic_fetch_sub(&self->asked, 1, __ATOMIC_SEQ_CST);
    const bool is_complete = status == ACL_EVENT_RECORDED_STATUS_COMPLETE && is_newest(self, newest.number);
    return is_complete ? Py_NewRef(newest.before) : NULL;
}

/* A new reference to what the stream of a batch releases because it has no work left; NULL: nothing, or an exception.
 */
static PyObject *completed_by_stream(batch *before) {
    PyObject *owner = get_field(before, &before->owner);
    PyObject *found = owner != NULL ? PyObject_CallMethod(owner, "completed", NULL) : NULL;
    Py_XDECREF(owner);
    if (found != NULL && Py_TYPE(found) != batch_type) { /* None */
        Py_CLEAR(found);
    }
    return found;
}

/* Returns true if two batches were ended by the same stream, and neither was released. */
static bool are_of_one_stream(batch *one, batch *other) {
    PyObject *owner = get_field(one, &one->owner), *owner_of_other = get_field(other, &other->owner);
    const bool are_so = owner == owner_of_other;
    Py_XDECREF(owner_of_other);
    Py_XDECREF(owner);
    return are_so;
}

/* The same for what a record has ended. The event is asked, whose newest record may be a later one of the same stream,
 * and the stream if the event was closed or recorded again since. */
static PyObject *completed_by_record(event *self, batch *before) {
    const recorded newest = newest_record(self);
    const bool is_lost = newest.before != (PyObject *)before || LOAD(self->handle.state) >= CLOSING;
    const bool is_asked = newest.before != NULL && are_of_one_stream((batch *)newest.before, before);
    PyObject *found = is_asked ? completed_by(self, newest) : NULL;
    Py_XDECREF(newest.before);
    return found != NULL || !is_lost ? found : completed_by_stream(before);
}

/* Appends to a list, which is made when it is needed. */
static bool append(PyObject **list, PyObject *object) {
    return (*list != NULL || (*list = PyList_New(0)) != NULL) && PyList_Append(*list, object) == 0;
}

/* Adds to two lists: the batch that is complete, if it or the event says so, and what must be asked again. */
static bool look_at_wait(PyObject *of_wait, bool is_complete, PyObject **completed, PyObject **left) {
    PyObject *const before = PyTuple_GetItem(of_wait, 0);
    if (LOAD(((batch *)before)->is_complete)) {
        return true;
    }
    PyObject *const found =
        is_complete ? Py_NewRef(before) : completed_by_record((event *)PyTuple_GetItem(of_wait, 2), (batch *)before);
    const bool is_done = PyErr_Occurred() == NULL && (found == NULL || append(completed, found)) &&
                         (found == before || append(left, of_wait));
    Py_XDECREF(found);
    return is_done;
}

/* Releases a batch and all before it; the batches of its waits are complete, or are to be asked for again. */
static bool release_chain(PyObject *newest, bool is_synchronized, PyObject **completed) {
    const uint64_t now = abort_or_failure_epoch(atomic_load(&aborts->begun));
    PyObject *next = Py_NewRef(newest), *left = NULL;
    bool is_done = true;
    while (!is_none(next) && is_done) {
        batch *const self = (batch *)next;
        PyObject *objects = PyList_New(0);
        is_done = objects != NULL;
        if (is_done) {
            objects = swap_field(self, &self->objects, objects); /* NULL: a garbage collection took it */
            set_field(self, &self->owner, NULL);
            STORE(self->is_complete, true);
            for (Py_ssize_t i = 0; is_done && objects != NULL && i < PyList_Size(objects); ++i) {
                PyObject *const kept = PyList_GetItem(objects, i);
                is_done =
                    !is_of_wait(kept) || look_at_wait(kept, is_synchronized && is_proven(kept, now), completed, &left);
            }
            Py_XDECREF(objects);
            set(&next, swap_field(self, &self->previous, NULL));
        }
    }
    Py_XDECREF(next);
    for (Py_ssize_t i = 0; is_done && left != NULL && i < PyList_Size(left); ++i) {
        is_done = PyList_Append(((batch *)newest)->objects, PyList_GetItem(left, i)) == 0;
    }
    Py_XDECREF(left);
    return is_done;
}

/* A new reference to the last object of a list, which is taken out; NULL if there is none, or with an exception. */
static PyObject *pop(PyObject *list) {
    const Py_ssize_t count = list != NULL ? PyList_Size(list) : 0;
    PyObject *last = count > 0 ? Py_NewRef(PyList_GetItem(list, count - 1)) : NULL;
    if (last != NULL && PyList_SetSlice(list, count - 1, count, NULL) != 0) {
        Py_CLEAR(last);
    }
    return last;
}

bool release(PyObject *ended, bool is_synchronized) {
    PyObject *next = is_none(ended) ? NULL : Py_NewRef(ended), *completed = NULL;
    bool is_done = true;
    while (next != NULL && is_done) {
        is_done = release_chain(next, is_synchronized && next == ended, &completed);
        set(&next, pop(completed));
    }
    Py_XDECREF(next);
    Py_XDECREF(completed);
    return is_done && PyErr_Occurred() == NULL;
}

static PyObject *release_batch(PyObject *ended, bool is_synchronized) {
    if (ended != Py_None && Py_TYPE(ended) != batch_type) {
        return PyErr_Format(PyExc_TypeError, "expected a Batch or None, got %R", (PyObject *)Py_TYPE(ended));
    }
    return release(ended, is_synchronized) ? Py_NewRef(Py_None) : NULL;
}

PyObject *release_complete(PyObject *module, PyObject *ended) {
    (void)module;
    return release_batch(ended, false);
}

PyObject *release_synchronized(PyObject *module, PyObject *ended) {
    (void)module;
    return release_batch(ended, true);
}
