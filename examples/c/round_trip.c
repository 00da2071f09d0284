/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes go to a device and come back; the same source runs on the simulator and on an Ascend server. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl/acl.h"

#define SIZE (1u << 20)

static void check(aclError code, const char *what) {
    if (code == ACL_SUCCESS) return;
    const char *text = aclGetRecentErrMsg();
    fprintf(stderr, "%s: %d %s\n", what, code, text ? text : "");
    exit(EXIT_FAILURE);
}

int main(void) {
    void *sent = NULL, *received = NULL, *memory = NULL;
    aclrtStream stream = NULL;
    check(aclInit(NULL), "aclInit");
    check(aclrtSetDevice(0), "aclrtSetDevice");
    check(aclrtCreateStream(&stream), "aclrtCreateStream");
    check(aclrtMallocHost(&sent, SIZE), "aclrtMallocHost");
    check(aclrtMallocHost(&received, SIZE), "aclrtMallocHost");
    check(aclrtMalloc(&memory, SIZE, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
    memset(sent, 7, SIZE);
    memset(received, 0, SIZE);
    check(aclrtMemcpyAsync(memory, SIZE, sent, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream), "aclrtMemcpyAsync");
    check(aclrtMemcpyAsync(received, SIZE, memory, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, stream), "aclrtMemcpyAsync");
    check(aclrtSynchronizeStream(stream), "aclrtSynchronizeStream");
    const int is_same = memcmp(sent, received, SIZE) == 0;
    printf("%s: %u bytes came back %s\n", aclrtGetSocName(), SIZE, is_same ? "as they were sent" : "changed");
    check(aclrtFree(memory), "aclrtFree");
    check(aclrtFreeHost(received), "aclrtFreeHost");
    check(aclrtFreeHost(sent), "aclrtFreeHost");
    check(aclrtDestroyStream(stream), "aclrtDestroyStream");
    check(aclrtResetDevice(0), "aclrtResetDevice");
    check(aclFinalize(), "aclFinalize");
    return is_same ? EXIT_SUCCESS : EXIT_FAILURE;
}
