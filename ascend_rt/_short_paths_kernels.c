/* SPDX-License-Identifier: Apache-2.0 */
/* The short path of launches: arguments are packed as ascend_rt.kernel does, as long as they are buffers, numbers of
 * Python and scalars of numpy that fit. */
#include <math.h>

#include "_short_paths.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "Integers are packed by their first bytes."
#endif

/* Types of numpy's scalars, which know_scalars() notes once. */
static struct scalar {
    PyTypeObject *type;
    int32_t nbytes;
} scalars[24];
static size_t scalars_count;

enum { LAUNCH_ON, PATHS };

static short_path paths[PATHS];

/* A parameter as ascend_rt.kernel writes it into a plan. */
typedef struct kernel_parameter {
    int32_t place, nbytes;
    int32_t kind; /* of numpy's kinds 'i', 'u' and 'f'; 'p': an array; 'x': only the size is known; 'o': another type */
} kernel_parameter;

/* The block of arguments. */
typedef struct block {
    _Alignas(8) char bytes[1024];
    int32_t used;
} block;

static bool put(block *to, const kernel_parameter *of, const void *value) {
    if (of->place < 0 || (size_t)of->place + (size_t)of->nbytes > sizeof to->bytes) {
        return false;
    }
    memcpy(to->bytes + of->place, value, (size_t)of->nbytes);
    to->used = of->place + of->nbytes > to->used ? of->place + of->nbytes : to->used;
    return true;
}

static bool put_buffer(block *to, const kernel_parameter *of, PyObject *argument) {
    const bool is_address = of->kind == 'p' || (of->kind == 'x' && of->nbytes == sizeof(void *));
    return is_address && has_pointer((handle *)argument) && put(to, of, &((handle *)argument)->pointer);
}

static bool put_float(block *to, const kernel_parameter *of, double value) {
    const float narrow = (float)value;
    if (of->nbytes == sizeof value) {
        return put(to, of, &value);
    }
    return of->nbytes == sizeof narrow && isinf(narrow) == isinf(value) && put(to, of, &narrow);
}

static bool put_integer(block *to, const kernel_parameter *of, PyObject *argument) {
    const long long exact = 1LL << 53; /* from here on a double has gaps */
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(argument, &overflow);
    if (of->kind == 'f') {
        return overflow == 0 && value <= exact && value >= -exact && put_float(to, of, (double)value);
    }
    const bool is_signed = of->kind == 'i' || (of->kind == 'x' && value < 0);
    const int bits = 8 * of->nbytes - is_signed;
    const bool has_size = of->nbytes == 1 || of->nbytes == 2 || of->nbytes == 4 || of->nbytes == 8;
    const bool fits = bits >= 63 || (value < 1LL << bits && value >= -(1LL << bits));
    return has_size && overflow == 0 && fits && (is_signed || value >= 0) && put(to, of, &value);
}

/* The value of a scalar is behind the head of the object (arrayscalars.h of numpy). */
static bool put_scalar(block *to, const kernel_parameter *of, PyObject *argument) {
    return put(to, of, (const char *)argument + sizeof(PyObject));
}

/* Size of a scalar of numpy, or 0. */
static int32_t size_of_scalar(PyObject *argument) {
    for (size_t i = 0; i < scalars_count; ++i) {
        if (Py_TYPE(argument) == scalars[i].type) {
            return scalars[i].nbytes;
        }
    }
    return 0;
}

/* Returns false, without an exception, for what the method in Python packs or refuses. */
static bool put_argument(block *to, const kernel_parameter *of, const PyObject *scalar, PyObject *argument) {
    if (is_buffer(argument)) {
        return put_buffer(to, of, argument);
    }
    if (of->kind == 'p' || of->kind == 'o') {
        return false;
    }
    if (Py_TYPE(argument) == &PyLong_Type) {
        return put_integer(to, of, argument);
    }
    if (Py_TYPE(argument) == &PyFloat_Type) {
        return (of->kind == 'f' || of->kind == 'x') && put_float(to, of, PyFloat_AsDouble(argument));
    }
    const bool is_wanted =
        of->kind == 'x' ? size_of_scalar(argument) == of->nbytes : (const PyObject *)Py_TYPE(argument) == scalar;
    return is_wanted && put_scalar(to, of, argument);
}

static bool pack_known(const kernel *self, block *to, arguments args, Py_ssize_t count) {
    const kernel_parameter *const parameters = (const kernel_parameter *)PyBytes_AsString(self->plan);
    bool is_packed = count * (Py_ssize_t)sizeof *parameters == PyBytes_Size(self->plan);
    for (Py_ssize_t i = 0; i < count && is_packed; ++i) {
        is_packed = put_argument(to, &parameters[i], PyTuple_GetItem(self->scalars, i), args[i]);
    }
    return is_packed;
}

static bool pack_guessed(block *to, arguments args, Py_ssize_t count) {
    bool is_packed = true;
    for (Py_ssize_t i = 0; i < count && is_packed; ++i) {
        const int32_t nbytes = is_buffer(args[i]) ? (int32_t)sizeof(void *) : size_of_scalar(args[i]);
        const int32_t place = nbytes > 0 ? (to->used + nbytes - 1) / nbytes * nbytes : 0;
        const kernel_parameter guessed = {place, nbytes, 'p'};
        is_packed =
            nbytes > 0 && (is_buffer(args[i]) ? put_buffer(to, &guessed, args[i]) : put_scalar(to, &guessed, args[i]));
    }
    return is_packed;
}

static bool pack(const kernel *self, block *to, arguments args, Py_ssize_t count) {
    *to = (block){.used = 0};
    return is_none(self->plan) ? pack_guessed(to, args, count) : pack_known(self, to, args, count);
}

/* Returns true if a check wants to know accesses, which the method in Python declares. */
static bool are_accesses_wanted(void) {
    return functions[WANTS_ACCESSES].slot->present && FUNCTION(aclsimWantsAccesses, WANTS_ACCESSES)() != 0;
}

static PyObject *launch(kernel *self, block *packed, uint32_t blocks, stream *stream_, PyObject *used) {
    enum { LEAST = 8 }; /* bytes of a block, also of a kernel without parameters */
    void *const function = (void *)(uintptr_t)self->function, *const on = stream_->handle.pointer;
    const size_t nbytes = packed->used > LEAST ? (size_t)packed->used : LEAST;
    submission made;
    SUBMIT(made, on, self->binary, used,
           FUNCTION(aclrtLaunchKernelWithHostArgs, LAUNCH_KERNEL)(function, blocks, on, NULL, packed->bytes, nbytes,
                                                                  NULL, 0));
    return submission_end(&made, LAUNCH_KERNEL, stream_->retention, self->binary, used);
}

static bool find_blocks(PyObject *number, uint32_t *blocks) {
    enum { MOST = UINT16_MAX };
    int overflow = 0;
    const long found = Py_TYPE(number) == &PyLong_Type ? PyLong_AsLongAndOverflow(number, &overflow) : 0;
    *blocks = (uint32_t)found;
    return overflow == 0 && found >= 1 && found <= MOST;
}

static bool is_ready(const kernel *self) {
    PyObject *const binary = self->binary; /* NULL: not made by __init__() */
    return self->function != 0 && binary != NULL && PyType_IsSubtype(Py_TYPE(binary), handle_type) &&
           has_pointer((handle *)binary);
}

static PyObject *kernel_launch(PyObject *object, arguments args, Py_ssize_t count, PyObject *names) {
    enum { STREAM, BLOCKS, FIRST };
    kernel *const self = (kernel *)object;
    PyObject *on = NULL, *used = NULL, *result = NULL;
    block packed;
    uint32_t blocks = 0;
    if (names == NULL && count >= FIRST && find_blocks(args[BLOCKS], &blocks) && is_direct(LAUNCH_KERNEL) &&
        is_ready(self) && pack(self, &packed, args + FIRST, count - FIRST) && !are_accesses_wanted() &&
        (on = given_or_current(args[STREAM])) != NULL && has_pointer((handle *)on) &&
        (used = tuple_of(args + FIRST, count - FIRST)) != NULL) {
        result = launch(self, &packed, blocks, (stream *)on, used);
    }
    Py_XDECREF(used);
    Py_XDECREF(on);
    return result_or_python(result, &paths[LAUNCH_ON], object, args, count, names);
}

static short_path paths[PATHS] = {
    [LAUNCH_ON] = {.name = "launch", .call = METHOD(kernel_launch)},
};

const short_paths kernel_paths = {&kernel_type, paths, PATHS, NULL};

static PyObject *know_scalars(PyObject *module, PyObject *sizes) {
    enum { MOST = sizeof scalars / sizeof scalars[0] };
    PyObject *type = NULL, *nbytes = NULL;
    size_t count = 0;
    (void)module;
    if (!PyDict_Check(sizes) || PyDict_Size(sizes) > MOST) {
        return PyErr_Format(PyExc_TypeError, "know_scalars() takes a dict of at most %d types", MOST);
    }
    for (Py_ssize_t place = 0; PyDict_Next(sizes, &place, &type, &nbytes); ++count) {
        scalars[count] = (struct scalar){(PyTypeObject *)Py_NewRef(type), (int32_t)PyLong_AsLong(nbytes)};
    }
    scalars_count = count;
    return PyErr_Occurred() == NULL ? Py_NewRef(Py_None) : NULL;
}

bool kernels_add(PyObject *module) {
    static PyMethodDef functions_of_module[] = {
        {"know_scalars", know_scalars, METH_O, "Know numpy's types of scalars, and their sizes in bytes."},
        {0},
    };
    return PyModule_AddFunctions(module, functions_of_module) == 0;
}
