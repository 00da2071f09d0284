// SPDX-License-Identifier: Apache-2.0
// Kernels, graphs and models: their accesses are unseen, unless the program declares them.
#include "call.h"

using namespace aclsim::wrapped;

// NOLINTBEGIN: the name of the function is needed as text, too
// A launch uses up what the thread has declared, also if it fails.
#define LAUNCH(function, kernel, ...)                                  \
    forward<function>(                                                 \
        #function, [](Check &check) { return check.take_declared(); }, \
        [&](Check &check, const Declared &declared) { check.add_launch(stream, kernel, declared); }, __VA_ARGS__)
// NOLINTEND

aclError aclrtLaunchKernel(aclrtFuncHandle funcHandle, uint32_t numBlocks, const void *argsData, size_t argsSize,
                           aclrtStream stream) {
    return LAUNCH(aclrtLaunchKernel, funcHandle, funcHandle, numBlocks, argsData, argsSize, stream);
}

aclError aclrtLaunchKernelV2(aclrtFuncHandle funcHandle, uint32_t numBlocks, const void *argsData, size_t argsSize,
                             aclrtLaunchKernelCfg *cfg, aclrtStream stream) {
    return LAUNCH(aclrtLaunchKernelV2, funcHandle, funcHandle, numBlocks, argsData, argsSize, cfg, stream);
}

aclError aclrtLaunchKernelWithConfig(aclrtFuncHandle funcHandle, uint32_t numBlocks, aclrtStream stream,
                                     aclrtLaunchKernelCfg *cfg, aclrtArgsHandle argsHandle, void *reserve) {
    return LAUNCH(aclrtLaunchKernelWithConfig, funcHandle, funcHandle, numBlocks, stream, cfg, argsHandle, reserve);
}

aclError aclrtLaunchKernelWithHostArgs(aclrtFuncHandle funcHandle, uint32_t numBlocks, aclrtStream stream,
                                       aclrtLaunchKernelCfg *cfg, void *hostArgs, size_t argsSize,
                                       aclrtPlaceHolderInfo *placeHolderArray, size_t placeHolderNum) {
    return LAUNCH(aclrtLaunchKernelWithHostArgs, funcHandle, funcHandle, numBlocks, stream, cfg, hostArgs, argsSize,
                  placeHolderArray, placeHolderNum);
}

aclError aclrtLaunchKernelWithArgsArray(void *func, uint32_t numBlocks, aclrtStream stream, aclrtLaunchKernelCfg *cfg,
                                        void **args) {
    return LAUNCH(aclrtLaunchKernelWithArgsArray, nullptr, func, numBlocks, stream, cfg, args);
}

aclError aclrtLaunchSIMTKernelWithArgsArray(void *func, dim3 gridDim, dim3 blockDim, size_t dynUbufSize,
                                            aclrtStream stream, aclrtLaunchKernelCfg *cfg, void **args) {
    return LAUNCH(aclrtLaunchSIMTKernelWithArgsArray, nullptr, func, gridDim, blockDim, dynUbufSize, stream, cfg, args);
}

aclError aclrtLaunchSIMTKernelWithHostArgs(void *func, dim3 gridDim, dim3 blockDim, size_t dynUbufSize,
                                           aclrtStream stream, aclrtLaunchKernelCfg *cfg, void *hostArgs,
                                           size_t argsSize, aclrtPlaceHolderInfo *placeHolderArray,
                                           size_t placeHolderNum) {
    return LAUNCH(aclrtLaunchSIMTKernelWithHostArgs, nullptr, func, gridDim, blockDim, dynUbufSize, stream, cfg,
                  hostArgs, argsSize, placeHolderArray, placeHolderNum);
}

// --- graphs and models -----------------------------------------------------------------------------------------------

// Their tasks are not those of the stream that a call names, so the calls are left out; see Check::is_kept().

aclError aclmdlRICaptureBegin(aclrtStream stream, aclmdlRICaptureMode mode) {
    return FORWARD(aclmdlRICaptureBegin, check.begin_captures(), stream, mode);
}

aclError aclmdlRICaptureToModelRIBegin(aclrtStream stream, aclmdlRI modelRI, aclmdlRICaptureMode mode) {
    return FORWARD(aclmdlRICaptureToModelRIBegin, check.begin_captures(), stream, modelRI, mode);
}

aclError aclmdlRIBindStream(aclmdlRI modelRI, aclrtStream stream, uint32_t flag) {
    return FORWARD(aclmdlRIBindStream, check.bind_to_model(stream, true), modelRI, stream, flag);
}

aclError aclmdlRIUnbindStream(aclmdlRI modelRI, aclrtStream stream) {
    return FORWARD(aclmdlRIUnbindStream, check.bind_to_model(stream, false), modelRI, stream);
}

aclError aclmdlRIExecuteAsync(aclmdlRI modelRI, aclrtStream stream) {
    return FORWARD(aclmdlRIExecuteAsync, check.add_execution(stream), modelRI, stream);
}

aclError aclmdlRIExecute(aclmdlRI modelRI, int32_t timeout) {
    return FORWARD(aclmdlRIExecute, check.note_execution(), modelRI, timeout);
}
