// The calling thread.
#pragma once

#include <cstdint>
#include <type_traits>

namespace aclsim {

struct LastTask {
    void *stream = nullptr;  // its handle; nullptr: the thread has submitted nothing
    std::uint64_t sequence = 0;
};

struct Thread {
    std::uint32_t number = 0;  // 0: not asked for yet
    LastTask last;
};
static_assert(std::is_trivially_destructible_v<Thread>);
inline thread_local Thread t_thread;

std::uint32_t ask_for_thread_number();

// The kernel's number of it, which exception callbacks and observers are told (events_streams_sync.md section 11).
inline std::uint32_t thread_number() {
    return t_thread.number != 0 ? t_thread.number : t_thread.number = ask_for_thread_number();
}

// The task that it submitted last.
inline const LastTask &last_task() { return t_thread.last; }
inline void note_submission(void *stream, std::uint64_t sequence) { t_thread.last = {stream, sequence}; }
// The number of the task (aclrtGetThreadLastTaskId).
inline std::uint32_t last_task_id() {
    constexpr std::uint32_t kNone = 0xFFFFFFFF;
    return last_task().stream == nullptr ? kNone : static_cast<std::uint32_t>(last_task().sequence);
}

}  // namespace aclsim
