/* Functions of libruntime.so, the runtime's inner library, that programs above the runtime bind: for kernels identified
 * by the address of a host function, and for the control address of core-to-core communication. */
/* @refused ACL_ERROR_API_NOT_SUPPORT: the simulator cannot run machine code of an NPU */
#pragma once

#include "abi/acl.h"

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

typedef struct rtDevBinary_t rtDevBinary_t;

typedef struct rtSmDesc_t rtSmDesc_t;

int32_t rtDevBinaryRegister(const rtDevBinary_t *bin, void **handle);
int32_t rtFunctionRegister(void *binHandle, const void *stubFunc, const char *stubName, const void *devFunc,
                           uint32_t funcMode);
int32_t rtGetC2cCtrlAddr(uint64_t *addr, uint32_t *len);
int32_t rtKernelLaunch(const void *stubFunc, uint32_t blockDim, void *args, uint32_t argsSize, rtSmDesc_t *smDesc,
                       aclrtStream stream);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
