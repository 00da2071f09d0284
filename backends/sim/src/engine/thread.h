// SPDX-License-Identifier: Apache-2.0
// State of the calling thread.
#pragma once

#include <csignal>
#include <cstdint>
#include <cstring>
#include <new>
#include <optional>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/facts.h"
#include "support/error.h"

namespace aclsim {

struct LastTask {
    void *stream = nullptr;  // handle; nullptr: the thread has submitted nothing
    std::uint64_t sequence = 0;
    std::uint32_t stream_id = 0;
};

// Task that a thread runs.
struct RunningTask {
    Point task{};  // no task: the thread runs none
    bool is_host_function = false;
};

struct Thread {
    std::uint32_t number = 0;   // 0: not queried yet
    bool is_own = false;        // started by the simulator
    bool asks_quietly = false;  // see aclsimAskQuietly
    LastTask last;
    RunningTask running;
    const CurrentCall *call_with_program_code = nullptr;
};
static_assert(std::is_trivially_destructible_v<Thread>);
inline thread_local Thread t_thread;

// Returns the OS thread number of the calling thread, and enrols it as a user of the library until it ends.
std::uint32_t ask_for_thread_number();

std::uint64_t thread_identifier();  // pthread_self()
// Returns pthread_self() of the thread, which is what the C++ libraries keep in its id.
inline std::uint64_t identifier_of(std::thread::id id) {
    std::uintptr_t identifier = 0;
    static_assert(sizeof identifier == sizeof id);
    std::memcpy(&identifier, &id, sizeof id);
    return identifier;
}
// Returns the identifiers of all program threads that have submitted a task or slept here and have not ended; nullopt
// if memory was missing to note one.
std::optional<std::vector<std::uint64_t>> enrolled_threads();

// Returns the OS thread number of the calling thread, which exception callbacks and observers receive
// (events_streams_sync.md section 11).
inline std::uint32_t thread_number() {
    return t_thread.number != 0 ? t_thread.number : t_thread.number = ask_for_thread_number();
}

// Notes for a scope that the calling thread runs a task. Scopes nest: a host function that synchronizes a stream may
// run tasks of that stream.
class RunningScope {
  public:
    explicit RunningScope(const RunningTask &now) : outer_(std::exchange(t_thread.running, now)) {}
    ~RunningScope() { t_thread.running = outer_; }
    RunningScope(const RunningScope &) = delete;
    RunningScope &operator=(const RunningScope &) = delete;

  private:
    const RunningTask outer_;
};

// Notes for a scope that the present call runs code of the program that is not part of a task, such as a callback.
class ProgramCode {
  public:
    ProgramCode() : outer_(std::exchange(t_thread.call_with_program_code, current_call())) {}
    ~ProgramCode() { t_thread.call_with_program_code = outer_; }
    ProgramCode(const ProgramCode &) = delete;
    ProgramCode &operator=(const ProgramCode &) = delete;

  private:
    const CurrentCall *const outer_;
};
inline const CurrentCall *call_with_program_code() { return t_thread.call_with_program_code; }

// Returns the task whose host function or callback the calling thread runs; no task for other code of the program.
inline Point running_host_function() { return t_thread.running.is_host_function ? t_thread.running.task : Point{}; }
// Returns true if the calling thread does the work of a device: a kernel or a copy, alone or with other threads.
inline bool is_at_work() {
    const RunningTask &running = t_thread.running;
    return running.task.stream == 0 ? t_thread.is_own : !running.is_host_function;
}

// Returns the task that the calling thread submitted last.
inline const LastTask &last_task() { return t_thread.last; }
inline void note_submission(void *stream, std::uint64_t sequence, std::uint32_t stream_id) {
    t_thread.last = {stream, sequence, stream_id};
}
// Returns the number of that task (aclrtGetThreadLastTaskId).
inline std::uint32_t last_task_id() {
    constexpr std::uint32_t kNone = 0xFFFFFFFF;
    return last_task().stream == nullptr ? kNone : static_cast<std::uint32_t>(last_task().sequence);
}

// Blocks signals while the calling thread starts a library thread, which inherits the signal mask. Signals are for the
// program's threads: library threads block all signals except those raised by faults in their own code.
class SignalsBlocked {
  public:
    SignalsBlocked();
    ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    SignalsBlocked(const SignalsBlocked &) = delete;
    SignalsBlocked &operator=(const SignalsBlocked &) = delete;

  private:
    sigset_t before_{};
};

// Starts a thread of the library. Returns false if the host has no thread or memory left for it. The thread is
// detached: a process may end while a function of the program still runs, and such a thread cannot be joined.
template <class Run>
bool start_thread(Run run) {
    const SignalsBlocked blocked;
    try {
        std::thread(std::move(run)).detach();
        return true;
    } catch (const std::system_error &) {
        return false;
    } catch (const std::bad_alloc &) {
        return false;
    }
}

}  // namespace aclsim
