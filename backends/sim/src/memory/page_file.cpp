#include "memory/page_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "support/error.h"

#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0
#endif
#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0
#endif

namespace aclsim {
namespace {

constexpr int kAccess = PROT_READ | PROT_WRITE;
constexpr int kAddressesOnly = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

int create_file() {
#ifdef __linux__
    return memfd_create("ascend_rt", MFD_CLOEXEC);
#else
    char name[] = "/tmp/ascend_rt-XXXXXX";
    const int file = mkstemp(name);
    unlink(name);
    return file;
#endif
}

// A core dump of simulated devices would have the size of real ones.
void keep_out_of_dumps(void *address, std::uint64_t size) {
#ifdef MADV_DONTDUMP
    madvise(address, size, MADV_DONTDUMP);
#else
    (void)address;
    (void)size;
#endif
}

}  // namespace

std::shared_ptr<PageFile> PageFile::create(std::uint64_t size) {
    const std::shared_ptr<PageFile> file(new PageFile(create_file()));
    if (file->file_ < 0 || ftruncate(file->file_, static_cast<off_t>(size)) != 0) {
        fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "the host gives no file of %llu GiB for simulated memory: %s",
             static_cast<unsigned long long>(size >> 30), std::strerror(errno));
    }
    return file;
}

std::shared_ptr<PageFile> PageFile::open(int process, int descriptor) {
    const std::string path = "/proc/" + std::to_string(process) + "/fd/" + std::to_string(descriptor);
    const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    return file < 0 ? nullptr : std::shared_ptr<PageFile>(new PageFile(file));
}

PageFile::~PageFile() {
    if (file_ >= 0) {
        close(file_);
    }
}

void PageFile::map(void *address, std::uint64_t offset, std::uint64_t size) const {
    if (mmap(address, size, kAccess, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, file_, static_cast<off_t>(offset)) ==
        MAP_FAILED) {
        fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "the host cannot map %llu bytes: %s",
             static_cast<unsigned long long>(size), std::strerror(errno));
    }
    keep_out_of_dumps(address, size);
}

void PageFile::discard(std::uint64_t offset, std::uint64_t size) const {
#ifdef __linux__
    fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset), static_cast<off_t>(size));
#else
    (void)offset;
    (void)size;
#endif
}

void *reserve_addresses(std::uint64_t size, void *wish) {
    void *found = mmap(wish, size, kAccess, kAddressesOnly | (wish == nullptr ? 0 : MAP_FIXED_NOREPLACE), -1, 0);
    if (found == MAP_FAILED) {
        return nullptr;
    }
    if (wish != nullptr && found != wish) {  // an older kernel takes the wish for a hint
        munmap(found, size);
        return nullptr;
    }
    keep_out_of_dumps(found, size);
    return found;
}

void prefer_large_pages(void *address, std::uint64_t size) {
#ifdef MADV_HUGEPAGE
    madvise(address, size, MADV_HUGEPAGE);
#else
    (void)address;
    (void)size;
#endif
}

void discard_pages(void *address, std::uint64_t size) { madvise(address, size, MADV_DONTNEED); }

void clear_addresses(void *address, std::uint64_t size) {
    mmap(address, size, kAccess, kAddressesOnly | MAP_FIXED, -1, 0);
    keep_out_of_dumps(address, size);
}

void give_addresses_back(void *address, std::uint64_t size) { munmap(address, size); }

bool has_pages(const void *address, std::uint64_t size) {
    const std::uintptr_t offset =
        reinterpret_cast<std::uintptr_t>(address) % static_cast<std::uintptr_t>(getpagesize());
    auto *begin = const_cast<char *>(static_cast<const char *>(address)) - offset;
    return msync(begin, size + offset, MS_ASYNC) == 0;  // starts nothing, and fails where nothing is mapped
}

void populate_pages(const void *address, std::uint64_t size) {
#ifdef MADV_POPULATE_READ
    madvise(const_cast<void *>(address), size, MADV_POPULATE_READ);
#else
    (void)address;
    (void)size;
#endif
}

}  // namespace aclsim
