/* SPDX-License-Identifier: Apache-2.0 */
/* aten::copy_, which torch_npu leaves to operators whenever types, strides or sizes differ. */
#pragma once

#include "call.h"

namespace ascend_rt {

// Copies that move bytes as they are stay copies of the runtime. Those between host and device are torch_npu's; between
// devices, and within one, it would call operators of CANN by other ways. The rest are operators.
class Copy final : public c10::OperatorKernel {
  public:
    explicit Copy(c10::OperatorHandle handle);
    void operator()(const c10::OperatorHandle &handle, c10::DispatchKeySet keys, Stack *stack);

  private:
    void move_bytes(const at::Tensor &to, const at::Tensor &from, bool non_blocking) const;
    void copy(const at::Tensor &to, const at::Tensor &from, bool non_blocking);

    Theirs theirs_;
    RunOnCpu on_device_;
};

}  // namespace ascend_rt
