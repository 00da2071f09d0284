/* SPDX-License-Identifier: Apache-2.0 */
/* The short path of graphs. */
#include "_short_paths.h"

enum { LAUNCH_ON, PATHS };

static short_path paths[PATHS];

static PyObject *graph_launch(PyObject *object, arguments args, Py_ssize_t count, PyObject *names) {
    graph *const self = (graph *)object;
    if (count != 1 || names != NULL || !is_stream(args[0]) || !is_direct(EXECUTE) || !has_pointer(&self->handle) ||
        !has_pointer((handle *)args[0]) || LOAD(self->kept) == NULL) {
        return call_python(&paths[LAUNCH_ON], object, args, count, names);
    }
    void *const pointer = self->handle.pointer, *const on = ((handle *)args[0])->pointer;
    PyObject *const kept =
        get_field(self, &self->kept); /* another thread may close the graph, which gives the list up */
    const bool keeps = PyList_Size(kept) > 0;
    submission made;
    SUBMIT(made, on, keeps, FUNCTION(aclmdlRIExecuteAsync, EXECUTE)(pointer, on));
    if (made.is_captured) {
        Py_DECREF(kept);
        return call_python(&paths[LAUNCH_ON], object, args, count, names);
    }
    bool is_done = made.code == ACL_SUCCESS;
    if (!is_done) {
        fail(made.code, "aclmdlRIExecuteAsync");
    } else if (keeps) {
        is_done = keep_used(((stream *)args[0])->in_flight, made.begins_capture, kept, NULL);
    }
    Py_DECREF(kept);
    return is_done ? Py_NewRef(Py_None) : NULL;
}

static short_path paths[PATHS] = {
    [LAUNCH_ON] = {"launch", "($self, stream=None)", METHOD(graph_launch), NULL, NULL},
};

const short_paths graph_paths = {&graph_type, paths, PATHS, NULL};
