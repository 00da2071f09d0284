/* SPDX-License-Identifier: Apache-2.0 */
/* Steps with Python objects that several files share. */
#pragma once

#include "python_api.h"

/* A new tuple of the arguments, or NULL. */
static inline PyObject *tuple_of(PyObject *const *args, Py_ssize_t count) {
    PyObject *tuple = PyTuple_New(count);
    for (Py_ssize_t i = 0; i < count && tuple != NULL; ++i) {
        PyTuple_SetItem(tuple, i, Py_NewRef(args[i]));
    }
    return tuple;
}

/* Takes the exception that is set, complete with its traceback. */
static inline PyObject *take_exception(void) {
    PyObject *type = NULL, *value = NULL, *traceback = NULL;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    if (traceback != NULL) {
        PyException_SetTraceback(value, traceback);
    }
    Py_XDECREF(type);
    Py_XDECREF(traceback);
    return value;
}
