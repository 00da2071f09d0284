// Refusals of the host, and what to do about them.
#pragma once

#include <string>

namespace aclsim {

// The text for an errno of a call that opens or enlarges a file, if it is in memory: in that directory.
std::string describe_host_error(int error, const char *directory = nullptr);
// The host, or the process, has no more of something.
bool is_shortage(int error);

}  // namespace aclsim
