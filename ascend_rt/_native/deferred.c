/* SPDX-License-Identifier: Apache-2.0 */
#include "deferred.h"

static PyObject *deferred; /* a dict, by identity; Python closes its objects, and takes them out */
static MUTEX(without_memory_mutex);

/* Objects that could not be deferred, since not even that had memory, with references. */
enum { WITHOUT_MEMORY = 64 };
static PyObject *without_memory[WITHOUT_MEMORY];
static size_t without_memory_count;

static bool add_deferred(PyObject *object) {
    PyObject *identity = PyLong_FromVoidPtr(object);
    const bool is_added = identity != NULL && PyDict_SetItem(deferred, identity, object) == 0;
    Py_XDECREF(identity);
    return is_added;
}

/* If there are more than fit, the rest is lost. */
static void put_without_memory(PyObject *object) {
    LOCK(without_memory_mutex);
    if (without_memory_count < WITHOUT_MEMORY) {
        without_memory[without_memory_count++] = Py_NewRef(object);
    }
    UNLOCK(without_memory_mutex);
}

/* Takes one of those, with its reference; NULL: there is none. */
static PyObject *take_without_memory(void) {
    LOCK(without_memory_mutex);
    PyObject *const object = without_memory_count > 0 ? without_memory[--without_memory_count] : NULL;
    UNLOCK(without_memory_mutex);
    return object;
}

void defer_closing(PyObject *object) {
    if (!add_deferred(object)) {
        PyErr_WriteUnraisable(object);
        put_without_memory(object);
    }
}

bool has_deferred(void) {
    bool is_added = true; /* false while memory is short */
    for (PyObject *object; is_added && (object = take_without_memory()) != NULL; Py_DECREF(object)) {
        is_added = add_deferred(object);
        if (!is_added) {
            PyErr_Clear();
            put_without_memory(object);
        }
    }
    return PyDict_Size(deferred) != 0;
}

void deferred_renew_locks(void) { RENEW(without_memory_mutex); }

bool deferred_add(PyObject *module) {
    return (deferred = PyDict_New()) != NULL && PyModule_AddObjectRef(module, "deferred", deferred) == 0;
}
