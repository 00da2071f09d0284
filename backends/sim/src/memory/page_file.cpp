// SPDX-License-Identifier: Apache-2.0
#include "memory/page_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "support/descriptor.h"
#include "support/error.h"
#include "support/file_limit.h"
#include "support/host_error.h"
#include "support/pages.h"
#include "support/uncancelled.h"

#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0
#endif

namespace aclsim {
namespace {

int create_file() {
#ifdef __linux__
    return memfd_create("ascend_rt", MFD_CLOEXEC | MFD_ALLOW_SEALING);
#else
    char name[] = "/tmp/ascend_rt-XXXXXX";
    const int file = mkstemp(name);
    unlink(name);
    return file;
#endif
}

// Prevents processes from truncating a file that others have mapped, which would kill them.
void keep_size(int file) {
#ifdef __linux__
    fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
#else
    static_cast<void>(file);
#endif
}

}  // namespace

std::shared_ptr<PageFile> PageFile::create(std::uint64_t size) {
    const std::string problem = file_limit_problem(size);
    if (!problem.empty()) {
        fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "simulated memory is a file of %llu bytes: %s",
             static_cast<unsigned long long>(size), problem.c_str());
    }
    const std::shared_ptr<PageFile> file(new PageFile(above_standard_files(create_file())));
    if (file->file_ < 0 || ftruncate(file->file_, static_cast<off_t>(size)) != 0) {
        fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "the host gives no file of %llu GiB for simulated memory: %s",
             static_cast<unsigned long long>(size >> 30), describe_host_error(errno).c_str());
    }
    keep_size(file->file_);
    return file;
}

// O_PATH only names the file, which is not opened until its identity is confirmed: opening a device may change it.
std::shared_ptr<PageFile> PageFile::open(int process, int descriptor, const FileIdentity &identity) {
    const Uncancelled uncancelled;
#ifdef __linux__
    const std::string path = "/proc/" + std::to_string(process) + "/fd/" + std::to_string(descriptor);
    const PageFile named(::open(path.c_str(), O_PATH | O_CLOEXEC));
    if (named.file_ < 0) {
        return nullptr;
    }
    if (!(named.identity() == identity)) {
        errno = ENOENT;
        return nullptr;
    }
    const std::string own_path = "/proc/self/fd/" + std::to_string(named.file_);
    const int file = above_standard_files(::open(own_path.c_str(), O_RDWR | O_CLOEXEC));
    return file < 0 ? nullptr : std::shared_ptr<PageFile>(new PageFile(file));
#else
    static_cast<void>(process);
    static_cast<void>(descriptor);
    static_cast<void>(identity);
    errno = ENOTSUP;
    return nullptr;
#endif
}

PageFile::PageFile(int file) : file_(file) {
    struct stat status = {};
    if (file >= 0 && fstat(file, &status) == 0) {
        device_ = status.st_dev;
        number_ = status.st_ino;
    }
}

// Returns false if the program has closed the descriptor, which may name a file of the program since (daemons close
// all).
bool PageFile::is_ours() const {
    struct stat now = {};
    return file_ >= 0 && fstat(file_, &now) == 0 && now.st_dev == device_ && now.st_ino == number_;
}

FileIdentity PageFile::identity() const {
    struct stat status = {};
    fstat(file_, &status);
    return {status.st_dev, status.st_ino, static_cast<std::uint64_t>(status.st_size)};
}

PageFile::~PageFile() {
    if (is_ours()) {
        const Uncancelled uncancelled;
        close(file_);
    }
}

void PageFile::map(void *address, std::uint64_t offset, std::uint64_t size) const {
    if (!is_ours()) {
        fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "the program has closed the descriptor %d of the simulated memory", file_);
    }
    if (mmap(address, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, file_,
             static_cast<off_t>(offset)) == MAP_FAILED) {
        fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "the host cannot map %llu bytes: %s",
             static_cast<unsigned long long>(size), std::strerror(errno));
    }
    keep_out_of_dumps(address, size);
}

void PageFile::discard(std::uint64_t offset, std::uint64_t size) const {
#ifdef __linux__
    if (!is_ours()) {
        return;
    }
    fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset), static_cast<off_t>(size));
#else
    (void)offset;
    (void)size;
#endif
}

}  // namespace aclsim
