/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors of the CPU, or without data, that look like tensors of the device. */
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <c10/util/SmallVector.h>

#include <string>
#include <utility>
#include <vector>

namespace ascend_rt {

// Replaces each tensor in an argument: a tensor, or a list of them, some of which may be missing.
template <typename Function>
c10::IValue replace_tensors(const c10::IValue &value, Function &&replaced) {
    if (value.isTensor()) {
        const at::Tensor &tensor = value.toTensor();
        return tensor.defined() ? c10::IValue(replaced(tensor)) : value;
    }
    if (value.isTensorList()) {
        c10::List<at::Tensor> list;
        for (const at::Tensor &tensor : value.toTensorList()) {
            list.push_back(tensor.defined() ? replaced(tensor) : tensor);
        }
        return list;
    }
    if (value.isList() && value.toListRef().size() > 0) {
        c10::List<c10::IValue> old = value.toList();
        c10::impl::GenericList list(old.elementType());
        for (const c10::IValue &item : value.toListRef()) {
            list.push_back(replace_tensors(item, replaced));
        }
        return list;
    }
    return value;
}

// Returns type and sizes, "float32[64, 128]".
std::string type_and_sizes(const at::Tensor &tensor);

// Tensors of another device with the sizes, strides, offsets and types of given ones. Those that share a storage
// share one here too, so that operators find overlaps, and one that is given twice has one stand-in.
class StandIns {
  public:
    // On the CPU: the same memory, which the simulator's devices share with the host. Nothing keeps the memory: the
    // allocator of the device gives it out again in the order of the stream, as the device itself needs it. Only these
    // may be sparse, nested or quantized.
    static StandIns aliases() { return StandIns(c10::DispatchKey::CPU); }
    // On the device "meta": no memory.
    static StandIns shapes() { return StandIns(c10::DispatchKey::Meta); }

    at::Tensor of(const at::Tensor &tensor);

  private:
    explicit StandIns(c10::DispatchKey key) : key_(key) {}
    at::Tensor plain(const at::Tensor &tensor);
    c10::Storage storage_of(const at::Tensor &tensor);

    c10::DispatchKey key_;
    c10::SmallVector<std::pair<const c10::StorageImpl *, c10::Storage>, 6> storages_;
    c10::SmallVector<std::pair<const c10::TensorImpl *, at::Tensor>, 6> tensors_;
};

}  // namespace ascend_rt
