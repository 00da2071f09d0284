/* SPDX-License-Identifier: Apache-2.0 */
#include "special.h"

#include <ATen/SDPBackend.h>
#include <ATen/ops/_fused_sdp_choice.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/logical_not.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/zeros_like.h>

#include <limits>
#include <tuple>

#include "first_made.h"
#include "tensors.h"

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

// The choice of the CPU, which depends on shapes, types and flags alone.
bool cpu_takes_fused_kernel(const Stack &stack) {
    StandIns aliases = StandIns::aliases();
    Stack asked;
    for (const IValue &argument : torch::jit::last(stack, 8)) {
        asked.push_back(replace_tensors(argument, [&](const at::Tensor &tensor) {
            const bool needs_gradient = tensor.requires_grad();
            return aliases.of(tensor).set_requires_grad(needs_gradient);
        }));
    }
    static constinit FirstMade<c10::OperatorHandle> choice;
    choice.get([] { return c10::Dispatcher::singleton().findSchemaOrThrow("aten::_fused_sdp_choice", ""); })
        .callBoxed(asked);
    return asked.at(0).toInt() == static_cast<std::int64_t>(at::SDPBackend::flash_attention);
}

// A mask of bools says what takes part; the kernel adds a mask of numbers.
std::optional<at::Tensor> added_mask(const std::optional<at::Tensor> &mask, const at::Tensor &query) {
    if (!mask || !mask->defined() || mask->scalar_type() != at::kBool) {
        return mask;
    }
    return at::zeros_like(*mask, query.scalar_type())
        .masked_fill_(mask->logical_not(), -std::numeric_limits<double>::infinity());
}

}  // namespace

void Attention::operator()(const c10::OperatorHandle &handle, c10::DispatchKeySet keys, Stack *stack) {
    if (!cpu_takes_fused_kernel(*stack)) {
        return composed_(handle, keys, stack);
    }
    const auto argument = [&](std::size_t i) -> const IValue & { return torch::jit::peek(*stack, i, 8); };
    const at::Tensor query = argument(0).toTensor();
    const auto [output, logsumexp] = at::_scaled_dot_product_flash_attention_for_cpu(
        query, argument(1).toTensor(), argument(2).toTensor(), argument(4).toDouble(), argument(5).toBool(),
        added_mask(argument(3).toOptional<at::Tensor>(), query), argument(6).toOptional<double>());
    torch::jit::drop(*stack, 8);
    stack->emplace_back(output);
}

void choose_attention(const c10::OperatorHandle &handle, c10::DispatchKeySet, Stack *stack) {
    torch::jit::drop(*stack, handle.schema().arguments().size());
    stack->emplace_back(static_cast<std::int64_t>(at::SDPBackend::math));
}

void clone_at_once(const c10::OperatorHandle &, c10::DispatchKeySet, Stack *stack) {
    at::Tensor made = torch::jit::pop(*stack).toTensor().clone();
    stack->emplace_back(std::move(made));
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
