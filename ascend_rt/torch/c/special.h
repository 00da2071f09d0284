/* SPDX-License-Identifier: Apache-2.0 */
/* Operators whose kernel for the CPU does not do for the device. */
#pragma once

#include "operator.h"

namespace ascend_rt {

// aten::_fused_sdp_choice: attention is made of other operators, as for any device without a kernel of its own.
void choose_attention(const c10::OperatorHandle &handle, c10::DispatchKeySet, Stack *stack);

// aten::native_dropout has no generator among its arguments: the mask is drawn from the device's.
void native_dropout(const c10::OperatorHandle &handle, c10::DispatchKeySet, Stack *stack);

}  // namespace ascend_rt
