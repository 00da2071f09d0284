// The calling thread.
#pragma once

#include <cstdint>

namespace aclsim {

// The kernel's number of it, which exception callbacks and observers are told (events_streams_sync.md section 11).
std::uint32_t thread_number();

}  // namespace aclsim
