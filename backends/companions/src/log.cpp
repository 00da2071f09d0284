// SPDX-License-Identifier: Apache-2.0
#include "log.h"

#include <unistd.h>

#include <atomic>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr std::size_t kLongestText = 1024;

enum Level { kDebug, kInfo, kWarning, kError, kSilent, kEvent = 16 };
constexpr const char *kNames[] = {"DEBUG", "INFO", "WARNING", "ERROR"};

// A level may have the bits of a kind of line above it.
constexpr std::int32_t kLevelBits = 0xFF;

std::atomic<std::int32_t> g_level{-1};  // set by dlog_setlevel
std::atomic<std::int32_t> g_events{1};

std::int32_t lowest_level() {
    const std::int32_t set = g_level;
    const char *value = std::getenv("ASCEND_GLOBAL_LOG_LEVEL");
    if (set >= 0 || value == nullptr || value[0] < '0' || value[0] > '0' + kSilent || value[1] != '\0') {
        return set >= 0 ? set : static_cast<std::int32_t>(kError);
    }
    return value[0] - '0';
}

bool is_printed(std::int32_t level) {
    const char *value = std::getenv("ASCEND_SLOG_PRINT_TO_STDOUT");
    if (value == nullptr || std::strcmp(value, "1") != 0) {
        return false;
    }
    level &= kLevelBits;
    return level == kEvent ? g_events != 0 : level >= lowest_level() && level < kSilent;
}

[[gnu::format(printf, 3, 0)]] void print(std::int32_t module, std::int32_t level, const char *format,
                                         std::va_list arguments) {
    if (format == nullptr || !is_printed(level)) {
        return;
    }
    char text[kLongestText + 1];
    std::vsnprintf(text, sizeof text, format, arguments);
    level &= kLevelBits;
    std::printf("[%s] module %d(%d): %s\n", level == kEvent ? "EVENT" : kNames[level], module,
                static_cast<int>(getpid()), text);
    std::fflush(stdout);  // keeps the order with other output of the program
}

}  // namespace

int32_t dlog_getlevel(int32_t, int32_t *enableEvent) {
    if (enableEvent != nullptr) {
        *enableEvent = g_events;
    }
    return lowest_level();
}

// Modules have one level together.
int32_t dlog_setlevel(int32_t, int32_t level, int32_t enableEvent) {
    if (level < kDebug || level > kSilent) {
        return -1;
    }
    g_level = level;
    g_events = enableEvent != 0 ? 1 : 0;
    return 0;
}

int32_t CheckLogLevel(int32_t, int32_t logLevel) { return is_printed(logLevel) ? 1 : 0; }

void DlogFlush(void) { std::fflush(stdout); }

#pragma GCC diagnostic ignored "-Wformat-nonliteral"

#define PRINT(level)                        \
    std::va_list arguments;                 \
    va_start(arguments, fmt);               \
    print(moduleId, level, fmt, arguments); \
    va_end(arguments)

void DlogRecord(int32_t moduleId, int32_t level, const char *fmt, ...) { PRINT(level); }
void DlogInner(int32_t moduleId, int32_t level, const char *fmt, ...) { PRINT(level); }
void DlogErrorInner(int32_t moduleId, const char *fmt, ...) { PRINT(kError); }
void DlogWarnInner(int32_t moduleId, const char *fmt, ...) { PRINT(kWarning); }
void DlogInfoInner(int32_t moduleId, const char *fmt, ...) { PRINT(kInfo); }
void DlogDebugInner(int32_t moduleId, const char *fmt, ...) { PRINT(kDebug); }
void DlogEventInner(int32_t moduleId, const char *fmt, ...) { PRINT(kEvent); }

#pragma GCC visibility push(default)
extern "C" {
void DlogVaList(int32_t moduleId, int32_t level, const char *fmt, va_list list) { print(moduleId, level, fmt, list); }

// Attributes are for the files of a process.
int32_t DlogSetAttr(void) { return 0; }
}
#pragma GCC visibility pop
