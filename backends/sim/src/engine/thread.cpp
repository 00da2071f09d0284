#include "engine/thread.h"

#include <pthread.h>
#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace aclsim {

std::uint32_t ask_for_thread_number() {
#ifdef __linux__
    return static_cast<std::uint32_t>(syscall(SYS_gettid));
#else
    std::uint64_t number = 0;
    pthread_threadid_np(nullptr, &number);
    return static_cast<std::uint32_t>(number);
#endif
}

}  // namespace aclsim
