/* SPDX-License-Identifier: Apache-2.0 */
/* Operators whose kernel for the CPU does not do for the device. */
#pragma once

#include "call.h"

namespace ascend_rt {

// aten::scaled_dot_product_attention takes the CPU's fused kernel where the CPU would; PyTorch's own choice asks for
// the type of the device.
class Attention final : public c10::OperatorKernel {
  public:
    explicit Attention(c10::OperatorHandle handle) : composed_(handle, c10::DispatchKey::AutogradCPU) {}
    void operator()(const c10::OperatorHandle &handle, c10::DispatchKeySet keys, Stack *stack);

  private:
    SameAs composed_;
};

// aten::histc of integers: devices count them, the CPU counts floating-point numbers alone.
class Histogram final : public c10::OperatorKernel {
  public:
    explicit Histogram(c10::OperatorHandle handle) : of_floats_(handle) {}
    void operator()(const c10::OperatorHandle &handle, c10::DispatchKeySet keys, Stack *stack);

  private:
    RunOnCpu of_floats_;
};

// aten::empty.memory_format with the channels last, which torch_npu refuses.
class Empty final : public c10::OperatorKernel {
  public:
    explicit Empty(c10::OperatorHandle handle) : theirs_(handle) {}
    void operator()(const c10::OperatorHandle &handle, c10::DispatchKeySet keys, Stack *stack);

  private:
    Theirs theirs_;
};

// An operator that makes sparse tensors, which are on the current device: called while that is the one of the
// arguments.
class MakeSparse final : public c10::OperatorKernel {
  public:
    explicit MakeSparse(const c10::OperatorHandle &handle)
        : kernel_(computed_kernel(handle, c10::DispatchKey::SparsePrivateUse1)) {}
    void operator()(const c10::OperatorHandle &handle, c10::DispatchKeySet keys, Stack *stack);

  private:
    ComputedKernel kernel_;
};

// aten::_fused_sdp_choice: where the fused kernel is not taken, attention is made of other operators.
void choose_attention(const c10::OperatorHandle &handle, c10::DispatchKeySet, Stack *stack);

// aten::copy_ between quantized tensors, whose memory torch_npu does not describe.
void copy_quantized(const c10::OperatorHandle &handle, c10::DispatchKeySet, Stack *stack);

// aten::_lazy_clone: the copy is made by the first write into the tensor, which a task of a stream does not announce.
void clone_at_once(const c10::OperatorHandle &handle, c10::DispatchKeySet, Stack *stack);

// aten::native_dropout has no generator among its arguments: the mask is drawn from the device's.
void native_dropout(const c10::OperatorHandle &handle, c10::DispatchKeySet, Stack *stack);

}  // namespace ascend_rt
