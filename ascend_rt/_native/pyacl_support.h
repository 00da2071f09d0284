/* SPDX-License-Identifier: Apache-2.0 */
/* The hand-written part of ascend_rt.pyacl._pyacl: arguments and results of the generated functions, callbacks, the
 * module.
 */
#pragma once

#include "aclrt_support.h"
#include "python_api.h"

/* A C function, and where the table of ascend_rt._aclrt has it. */
typedef struct pyacl_function {
    const char *name;
    const ascend_rt_slot *slot;
} pyacl_function;

/* A submodule of acl, or acl itself, whose name is "". */
typedef struct pyacl_module {
    const char *name;
    PyMethodDef *methods;
} pyacl_module;

/* Generated; each ends with an entry of NULL. */
extern pyacl_function pyacl_functions[];
extern const pyacl_module pyacl_modules[];

/* Loads the library that has the function; false with an exception if it must not be called. */
bool pyacl_provide(const char *name);

static inline bool pyacl_is_ready(const pyacl_function *function) {
    return function->slot->present || pyacl_provide(function->name);
}

#define PYACL_FUNCTION(name, function) (*(__typeof__(name) **)(function)->slot->pointer)

/* State of a thread: how many calls of this module it is in, and the exception of a callback that the call at the
 * top is to raise. */
typedef struct pyacl_thread {
    unsigned depth;
    PyObject *exception;
} pyacl_thread;

extern _Thread_local pyacl_thread pyacl_here;

#define PYACL_WITHOUT_GIL(call)                            \
    do {                                                   \
        ++pyacl_here.depth;                                \
        PyThreadState *const state_ = PyEval_SaveThread(); \
        call;                                              \
        PyEval_RestoreThread(state_);                      \
        --pyacl_here.depth;                                \
    } while (0)

/* Arguments. As CPython's format of the same letter; on failure the exception that is set does not matter. */

static inline bool pyacl_to_k(PyObject *object, uint64_t *value) {
    if (!PyLong_CheckExact(object) && !PyLong_Check(object)) {
        return false;
    }
    *value = PyLong_AsUnsignedLongLongMask(object);
    return true;
}

static inline bool pyacl_to_K(PyObject *object, uint64_t *value) { return pyacl_to_k(object, value); }

static inline bool pyacl_to_L(PyObject *object, uint64_t *value) {
    const long long number = PyLong_AsLongLong(object);
    *value = (uint64_t)number;
    return number != -1 || PyErr_Occurred() == NULL;
}

static inline bool pyacl_to_l(PyObject *object, uint64_t *value) { return pyacl_to_L(object, value); }

static inline bool pyacl_to_i(PyObject *object, uint64_t *value) {
    return pyacl_to_L(object, value) && (int64_t)*value >= INT32_MIN && (int64_t)*value <= INT32_MAX;
}

static inline bool pyacl_to_I(PyObject *object, uint64_t *value) {
    *value = (uint32_t)PyLong_AsUnsignedLongMask(object);
    return *value != UINT32_MAX || PyErr_Occurred() == NULL;
}

static inline bool pyacl_to_b(PyObject *object, uint64_t *value) {
    return pyacl_to_L(object, value) && (int64_t)*value >= 0 && (int64_t)*value <= UINT8_MAX;
}

static inline bool pyacl_to_H(PyObject *object, uint64_t *value) {
    const bool is_number = pyacl_to_I(object, value);
    *value = (uint16_t)*value;
    return is_number;
}

static inline bool pyacl_to_f(PyObject *object, double *value) {
    *value = PyFloat_AsDouble(object);
    return *value != -1.0 || PyErr_Occurred() == NULL;
}

static inline bool pyacl_to_O(PyObject *object, PyObject **value) {
    *value = object;
    return true;
}

/* The text stays valid as long as the object; one with a NUL in it is refused. */
bool pyacl_to_s(PyObject *object, const char **value);

/* Raises TypeError in place of what a conversion has raised. */
PyObject *pyacl_refuse(const char *text);
/* Raises what PyArg_ParseTuple raises for the arguments. */
PyObject *pyacl_refuse_as_cpython(PyObject *const *args, Py_ssize_t count, const char *format);

/* Results. */

static inline PyObject *pyacl_box_signed(int64_t value) { return PyLong_FromLongLong(value); }
static inline PyObject *pyacl_box_unsigned(uint64_t value) { return PyLong_FromUnsignedLongLong(value); }
static inline PyObject *pyacl_box_float(double value) { return PyFloat_FromDouble(value); }
static inline PyObject *pyacl_box_pointer(const void *value) { return PyLong_FromVoidPtr((void *)value); }
PyObject *pyacl_box_text(const char *value); /* None for NULL */

/* By the types of C: which of them uint64_t and size_t are depends on the platform. */
#define PYACL_BOX(value)                        \
    _Generic((value),                           \
        int: pyacl_box_signed,                  \
        long: pyacl_box_signed,                 \
        long long: pyacl_box_signed,            \
        unsigned short: pyacl_box_unsigned,     \
        unsigned: pyacl_box_unsigned,           \
        unsigned long: pyacl_box_unsigned,      \
        unsigned long long: pyacl_box_unsigned, \
        float: pyacl_box_float,                 \
        const char *: pyacl_box_text,           \
        default: pyacl_box_pointer)(value)

/* A tuple of new references, which it takes; NULL if one of them is. */
PyObject *pyacl_pack(int count, ...);
/* Raises SystemError from the exception of a callback that ran inside the call, in place of its result. */
PyObject *pyacl_raise_from_callback(const char *name, PyObject *value);

static inline PyObject *pyacl_result(const char *name, PyObject *value) {
    return pyacl_here.exception == NULL ? value : pyacl_raise_from_callback(name, value);
}

/* Calls a function of a Python module with the arguments, which it takes. */
PyObject *pyacl_call_python(const char *module, const char *name, PyObject *args);

/* Functions written by hand. */

PyObject *pyacl_launch_callback(PyObject *function, PyObject *user_data, uint64_t block_type, uint64_t stream);
PyObject *pyacl_set_exception_info_callback(PyObject *function);
PyObject *pyacl_bytes_to_ptr(PyObject *data);
PyObject *pyacl_ptr_to_bytes(uint64_t address, uint64_t size);

/* Events. The program has their handles as numbers, and a reset of the device makes them unusable: the runtime would
 * crash. So ascend_rt._runtime.lifecycle.events has where each lives. */

/* Returns true if the device of the event was reset. */
bool pyacl_has_ended(uint64_t event);
/* Notes a new event, if it was created. */
void pyacl_note_event(aclError code, const void *event);
/* Forgets an event that is about to be destroyed, before a new one may have its handle; returns what was noted. */
PyObject *pyacl_forget_event(uint64_t event);
/* Notes it again, if it was not destroyed; takes the note, which may be NULL. */
void pyacl_restore_event(aclError code, uint64_t event, PyObject *note);

/* Number of the last callback that was launched. */
uint64_t pyacl_last_callback(void);
/* Gives back the callbacks of a stream up to that number if the call that has ended the stream's work succeeded. */
void pyacl_drop_callbacks(aclError code, uint64_t stream, uint64_t last);
