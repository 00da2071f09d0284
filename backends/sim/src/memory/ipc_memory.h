// SPDX-License-Identifier: Apache-2.0
// Device memory that processes share by key (memory_cmo_allocator.md section 7).
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "memory/exported_pages.h"

namespace aclsim {

class Memory;
struct Device;

// Guarded by the engine lock. Fails with ACL_ERROR_RT_PARAM_INVALID if a key or an address is invalid.
class IpcMemory {
  public:
    explicit IpcMemory(Memory &memory) : memory_(memory) {}
    // Returns the key.
    const std::string &export_block(const void *address, std::uint64_t size, bool checks_process) REQUIRES(engine_lock);
    void permit(const std::string &key, const std::int32_t *processes, std::size_t count) REQUIRES(engine_lock);
    void set_attribute(const std::string &key) REQUIRES(engine_lock) { attributed_.insert(key); }
    // Returns the address in this process. With enables_access, the importer may access the memory's device afterwards.
    void *import(const std::string &key, Device &importer, bool enables_access) REQUIRES(engine_lock);
    // Closes the oldest import of the key; without an import, closes the export.
    void close(const std::string &key) REQUIRES(engine_lock);
    // Ends the export of a freed block, which can no longer be imported.
    void forget(const void *address) REQUIRES(engine_lock);
    // Ends exports and imports of the device's memory, all of which was freed.
    void forget_device(std::uint32_t device) REQUIRES(engine_lock);

  private:
    struct Import {
        void *address;
        std::uint32_t device;
    };
    struct Export {
        const void *address;
        std::uint32_t device;
        ExportedPages pages;
    };
    void unmap(const Import &import) REQUIRES(engine_lock);

    Memory &memory_;
    std::map<std::string, Export> exports_ GUARDED_BY(engine_lock);
    std::multimap<std::string, Import> imports_ GUARDED_BY(engine_lock);  // imports of one key are on the same device
    std::set<std::string> attributed_ GUARDED_BY(engine_lock);
};

}  // namespace aclsim
