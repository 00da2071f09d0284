// SPDX-License-Identifier: Apache-2.0
#include "support/host_error.h"

#include <sys/resource.h>
#include <sys/statvfs.h>

#include <cerrno>
#include <cstring>

namespace aclsim {
namespace {

std::string describe_file_limit() {
    rlimit limit = {};
    getrlimit(RLIMIT_NOFILE, &limit);
    return "the process may have " + std::to_string(limit.rlim_cur) +
           " open files, and has them; raise the limit (ulimit -n) or close files";
}

std::string describe_full_directory(const std::string &directory) {
    struct statvfs status = {};
    statvfs(directory.c_str(), &status);
    const unsigned long kib = status.f_frsize / 1024;
    return directory + " is full: " + std::to_string(status.f_bavail * kib) + " KiB of " +
           std::to_string(status.f_blocks * kib) + " KiB are free, and room for " + std::to_string(status.f_favail) +
           " files; remove files there or enlarge it (docker run --shm-size=1g)";
}

}  // namespace

std::string describe_host_error(int error, const char *directory) {
    if (error == EMFILE) {
        return describe_file_limit();
    }
    if (error == ENFILE) {
        return "all processes together have as many open files as the host permits; close files or raise fs.file-max";
    }
    if (error == ENOSPC && directory != nullptr) {
        return describe_full_directory(directory);
    }
    return std::strerror(error);
}

bool is_shortage(int error) {
    return error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOSPC || error == ENOLCK;
}

}  // namespace aclsim
