/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels that PyTorch's dispatcher calls for tensors of the device. */
#pragma once

#include "computed_kernel.h"
#include "operator.h"

namespace ascend_rt {

// Runs the operator's kernel for the CPU, as a task of the current stream, on the memory of the tensors.
class RunOnCpu final : public c10::OperatorKernel {
  public:
    explicit RunOnCpu(c10::OperatorHandle handle, bool is_meta_right = true) : op_(handle, is_meta_right) {}
    void operator()(const c10::OperatorHandle &, c10::DispatchKeySet, Stack *stack);

  private:
    Operator op_;
};

// The same, for operators whose meta kernel is for other devices: the kernel for the CPU gives the sizes as well.
class RunSizedByCpu final : public c10::OperatorKernel {
  public:
    explicit RunSizedByCpu(c10::OperatorHandle handle) : runs_(handle, false) {}
    void operator()(const c10::OperatorHandle &handle, c10::DispatchKeySet keys, Stack *stack) {
        runs_(handle, keys, stack);
    }

  private:
    RunOnCpu runs_;
};

// The kernel that PyTorch has for a tensor of the CPU at the other key: one that calls other operators.
class SameAs final : public c10::OperatorKernel {
  public:
    SameAs(const c10::OperatorHandle &handle, c10::DispatchKey key) : kernel_(computed_kernel(handle, key)) {}
    void operator()(const c10::OperatorHandle &handle, c10::DispatchKeySet keys, Stack *stack) {
        kernel_.callBoxed(handle, keys, stack);
    }

  private:
    ComputedKernel kernel_;
};

// torch_npu's own kernel, which this one replaces. If it fails, the operator that failed before it is the cause.
class Theirs final : public c10::OperatorKernel {
  public:
    explicit Theirs(c10::OperatorHandle handle)
        : handle_(handle), kernel_(computed_kernel(handle, c10::DispatchKey::PrivateUse1)) {}
    void call(c10::Device device, Stack &stack) const;
    // The same, for a kernel that waits for the stream.
    void wait_and_call(c10::Device device, Stack &stack) const;
    void operator()(const c10::OperatorHandle &, c10::DispatchKeySet, Stack *stack);

  private:
    c10::OperatorHandle handle_;
    ComputedKernel kernel_;
};

// Fails, with the operator's name.
void refuse(const c10::OperatorHandle &handle, c10::DispatchKeySet, Stack *stack);

}  // namespace ascend_rt
