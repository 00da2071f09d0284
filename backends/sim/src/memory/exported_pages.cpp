#include "memory/exported_pages.h"

#include <unistd.h>

#include "memory/permitted_processes.h"
#include "support/error.h"

namespace aclsim {
namespace {

struct Shared {
    std::int32_t process;
    std::int32_t descriptor;
    std::uint64_t offset;
    std::uint64_t size;
    Location location;
    aclrtMemAttr attribute;
    std::uint64_t page;
    PermittedProcesses<ExportedPages::kProcesses> importers;
};

}  // namespace

ExportedPages::ExportedPages(const PhysicalPages &pages, bool checks_process)
    : shared_(SharedMemory::create<Shared>()), file_(pages.file) {
    Shared &shared = shared_->as<Shared>();
    shared.process = getpid();
    shared.descriptor = pages.file->descriptor();
    shared.offset = pages.offset;
    shared.size = pages.size;
    shared.location = pages.location;
    shared.attribute = pages.attribute;
    shared.page = pages.page;
    shared.importers.start(checks_process);
}

std::optional<PhysicalPages> ExportedPages::open(const std::string &name) {
    const auto memory = SharedMemory::open<Shared>(name);
    if (memory == nullptr || memory->as<Shared>().process == getpid()) {
        return std::nullopt;
    }
    const Shared &shared = memory->as<Shared>();
    if (!shared.importers.permits(getpid())) {
        fail(ACL_ERROR_RT_NO_PERMISSION,
             "process %d, which exports the memory, has not named process %d as an importer", shared.process,
             static_cast<int>(getpid()));
    }
    const auto file = PageFile::open(shared.process, shared.descriptor);
    if (file == nullptr) {
        return std::nullopt;
    }
    return PhysicalPages{file, shared.offset, shared.size, shared.location, shared.attribute, shared.page};
}

void ExportedPages::permit(const std::int32_t *processes, std::size_t count, std::size_t limit) {
    auto &importers = shared_->as<Shared>().importers;
    if (!importers.is_checked()) {
        fail(ACL_ERROR_RT_NO_PERMISSION, "the memory was exported without a check of processes: there is none to name");
    }
    if (!importers.add(processes, count, limit)) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "at most %zu processes may import the memory", limit);
    }
}

}  // namespace aclsim
