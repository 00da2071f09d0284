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

// aten::_fused_sdp_choice: where the fused kernel is not taken, attention is made of other operators.
void choose_attention(const c10::OperatorHandle &handle, c10::DispatchKeySet, Stack *stack);

// aten::_lazy_clone: the copy is made by the first write into the tensor, which a task of a stream does not announce.
void clone_at_once(const c10::OperatorHandle &handle, c10::DispatchKeySet, Stack *stack);

// aten::native_dropout has no generator among its arguments: the mask is drawn from the device's.
void native_dropout(const c10::OperatorHandle &handle, c10::DispatchKeySet, Stack *stack);

}  // namespace ascend_rt
