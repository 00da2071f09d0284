/* Copies a page to a device and back, as each client of this directory does. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "acl/acl.h"

enum { PAGE = 4096 };

#define MUST(call)                                                              \
    do {                                                                        \
        aclError code = (call);                                                 \
        if (code != ACL_SUCCESS) {                                              \
            fprintf(stderr, "%s: %d: %s\n", #call, code, aclGetRecentErrMsg()); \
            return 1;                                                           \
        }                                                                       \
    } while (0)

static int round_trip(void) {
    char sent[PAGE], received[PAGE] = {0};
    void *memory = NULL;
    uint32_t devices = 0;
    memset(sent, 7, sizeof sent);
    MUST(aclInit(NULL));
    MUST(aclrtGetDeviceCount(&devices));
    MUST(aclrtSetDevice(0));
    MUST(aclrtMalloc(&memory, PAGE, ACL_MEM_MALLOC_HUGE_FIRST));
    MUST(aclrtMemcpy(memory, PAGE, sent, PAGE, ACL_MEMCPY_HOST_TO_DEVICE));
    MUST(aclrtMemcpy(received, PAGE, memory, PAGE, ACL_MEMCPY_DEVICE_TO_HOST));
    MUST(aclrtFree(memory));
    MUST(aclrtResetDevice(0));
    MUST(aclFinalize());
    if (memcmp(sent, received, PAGE) != 0) {
        fprintf(stderr, "other bytes came back\n");
        return 1;
    }
    printf("%u devices, %d bytes came back\n", devices, PAGE);
    return 0;
}
