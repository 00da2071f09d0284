/* SPDX-License-Identifier: Apache-2.0 */
/* The hot method of launches: arguments are packed as ascend_rt.kernel does, as long as they are buffers, numbers of
 * Python and scalars of numpy that fit. */
#include <math.h>

#include "methods.h"
#include "python_objects.h"

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

static hot_method paths[PATHS];

/* A parameter as ascend_rt.kernel writes it into a plan. */
typedef struct kernel_parameter {
    int32_t place, nbytes;
    int32_t kind; /* numpy's kind 'i', 'u' and 'f'; 'p': an array; 'x': only the size is known; 'o': another type */
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

/* Returns false, without an exception, for what Python packs or refuses. */
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

enum { STREAM, BLOCKS, ARGUMENTS, TIMEOUT = ARGUMENTS, BATCH, READS, WRITES, PARAMETERS };

/* Parts of a launch; those that must live as long as the call are references. */
typedef struct prepared {
    uint32_t blocks;
    PyObject *binary, *stream, *used; /* a tuple: the arguments */
    const void *bytes;
    size_t nbytes;
    PyObject *packed; /* owner of the bytes; NULL: they are in a block */
    void *config;
    PyObject *config_kept;
} prepared;

static bool find_blocks(PyObject *number, uint32_t *blocks) {
    enum { MOST = UINT16_MAX };
    int overflow = 0;
    const long found = Py_TYPE(number) == &PyLong_Type ? PyLong_AsLongAndOverflow(number, &overflow) : 0;
    *blocks = (uint32_t)found;
    if (overflow == 0 && found >= 1 && found <= MOST) {
        return true;
    }
    PyObject *checked = call_rare("ascend_rt.kernel", "_check_blocks", "(O)", number);
    *blocks = checked != NULL ? (uint32_t)PyLong_AsUnsignedLong(checked) : 0;
    Py_XDECREF(checked);
    return PyErr_Occurred() == NULL;
}

static bool find_binary(kernel *self, PyObject **binary) {
    *binary = get_field(self, &self->binary); /* NULL: not made by __init__() */
    if (*binary == NULL || !PyType_IsSubtype(Py_TYPE(*binary), handle_type) || self->function == 0) {
        PyErr_SetString(PyExc_AttributeError, "this kernel has no binary");
        return false;
    }
    return is_usable(*binary);
}

/* Packs the arguments into a block, or lets Python do it. */
static bool find_bytes(kernel *self, block *of, arguments args, Py_ssize_t count, prepared *found) {
    enum { LEAST = 8 }; /* bytes of a block, also of a kernel without parameters */
    if (pack(self, of, args, count)) {
        found->bytes = of->bytes;
        found->nbytes = of->used > LEAST ? (size_t)of->used : LEAST;
        return true;
    }
    found->packed = PyObject_CallMethod((PyObject *)self, "_pack", "(O)", found->used);
    if (found->packed == NULL || !PyByteArray_Check(found->packed)) {
        return false;
    }
    found->bytes = PyByteArray_AsString(found->packed);
    found->nbytes = (size_t)PyByteArray_Size(found->packed);
    return true;
}

static bool find_config(PyObject *const *given, prepared *found) {
    unsigned long long address = 0;
    if (is_none(given[TIMEOUT]) && is_none(given[BATCH])) {
        return true;
    }
    found->config_kept =
        call_rare("ascend_rt.kernel", "_launch_config", "(OO)", given[TIMEOUT] != NULL ? given[TIMEOUT] : Py_None,
                  given[BATCH] != NULL ? given[BATCH] : Py_None);
    PyObject *kept;
    if (found->config_kept == NULL || !PyArg_ParseTuple(found->config_kept, "KO", &address, &kept)) {
        return false;
    }
    found->config = (void *)(uintptr_t)address;
    return true;
}

/* Returns false on a library without checks. */
static bool are_accesses_wanted(void) {
    return functions[WANTS_ACCESSES].slot->present && FUNCTION(aclsimWantsAccesses, WANTS_ACCESSES)() != 0;
}

/* Declares what the kernel accesses, if that is given, or a check wants to know. */
static bool declare_accesses(kernel *self, PyObject *const *given, const prepared *found) {
    if (is_none(given[READS]) && is_none(given[WRITES]) && !are_accesses_wanted()) {
        return true;
    }
    PyObject *done = PyObject_CallMethod((PyObject *)self, "_declare", "Oy#OO", found->used, (const char *)found->bytes,
                                         (Py_ssize_t)found->nbytes, given[READS] != NULL ? given[READS] : Py_None,
                                         given[WRITES] != NULL ? given[WRITES] : Py_None);
    Py_XDECREF(done);
    return done != NULL;
}

static PyObject *launch(kernel *self, const prepared *it) {
    void *const function = (void *)(uintptr_t)self->function, *const on = ((handle *)it->stream)->pointer;
    submission made;
    SUBMIT(made, on, it->binary, it->used,
           FUNCTION(aclrtLaunchKernelWithHostArgs, LAUNCH_KERNEL)(function, it->blocks, on, it->config,
                                                                  (void *)it->bytes, it->nbytes, NULL, 0));
    return submission_end(&made, LAUNCH_KERNEL, ((stream *)it->stream)->retention, it->binary, it->used);
}

static bool parse_launch(PyObject **given, arguments args, Py_ssize_t count, PyObject *names) {
    for (Py_ssize_t i = 0; i < count && i < ARGUMENTS; ++i) {
        given[i] = args[i];
    }
    const bool is_right = names == NULL || parse_names(&paths[LAUNCH_ON].of, given, args + count, names);
    return is_right && given[STREAM] != NULL && given[BLOCKS] != NULL;
}

static PyObject *kernel_launch(PyObject *object, arguments args, Py_ssize_t count, PyObject *names) {
    kernel *const self = (kernel *)object;
    PyObject *given[PARAMETERS] = {NULL}, *result = NULL;
    if (!parse_launch(given, args, count, names)) {
        return refuse_call(&paths[LAUNCH_ON], object, args, count, names);
    }
    const Py_ssize_t passed = count > ARGUMENTS ? count - ARGUMENTS : 0;
    prepared it = {0};
    block of;
    if (find_blocks(given[BLOCKS], &it.blocks) && find_binary(self, &it.binary) &&
        (it.used = tuple_of(args + ARGUMENTS, passed)) != NULL &&
        find_bytes(self, &of, args + ARGUMENTS, passed, &it) && find_config(given, &it) &&
        (it.stream = given_or_current(given[STREAM])) != NULL && is_usable(it.stream) &&
        declare_accesses(self, given, &it)) {
        result = launch(self, &it);
    }
    Py_XDECREF(it.stream);
    Py_XDECREF(it.config_kept);
    Py_XDECREF(it.packed);
    Py_XDECREF(it.used);
    Py_XDECREF(it.binary);
    return result;
}

static hot_method paths[PATHS] = {
    [LAUNCH_ON] = {.name = "launch", .call = METHOD(kernel_launch)},
};

const hot_methods kernel_paths = {&kernel_type, paths, PATHS, NULL};

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
