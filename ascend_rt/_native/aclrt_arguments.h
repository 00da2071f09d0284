/* SPDX-License-Identifier: Apache-2.0 */
/* Names the parameter in the error of a call with a wrong argument: cffi's own text names types only.
 *
 * The wrappers that cffi writes convert each argument through one of the functions below and give up when it fails.
 * Here each becomes a macro that calls the same function and, on failure only, puts function and parameter in front of
 * the error's text; a call that is right pays nothing. In a wrapper __func__ is "_cffi_f_" and the C function's name,
 * and an argument is spelled arg0, arg1, … */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "aclrt_support.h"

/* Returns the name of a parameter and its length; NULL if there is none of that number. */
static const char *ascend_rt_parameter(const char *function, long index, int *length) {
    for (size_t i = 0; i < ascend_rt_slot_count; ++i) {
        if (strcmp(ascend_rt_slots[i].name, function) == 0) {
            const char *name = ascend_rt_slots[i].parameters;
            for (; index > 0 && name != NULL; --index) {
                name = strchr(name, ' ');
                name += name != NULL;
            }
            *length = name != NULL ? (int)strcspn(name, " ") : 0;
            return name;
        }
    }
    return NULL;
}

static void ascend_rt_name_parameter(const char *wrapper, const char *argument) {
    const char *function = wrapper + strlen("_cffi_f_");
    int length = 0;
    const char *name = ascend_rt_parameter(function, strtol(argument + strlen("arg"), NULL, 10), &length);
    PyObject *type = NULL, *value = NULL, *traceback = NULL;
    if (name == NULL) {
        return; /* one of our own helpers, not a function of the table */
    }
    char parameter[64];
    snprintf(parameter, sizeof parameter, "%.*s", length, name);
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_Format(type, "%s: argument '%s': %S", function, parameter, value != NULL ? value : Py_None);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
}

#define ASCEND_RT_NAMED(failed, argument) ((failed) ? (ascend_rt_name_parameter(__func__, #argument), -1) : 0)

/* cffi takes whatever int() takes, and cuts Decimal("1.9"); its own numbers have no __index__. */
static bool ascend_rt_is_cut(PyObject *object) {
    if (PyLong_Check(object) || PyIndex_Check(object) || PyType_GetSlot(Py_TYPE(object), Py_nb_int) == NULL) {
        return false;
    }
    PyObject *module = PyImport_ImportModule("_cffi_backend");
    PyObject *type = module != NULL ? PyObject_GetAttrString(module, "_CDataBase") : NULL;
    const int is_own = type != NULL ? PyObject_IsInstance(object, type) : -1;
    Py_XDECREF(type);
    Py_XDECREF(module);
    if (is_own == 0) {
        PyErr_Format(PyExc_TypeError, "an integer is required, not %R", (PyObject *)Py_TYPE(object));
    }
    return is_own != 1;
}

/* Enumerations and structures. */
static inline int ascend_rt_to_c(char *out, struct _cffi_ctypedescr *type, PyObject *object) {
    return ascend_rt_is_cut(object) ? -1 : _cffi_to_c(out, type, object);
}
#undef _cffi_to_c
#define _cffi_to_c(out, type, argument) ASCEND_RT_NAMED(ascend_rt_to_c(out, type, argument) < 0, argument)

/* Pointers: reached with anything but a pointer, and fails unless it is a list, bytes or such. */
#define _cffi_convert_array_argument(type, argument, ...) \
    ASCEND_RT_NAMED(_cffi_convert_array_argument(type, argument, __VA_ARGS__) < 0, argument)

/* Numbers and pointers to functions: a failure looks like a value, which is why the wrapper asks PyErr_Occurred too. */
#define ASCEND_RT_NAMED_VALUE(call, failure, argument)         \
    __extension__({                                            \
        const __typeof__(call) value_ = (call);                \
        if (value_ == (failure) && PyErr_Occurred() != NULL) { \
            ascend_rt_name_parameter(__func__, #argument);     \
        }                                                      \
        value_;                                                \
    })
#define ASCEND_RT_NUMBER(suffix, ctype) \
    static inline ctype ascend_rt_to_c_##suffix(PyObject *object) { return _cffi_to_c_##suffix(object); }
#define ASCEND_RT_INTEGER(suffix, ctype)                                                    \
    static inline ctype ascend_rt_to_c_##suffix(PyObject *object) {                         \
        return ascend_rt_is_cut(object) ? (ctype) - 1 : (ctype)_cffi_to_c_##suffix(object); \
    }
#define ASCEND_RT_NAMED_NUMBER(suffix, argument)                                                                \
    ASCEND_RT_NAMED_VALUE(ascend_rt_to_c_##suffix(argument), (__typeof__(ascend_rt_to_c_##suffix(argument)))-1, \
                          argument)

static inline char *ascend_rt_to_c_pointer(PyObject *object, struct _cffi_ctypedescr *type) {
    return _cffi_to_c_pointer(object, type);
}
ASCEND_RT_INTEGER(i8, int)
ASCEND_RT_INTEGER(u8, int)
ASCEND_RT_INTEGER(i16, int)
ASCEND_RT_INTEGER(u16, int)
ASCEND_RT_INTEGER(i32, int)
ASCEND_RT_INTEGER(u32, unsigned int)
ASCEND_RT_INTEGER(i64, long long)
ASCEND_RT_INTEGER(u64, unsigned long long)
ASCEND_RT_NUMBER(float, double)

#undef _cffi_to_c_pointer
#undef _cffi_to_c_i8
#undef _cffi_to_c_u8
#undef _cffi_to_c_i16
#undef _cffi_to_c_u16
#undef _cffi_to_c_i32
#undef _cffi_to_c_u32
#undef _cffi_to_c_i64
#undef _cffi_to_c_u64
#undef _cffi_to_c_float
#define _cffi_to_c_pointer(argument, type) ASCEND_RT_NAMED_VALUE(ascend_rt_to_c_pointer(argument, type), NULL, argument)
#define _cffi_to_c_i8(argument) ASCEND_RT_NAMED_NUMBER(i8, argument)
#define _cffi_to_c_u8(argument) ASCEND_RT_NAMED_NUMBER(u8, argument)
#define _cffi_to_c_i16(argument) ASCEND_RT_NAMED_NUMBER(i16, argument)
#define _cffi_to_c_u16(argument) ASCEND_RT_NAMED_NUMBER(u16, argument)
#define _cffi_to_c_i32(argument) ASCEND_RT_NAMED_NUMBER(i32, argument)
#define _cffi_to_c_u32(argument) ASCEND_RT_NAMED_NUMBER(u32, argument)
#define _cffi_to_c_i64(argument) ASCEND_RT_NAMED_NUMBER(i64, argument)
#define _cffi_to_c_u64(argument) ASCEND_RT_NAMED_NUMBER(u64, argument)
#define _cffi_to_c_float(argument) ASCEND_RT_NAMED_NUMBER(float, argument)
