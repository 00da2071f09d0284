// SPDX-License-Identifier: Apache-2.0
#include "tasks/host_library.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "support/descriptor.h"
#include "support/error.h"
#include "support/loadable.h"
#include "support/uncancelled.h"

namespace aclsim {
namespace {

bool write_all(int file, const unsigned char *data, std::size_t size) {
    while (size > 0) {
        const ssize_t written = write(file, data, size);
        if (written < 0 && errno != EINTR) {
            return false;
        }
        data += std::max<ssize_t>(written, 0);
        size -= static_cast<std::size_t>(std::max<ssize_t>(written, 0));
    }
    return true;
}

}  // namespace

// Loads from a copy in memory, also for a file, so that later changes to the file do not affect the checked content.
HostLibrary::HostLibrary(const unsigned char *data, std::size_t size) {
#ifdef __linux__
    require_loadable(data);
    const Uncancelled uncancelled;
    file_ = above_standard_files(memfd_create("ascend_rt-kernels", MFD_CLOEXEC));
    if (file_ < 0 || !write_all(file_, data, size)) {
        const int error = errno;
        close(file_);
        fail(ACL_ERROR_RT_PARAM_INVALID, "the host has no room for a shared object of %zu bytes: %s", size,
             std::strerror(error));
    }
    library_ = dlopen(("/proc/self/fd/" + std::to_string(file_)).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) {
        const char *text = dlerror();
        close(file_);
        fail(ACL_ERROR_RT_PARAM_INVALID, "the shared object cannot be loaded: %s", text != nullptr ? text : "unknown");
    }
#else
    static_cast<void>(data);
    static_cast<void>(write_all);
    fail(ACL_ERROR_RT_PARAM_INVALID, "shared objects of %zu bytes are loaded on Linux only", size);
#endif
}

HostLibrary::~HostLibrary() {
    dlclose(library_);
    close(file_);
}

void *HostLibrary::find(const std::string &symbol) const { return dlsym(library_, symbol.c_str()); }

}  // namespace aclsim
