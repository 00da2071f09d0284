// What a thread is told that has waited long without a time limit: who waits for what (ASCEND_RT_SIM_STALL_MS).
// patience.h says when.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace aclsim {

class Stream;

// When a wait without a time limit that begins now is to be explained.
std::chrono::steady_clock::time_point stall_time();
// The beginning of an explanation: "… has waited … ms for ".
std::string stall_heading();
// The end, and the chain of waits, from the stream to what keeps it from finishing the task of that number; several
// lines. Engine lock held.
std::string explain_stall(const Stream &stream, std::uint64_t sequence);

// An address as texts show it.
std::string text_of(const void *address);

}  // namespace aclsim
