// SPDX-License-Identifier: Apache-2.0
#include "memory/symbol.h"

#include <cstring>
#include <utility>

#include "memory/memory.h"
#include "support/error.h"

namespace aclsim {

void Symbols::add(const void *symbol, std::vector<unsigned char> content) {
    if (!variables_.try_emplace(symbol, Variable{std::move(content), {}}).second) {
        fail(ACL_ERROR_RT_INVALID_SYMBOL, "the symbol %p is registered already", symbol);
    }
}

void Symbols::remove(const void *symbol) {
    for (const auto &[device, address] : require_variable(symbol).addresses) {
        note_release(memory_, address);
        memory_.space().free_internal(device, address);
    }
    variables_.erase(symbol);
}

std::uint64_t Symbols::size_of(const void *symbol) { return require_variable(symbol).content.size(); }

void *Symbols::address_of(const void *symbol, const Device &device) {
    Variable &variable = require_variable(symbol);
    const auto found = variable.addresses.find(device.physical_id);
    if (found != variable.addresses.end()) {
        return found->second;
    }
    InternalBlock block = own_block(memory_, device.physical_id,
                                    memory_.space().allocate_internal(device.physical_id, variable.content.size()));
    if (block == nullptr) {
        fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "device %u has no room for a variable of %zu bytes", device.user_id,
             variable.content.size());
    }
    note_allocation(memory_, block.get(), variable.content.size());
    variable.addresses.emplace(device.physical_id, block.get());
    std::memcpy(block.get(), variable.content.data(), variable.content.size());
    return block.release();
}

void Symbols::forget_device(std::uint32_t device) {
    for (auto &[symbol, variable] : variables_) {
        variable.addresses.erase(device);
    }
}

Symbols::Variable &Symbols::require_variable(const void *symbol) {
    const auto found = variables_.find(symbol);
    if (found == variables_.end()) {
        fail(ACL_ERROR_RT_INVALID_SYMBOL, "%p is not a registered symbol of a device variable", symbol);
    }
    return found->second;
}

}  // namespace aclsim
