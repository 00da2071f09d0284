/* SPDX-License-Identifier: Apache-2.0 */
/* The short path of graphs. */
#include "_short_paths.h"

enum { LAUNCH_ON, PATHS };

static short_path paths[PATHS];

static bool can_launch(graph *self, PyObject *on) {
    return has_pointer(&self->handle) && has_pointer((handle *)on) && LOAD(self->kept) != NULL;
}

/* Returns true if a list has more than an empty list. */
static bool is_anything_in(PyObject *kept) {
    PyObject *const first = PyList_Size(kept) == 1 ? PyList_GetItem(kept, 0) : NULL;
    return first != NULL && PyList_Check(first) ? PyList_Size(first) > 0 : PyList_Size(kept) > 0;
}

/* NULL without an exception: the stream is captured, and nothing was called. */
static PyObject *launch(graph *self, stream *stream_) {
    void *const pointer = self->handle.pointer, *const on = stream_->handle.pointer;
    PyObject *const kept =
        get_field(self, &self->kept); /* another thread may close the graph, which gives the list up */
    const bool keeps = is_anything_in(kept);
    submission made;
    SUBMIT(made, on, keeps, FUNCTION(aclmdlRIExecuteAsync, EXECUTE)(pointer, on));
    bool is_done = made.code == ACL_SUCCESS && !made.is_captured;
    if (made.code != ACL_SUCCESS) {
        fail(made.code, "aclmdlRIExecuteAsync");
    } else if (is_done && keeps) {
        is_done = keep_used(stream_->in_flight, made.begins_capture, kept, NULL);
    }
    Py_DECREF(kept);
    return is_done ? Py_NewRef(Py_None) : NULL;
}

static PyObject *graph_launch(PyObject *self, arguments args, Py_ssize_t count, PyObject *names) {
    PyObject *given = NULL, *on = NULL, *result = NULL;
    if (parse(&paths[LAUNCH_ON].of, &given, args, count, names) && has_pointer((handle *)self) &&
        (on = given_or_current(given)) != NULL && can_launch((graph *)self, on)) {
        result = launch((graph *)self, (stream *)on);
    }
    Py_XDECREF(on);
    return result_or_python(result, &paths[LAUNCH_ON], self, args, count, names);
}

static short_path paths[PATHS] = {
    [LAUNCH_ON] = {.name = "launch", .call = METHOD(graph_launch)},
};

const short_paths graph_paths = {&graph_type, paths, PATHS, NULL};
