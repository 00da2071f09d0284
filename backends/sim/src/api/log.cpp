// SPDX-License-Identifier: Apache-2.0
// Lines of the application in the runtime's log (device_context_init_errors.md section 10). The simulator keeps no log
// files, and prints the lines that the environment selects.
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "abi/acl.h"

namespace {

constexpr std::size_t kLongestText = 1024;
constexpr const char *kLevels[] = {"DEBUG", "INFO", "WARNING", "ERROR"};
constexpr int kSilent = 4;  // level above all others

bool is_printing() {
    const char *value = std::getenv("ASCEND_SLOG_PRINT_TO_STDOUT");
    return value != nullptr && std::strcmp(value, "1") == 0;
}

int lowest_level() {
    const char *value = std::getenv("ASCEND_GLOBAL_LOG_LEVEL");
    const bool is_level = value != nullptr && value[0] >= '0' && value[0] <= '0' + kSilent && value[1] == '\0';
    return is_level ? value[0] - '0' : static_cast<int>(ACL_ERROR);
}

const char *or_empty(const char *text) { return text == nullptr ? "" : text; }

}  // namespace

void aclAppLog(aclLogLevel logLevel, const char *func, const char *file, uint32_t line, const char *fmt, ...) {
    const int level = static_cast<int>(logLevel);
    if (fmt == nullptr || level < ACL_DEBUG || level > ACL_ERROR || !is_printing() || level < lowest_level()) {
        return;
    }
    char text[kLongestText + 1];
    va_list arguments;
    va_start(arguments, fmt);
    std::vsnprintf(text, sizeof text, fmt, arguments);
    va_end(arguments);
    std::printf("[%s] APP(%d): [%s:%u] %s: %s\n", kLevels[level], static_cast<int>(getpid()), or_empty(file), line,
                or_empty(func), text);
    std::fflush(stdout);  // keeps the order with other output of the program
}
