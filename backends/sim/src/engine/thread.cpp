#include "engine/thread.h"

#include <pthread.h>
#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace aclsim {
namespace {

// Where one of them is blocked, a fault ends the process without calling the program's handler.
constexpr int kFaults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};

}  // namespace

std::uint32_t ask_for_thread_number() {
#ifdef __linux__
    return static_cast<std::uint32_t>(syscall(SYS_gettid));
#else
    std::uint64_t number = 0;
    pthread_threadid_np(nullptr, &number);
    return static_cast<std::uint32_t>(number);
#endif
}

SignalsBlocked::SignalsBlocked() {
    sigset_t blocked;
    sigfillset(&blocked);
    for (const int fault : kFaults) {
        sigdelset(&blocked, fault);
    }
    pthread_sigmask(SIG_BLOCK, &blocked, &before_);
}

}  // namespace aclsim
