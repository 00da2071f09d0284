/* SPDX-License-Identifier: Apache-2.0 */
/* The hot methods of graphs. */
#include "methods.h"

enum { LAUNCH_ON, CLOSE, PATHS };

static hot_method paths[PATHS];

static bool has_objects(const PyObject *of) {
    return of != NULL && Py_TYPE(of) == batch_type && PyList_Size(((const batch *)of)->objects) > 0;
}

static PyObject *launch(graph *self, stream *stream_) {
    void *const pointer = self->handle.pointer, *const on = stream_->handle.pointer;
    PyObject *const retained =
        get_field(self, &self->retained); /* another thread may close the graph, which gives it up */
    if (retained == NULL) {
        return handle_refuse((PyObject *)self);
    }
    PyObject *const used = has_objects(retained) || has_objects(((batch *)retained)->previous) ? retained : NULL;
    submission made;
    SUBMIT(made, on, used, NULL, FUNCTION(aclmdlRIExecuteAsync, EXECUTE)(pointer, on));
    PyObject *result = submission_end(&made, EXECUTE, stream_->retention, used, NULL);
    Py_DECREF(retained);
    return result;
}

static PyObject *graph_launch(PyObject *self, arguments args, Py_ssize_t count, PyObject *names) {
    PyObject *given = NULL;
    if (!parse(&paths[LAUNCH_ON].of, &given, args, count, names)) {
        return refuse_call(&paths[LAUNCH_ON], self, args, count, names);
    }
    PyObject *const on = given_or_current(given);
    PyObject *const result =
        on != NULL && is_usable(self) && is_usable(on) ? launch((graph *)self, (stream *)on) : NULL;
    Py_XDECREF(on);
    return result;
}

static void give_up_operands(graph *self) {
    set_field(self, &self->retained, NULL); /* executions that are under way have their own */
    set_field(self, &self->captured, NULL);
    set_field(self, &self->changed, NULL);
    set_field(self, &self->submitted, NULL);
}

/* Returns true if the thread has the context that the graph was captured in. */
static bool is_in_its_context(const graph *self) {
    void *context = NULL;
    aclError code;
    Py_BEGIN_ALLOW_THREADS;
    code = FUNCTION(aclrtGetCurrentContext, GET_CONTEXT)(&context);
    Py_END_ALLOW_THREADS;
    return code == ACL_SUCCESS && (uintptr_t)context == self->context;
}

static PyObject *graph_close(PyObject *object, arguments args, Py_ssize_t count, PyObject *names) {
    graph *const self = (graph *)object;
    if (!parse(&paths[CLOSE].of, NULL, args, count, names)) {
        return refuse_call(&paths[CLOSE], object, args, count, names);
    }
    if (!has_pointer(&self->handle) || !is_in_its_context(self)) {
        return PyObject_CallMethod(object, "_close_elsewhere", NULL);
    }
    PyObject *const closed = destroy(&self->handle, DESTROY_GRAPH);
    if (closed != NULL) {
        give_up_operands(self);
    }
    return closed;
}

static hot_method paths[PATHS] = {
    [CLOSE] = {.name = "close", .call = METHOD(graph_close)},
    [LAUNCH_ON] = {.name = "launch", .call = METHOD(graph_launch)},
};

const hot_methods graph_paths = {&graph_type, paths, PATHS, NULL};
