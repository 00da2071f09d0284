/* SPDX-License-Identifier: Apache-2.0 */
/* Launches of kernels. */
#include "bench.h"

#define RETURN_TIME_OF_LAUNCH(loops, launch) RETURN_TIME_OF(loops, (launch) | aclrtSynchronizeStream(the.a))

double launch_kernel(uint64_t loops) {
    RETURN_TIME_OF_LAUNCH(loops, aclrtLaunchKernel(the.kernel, 1, the.device, sizeof(void *), the.a));
}

double launch_kernel_v2(uint64_t loops) {
    RETURN_TIME_OF_LAUNCH(loops, aclrtLaunchKernelV2(the.kernel, 1, the.device, sizeof(void *), NULL, the.a));
}

double launch_kernel_with_config(uint64_t loops) {
    RETURN_TIME_OF_LAUNCH(loops, aclrtLaunchKernelWithConfig(the.kernel, 1, the.a, NULL, the.kernel_arguments, NULL));
}

double launch_kernel_with_host_args(uint64_t loops) {
    RETURN_TIME_OF_LAUNCH(
        loops, aclrtLaunchKernelWithHostArgs(the.kernel, 1, the.a, NULL, &the.device, sizeof(void *), NULL, 0));
}

double launch_kernel_with_args_array(uint64_t loops) {
    void *arguments[] = {&the.device};
    RETURN_TIME_OF_LAUNCH(loops, aclrtLaunchKernelWithArgsArray(the.kernel, 1, the.a, NULL, arguments));
}

static const dim3 one = {1, 1, 1};

double launch_simt_kernel_with_host_args(uint64_t loops) {
    RETURN_TIME_OF_LAUNCH(loops, aclrtLaunchSIMTKernelWithHostArgs(the.kernel, one, one, 0, the.a, NULL, &the.device,
                                                                   sizeof(void *), NULL, 0));
}

double launch_simt_kernel_with_args_array(uint64_t loops) {
    void *arguments[] = {&the.device};
    RETURN_TIME_OF_LAUNCH(loops, aclrtLaunchSIMTKernelWithArgsArray(the.kernel, one, one, 0, the.a, NULL, arguments));
}

void load_kernel(const char *path) {
    aclrtBinHandle binary = NULL;
    aclrtParamHandle parameter = NULL;
    OK(aclrtBinaryLoadFromFile(path, NULL, &binary)); /* until the device is reset */
    OK(aclrtBinaryGetFunction(binary, "empty", &the.kernel));
    OK(aclrtKernelArgsInit(the.kernel, &the.kernel_arguments));
    OK(aclrtKernelArgsAppend(the.kernel_arguments, &the.device, sizeof(void *), &parameter));
    OK(aclrtKernelArgsFinalize(the.kernel_arguments));
}
