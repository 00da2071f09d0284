// SPDX-License-Identifier: Apache-2.0
#include "memory/exported_pages.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

#include "memory/permitted_processes.h"
#include "support/error.h"
#include "support/host_error.h"

namespace aclsim {
namespace {

struct Shared {
    std::uint64_t exporter;          // own_process() in the exporter
    std::uint64_t namespace_number;  // PID namespace of the process number
    std::int32_t process;
    std::int32_t descriptor;
    FileIdentity file;
    std::uint64_t offset;
    std::uint64_t size;
    Location location;
    aclrtMemAttr attribute;
    std::uint64_t page;
    PermittedProcesses<ExportedPages::kProcesses> importers;
};
static_assert(offsetof(Shared, importers) + 8 <= SharedMemory::kFirstBytes, "counts have pages");

// Returns the PID namespace of this process; 0 if unknown.
std::uint64_t own_namespace() {
    struct stat status = {};
    return stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

[[noreturn]] void fail_to_open(const Shared &shared, int error) {
    if (is_shortage(error)) {
        fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "the host does not open the memory of process %d: %s", shared.process,
             describe_host_error(error).c_str());
    }
    if (shared.namespace_number != own_namespace()) {
        fail(ACL_ERROR_RT_PARAM_INVALID,
             "the exporter, process %d of another PID namespace, cannot be found from here; start one container in the "
             "PID namespace of the other (docker run --pid=container:NAME) or both in the host's (--pid=host)",
             shared.process);
    }
    if (error == EACCES || error == EPERM) {
        fail(ACL_ERROR_RT_PARAM_INVALID,
             "the host does not open the memory of process %d: %s; start both processes as the same user",
             shared.process, describe_host_error(error).c_str());
    }
    fail(ACL_ERROR_RT_PARAM_INVALID, "process %d, which exported the memory, has ended", shared.process);
}

}  // namespace

ExportedPages::ExportedPages(const PhysicalPages &pages, bool checks_process)
    : shared_(SharedMemory::create<Shared>()), file_(pages.file) {
    Shared &shared = shared_->as<Shared>();
    shared.exporter = own_process();
    shared.namespace_number = own_namespace();
    shared.process = getpid();
    shared.descriptor = pages.file->descriptor();
    shared.file = pages.file->identity();
    shared.offset = pages.offset;
    shared.size = pages.size;
    shared.location = pages.location;
    shared.attribute = pages.attribute;
    shared.page = pages.page;
    shared.importers.start(checks_process);
}

std::optional<PhysicalPages> ExportedPages::open(const std::string &name) {
    const auto memory = SharedMemory::open<Shared>(name);
    if (memory == nullptr || memory->as<Shared>().exporter == own_process()) {
        return std::nullopt;
    }
    const Shared &shared = memory->as<Shared>();
    if (!shared.importers.permits(getpid())) {
        fail(ACL_ERROR_RT_NO_PERMISSION,
             "process %d, which exports the memory, has not named process %d as an importer", shared.process,
             static_cast<int>(getpid()));
    }
    const auto file = PageFile::open(shared.process, shared.descriptor, shared.file);
    if (file == nullptr) {
        fail_to_open(shared, errno);
    }
    if (shared.offset > shared.file.size || shared.size > shared.file.size - shared.offset) {
        return std::nullopt;
    }
    return PhysicalPages{file,        shared.offset,   shared.size, shared.location, shared.attribute,
                         shared.page, memory->number()};
}

void ExportedPages::permit(const std::int32_t *processes, std::size_t count, std::size_t limit) {
    auto &importers = shared_->as<Shared>().importers;
    if (!importers.is_checked()) {
        fail(ACL_ERROR_RT_NO_PERMISSION, "the memory was exported without a check of processes: there is none to name");
    }
    shared_->reserve(&importers, importers.bytes_with(count));
    if (!importers.add(processes, count, limit)) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "at most %zu processes may import the memory", limit);
    }
}

}  // namespace aclsim
