/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors that are not one block of memory with strides: sparse, nested and quantized ones. */
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

namespace ascend_rt {

// Returns whether a tensor is neither sparse, nested nor quantized.
inline bool is_plain(const at::Tensor &tensor) {
    constexpr c10::DispatchKeySet kOthers({c10::DispatchKey::Sparse, c10::DispatchKey::SparseCsr,
                                           c10::DispatchKey::NestedTensor, c10::DispatchKey::Quantized});
    return !tensor.key_set().has_any(kOthers);
}

// Returns another form of a plain tensor that is part of one that is not.
using PartOf = std::function<at::Tensor(const at::Tensor &)>;

// Makes the same tensor, which is not plain, from other forms of its parts, on their device: of the CPU, or not.
at::Tensor rebuilt(const at::Tensor &tensor, bool is_on_cpu, const PartOf &part);

// The numbers of a quantized tensor, without their meaning, in the same memory.
at::Tensor numbers_of(const at::Tensor &tensor);

// The parts of a tensor that is not plain.
std::vector<at::Tensor> parts_of(const at::Tensor &tensor);

// The dense tensors that a tensor consists of, which is not plain: those of a nested tensor are views of its memory.
std::vector<at::Tensor> dense_tensors_of(const at::Tensor &tensor);

// Gives a sparse tensor the elements that an operator has left in its stand-in of the CPU; others cannot get another
// number of elements. Parts that are the stand-in's own memory remain.
void adopt(const at::Tensor &tensor, const at::Tensor &stand_in, const PartOf &part);

}  // namespace ascend_rt
