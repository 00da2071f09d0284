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

constexpr std::uint32_t kNoTask = 0xFFFFFFFF;  // before the first submission

struct Thread {
    std::uint32_t number = 0;  // 0: not asked for yet
    LastTask last;
};
thread_local Thread t_thread;

Thread &known_thread() {
    Thread &thread = t_thread;
    if (thread.number == 0) {
        thread.number = ask_kernel();
    }
    return thread;
}

}  // namespace

std::uint32_t thread_number() { return known_thread().number; }

std::uint32_t last_task_id() {
    const LastTask &last = t_thread.last;
    return last.sequence == 0 ? kNoTask : static_cast<std::uint32_t>(last.sequence);
}

LastTask last_task() { return t_thread.last; }

std::uint32_t note_submission(void *stream, std::uint64_t sequence) {
    Thread &thread = known_thread();
    thread.last = {stream, sequence};
    return thread.number;
}

}  // namespace aclsim
