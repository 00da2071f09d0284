// SPDX-License-Identifier: Apache-2.0
#include "engine/thread.h"

#include <pthread.h>

#include <atomic>
#include <new>
#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "support/thread_state.h"

namespace aclsim {
namespace {

// Signals raised by faults. If one of them is blocked, a fault ends the process without calling the program's handler.
constexpr int kFaults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};

// Entry of an enrolled thread. Lock-free, because a thread enrols under the engine lock and withdraws at its end
// without it. Entries are never deleted: a later thread reuses the entry of one that has ended.
struct Entry {
    std::atomic<std::uint64_t> thread;  // 0: free
    Entry *next;
};
std::atomic<Entry *> g_entries{nullptr};
std::atomic<bool> g_lacks_some{false};  // allocation of a thread's entry has failed

Entry *enter(std::uint64_t thread) {
    for (Entry *entry = g_entries; entry != nullptr; entry = entry->next) {
        std::uint64_t free = 0;
        if (entry->thread.compare_exchange_strong(free, thread)) {
            return entry;
        }
    }
    auto *entry = new (std::nothrow) Entry{{thread}, g_entries};
    if (entry == nullptr) {
        g_lacks_some = true;
        return nullptr;
    }
    while (!g_entries.compare_exchange_weak(entry->next, entry)) {
    }
    return entry;
}

struct Enrolment {
    Entry *const entry = enter(thread_identifier());
    ~Enrolment() {
        if (entry != nullptr) {
            entry->thread = 0;
        }
    }
};

}  // namespace

std::uint64_t thread_identifier() {
    return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(pthread_self()));
}

std::optional<std::vector<std::uint64_t>> enrolled_threads() {
    if (g_lacks_some) {
        return std::nullopt;
    }
    std::vector<std::uint64_t> threads;
    for (const Entry *entry = g_entries; entry != nullptr; entry = entry->next) {
        if (const std::uint64_t thread = entry->thread; thread != 0) {
            threads.push_back(thread);
        }
    }
    return threads;
}

namespace {

void enrol() {
    try {
        ThreadState<Enrolment>::get();
    } catch (const std::bad_alloc &) {
        g_lacks_some = true;
    }
}

}  // namespace

std::uint32_t ask_for_thread_number() {
    if (!t_thread.is_own) {
        enrol();
    }
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
