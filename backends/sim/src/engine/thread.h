// The calling thread.
#pragma once

#include <cstdint>

namespace aclsim {

// The kernel's number of it, which exception callbacks and observers are told (events_streams_sync.md section 11).
std::uint32_t thread_number();

// The task that it submitted last (aclrtGetThreadLastTaskId), and the handle of its stream.
std::uint32_t last_task_id();
struct LastTask {
    void *stream = nullptr;  // none was submitted
    std::uint64_t sequence = 0;
};
LastTask last_task();
// Notes one; returns the thread's number.
std::uint32_t note_submission(void *stream, std::uint64_t sequence);

}  // namespace aclsim
