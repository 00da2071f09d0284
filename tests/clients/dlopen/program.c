/* The client with the functions that it finds by name at run time. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096 };

static void *library;

static void *open_library(void) {
    const char *variables[] = {"ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME", "ASCEND_TOOLKIT_PATH"};
    for (int i = 0; i < 3; ++i) {
        char path[4096];
        const char *home = getenv(variables[i]);
        if (home == NULL) {
            continue;
        }
        snprintf(path, sizeof path, "%s/lib64/libascendcl.so", home);
        void *opened = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
        if (opened != NULL) {
            return opened;
        }
        fprintf(stderr, "%s: %s\n", variables[i], dlerror());
    }
    return dlopen("libascendcl.so", RTLD_NOW | RTLD_GLOBAL);
}

static void *function(const char *name) {
    void *found = dlsym(library, name);
    if (found == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    return found;
}

#define CALL(name, types, ...)                                           \
    do {                                                                 \
        int32_t code = ((int32_t(*) types)function(#name))(__VA_ARGS__); \
        if (code != 0) {                                                 \
            fprintf(stderr, "%s: %d\n", #name, code);                    \
            return 1;                                                    \
        }                                                                \
    } while (0)

int main(void) {
    char sent[PAGE], received[PAGE] = {0};
    void *memory = NULL;
    uint32_t devices = 0;
    memset(sent, 7, sizeof sent);
    library = open_library();
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    CALL(aclInit, (const char *), NULL);
    CALL(aclrtGetDeviceCount, (uint32_t *), &devices);
    CALL(aclrtSetDevice, (int32_t), 0);
    CALL(aclrtMalloc, (void **, size_t, int), &memory, PAGE, 0);
    CALL(aclrtMemcpy, (void *, size_t, const void *, size_t, int), memory, PAGE, sent, PAGE, 1);
    CALL(aclrtMemcpy, (void *, size_t, const void *, size_t, int), received, PAGE, memory, PAGE, 2);
    CALL(aclrtFree, (void *), memory);
    CALL(aclFinalize, (void));
    if (memcmp(sent, received, PAGE) != 0) {
        return 1;
    }
    printf("%u devices, %d bytes came back\n", devices, PAGE);
    return 0;
}
