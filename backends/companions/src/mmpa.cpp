// SPDX-License-Identifier: Apache-2.0
// The layer between CANN and the system: functions of the system that programs reach through it. They return 0, or -1
// with the error in errno; a wrong argument is -2.
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace {

constexpr std::int32_t kFailed = -1;
constexpr std::int32_t kInvalid = -2;

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

std::int32_t mmGetPid(void) { return getpid(); }
std::int32_t mmGetTid(void) { return static_cast<std::int32_t>(syscall(SYS_gettid)); }
std::int32_t mmGetErrorCode(void) { return errno; }

std::int32_t mmSleep(std::uint32_t milliSecond) {
    if (milliSecond == 0) {
        return kInvalid;
    }
    timespec rest = {static_cast<time_t>(milliSecond / 1000), static_cast<long>(milliSecond % 1000) * 1'000'000};
    while (nanosleep(&rest, &rest) != 0) {
        if (errno != EINTR) {
            return kFailed;
        }
    }
    return 0;
}

timespec mmGetTickCount(void) {
    timespec now = {};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now;
}

std::int32_t mmGetTimeOfDay(timeval *timeVal, struct timezone *timeZone) {
    return timeVal == nullptr ? kInvalid : gettimeofday(timeVal, timeZone);
}

std::int32_t mmMutexInit(pthread_mutex_t *mutex) {
    return mutex == nullptr ? kInvalid : pthread_mutex_init(mutex, nullptr) == 0 ? 0 : kFailed;
}
std::int32_t mmMutexLock(pthread_mutex_t *mutex) {
    return mutex == nullptr ? kInvalid : pthread_mutex_lock(mutex) == 0 ? 0 : kFailed;
}
std::int32_t mmMutexTryLock(pthread_mutex_t *mutex) {
    return mutex == nullptr ? kInvalid : pthread_mutex_trylock(mutex) == 0 ? 0 : kFailed;
}
std::int32_t mmMutexUnLock(pthread_mutex_t *mutex) {
    return mutex == nullptr ? kInvalid : pthread_mutex_unlock(mutex) == 0 ? 0 : kFailed;
}
std::int32_t mmMutexDestroy(pthread_mutex_t *mutex) {
    return mutex == nullptr ? kInvalid : pthread_mutex_destroy(mutex) == 0 ? 0 : kFailed;
}

void *mmDlopen(const char *fileName, std::int32_t mode) {
    return fileName == nullptr ? nullptr : dlopen(fileName, mode);
}
void *mmDlsym(void *handle, const char *funcName) {
    return handle == nullptr || funcName == nullptr ? nullptr : dlsym(handle, funcName);
}
std::int32_t mmDlclose(void *handle) { return handle == nullptr ? kInvalid : dlclose(handle) == 0 ? 0 : kFailed; }
char *mmDlerror(void) { return dlerror(); }

std::int32_t mmAccess2(const char *pathName, std::int32_t mode) {
    return pathName == nullptr ? kInvalid : access(pathName, mode);
}
std::int32_t mmAccess(const char *pathName) { return mmAccess2(pathName, F_OK); }
std::int32_t mmMkdir(const char *pathName, mode_t mode) {
    return pathName == nullptr ? kInvalid : mkdir(pathName, mode);
}
std::int32_t mmRmdir(const char *pathName) { return pathName == nullptr ? kInvalid : rmdir(pathName); }
std::int32_t mmUnlink(const char *filename) { return filename == nullptr ? kInvalid : unlink(filename); }

// The path needs room for PATH_MAX bytes.
std::int32_t mmRealPath(const char *path, char *realPath, std::int32_t realPathLen) {
    constexpr std::int32_t kLongestPath = 4096;
    if (path == nullptr || realPath == nullptr || realPathLen < kLongestPath) {
        return kInvalid;
    }
    return realpath(path, realPath) == nullptr ? kFailed : 0;
}

std::int32_t mmGetEnv(const char *name, char *value, std::uint32_t len) {
    const char *found = name == nullptr || value == nullptr || len == 0 ? nullptr : std::getenv(name);
    if (found == nullptr) {
        return name == nullptr || value == nullptr || len == 0 ? kInvalid : kFailed;
    }
    if (std::strlen(found) >= len) {
        return kInvalid;
    }
    std::strcpy(value, found);
    return 0;
}
std::int32_t mmSetEnv(const char *name, const char *value, std::int32_t overwrite) {
    return name == nullptr || value == nullptr ? kInvalid : setenv(name, value, overwrite);
}
}
#pragma GCC visibility pop
