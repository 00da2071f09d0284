/* SPDX-License-Identifier: Apache-2.0 */
// A Python module that calls the runtime: device_count.count(), and device_count.BUILT_FOR.
#include <Python.h>
#include <acl/acl.h>

static PyObject *count(PyObject *self, PyObject *unused) {
    uint32_t devices = 0;
    (void)self, (void)unused;
    const aclError code = aclrtGetDeviceCount(&devices);
    if (code != ACL_SUCCESS) {
        const char *const text = aclGetRecentErrMsg();
        return PyErr_Format(PyExc_RuntimeError, "aclrtGetDeviceCount: %d %s", code, text ? text : "");
    }
    return PyLong_FromUnsignedLong(devices);
}

static PyMethodDef methods[] = {
    {"count", count, METH_NOARGS, "Return the number of devices."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "device_count", "Devices of the CANN runtime.", -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_device_count(void) {
    PyObject *const module = PyModule_Create(&definition);
    if (module != NULL && PyModule_AddStringConstant(module, "BUILT_FOR", CHIP) < 0) {
        Py_DECREF(module);
        return NULL;
    }
    return module;
}
