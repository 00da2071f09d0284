// SPDX-License-Identifier: Apache-2.0
// Pages of the program that the library protects, and the program's faults at them.
//
// The handler of SIGSEGV passes on what is not the library's, to the handler that was there before. Handlers that the
// program installs later work too: each protection puts the library's handler in front again.
#pragma once

#include <cstdint>

namespace aclsim {

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
constexpr bool kProtectsPages = true;
#else
constexpr bool kProtectsPages = false;  // the functions below do nothing
#endif

enum class PageAccess : std::uint8_t { None, Read, All };

struct PageFault {
    std::uintptr_t address;
    bool is_write;
    const void *return_address;  // address behind the first byte of the instruction, as if that were a call
};

// Handles a fault of the calling thread, and returns true if it may go on; false if the fault is not the library's.
// Called in a signal handler, as if the instruction were a call: the thread is in code of the program, or in the
// library's code that uses memory of the program.
using PageFaultHandler = bool (*)(const PageFault &fault);

// Sets the handler; nullptr removes it.
void handle_page_faults(PageFaultHandler handler);
std::uint64_t host_page_size();
// Changes what the program may do with whole pages. Returns false if the host refuses, or has no place left to note it;
// the program may then do what it could before.
bool set_page_access(std::uintptr_t begin, std::uintptr_t end, PageAccess access);
// Shows where such pages may be to the wrappers of system calls, which fail at a protected page instead of faulting.
void show_to_system_calls(std::uintptr_t begin, std::uint64_t size);
// Runs the function on a large stack if the calling thread is on a small one, which a handler of signals may be.
void call_on_large_stack(void (*function)(void *), void *argument);

}  // namespace aclsim
