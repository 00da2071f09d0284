// SPDX-License-Identifier: Apache-2.0
#include "support/page_faults.h"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>

#ifdef __linux__
#include <ucontext.h>
#endif

// Variable of the library that `ascend-rt check` preloads (backends/sim/preload); without it there is none.
struct PinnedMemory {
    std::uintptr_t begin, size;
};
extern "C" __attribute__((weak, visibility("default"))) PinnedMemory ascend_rt_pinned_memory;

namespace aclsim {

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
namespace {

std::atomic<PageFaultHandler> g_handler{nullptr};

// Handlers that were found in place of this one, oldest first. A handler may pass a fault on to the one that it found,
// which may be this one: the fault then goes to the next older one.
constexpr int kMostHandlers = 16;
std::array<struct sigaction, kMostHandlers> g_found;
std::atomic<int> g_found_count{0};
thread_local std::int32_t t_passing_on = 0;

#ifdef __x86_64__
std::uintptr_t instruction_of(const ucontext_t &context) {
    return static_cast<std::uintptr_t>(context.uc_mcontext.gregs[REG_RIP]);
}

bool is_write(const ucontext_t &context) {
    constexpr greg_t kWrite = 2;  // bit of the error code of a page fault
    return (context.uc_mcontext.gregs[REG_ERR] & kWrite) != 0;
}
#else
std::uintptr_t instruction_of(const ucontext_t &context) { return context.uc_mcontext.pc; }

bool is_write(const ucontext_t &context) {
    constexpr std::uint64_t kWrite = 1U << 6;  // bit of the syndrome of a data abort
    const auto *at = reinterpret_cast<const unsigned char *>(&context.uc_mcontext.__reserved);
    const unsigned char *const end = at + sizeof context.uc_mcontext.__reserved;
    while (at + sizeof(_aarch64_ctx) <= end) {
        const auto *record = reinterpret_cast<const _aarch64_ctx *>(at);
        if (record->magic == ESR_MAGIC) {
            return (reinterpret_cast<const esr_context *>(record)->esr & kWrite) != 0;
        }
        if (record->size == 0) {
            break;
        }
        at += record->size;
    }
    return true;
}
#endif

// Returns the address behind the first byte of the instruction: the line of a call is that of the byte before its
// return address.
const void *return_address_of(const ucontext_t &context) {
    return reinterpret_cast<const void *>(instruction_of(context) + 1);
}

// Ends the process as it would end without this handler, by repeating the fault or the signal.
void restore_default(const siginfo_t &info) {
    struct sigaction plain = {};
    plain.sa_handler = SIG_DFL;
    sigaction(SIGSEGV, &plain, nullptr);
    if (info.si_code <= 0) {  // sent by a process
        ::raise(SIGSEGV);
    }
}

void pass_on(int signal, siginfo_t *info, void *context) {
    const int next = g_found_count.load() - 1 - t_passing_on;
    const struct sigaction *const found = next < 0 ? nullptr : &g_found[static_cast<std::size_t>(next)];
    if (found == nullptr || found->sa_handler == SIG_DFL) {
        restore_default(*info);
    } else if (found->sa_handler == SIG_IGN) {
        if (info->si_code > 0) {
            restore_default(*info);
        }
    } else {
        ++t_passing_on;
        if ((found->sa_flags & SA_SIGINFO) != 0) {
            found->sa_sigaction(signal, info, context);
        } else {
            found->sa_handler(signal);
        }
        --t_passing_on;
    }
}

void on_signal(int signal, siginfo_t *info, void *context) {
    const int error = errno;
    const PageFaultHandler handler = g_handler.load(std::memory_order_acquire);
    const auto &state = *static_cast<const ucontext_t *>(context);
    const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
    const bool is_handled = handler != nullptr && info->si_code == SEGV_ACCERR &&
                            handler({address, is_write(state), return_address_of(state)});
    errno = error;
    if (!is_handled) {
        pass_on(signal, info, context);
    }
}

bool is_same_action(const struct sigaction &one, const struct sigaction &other) {
    return one.sa_flags == other.sa_flags && one.sa_sigaction == other.sa_sigaction;
}

void note_found(const struct sigaction &found) {
    int count = g_found_count;
    for (int i = 0; i < count; ++i) {
        if (is_same_action(g_found[static_cast<std::size_t>(i)], found)) {  // it was put back: those after it are gone
            g_found_count = i + 1;
            return;
        }
    }
    if (count < kMostHandlers) {
        g_found[static_cast<std::size_t>(count)] = found;
        g_found_count = count + 1;
    }
}

// Puts the handler in front. The caller is the only one that does so.
void install_handler() {
    struct sigaction now = {};
    sigaction(SIGSEGV, nullptr, &now);
    if ((now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == on_signal) {
        return;
    }
    note_found(now);
    struct sigaction own = {};
    own.sa_sigaction = on_signal;
    own.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigaction(SIGSEGV, &own, nullptr);
}

int protection_of(PageAccess access) {
    switch (access) {
        case PageAccess::None:
            return PROT_NONE;
        case PageAccess::Read:
            return PROT_READ;
        default:
            return PROT_READ | PROT_WRITE;
    }
}

// --- large stacks ----------------------------------------------------------------------------------------------------

constexpr std::size_t kLargeStack = 512UL << 10;

struct Errand {
    void (*function)(void *);
    void *argument;
};
thread_local const Errand *t_errand = nullptr;

void run_errand() { t_errand->function(t_errand->argument); }

bool is_on_small_stack() {
    stack_t stack = {};
    return sigaltstack(nullptr, &stack) == 0 && (stack.ss_flags & SS_ONSTACK) != 0 && stack.ss_size < kLargeStack;
}

}  // namespace

void handle_page_faults(PageFaultHandler handler) { g_handler.store(handler, std::memory_order_release); }

bool set_page_access(std::uintptr_t begin, std::uintptr_t end, PageAccess access) {
    if (access != PageAccess::All) {
        install_handler();
    }
    return begin >= end || mprotect(reinterpret_cast<void *>(begin), end - begin, protection_of(access)) == 0;
}

void call_on_large_stack(void (*function)(void *), void *argument) {
    void *stack = is_on_small_stack()
                      ? mmap(nullptr, kLargeStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                      : MAP_FAILED;
    if (stack == MAP_FAILED) {
        function(argument);
        return;
    }
    const Errand errand{function, argument};
    const Errand *const outer = t_errand;
    t_errand = &errand;
    ucontext_t here;
    ucontext_t there;
    getcontext(&there);
    there.uc_stack.ss_sp = stack;
    there.uc_stack.ss_size = kLargeStack;
    there.uc_link = &here;
    makecontext(&there, run_errand, 0);
    swapcontext(&here, &there);
    t_errand = outer;
    munmap(stack, kLargeStack);
}
#else
void handle_page_faults(PageFaultHandler) {}
bool set_page_access(std::uintptr_t, std::uintptr_t, PageAccess) { return false; }
void call_on_large_stack(void (*function)(void *), void *argument) { function(argument); }
#endif

void show_to_system_calls(std::uintptr_t begin, std::uint64_t size) {
    if (&ascend_rt_pinned_memory != nullptr) {
        ascend_rt_pinned_memory = {begin, size};
    }
}

std::uint64_t host_page_size() {
    static const auto size = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    return size;
}

}  // namespace aclsim
