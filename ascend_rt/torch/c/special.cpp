/* SPDX-License-Identifier: Apache-2.0 */
#include "special.h"

#include <ATen/SDPBackend.h>
#include <ATen/ops/_fused_sdp_choice.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/histc.h>
#include <ATen/ops/logical_not.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/MemoryFormat.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <limits>
#include <tuple>

#include "first_made.h"
#include "layouts.h"
#include "task.h"
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

// Returns whether a size is not known yet: torch.compile finds code for all sizes.
bool has_symbols(const Stack &stack) {
    bool found = false;
    for (const IValue &argument : torch::jit::last(stack, 8)) {
        if (argument.isTensor() && argument.toTensor().defined()) {
            found |= argument.toTensor().unsafeGetTensorImpl()->has_symbolic_sizes_strides();
        }
    }
    return found;
}

// The choice of the CPU, which depends on shapes, types and flags alone.
bool cpu_takes_fused_kernel(const Stack &stack) {
    if (has_symbols(stack)) {
        return false;
    }
    StandIns aliases = StandIns::aliases();
    Stack asked;
    for (const IValue &argument : torch::jit::last(stack, 8)) {
        asked.push_back(replace_tensors(argument, [&](const at::Tensor &tensor) {
            const bool needs_gradient = tensor.requires_grad();
            return aliases.of(tensor).set_requires_grad(needs_gradient);
        }));
    }
    static constinit FirstMade<c10::OperatorHandle> choice;
    // Modes of Python, for instance that of tensors without data, take no part in it.
    call_on_cpu(
        choice.get([] { return c10::Dispatcher::singleton().findSchemaOrThrow("aten::_fused_sdp_choice", ""); }),
        asked);
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

// The device of a factory: the given one, or the current one.
c10::Device device_of(const IValue &given) {
    const auto device = given.toOptional<at::Device>();
    return device && device->has_index() ? *device
                                         : c10::impl::VirtualGuardImpl(c10::DeviceType::PrivateUse1).getDevice();
}

std::vector<std::int64_t> strides_of(c10::IntArrayRef sizes, at::MemoryFormat format) {
    if (format == at::MemoryFormat::ChannelsLast3d) {
        return c10::get_channels_last_strides_3d(sizes);
    }
    TORCH_CHECK(format == at::MemoryFormat::ChannelsLast, "unsupported memory format ", format);
    return c10::get_channels_last_strides_2d(sizes);
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

void Histogram::operator()(const c10::OperatorHandle &handle, c10::DispatchKeySet keys, Stack *stack) {
    const std::size_t count = handle.schema().arguments().size();
    const at::Tensor self = torch::jit::peek(*stack, 0, count).toTensor();
    if (!at::isIntegralType(self.scalar_type(), /*includeBool=*/false)) {
        return of_floats_(handle, keys, stack);
    }
    torch::jit::peek(*stack, 0, count) = self.to(at::kDouble);
    const bool is_given = handle.schema().arguments().back().is_out();
    const at::Tensor output = is_given ? torch::jit::pop(*stack).toTensor() : at::Tensor();
    const auto number = [&](std::size_t i) { return torch::jit::peek(*stack, i, 4).toScalar(); };
    const at::Tensor counts = at::histc(torch::jit::peek(*stack, 0, 4).toTensor(),
                                        torch::jit::peek(*stack, 1, 4).toInt(), number(2), number(3))
                                  .to(self.scalar_type());
    torch::jit::drop(*stack, 4);
    stack->emplace_back(is_given ? output.resize_(counts.sizes()).copy_(counts) : counts);
}

void Empty::operator()(const c10::OperatorHandle &, c10::DispatchKeySet, Stack *stack) {
    const std::optional<at::MemoryFormat> format = torch::jit::peek(*stack, 5, 6).toOptional<at::MemoryFormat>();
    const bool is_theirs = !format || *format == at::MemoryFormat::Contiguous;
    if (is_theirs) {
        torch::jit::peek(*stack, 5, 6) = IValue();
        return theirs_.call(device_of(torch::jit::peek(*stack, 3, 6)), *stack);
    }
    const auto argument = [&](std::size_t i) { return torch::jit::peek(*stack, i, 6); };
    const std::vector<std::int64_t> sizes = argument(0).toIntVector();
    at::Tensor made = at::empty_strided(sizes, strides_of(sizes, *format), argument(1).toOptional<at::ScalarType>(),
                                        argument(2).toOptional<at::Layout>(), argument(3).toOptional<at::Device>(),
                                        argument(4).toOptional<bool>());
    torch::jit::drop(*stack, 6);
    stack->emplace_back(std::move(made));
}

void MakeSparse::operator()(const c10::OperatorHandle &handle, c10::DispatchKeySet keys, Stack *stack) {
    c10::OptionalDeviceGuard guard;
    for (const IValue &argument : torch::jit::last(*stack, handle.schema().arguments().size())) {
        if (argument.isDevice() && argument.toDevice().has_index()) {
            guard.reset_device(argument.toDevice());
        } else if (argument.isTensor() && argument.toTensor().is_privateuseone()) {
            guard.reset_device(argument.toTensor().device());
        }
    }
    kernel_.callBoxed(handle, keys, stack);
}

void choose_attention(const c10::OperatorHandle &handle, c10::DispatchKeySet, Stack *stack) {
    torch::jit::drop(*stack, handle.schema().arguments().size());
    stack->emplace_back(static_cast<std::int64_t>(at::SDPBackend::math));
}

void copy_quantized(const c10::OperatorHandle &handle, c10::DispatchKeySet, Stack *stack) {
    const at::Tensor to = torch::jit::peek(*stack, 0, 3).toTensor();
    const at::Tensor from = torch::jit::peek(*stack, 1, 3).toTensor();
    TORCH_CHECK_NOT_IMPLEMENTED(to.is_quantized() && from.is_quantized() && to.scalar_type() == from.scalar_type(),
                                full_name(handle.operator_name()), " copies between quantized tensors of one type");
    numbers_of(to).copy_(numbers_of(from), torch::jit::peek(*stack, 2, 3).toBool());
    torch::jit::drop(*stack, 3);
    stack->emplace_back(to);
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
