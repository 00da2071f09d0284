/* SPDX-License-Identifier: Apache-2.0 */
/* Places of calls in Python, for the simulator. A frame is noted as a code object and an offset, which takes some ten
 * nanoseconds. Names are made from copies, because they may be wanted where the GIL must not be taken: of each code
 * object the file, the name and the table of lines are copied when it is first seen. It is kept alive from then on, so
 * that its address stays its own. */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "aclrt_support.h"
#include "python_api.h"

typedef struct line_range {
    long begin; /* offsets in the code */
    long end;
    long line;
} line_range;

typedef struct code_copy {
    struct code_copy *next;
    PyObject *code;
    bool is_internal; /* a function of this package: the place of a call is outside it */
    bool is_library;  /* a function of Python's library or of an installed package, or generated code */
    char *file;
    char *function;
    line_range *lines;
    size_t line_count;
} code_copy;

enum { BUCKETS = 4096 };
static _Atomic(code_copy *) copies[BUCKETS];

/* The directories of this package and of Python's library, with a separator at their ends. */
static char package[1024];
static char standard[1024];

/* Functions of Python that the limited API lacks, but which every interpreter has that has frames like these; NULL in
 * another one. PyFrame_GetLasti came with 3.11. */
static PyObject *(*get_back)(PyObject *frame);
static int (*get_offset)(PyObject *frame);

/* Attributes of frames, without these functions: read through their descriptors, without a lookup of the name for each
 * frame. */
typedef struct frame_attribute {
    PyObject *descriptor;
    descrgetfunc get;
} frame_attribute;
static frame_attribute back, offset;

static bool find_attribute(frame_attribute *attribute, PyObject *frame_type, const char *name) {
    attribute->descriptor = PyObject_GetAttrString(frame_type, name);
    if (attribute->descriptor == NULL) {
        return false;
    }
    attribute->get = (descrgetfunc)PyType_GetSlot(Py_TYPE(attribute->descriptor), Py_tp_descr_get);
    return attribute->get != NULL;
}

static PyObject *read_attribute(const frame_attribute *attribute, PyObject *frame) {
    return attribute->get(attribute->descriptor, frame, (PyObject *)Py_TYPE(frame));
}

/* NULL: lack of memory, or an attribute that is not text. */
static char *copy_text(PyObject *code, const char *name) {
    PyObject *const text = PyObject_GetAttrString(code, name);
    PyObject *const bytes = text == NULL ? NULL : PyUnicode_EncodeFSDefault(text);
    const char *const chars = bytes == NULL ? NULL : PyBytes_AsString(bytes);
    char *const copy = chars == NULL ? NULL : strdup(chars);
    Py_XDECREF(bytes);
    Py_XDECREF(text);
    return copy;
}

static long read_number(PyObject *tuple, Py_ssize_t index) {
    PyObject *const item = PyTuple_GetItem(tuple, index);
    return item == NULL || item == Py_None ? -1 : PyLong_AsLong(item);
}

static void copy_lines(code_copy *copy) {
    PyObject *const ranges = PyObject_CallMethod(copy->code, "co_lines", NULL);
    PyObject *const list = ranges == NULL ? NULL : PySequence_List(ranges);
    const Py_ssize_t count = list == NULL ? 0 : PyList_Size(list);
    copy->lines = calloc((size_t)count + 1, sizeof *copy->lines);
    for (Py_ssize_t i = 0; copy->lines != NULL && i < count; ++i) {
        PyObject *const range = PyList_GetItem(list, i);
        copy->lines[i] = (line_range){read_number(range, 0), read_number(range, 1), read_number(range, 2)};
        copy->line_count = (size_t)i + 1;
    }
    Py_XDECREF(list);
    Py_XDECREF(ranges);
}

static bool begins_with(const char *text, const char *beginning) {
    return *beginning != 0 && strncmp(text, beginning, strlen(beginning)) == 0;
}

static bool is_of_library(const char *file) {
    return strstr(file, "/site-packages/") != NULL || strstr(file, "/dist-packages/") != NULL ||
           begins_with(file, standard) || begins_with(file, "<frozen ") || begins_with(file, "<eval_with_key>");
}

static code_copy *make_copy(PyObject *code) {
    code_copy *const copy = calloc(1, sizeof *copy);
    if (copy == NULL) {
        return NULL;
    }
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback); /* calls are made while exceptions are under way, too */
    copy->code = Py_NewRef(code);
    copy->file = copy_text(code, "co_filename");
    copy->function = copy_text(code, "co_name");
    copy->is_internal = copy->file == NULL || strncmp(copy->file, package, strlen(package)) == 0;
    copy->is_library = copy->file != NULL && is_of_library(copy->file);
    copy_lines(copy);
    PyErr_Restore(type, value, traceback); /* the name lacks the part that failed, and nothing else */
    return copy;
}

static code_copy *copy_of(PyObject *code) {
    _Atomic(code_copy *) *const bucket = &copies[((uintptr_t)code >> 4) % BUCKETS];
    code_copy *first = atomic_load_explicit(bucket, memory_order_acquire);
    for (code_copy *it = first; it != NULL; it = it->next) {
        if (it->code == code) {
            return it;
        }
    }
    code_copy *const made = make_copy(code);
    if (made != NULL) { /* with another one of the same code, if another thread makes it now: no harm */
        first = atomic_load(bucket);
        do {
            made->next = first;
        } while (!atomic_compare_exchange_weak(bucket, &first, made));
    }
    return made;
}

static bool find_functions(PyObject *frame_type) {
    get_offset = (int (*)(PyObject *))dlsym(RTLD_DEFAULT, "PyFrame_GetLasti");
    get_back = (PyObject * (*)(PyObject *)) dlsym(RTLD_DEFAULT, "PyFrame_GetBack");
    const bool are_found =
        find_attribute(&offset, frame_type, "f_lasti") && find_attribute(&back, frame_type, "f_back");
    if (!are_found) {
        PyErr_Clear();
        back.get = NULL;
    }
    return are_found;
}

static int32_t offset_in(PyObject *frame) {
    if (get_offset != NULL) {
        return get_offset(frame);
    }
    PyObject *const at = read_attribute(&offset, frame);
    const long number = at == NULL ? -1 : PyLong_AsLong(at);
    Py_XDECREF(at);
    return (int32_t)number;
}

/* Writes the frames of the calling thread over earlier ones, and returns their number; it is negative if none of them
 * is the program's. Its innermost frame takes the last place if there are only libraries before. The earlier ones are a
 * guess: most calls are made from where another one was made. */
static int32_t capture_over(aclsimCallFrame *frames, int32_t most) {
    PyObject *frame = (PyObject *)PyThreadState_GetFrame(PyThreadState_Get());
    int32_t count = 0;
    bool has_program = false;
    while (frame != NULL && frame != Py_None && (count < most || !has_program)) {
        if (back.get == NULL && !find_functions((PyObject *)Py_TYPE(frame))) {
            break;
        }
        PyObject *const code = (PyObject *)PyFrame_GetCode((PyFrameObject *)frame);
        const int32_t at = count < most ? count : most - 1;
        const code_copy *const guess = frames[at].code;
        const code_copy *const copy = guess != NULL && guess->code == code ? guess : copy_of(code);
        if (copy != NULL && !copy->is_internal && (count < most || !copy->is_library)) {
            frames[at] = (aclsimCallFrame){copy, offset_in(frame)};
            count = at + 1;
            has_program = has_program || !copy->is_library;
        }
        Py_DECREF(code);
        PyObject *const outer = get_back != NULL ? get_back(frame) : read_attribute(&back, frame);
        Py_DECREF(frame);
        frame = outer;
    }
    Py_XDECREF(frame);
    return has_program ? count : -count;
}

/* Frames of a call that is about to be made without the GIL, taken while it is held: to take it again costs more than
 * they do. */
static _Thread_local struct {
    bool are_there;
    int32_t count;
    aclsimCallFrame list[8];
} noted;
static atomic_bool is_wanted; /* the library asks for frames */

const atomic_bool *const ascend_rt_wants_frames = &is_wanted;

void ascend_rt_note_frames(void) {
    noted.count = capture_over(noted.list, (int32_t)(sizeof noted.list / sizeof *noted.list));
    noted.are_there = true;
}

void ascend_rt_forget_frames(void) { noted.are_there = false; }

static int32_t capture(aclsimCallFrame *frames, int32_t most) {
    int32_t count = 0;
    if (noted.are_there) { /* for one call: code of the program may run inside it, and make others */
        noted.are_there = false;
        count = abs(noted.count) < most ? abs(noted.count) : most;
        memcpy(frames, noted.list, (size_t)count * sizeof *frames);
        return noted.count < 0 ? -count : count;
    }
    atomic_store_explicit(&is_wanted, true, memory_order_relaxed);
    if (!Py_IsInitialized()) { /* a static destructor makes the call */
        return count;
    }
    /* A thread that Python does not know has no frames. It may do the work of one that waits for it with the GIL. */
    if (PyGILState_GetThisThreadState() == NULL) {
        return count;
    }
    if (ascend_rt_enter()) {
        const PyGILState_STATE state = PyGILState_Ensure();
        memset(frames, 0, (size_t)most * sizeof *frames);
        count = capture_over(frames, most);
        PyGILState_Release(state);
    }
    ascend_rt_leave();
    return count;
}

static int32_t name(const aclsimCallFrame *frame, char *text, size_t size) {
    const code_copy *const copy = frame->code;
    if (copy->file == NULL || copy->function == NULL) {
        return -1;
    }
    long line = 0;
    for (size_t i = 0; i < copy->line_count; ++i) {
        if (copy->lines[i].begin <= frame->offset && frame->offset < copy->lines[i].end) {
            line = copy->lines[i].line;
        }
    }
    char rest[128];
    snprintf(rest, sizeof rest, ":%ld in %s", line, copy->function);
    const size_t room = size > strlen(rest) ? size - strlen(rest) : 1;
    const size_t length = strlen(copy->file);
    snprintf(text, size, "%s%s", copy->file + (length >= room ? length - room + 1 : 0), rest); /* the end of the path */
    return 0;
}

void ascend_rt_set_libraries(const char *own, const char *of_python) {
    snprintf(package, sizeof package, "%s", own);
    snprintf(standard, sizeof standard, "%s", of_python);
}

const aclsimCaptureFrames ascend_rt_capture_frames_entry = capture;
const aclsimNameFrame ascend_rt_name_frame_entry = name;
