/* SPDX-License-Identifier: Apache-2.0 */
/* A libcuda.so.1 that does nothing, for cuda.core. Its bindings ask cuGetProcAddress for every function by name. */
#include <stdint.h>
#include <string.h>

typedef int result; /* CUresult: 0 is success */
typedef void (*function)(void);

static char object[1];

static result nothing(void) { return 0; }

static result version(int *out) {
    *out = 13000;
    return 0;
}

static result one(int *out) {
    *out = 1;
    return 0;
}

static result zero(int *out) {
    *out = 0;
    return 0;
}

static result attribute(int *out) {
    *out = 9; /* any attribute: compute capability 9.9, and yes */
    return 0;
}

static result handle(void **out) {
    *out = object;
    return 0;
}

result cuGetProcAddress_v2(const char *name, function *found, int version_wanted, uint64_t flags, int *status);

/* Functions with outputs; every other name is a function that does nothing. */
static const struct {
    const char *name;
    function address;
} functions[] = {
    {"cuCtxGetCurrent", (function)handle},
    {"cuCtxGetDevice", (function)zero},
    {"cuDeviceGet", (function)zero},
    {"cuDeviceGetAttribute", (function)attribute},
    {"cuDeviceGetCount", (function)one},
    {"cuDevicePrimaryCtxRetain", (function)handle},
    {"cuDriverGetVersion", (function)version},
    {"cuEventCreate", (function)handle},
    {"cuGetProcAddress", (function)cuGetProcAddress_v2},
    {"cuStreamCreateWithPriority", (function)handle},
};

result cuGetProcAddress_v2(const char *name, function *found, int version_wanted, uint64_t flags, int *status) {
    (void)version_wanted;
    (void)flags;
    *found = (function)nothing;
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; ++i) {
        if (strcmp(name, functions[i].name) == 0) {
            *found = functions[i].address;
        }
    }
    if (status != NULL) {
        *status = 0;
    }
    return 0;
}

result cuDriverGetVersion(int *out) { return version(out); }
