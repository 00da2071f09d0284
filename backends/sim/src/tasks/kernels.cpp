// SPDX-License-Identifier: Apache-2.0
#include "tasks/kernels.h"

#include <utility>

#include "memory/memory.h"
#include "support/error.h"

namespace aclsim {
namespace {

constexpr std::uint64_t kSyncBytes = 4096;

}  // namespace

Kernels::Kernels(Memory &memory_of_all) : memory(memory_of_all) { memory.machine.add(*this); }

Ref<Binary> Kernels::add(BinaryContent content, bool is_lazy, bool is_old_style) {
    auto binary = make_ref<Binary>(*this, std::move(content), is_lazy, is_old_style);
    try {
        binary->register_described_functions();
        memory.core.registry().add(binary);
    } catch (...) {
        binary->remove_functions();  // which keep the binary
        throw;
    }
    return binary;
}

void Kernels::unload(Binary &binary) {
    const Ref<Binary> keep(binary);
    memory.core.registry().remove(binary);
    binary.remove_functions();
    const auto &registry = memory.core.registry();
    const auto is_gone = [&](const void *function) REQUIRES(engine_lock) {
        return registry.find<KernelFunction>(const_cast<void *>(function)) == nullptr;
    };
    for (auto it = symbols_.begin(); it != symbols_.end();) {
        it = is_gone(it->second) ? symbols_.erase(it) : std::next(it);
    }
    for (auto it = lists_.begin(); it != lists_.end();) {
        it = is_gone(it->second->function()) ? lists_.erase(it) : std::next(it);
    }
}

void Kernels::register_code(const std::string &name, Ref<KernelCode> code) {
    Ref<KernelCode> &registered = codes_[name];
    if (registered) {
        registered->is_registered = false;
    }
    code->is_registered = true;
    registered = std::move(code);
}

bool Kernels::unregister_code(const std::string &name) {
    const auto found = codes_.find(name);
    if (found == codes_.end()) {
        return false;
    }
    found->second->is_registered = false;
    codes_.erase(found);
    return true;
}

// Prefers code of the binary; a registered function may replace an empty one.
Ref<KernelCode> Kernels::code_for(const KernelFunction &function) const {
    if (function.code && !function.code->is_empty()) {
        return function.code;
    }
    const auto registered = codes_.find(function.description.name);
    return registered == codes_.end() ? function.code : registered->second;
}

bool Kernels::add_symbol(const void *symbol, const KernelFunction &function) {
    return symbols_.try_emplace(symbol, function.handle()).second;
}

KernelFunction *Kernels::find_symbol(const void *symbol) const {
    const auto found = symbols_.find(symbol);
    return found == symbols_.end() ? nullptr : memory.core.registry().find<KernelFunction>(found->second);
}

ArgumentList &Kernels::list_at(void *address) {
    const auto known = lists_.find(address);
    return known != lists_.end() ? *known->second : *lists_.emplace(address, make_ref<ArgumentList>()).first->second;
}

ArgumentList *Kernels::find_list(void *address) const {
    const auto found = lists_.find(address);
    return found == lists_.end() ? nullptr : found->second.get();
}

void *Kernels::sync_address(const Device &device) {
    void *&address = sync_addresses_[device.physical_id];
    if (address == nullptr) {
        address = memory.space().allocate_internal(device.physical_id, kSyncBytes);
    }
    if (address == nullptr) {
        fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "device %u has no room for the synchronization of its cores",
             device.user_id);
    }
    return address;
}

void Kernels::device_closed(Device &device) {
    for (Binary *binary : binaries_) {
        binary->forget_device(device.physical_id);
    }
    sync_addresses_.erase(device.physical_id);
}

}  // namespace aclsim
