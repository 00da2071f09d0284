#include "engine/thread.h"

#include <pthread.h>
#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace aclsim {
namespace {

std::uint32_t ask_kernel() {
#ifdef __linux__
    return static_cast<std::uint32_t>(syscall(SYS_gettid));
#else
    std::uint64_t number = 0;
    pthread_threadid_np(nullptr, &number);
    return static_cast<std::uint32_t>(number);
#endif
}

}  // namespace

std::uint32_t thread_number() {
    thread_local const std::uint32_t number = ask_kernel();
    return number;
}

}  // namespace aclsim
