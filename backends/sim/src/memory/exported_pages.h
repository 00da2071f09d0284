// SPDX-License-Identifier: Apache-2.0
// Pages that another process may map, identified by keys of IPC memory and shareable handles of virtual memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "abi/acl.h"
#include "memory/address_space.h"
#include "support/shared_memory.h"

namespace aclsim {

// Piece of a device's memory or of the host's, with the file that contains it.
struct PhysicalPages {
    std::shared_ptr<PageFile> file;
    std::uint64_t offset;
    std::uint64_t size;
    Location location;
    aclrtMemAttr attribute;
    std::uint64_t page;             // bytes
    std::uint64_t exported_as = 0;  // number of the export, if another process made it
};

class ExportedPages {
  public:
    // Known to other processes during its lifetime. The exporter's process must be running when another one opens it.
    ExportedPages(const PhysicalPages &pages, bool checks_process);
    // Returns nothing if no process exports the name, or this process does. Fails with ACL_ERROR_RT_NO_PERMISSION if
    // the process is not among those that the exporter named, and with ACL_ERROR_RT_PARAM_INVALID or
    // ACL_ERROR_RT_RESOURCE_ALLOC_FAIL if it cannot reach the pages.
    static std::optional<PhysicalPages> open(const std::string &name);

    // Fails with ACL_ERROR_RT_NO_PERMISSION if the export does not check processes, and with ACL_ERROR_RT_PARAM_INVALID
    // if the total would exceed the limit.
    static constexpr std::size_t kProcesses =
        65535;  // memory_cmo_allocator.md section 4, aclrtMemSetPidToShareableHandle
    void permit(const std::int32_t *processes, std::size_t count, std::size_t limit = kProcesses);
    const std::string &name() const { return shared_->name(); }
    std::uint64_t number() const { return shared_->number(); }

  private:
    std::shared_ptr<SharedMemory> shared_;
    std::shared_ptr<PageFile> file_;  // opened by others by its number in this process
};

}  // namespace aclsim
