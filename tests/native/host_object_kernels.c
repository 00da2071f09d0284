/* SPDX-License-Identifier: Apache-2.0 */
/* The shared object that host_object_test.cpp damages. */
#include <stdint.h>
#include <string.h>

const uint32_t length_parameters[] = {sizeof(void *), sizeof(void *)};
const uint64_t length_workspace_size = 64;

void length(void **arguments, uint32_t index, uint32_t count, void *workspace) {
    (void)index;
    (void)count;
    (void)workspace;
    *(uint64_t *)arguments[1] = strlen(arguments[0]);
}
