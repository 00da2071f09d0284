/* SPDX-License-Identifier: Apache-2.0 */
/* Substitutes for the GIL in a Python without it; with the GIL they do nothing.
 *
 * - The lock of an object guards its fields. It is given up where the GIL would be, while the thread waits or calls the
 *   runtime. Python's own access to the fields (PyMemberDef) takes the same lock.
 * - A mutex is kept until it is released, and holds several steps together. In between no Python code may run.
 * - A field that is read without a lock is loaded and stored at once. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>

#ifdef Py_GIL_DISABLED
#define BEGIN_LOCKED(object) Py_BEGIN_CRITICAL_SECTION(object)
#define END_LOCKED() Py_END_CRITICAL_SECTION()
#define MUTEX(name) PyMutex name
#define LOCK(name) PyMutex_Lock(&(name))
#define UNLOCK(name) PyMutex_Unlock(&(name))
#define RENEW(name) ((name) = (PyMutex){0}) /* in a forked child, without the thread that has it */
#else
#define BEGIN_LOCKED(object) {
#define END_LOCKED() }
#define MUTEX(name) struct no_mutex name
#define LOCK(name) ((void)(name))
#define UNLOCK(name) ((void)(name))
#define RENEW(name) ((void)(name))
struct no_mutex {}; /* GNU C gives it no size */
#endif

#define LOAD(field) __atomic_load_n(&(field), __ATOMIC_ACQUIRE)
#define STORE(field, value) __atomic_store_n(&(field), value, __ATOMIC_RELEASE)

/* Puts another object into a field, and returns what was there, to be released without the lock: that may run anything.
 */
static inline PyObject *exchange(PyObject **field, PyObject *value) {
    PyObject *before = *field;
    STORE(*field, value);
    return before;
}

/* A new reference to what is in a field of an object, or NULL. */
static inline PyObject *get_field(void *owner, PyObject **field) {
    PyObject *value;
    (void)owner;
    BEGIN_LOCKED(owner);
    value = Py_XNewRef(*field);
    END_LOCKED();
    return value;
}

/* Puts another object into a field of an object, and returns what was there; takes and gives the references. */
static inline PyObject *swap_field(void *owner, PyObject **field, PyObject *value) {
    PyObject *before;
    (void)owner;
    BEGIN_LOCKED(owner);
    before = exchange(field, value);
    END_LOCKED();
    return before;
}

/* Sets a field of an object; takes the reference. */
static inline void set_field(void *owner, PyObject **field, PyObject *value) {
    Py_XDECREF(swap_field(owner, field, value));
}

/* A new reference to the value of a key, or NULL. */
static inline PyObject *get_item(PyObject *dictionary, PyObject *key) {
#ifdef Py_GIL_DISABLED
    PyObject *value = NULL;
    PyDict_GetItemRef(dictionary, key, &value);
    return value;
#else
    return Py_XNewRef(PyDict_GetItemWithError(dictionary, key));
#endif
}

/* A new reference to the object of a weak reference, or NULL; without an exception. */
static inline PyObject *referent(PyObject *reference) {
#ifdef Py_GIL_DISABLED
    PyObject *object = NULL;
    PyWeakref_GetRef(reference, &object);
    return object;
#else
    PyObject *object = PyWeakref_GetObject(reference);
    return object != Py_None ? Py_NewRef(object) : NULL;
#endif
}

/* Takes a key out, and returns its value, or NULL if it is not there. */
static inline PyObject *pop_item(PyObject *dictionary, PyObject *key) {
#ifdef Py_GIL_DISABLED
    PyObject *value = NULL;
    PyDict_Pop(dictionary, key, &value);
    return value;
#else
    PyObject *value = Py_XNewRef(PyDict_GetItemWithError(dictionary, key));
    if (value != NULL) {
        PyDict_DelItem(dictionary, key);
    }
    return value;
#endif
}

/* Declares that a module needs no GIL; returns it, or NULL. */
static inline PyObject *without_gil(PyObject *module) {
#ifdef Py_GIL_DISABLED
    if (module != NULL && PyUnstable_Module_SetGIL(module, Py_MOD_GIL_NOT_USED) != 0) {
        Py_CLEAR(module);
    }
#endif
    return module;
}
