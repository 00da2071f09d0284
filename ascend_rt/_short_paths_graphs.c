/* SPDX-License-Identifier: Apache-2.0 */
/* The short path of graphs. */
#include "_short_paths.h"

enum { LAUNCH_ON, PATHS };

static short_path paths[PATHS];

/* Returns true if a list has more than an empty list. */
static bool is_anything_in(PyObject *kept) {
    PyObject *const first = PyList_Size(kept) == 1 ? PyList_GetItem(kept, 0) : NULL;
    return first != NULL && PyList_Check(first) ? PyList_Size(first) > 0 : PyList_Size(kept) > 0;
}

static PyObject *launch(graph *self, stream *stream_) {
    void *const pointer = self->handle.pointer, *const on = stream_->handle.pointer;
    PyObject *const kept =
        get_field(self, &self->kept); /* another thread may close the graph, which gives the list up */
    if (kept == NULL) {
        return handle_refuse((PyObject *)self);
    }
    const bool keeps = is_anything_in(kept);
    PyObject *result = NULL;
    submission made;
    SUBMIT(made, on, keeps, FUNCTION(aclmdlRIExecuteAsync, EXECUTE)(pointer, on));
    if (made.is_captured) {
        result = submit_to_graph((PyObject *)stream_, EXECUTE, kept, NULL, "(NN)", view_of(pointer), view_of(on));
    } else if (made.code != ACL_SUCCESS || keeps) {
        result = submitted(made, EXECUTE, (PyObject *)stream_, kept, NULL);
    } else {
        result = Py_NewRef(Py_None);
    }
    Py_DECREF(kept);
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

static short_path paths[PATHS] = {
    [LAUNCH_ON] = {.name = "launch", .call = METHOD(graph_launch)},
};

const short_paths graph_paths = {&graph_type, paths, PATHS, NULL};
