// The calling thread.
#pragma once

#include <cstdint>

namespace aclsim {

struct Thread {
    std::uint32_t number = 0;                 // 0: not asked for yet
    std::uint32_t last_task_id = 0xFFFFFFFF;  // before the first submission
};
inline thread_local Thread t_thread;

std::uint32_t ask_for_thread_number();

// The kernel's number of it, which exception callbacks and observers are told (events_streams_sync.md section 11).
inline std::uint32_t thread_number() {
    return t_thread.number != 0 ? t_thread.number : t_thread.number = ask_for_thread_number();
}

// The task that it submitted last (aclrtGetThreadLastTaskId).
inline std::uint32_t last_task_id() { return t_thread.last_task_id; }
inline void note_submission(std::uint64_t sequence) { t_thread.last_task_id = static_cast<std::uint32_t>(sequence); }

}  // namespace aclsim
