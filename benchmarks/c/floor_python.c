/* SPDX-License-Identifier: Apache-2.0 */
/* The cheapest call from Python that releases the GIL: what no binding can be faster than. */
#include <Python.h>

static PyObject *release_gil(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    (void)arguments;
    (void)count;
    Py_BEGIN_ALLOW_THREADS;
    Py_END_ALLOW_THREADS;
    Py_RETURN_NONE;
}

PyMODINIT_FUNC PyInit_floor_python(void) {
    static PyMethodDef functions[] = {
        {"release_gil", (PyCFunction)(void (*)(void))release_gil, METH_FASTCALL, NULL},
        {NULL, NULL, 0, NULL},
    };
    static PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "floor_python", .m_methods = functions};
    PyObject *module = PyModule_Create(&definition);
#ifdef Py_GIL_DISABLED
    if (module != NULL && PyUnstable_Module_SetGIL(module, Py_MOD_GIL_NOT_USED) != 0) {
        Py_CLEAR(module);
    }
#endif
    return module;
}
