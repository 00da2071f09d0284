/* SPDX-License-Identifier: Apache-2.0 */
#include "tensors.h"

#include "layouts.h"

namespace ascend_rt {

std::string type_and_sizes(const at::Tensor &tensor) {
    std::string text(c10::getDtypeNames(tensor.scalar_type()).first);
    if (tensor.is_nested()) {
        return text + "[nested]";
    }
    const char *separator = "[";
    for (const std::int64_t size : tensor.sizes()) {
        text += separator + std::to_string(size);
        separator = ", ";
    }
    return text + (tensor.dim() == 0 ? "[]" : "]");
}

c10::Storage StandIns::storage_of(const at::Tensor &tensor) {
    const c10::StorageImpl *original = tensor.storage().unsafeGetStorageImpl();
    for (const auto &[known, storage] : storages_) {
        if (known == original) {
            return storage;
        }
    }
    const bool is_alias = key_ == c10::DispatchKey::CPU;
    const c10::Device device(is_alias ? c10::DeviceType::CPU : c10::DeviceType::Meta);
    void *data = is_alias ? const_cast<void *>(original->data()) : nullptr;
    // Without memory it can grow, as an output does that is given with another size.
    c10::Allocator *allocator = is_alias ? nullptr : c10::GetAllocator(device.type());
    c10::Storage storage(c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), original->nbytes(),
                                                               c10::DataPtr(data, device), allocator, !is_alias));
    storages_.emplace_back(original, storage);
    return storage;
}

at::Tensor StandIns::of(const at::Tensor &tensor) {
    for (const auto &[known, made] : tensors_) {
        if (known == tensor.unsafeGetTensorImpl()) {
            return made;
        }
    }
    at::Tensor made =
        is_plain(tensor) ? plain(tensor) : rebuilt(tensor, true, [&](const at::Tensor &part) { return plain(part); });
    tensors_.emplace_back(tensor.unsafeGetTensorImpl(), made);
    return made;
}

at::Tensor StandIns::plain(const at::Tensor &tensor) {
    at::Tensor made =
        at::detail::make_tensor<c10::TensorImpl>(storage_of(tensor), c10::DispatchKeySet(key_), tensor.dtype());
    c10::TensorImpl *impl = made.unsafeGetTensorImpl();
    impl->set_sizes_and_strides(tensor.sizes(), tensor.strides(), tensor.storage_offset());
    if (tensor.unsafeGetTensorImpl()->is_wrapped_number()) {
        impl->set_wrapped_number(true);
    }
    impl->_set_conj(tensor.is_conj());
    impl->_set_neg(tensor.is_neg());
    return made;
}

}  // namespace ascend_rt
