// SPDX-License-Identifier: Apache-2.0
// Lists of kernel arguments (graphs_kernels.md section A4).
#include <unistd.h>

#include "api/kernel.h"
#include "support/thread_state.h"
#include "tasks/kernels.h"

using namespace aclsim;

namespace {

constexpr std::size_t kAlignmentRoom = 8;  // bytes for each declared parameter
constexpr std::size_t kHandleBytes = 128;  // user memory that serves as a handle; the simulator needs only its address
constexpr std::size_t kParameterBytes = 32;

// List of a thread, from its first aclrtKernelArgsInit until the thread ends.
class ThreadList {
  public:
    ~ThreadList() {
        if (handle_ == nullptr || process_ != getpid()) {
            return;  // the lock may never be released in a forked child
        }
        Simulator &sim = Simulator::get();
        const Lock lock = sim.core.acquire();
        sim.core.registry().remove(*sim.core.registry().find<ArgumentList>(handle_));
    }
    ArgumentList &get(Simulator &sim) REQUIRES(engine_lock) {
        if (handle_ == nullptr) {
            const auto list = make_ref<ArgumentList>();
            sim.core.registry().add(list);
            handle_ = list->handle();
            process_ = getpid();
        }
        return *sim.core.registry().find<ArgumentList>(handle_);
    }

  private:
    void *handle_ = nullptr;
    pid_t process_ = 0;
};

void require_argument_size(std::size_t size, const char *name) {
    if (size == 0) {
        fail_unremembered(ACL_ERROR_INVALID_PARAM, "%s is 0", name);
    }
}

}  // namespace

aclError aclrtKernelArgsInit(aclrtFuncHandle funcHandle, aclrtArgsHandle *argsHandle) {
    return entry(Function::aclrtKernelArgsInit, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(funcHandle, "funcHandle");
        require(argsHandle, "argsHandle");
        const KernelFunction &function = require_function(sim, funcHandle);
        ArgumentList &own = ThreadState<ThreadList>::get().get(sim);
        own.begin(function);
        *argsHandle = own.handle();
    });
}

aclError aclrtKernelArgsGetHandleMemSize(aclrtFuncHandle funcHandle, size_t *memSize) {
    return entry(Function::aclrtKernelArgsGetHandleMemSize, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(funcHandle, "funcHandle");
        require(memSize, "memSize");
        const KernelFunction &function = require_function(sim, funcHandle);
        *memSize = kHandleBytes + kParameterBytes * declared_parameters(function);
    });
}

aclError aclrtKernelArgsGetMemSize(aclrtFuncHandle funcHandle, size_t userArgsSize, size_t *actualArgsSize) {
    return entry(Function::aclrtKernelArgsGetMemSize, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(funcHandle, "funcHandle");
        require(actualArgsSize, "actualArgsSize");
        const KernelFunction &function = require_function(sim, funcHandle);
        const std::size_t more =
            function.is_cpu() ? 0 : ArgumentList::kHiddenBytes + kAlignmentRoom * declared_parameters(function);
        if (userArgsSize > SIZE_MAX - more) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "userArgsSize %zu wraps around", userArgsSize);
        }
        *actualArgsSize = userArgsSize + more;
    });
}

aclError aclrtKernelArgsInitByUserMem(aclrtFuncHandle funcHandle, aclrtArgsHandle argsHandle, void *userHostMem,
                                      size_t actualArgsSize) {
    return entry(Function::aclrtKernelArgsInitByUserMem, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(funcHandle, "funcHandle");
        require(argsHandle, "argsHandle");
        require(userHostMem, "userHostMem");
        require_argument_size(actualArgsSize, "actualArgsSize");
        const KernelFunction &function = require_function(sim, funcHandle);
        sim.kernels.list_at(argsHandle).begin_in(function, userHostMem, actualArgsSize);
    });
}

aclError aclrtKernelArgsAppend(aclrtArgsHandle argsHandle, void *param, size_t paramSize,
                               aclrtParamHandle *paramHandle) {
    return entry(Function::aclrtKernelArgsAppend, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(argsHandle, "argsHandle");
        require(param, "param");
        require(paramHandle, "paramHandle");
        require_argument_size(paramSize, "paramSize");
        *paramHandle = require_list(sim, argsHandle).append(param, paramSize);
    });
}

aclError aclrtKernelArgsAppendPlaceHolder(aclrtArgsHandle argsHandle, aclrtParamHandle *paramHandle) {
    return entry(Function::aclrtKernelArgsAppendPlaceHolder, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(argsHandle, "argsHandle");
        require(paramHandle, "paramHandle");
        *paramHandle = require_list(sim, argsHandle).append_place_holder();
    });
}

aclError aclrtKernelArgsGetPlaceHolderBuffer(aclrtArgsHandle argsHandle, aclrtParamHandle paramHandle, size_t dataSize,
                                             void **bufferAddr) {
    return entry(Function::aclrtKernelArgsGetPlaceHolderBuffer, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(argsHandle, "argsHandle");
        require(paramHandle, "paramHandle");
        require(bufferAddr, "bufferAddr");
        require_argument_size(dataSize, "dataSize");
        *bufferAddr = require_list(sim, argsHandle).place_holder_buffer(paramHandle, dataSize);
    });
}

aclError aclrtKernelArgsParaUpdate(aclrtArgsHandle argsHandle, aclrtParamHandle paramHandle, void *param,
                                   size_t paramSize) {
    return entry(Function::aclrtKernelArgsParaUpdate, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(argsHandle, "argsHandle");
        require(paramHandle, "paramHandle");
        require(param, "param");
        require_argument_size(paramSize, "paramSize");
        require_list(sim, argsHandle).update(paramHandle, param, paramSize);
    });
}

aclError aclrtKernelArgsFinalize(aclrtArgsHandle argsHandle) {
    return entry(Function::aclrtKernelArgsFinalize, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(argsHandle, "argsHandle");
        ArgumentList &list = require_list(sim, argsHandle);
        require_context(sim);
        list.finalize();
    });
}
