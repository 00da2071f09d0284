// Pages that another process may map: what the keys of IPC memory and the shareable handles of virtual memory stand
// for.
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

// A piece of a device's memory, or of the host's, by the file that it is in.
struct PhysicalPages {
    std::shared_ptr<PageFile> file;
    std::uint64_t offset;
    std::uint64_t size;
    Location location;
    aclrtMemAttr attribute;
    std::uint64_t page;             // bytes
    std::uint64_t exported_as = 0;  // another process's: the number of its export
};

class ExportedPages {
  public:
    // Known to other processes as long as it lives. The exporter's process must live when another one opens it.
    ExportedPages(const PhysicalPages &pages, bool checks_process);
    // Nothing: no process exports that, or this one does. Fails with ACL_ERROR_RT_NO_PERMISSION if the process is not
    // among those that the exporter named, and with ACL_ERROR_RT_PARAM_INVALID or ACL_ERROR_RT_RESOURCE_ALLOC_FAIL if
    // the pages are out of its reach.
    static std::optional<PhysicalPages> open(const std::string &name);

    // Fails with ACL_ERROR_RT_NO_PERMISSION if the export checks no process, and with ACL_ERROR_RT_PARAM_INVALID if
    // they would be more than the limit in all.
    static constexpr std::size_t kProcesses =
        65535;  // memory_cmo_allocator.md section 4, aclrtMemSetPidToShareableHandle
    void permit(const std::int32_t *processes, std::size_t count, std::size_t limit = kProcesses);
    const std::string &name() const { return shared_->name(); }
    std::uint64_t number() const { return shared_->number(); }

  private:
    std::shared_ptr<SharedMemory> shared_;
    std::shared_ptr<PageFile> file_;  // others open it by its number in this process
};

}  // namespace aclsim
