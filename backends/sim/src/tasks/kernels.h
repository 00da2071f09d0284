// SPDX-License-Identifier: Apache-2.0
// Kernels of the process: binaries, functions that replace kernels, and related state.
#pragma once

#include <map>
#include <set>
#include <string>

#include "abi/acl.h"
#include "machine/machine.h"
#include "tasks/argument_list.h"
#include "tasks/binary.h"
#include "tasks/kernel_code.h"

namespace aclsim {

// Guarded by the engine lock.
class Kernels final : public Resident {
  public:
    explicit Kernels(Memory &memory_of_all);

    Ref<Binary> add(BinaryContent content, bool is_lazy, bool is_old_style) REQUIRES(engine_lock);
    // Removes the functions from the program's view. Launches in progress continue.
    void unload(Binary &binary) REQUIRES(engine_lock);

    // --- code in place of kernels ------------------------------------------------------------------------------------
    void register_code(const std::string &name, Ref<KernelCode> code) REQUIRES(engine_lock);
    bool unregister_code(const std::string &name) REQUIRES(engine_lock);                   // false: not found
    Ref<KernelCode> code_for(const KernelFunction &function) const REQUIRES(engine_lock);  // nullptr: none

    // --- symbols of the host for kernels -------------------------------------------------------------------------
    bool add_symbol(const void *symbol, const KernelFunction &function)
        REQUIRES(engine_lock);                                                    // false: it already does
    KernelFunction *find_symbol(const void *symbol) const REQUIRES(engine_lock);  // nullptr: not registered

    // --- argument lists whose handle is memory of the program --------------------------------------------------------
    ArgumentList &list_at(void *memory) REQUIRES(engine_lock);          // created if there is none
    ArgumentList *find_list(void *memory) const REQUIRES(engine_lock);  // nullptr: none

    // Implements aclrtGetHardwareSyncAddr, which returns the same address for each call on a device. Fails with
    // ACL_ERROR_RT_MEMORY_ALLOCATION.
    void *sync_address(const Device &device) REQUIRES(engine_lock);

    void device_closed(Device &device) override REQUIRES(engine_lock);

    Memory &memory;

  private:
    friend class Binary;
    std::set<Binary *> binaries_ GUARDED_BY(engine_lock);                   // including those that only launches use
    std::map<std::string, Ref<KernelCode>> codes_ GUARDED_BY(engine_lock);  // by kernel
    std::map<const void *, void *> symbols_ GUARDED_BY(engine_lock);        // function handles
    std::map<void *, Ref<ArgumentList>> lists_ GUARDED_BY(engine_lock);     // until the binary is unloaded
    std::map<std::uint32_t, void *> sync_addresses_ GUARDED_BY(engine_lock);
};

}  // namespace aclsim
