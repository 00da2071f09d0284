// SPDX-License-Identifier: Apache-2.0
// Effect of each call on a stream that is being captured or updates a task group (graphs_kernels.md section B1).
#include <algorithm>

#include "api/entry.h"

namespace aclsim {
namespace {

enum class Use : std::uint8_t {
    Refused,  // calls fail during a capture; an update of a group affects only tasks
    Itself,   // calls concern the stream itself, or handle the capture themselves
    Task,
    Kernel,
};

struct UseOfFunction {
    Function function;
    Use use;
};

// Table of all functions that take a stream.
constexpr UseOfFunction kUses[] = {
    {Function::aclrtMemcpyAsync, Use::Task},
    {Function::aclrtMemcpyAsyncWithCondition, Use::Task},
    {Function::aclrtMemcpyAsyncWithDesc, Use::Task},
    {Function::aclrtMemcpyAsyncWithOffset, Use::Task},
    {Function::aclrtMemcpy2dAsync, Use::Task},
    {Function::aclrtMemcpyBatchAsync, Use::Task},
    {Function::aclrtMemcpyBatchAsyncV2, Use::Task},
    {Function::aclrtMemcpyToSymbolAsync, Use::Task},
    {Function::aclrtMemcpyFromSymbolAsync, Use::Task},
    {Function::aclrtMemsetAsync, Use::Task},
    {Function::aclrtMemsetD32Async, Use::Task},
    {Function::aclrtMemPoolMallocAsync, Use::Task},
    {Function::aclrtMemPoolFreeAsync, Use::Task},
    {Function::aclrtMemManagedPrefetchAsync, Use::Task},
    {Function::aclrtMemManagedPrefetchBatchAsync, Use::Task},
    {Function::aclrtReduceAsync, Use::Task},
    {Function::aclrtRandomNumAsync, Use::Task},
    {Function::aclrtValueWrite, Use::Task},
    {Function::aclrtValueWait, Use::Task},
    {Function::aclrtRecordNotify, Use::Task},
    {Function::aclrtWaitAndResetNotify, Use::Task},
    {Function::aclrtCntNotifyRecord, Use::Task},
    {Function::aclrtCntNotifyReset, Use::Task},
    {Function::aclrtCntNotifyWaitWithTimeout, Use::Task},
    {Function::aclrtLaunchHostFunc, Use::Task},
    {Function::aclrtLaunchCallback, Use::Task},
    {Function::aclrtCmoAsync, Use::Task},
    {Function::aclrtCmoAsyncWithBarrier, Use::Task},
    {Function::aclrtCmoAsyncWithDesc, Use::Task},
    {Function::aclrtCmoWaitBarrier, Use::Task},
    {Function::aclrtProfTrace, Use::Task},
    {Function::aclprofMarkEx, Use::Task},
    {Function::aclprofGetStepTimestamp, Use::Task},
    {Function::aclsimSleep, Use::Task},
    {Function::aclsimSubmitOperation, Use::Task},

    {Function::aclrtLaunchKernel, Use::Kernel},
    {Function::aclrtLaunchKernelV2, Use::Kernel},
    {Function::aclrtLaunchKernelWithConfig, Use::Kernel},
    {Function::aclrtLaunchKernelWithHostArgs, Use::Kernel},
    {Function::aclrtLaunchKernelWithArgsArray, Use::Kernel},
    {Function::aclrtLaunchSIMTKernelWithArgsArray, Use::Kernel},
    {Function::aclrtLaunchSIMTKernelWithHostArgs, Use::Kernel},

    {Function::aclrtStreamGetId, Use::Itself},
    {Function::aclrtStreamGetPriority, Use::Itself},
    {Function::aclrtStreamGetFlags, Use::Itself},
    {Function::aclrtGetStreamOverflowSwitch, Use::Itself},
    {Function::aclrtSetStreamFailureMode, Use::Itself},
    {Function::aclrtGetStreamAttribute, Use::Itself},
    {Function::aclrtSetStreamAttribute, Use::Itself},  // refuses some attributes
    {Function::aclrtGetStreamResLimit, Use::Itself},
    {Function::aclrtSetStreamResLimit, Use::Itself},
    {Function::aclrtResetStreamResLimit, Use::Itself},
    {Function::aclrtUseStreamResInCurrentThread, Use::Itself},
    {Function::aclrtUnuseStreamResInCurrentThread, Use::Itself},
    {Function::aclrtAllocatorRegister, Use::Itself},
    {Function::aclrtAllocatorGetByStream, Use::Itself},
    {Function::aclrtAllocatorUnregister, Use::Itself},
    {Function::aclrtSubscribeReport, Use::Itself},
    {Function::aclrtUnSubscribeReport, Use::Itself},
    {Function::aclrtSubscribeHostFunc, Use::Itself},
    {Function::aclrtUnSubscribeHostFunc, Use::Itself},
    {Function::aclrtStreamAbort, Use::Itself},
    {Function::aclrtStreamStop, Use::Itself},
    {Function::aclrtPersistentTaskClean, Use::Itself},
    {Function::aclrtActiveStream, Use::Itself},
    {Function::aclrtSetLabel, Use::Itself},
    {Function::aclrtSwitchLabelByIndex, Use::Itself},
    {Function::aclrtSwitchStream, Use::Itself},
    {Function::aclrtRecordEvent, Use::Itself},
    {Function::aclrtRecordEventWithFlag, Use::Itself},
    {Function::aclrtResetEvent, Use::Itself},
    {Function::aclrtStreamWaitEvent, Use::Itself},
    {Function::aclrtStreamWaitEventWithTimeout, Use::Itself},
    {Function::aclrtStreamWaitEventWithFlag, Use::Itself},
    {Function::aclmdlRICaptureBegin, Use::Itself},
    {Function::aclmdlRICaptureToModelRIBegin, Use::Itself},
    {Function::aclmdlRICaptureEnd, Use::Itself},
    {Function::aclmdlRICaptureGetInfo, Use::Itself},
    {Function::aclmdlRICaptureTaskGrpBegin, Use::Itself},
    {Function::aclmdlRICaptureTaskGrpEnd, Use::Itself},
    {Function::aclmdlRICaptureTaskUpdateBegin, Use::Itself},
    {Function::aclmdlRICaptureTaskUpdateEnd, Use::Itself},
    {Function::aclmdlRIAddCondTask, Use::Itself},
    {Function::aclmdlRIGetTasksByStream, Use::Itself},
    {Function::aclmdlRIBindStream, Use::Itself},
    {Function::aclsimFailTask, Use::Itself},
    {Function::aclsimDelayTasks, Use::Itself},

    {Function::aclrtSynchronizeStream, Use::Refused},
    {Function::aclrtSynchronizeStreamWithTimeout, Use::Refused},
    {Function::aclrtStreamQuery, Use::Refused},
    {Function::aclrtDestroyStream, Use::Refused},
    {Function::aclrtDestroyStreamForce, Use::Refused},
    {Function::aclrtSetStreamOverflowSwitch, Use::Refused},
    {Function::aclrtGetOverflowStatus, Use::Refused},
    {Function::aclrtResetOverflowStatus, Use::Refused},
    {Function::aclrtGetFloatOverflowStatus, Use::Refused},
    {Function::aclrtResetFloatOverflowStatus, Use::Refused},
    {Function::aclrtNpuGetFloatOverFlowStatus, Use::Refused},
    {Function::aclrtNpuClearFloatOverFlowStatus, Use::Refused},
    {Function::aclrtTaskUpdateAsync, Use::Refused},
    {Function::aclmdlRIExecuteAsync, Use::Refused},
    {Function::aclmdlRIUnbindStream, Use::Refused},
    {Function::aclmdlRIEndTask, Use::Refused},
    {Function::aclsimGetGraph, Use::Itself},
    {Function::aclsimRunOperator, Use::Refused},
};

Use use_of(Function function) {
    const auto *found = std::find_if(std::begin(kUses), std::end(kUses),
                                     [&](const UseOfFunction &rule) { return rule.function == function; });
    return found == std::end(kUses) ? Use::Refused : found->use;
}

}  // namespace

ContextStream &redirect(ContextStream &stream) {
    const Ref<TaskRedirect> redirect = stream.redirect();
    const CurrentCall *const call = current_call();
    const Use use = call == nullptr ? Use::Itself : use_of(call->function);
    if (use == Use::Task || use == Use::Kernel) {
        return redirect->take(stream, use == Use::Kernel);
    }
    if (use == Use::Refused) {
        redirect->require_usable(stream);
    }
    return stream;
}

}  // namespace aclsim
