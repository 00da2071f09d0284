// What each call does with a stream that is being captured, or updates a task group (graphs_kernels.md section B1).
#include <algorithm>

#include "api/entry.h"

namespace aclsim {
namespace {

enum class Use : std::uint8_t {
    Refused,  // by a capture; an update of a group concerns tasks alone
    Itself,   // about the stream, not its tasks
    Task,
    Kernel,
};

struct Rule {
    Function function;
    Use use;
};

// A function that is not named is refused.
constexpr Rule kRules[] = {
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
    {Function::aclrtReduceAsync, Use::Task},
    {Function::aclrtRandomNumAsync, Use::Task},
    {Function::aclrtValueWrite, Use::Task},
    {Function::aclrtValueWait, Use::Task},
    {Function::aclrtRecordNotify, Use::Task},
    {Function::aclrtWaitAndResetNotify, Use::Task},
    {Function::aclrtLaunchHostFunc, Use::Task},
    {Function::aclrtLaunchCallback, Use::Task},
    {Function::aclrtCmoAsync, Use::Task},
    {Function::aclrtCmoAsyncWithBarrier, Use::Task},
    {Function::aclrtCmoAsyncWithDesc, Use::Task},
    {Function::aclrtCmoWaitBarrier, Use::Task},
    {Function::aclrtProfTrace, Use::Task},

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
    {Function::aclrtSetStreamAttribute, Use::Itself},  // and refuses some attributes
    {Function::aclrtGetStreamResLimit, Use::Itself},
    {Function::aclrtSetStreamResLimit, Use::Itself},
    {Function::aclrtResetStreamResLimit, Use::Itself},
    {Function::aclrtUseStreamResInCurrentThread, Use::Itself},
    {Function::aclrtUnuseStreamResInCurrentThread, Use::Itself},
    {Function::aclrtSubscribeReport, Use::Itself},
    {Function::aclrtUnSubscribeReport, Use::Itself},
    {Function::aclrtStreamAbort, Use::Itself},
    {Function::aclrtStreamStop, Use::Itself},
    {Function::aclrtPersistentTaskClean, Use::Itself},
    {Function::aclrtActiveStream, Use::Itself},
    {Function::aclrtSetLabel, Use::Itself},
    {Function::aclrtSwitchLabelByIndex, Use::Itself},
    {Function::aclrtSwitchStream, Use::Itself},
};

Use use_of(Function function) {
    const auto *found =
        std::find_if(std::begin(kRules), std::end(kRules), [&](const Rule &rule) { return rule.function == function; });
    return found == std::end(kRules) ? Use::Refused : found->use;
}

}  // namespace

ContextStream &divert(ContextStream &stream) {
    const Ref<Diversion> diversion = stream.diversion;
    const CurrentCall *const call = current_call();
    const Use use = call == nullptr ? Use::Itself : use_of(call->function);
    if (use == Use::Task || use == Use::Kernel) {
        return diversion->take(stream, use == Use::Kernel);
    }
    if (use == Use::Refused) {
        diversion->require_usable(stream);
    }
    return stream;
}

}  // namespace aclsim
