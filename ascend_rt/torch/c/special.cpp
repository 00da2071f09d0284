/* SPDX-License-Identifier: Apache-2.0 */
#include "special.h"

#include <ATen/ops/empty_like.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/zeros_like.h>
#include <ATen/SDPBackend.h>

#include <tuple>

namespace ascend_rt {
namespace {

// The results of the kernel for the CPU, which draws the mask in the input's type too.
std::tuple<at::Tensor, at::Tensor> dropped(const at::Tensor &input, double probability, bool is_training) {
    if (!is_training || probability == 0 || input.numel() == 0) {
        return {input.clone(), at::ones_like(input, at::kBool)};
    }
    if (probability == 1) {
        return {at::zeros_like(input), at::zeros_like(input, at::kBool)};
    }
    const at::Tensor mask = at::empty_like(input, at::kBool).bernoulli_(1 - probability);
    return {input.mul(mask).mul_(1 / (1 - probability)), mask};
}

}  // namespace

void choose_attention(const c10::OperatorHandle &handle, c10::DispatchKeySet, Stack *stack) {
    torch::jit::drop(*stack, handle.schema().arguments().size());
    stack->emplace_back(static_cast<std::int64_t>(at::SDPBackend::math));
}

void native_dropout(const c10::OperatorHandle &, c10::DispatchKeySet, Stack *stack) {
    const IValue train = torch::jit::peek(*stack, 2, 3);
    auto [output, mask] = dropped(torch::jit::peek(*stack, 0, 3).toTensor(), torch::jit::peek(*stack, 1, 3).toDouble(),
                                  train.isNone() || train.toBool());
    torch::jit::drop(*stack, 3);
    stack->emplace_back(std::move(output));
    stack->emplace_back(std::move(mask));
}

}  // namespace ascend_rt
