// SPDX-License-Identifier: Apache-2.0
// Descriptors that are kept.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace aclsim {

// Moves a new descriptor away from the numbers of the standard files. A program may have closed those, and any library
// in it may still write to standard error: into this file, if it had that number. Returns -1 with errno if that cannot
// be done.
inline int above_standard_files(int descriptor) {
    if (descriptor < 0 || descriptor > STDERR_FILENO) {
        return descriptor;
    }
    const int moved = fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    const int error = errno;
    close(descriptor);
    errno = error;
    return moved;
}

}  // namespace aclsim
