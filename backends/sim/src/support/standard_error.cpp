// SPDX-License-Identifier: Apache-2.0
#include "support/standard_error.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstdarg>
#include <cstdio>

namespace aclsim {
namespace {

std::atomic<bool> g_are_printed{fcntl(STDERR_FILENO, F_GETFD) >= 0};

}  // namespace

void print_error(const char *format, ...) {
    if (g_are_printed) {
        std::va_list arguments;
        va_start(arguments, format);
        std::vfprintf(stderr, format, arguments);
        va_end(arguments);
    }
}

void set_messages(bool are_printed) { g_are_printed = are_printed; }

}  // namespace aclsim
