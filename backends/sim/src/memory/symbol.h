// SPDX-License-Identifier: Apache-2.0
// Variables of device programs, known by the addresses of their host symbols (memory_cmo_allocator.md section 10).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "engine/lock.h"

namespace aclsim {

class Memory;
struct Device;

// Guarded by the engine lock.
class Symbols {
  public:
    explicit Symbols(Memory &memory) : memory_(memory) {}

    // Registers or removes a variable, as its program does when it is loaded or unloaded. The content is its initial
    // value on each device. add() fails with ACL_ERROR_RT_INVALID_SYMBOL if the symbol is registered already, remove()
    // if it is not.
    void add(const void *symbol, std::vector<unsigned char> content) REQUIRES(engine_lock);
    void remove(const void *symbol) REQUIRES(engine_lock);
    // Fails with ACL_ERROR_RT_INVALID_SYMBOL.
    std::uint64_t size_of(const void *symbol) REQUIRES(engine_lock);
    // Returns the address on the device, and allocates the variable there at the first call. Fails with
    // ACL_ERROR_RT_MEMORY_ALLOCATION too.
    void *address_of(const void *symbol, const Device &device) REQUIRES(engine_lock);
    void forget_device(std::uint32_t device) REQUIRES(engine_lock);  // the device's memory is gone

  private:
    struct Variable {
        std::vector<unsigned char> content;
        std::map<std::uint32_t, void *> addresses;  // keyed by ID before ASCEND_RT_VISIBLE_DEVICES is applied
    };
    Variable &require_variable(const void *symbol) REQUIRES(engine_lock);

    Memory &memory_;
    std::map<const void *, Variable> variables_ GUARDED_BY(engine_lock);
};

}  // namespace aclsim
