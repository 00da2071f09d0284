/* SPDX-License-Identifier: Apache-2.0 */
/* The short path of graphs. */
#include "_short_paths.h"

enum { LAUNCH_ON, PATHS };

static short_path paths[PATHS];

static bool can_launch(graph *self, PyObject *on) {
    return is_direct(EXECUTE) && has_pointer(&self->handle) && has_pointer((handle *)on);
}

static bool has_objects(const PyObject *of) {
    return of != NULL && Py_TYPE(of) == batch_type && PyList_Size(((const batch *)of)->objects) > 0;
}

static PyObject *launch(graph *self, stream *stream_) {
    void *const pointer = self->handle.pointer, *const on = stream_->handle.pointer;
    PyObject *retained = get_field(self, &self->retained); /* another thread may close the graph, which gives it up */
    const bool uses_anything =
        has_objects(retained) || (retained != NULL && has_objects(((batch *)retained)->previous));
    PyObject *const used = uses_anything ? retained : NULL;
    submission made;
    SUBMIT(made, on, used, NULL, FUNCTION(aclmdlRIExecuteAsync, EXECUTE)(pointer, on));
    PyObject *result = submission_end(&made, EXECUTE, stream_->retention, used, NULL);
    Py_XDECREF(retained);
    return result;
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
