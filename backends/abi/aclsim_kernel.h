/* SPDX-License-Identifier: Apache-2.0 */
/* Macros for shared objects of the host that the simulator loads in place of kernel binaries.
 *
 * Every exported function with the signature of aclsimHostKernel is the kernel of that name. It is called once for each
 * block. Blocks run at the same time on several threads, with the same arguments and the same workspace:
 *
 *     #include "acl/aclsim_kernel.h"
 *
 *     typedef struct { const float *x, *y; float *sum; uint32_t count; } Arguments;
 *
 *     ACLSIM_KERNEL(add_custom) {
 *         const Arguments *a = (const Arguments *)arguments;
 *         for (uint32_t i = block_index; i < a->count; i += block_count) a->sum[i] = a->x[i] + a->y[i];
 *     }
 *     ACLSIM_PARAMETERS(add_custom, 8, 8, 8, 4)
 *     ACLSIM_WORKSPACE(add_custom, 4096)
 *
 * Build: cc -shared -fPIC -O2 -I$(ascend-rt include-path) add_custom.c -o add_custom.so */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
#define ACLSIM_BEGIN extern "C" {
#define ACLSIM_END }
#else
#define ACLSIM_BEGIN
#define ACLSIM_END
#endif
#define ACLSIM_EXPORT __attribute__((visibility("default")))

/* Begins the definition of a kernel; its body follows. */
#define ACLSIM_KERNEL(name)                                                                              \
    ACLSIM_BEGIN ACLSIM_EXPORT void name(void *arguments, uint32_t block_index, uint32_t block_count,    \
                                         void *workspace);                                               \
    ACLSIM_END void name(__attribute__((unused)) void *arguments, __attribute__((unused)) uint32_t block_index, \
                         __attribute__((unused)) uint32_t block_count, __attribute__((unused)) void *workspace)

/* Defines the sizes of the parameters, as returned by aclrtFunctionGetParamInfo. Each parameter is aligned as a C
 * structure aligns a member of that size. */
#define ACLSIM_PARAMETERS(name, ...) \
    ACLSIM_BEGIN ACLSIM_EXPORT uint32_t name##_parameters[] = {__VA_ARGS__}; ACLSIM_END

/* Defines the size of the workspace of a launch, which all its blocks share. */
#define ACLSIM_WORKSPACE(name, bytes) \
    ACLSIM_BEGIN ACLSIM_EXPORT uint64_t name##_workspace_size = (bytes); ACLSIM_END
