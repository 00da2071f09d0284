/* SPDX-License-Identifier: Apache-2.0 */
#include "layouts.h"

#include <ATen/NestedTensorImpl.h>
#include <ATen/SparseCsrTensorImpl.h>
#include <ATen/SparseCsrTensorUtils.h>
#include <ATen/SparseTensorImpl.h>
#include <ATen/native/SparseTensorUtils.h>
#include <ATen/quantized/QTensorImpl.h>
#include <ATen/quantized/Quantizer.h>

namespace ascend_rt {
namespace {

using at::SparseCsrTensorImpl;
using at::native::NestedTensorImpl;
using c10::DispatchKey;
using c10::DispatchKeySet;

DispatchKeySet keys(DispatchKey functionality, bool is_on_cpu) {
    return DispatchKeySet(functionality) |
           DispatchKeySet(is_on_cpu ? c10::BackendComponent::CPUBit : c10::BackendComponent::PrivateUse1Bit);
}

void set_elements(at::SparseTensorImpl *to, const at::SparseTensorImpl *from, const PartOf &part) {
    to->raw_resize_(from->sparse_dim(), from->dense_dim(), from->sizes());
    to->set_indices_and_values_unsafe(part(from->indices()), part(from->values()));
    to->set_coalesced(from->coalesced());
}

void set_elements(SparseCsrTensorImpl *to, const SparseCsrTensorImpl *from, const PartOf &part) {
    to->set_member_tensors(part(from->compressed_indices()), part(from->plain_indices()), part(from->values()),
                           from->sizes());
}

at::Tensor rebuilt_sparse(const at::Tensor &tensor, bool is_on_cpu, const PartOf &part) {
    at::Tensor made =
        at::detail::make_tensor<at::SparseTensorImpl>(keys(DispatchKey::Sparse, is_on_cpu), tensor.dtype());
    set_elements(at::sparse::get_sparse_impl(made), at::sparse::get_sparse_impl(tensor), part);
    return made;
}

at::Tensor rebuilt_compressed(const at::Tensor &tensor, bool is_on_cpu, const PartOf &part) {
    const auto *from = at::sparse_csr::get_sparse_csr_impl(tensor);
    const at::Tensor values = part(from->values());
    at::Tensor made = at::detail::make_tensor<SparseCsrTensorImpl>(keys(DispatchKey::SparseCsr, is_on_cpu),
                                                                   values.device(), tensor.layout(), tensor.dtype());
    at::sparse_csr::get_sparse_csr_impl(made)->set_member_tensors(part(from->compressed_indices()),
                                                                  part(from->plain_indices()), values, tensor.sizes());
    return made;
}

at::Tensor rebuilt_nested(const at::Tensor &tensor, bool is_on_cpu, const PartOf &part) {
    const NestedTensorImpl *from = at::native::get_nested_tensor_impl(tensor);
    return at::detail::make_tensor<NestedTensorImpl>(part(from->get_unsafe_storage_as_tensor()).storage(),
                                                     keys(DispatchKey::NestedTensor, is_on_cpu) | c10::autograd_nested,
                                                     tensor.dtype(), from->get_nested_sizes(),
                                                     from->get_nested_strides(), from->get_storage_offsets());
}

// A view of a nested tensor has all memory of the tensor, but not all elements.
std::vector<at::Tensor> nested_in(const at::Tensor &tensor) {
    const NestedTensorImpl *nested = at::native::get_nested_tensor_impl(tensor);
    const at::Tensor memory = nested->get_unsafe_storage_as_tensor();
    const at::Tensor &sizes = nested->get_nested_sizes();
    const at::Tensor &strides = nested->get_nested_strides();
    const std::int64_t rank = sizes.dim() == 2 ? sizes.size(1) : 0;
    std::vector<at::Tensor> tensors;
    for (std::int64_t i = 0; i < nested->get_storage_offsets().numel(); ++i) {
        at::Tensor made =
            at::detail::make_tensor<c10::TensorImpl>(c10::Storage(memory.storage()), memory.key_set(), memory.dtype());
        const auto row = [&](const at::Tensor &of) {
            return rank > 0 ? c10::IntArrayRef(of.const_data_ptr<std::int64_t>() + i * rank, rank) : c10::IntArrayRef();
        };
        made.unsafeGetTensorImpl()->set_sizes_and_strides(
            row(sizes), row(strides), nested->get_storage_offsets().const_data_ptr<std::int64_t>()[i]);
        tensors.push_back(std::move(made));
    }
    return tensors;
}

at::QuantizerPtr quantizer_with(const at::QuantizerPtr &quantizer, const PartOf &part) {
    const auto *by_channel = dynamic_cast<at::PerChannelAffineQuantizer *>(quantizer.get());
    if (by_channel == nullptr) {
        return quantizer;
    }
    return at::make_per_channel_affine_quantizer(part(by_channel->scales()), part(by_channel->zero_points()),
                                                 by_channel->axis(), quantizer->scalar_type());
}

at::Tensor rebuilt_quantized(const at::Tensor &tensor, bool is_on_cpu, const PartOf &part) {
    TORCH_CHECK_NOT_IMPLEMENTED(tensor.scalar_type() != at::kQUInt4x2 && tensor.scalar_type() != at::kQUInt2x4,
                                "several numbers in a byte are not supported on the simulator");
    const at::Tensor numbers = part(numbers_of(tensor));
    const auto *from = static_cast<at::QTensorImpl *>(tensor.unsafeGetTensorImpl());
    at::Tensor made = at::detail::make_tensor<at::QTensorImpl>(
        c10::Storage(numbers.storage()), keys(DispatchKey::Quantized, is_on_cpu), tensor.dtype(),
        quantizer_with(const_cast<at::QTensorImpl *>(from)->quantizer(), part));
    made.unsafeGetTensorImpl()->set_sizes_and_strides(numbers.sizes(), numbers.strides(), numbers.storage_offset());
    return made;
}

}  // namespace

at::Tensor numbers_of(const at::Tensor &tensor) {
    at::Tensor numbers = at::detail::make_tensor<c10::TensorImpl>(
        c10::Storage(tensor.storage()), keys(DispatchKey::Dense, tensor.is_cpu()),
        c10::scalarTypeToTypeMeta(c10::toUnderlying(tensor.scalar_type())));
    numbers.unsafeGetTensorImpl()->set_sizes_and_strides(tensor.sizes(), tensor.strides(), tensor.storage_offset());
    return numbers;
}

at::Tensor rebuilt(const at::Tensor &tensor, bool is_on_cpu, const PartOf &part) {
    if (tensor.is_nested()) {
        TORCH_CHECK_NOT_IMPLEMENTED(tensor.layout() == at::kStrided, "the layout ", tensor.layout(),
                                    " is not supported on the simulator");
        return rebuilt_nested(tensor, is_on_cpu, part);
    }
    if (tensor.is_quantized()) {
        return rebuilt_quantized(tensor, is_on_cpu, part);
    }
    return tensor.is_sparse() ? rebuilt_sparse(tensor, is_on_cpu, part) : rebuilt_compressed(tensor, is_on_cpu, part);
}

std::vector<at::Tensor> parts_of(const at::Tensor &tensor) {
    std::vector<at::Tensor> parts;
    rebuilt(tensor, tensor.is_cpu(), [&](const at::Tensor &part) {
        parts.push_back(part);
        return part;
    });
    return parts;
}

std::vector<at::Tensor> dense_tensors_of(const at::Tensor &tensor) {
    return tensor.is_nested() ? nested_in(tensor) : parts_of(tensor);
}

void adopt(const at::Tensor &tensor, const at::Tensor &stand_in, const PartOf &part) {
    if (tensor.is_sparse()) {
        set_elements(at::sparse::get_sparse_impl(tensor), at::sparse::get_sparse_impl(stand_in), part);
    } else if (at::sparse_csr::is_sparse_compressed(tensor)) {
        set_elements(at::sparse_csr::get_sparse_csr_impl(tensor), at::sparse_csr::get_sparse_csr_impl(stand_in), part);
    }
}

}  // namespace ascend_rt
