/* The client as an extension module of Python, `client`, whose function `run` returns its exit status. */
#include <Python.h>

#include "round_trip.h"

static PyObject *run(PyObject *self, PyObject *arguments) {
    (void)self;
    (void)arguments;
    int status = round_trip();
    fflush(stdout);
    return PyLong_FromLong(status);
}

static PyMethodDef methods[] = {{"run", run, METH_NOARGS, "Run the client."}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "client", .m_size = -1, .m_methods = methods};

PyMODINIT_FUNC PyInit_client(void) { return PyModule_Create(&definition); }
