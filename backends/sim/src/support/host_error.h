// SPDX-License-Identifier: Apache-2.0
// Errors of the host, and their remedies.
#pragma once

#include <string>

namespace aclsim {

// Describes the errno of a call that opens or enlarges a file; give the directory of a file in memory.
std::string describe_host_error(int error, const char *directory = nullptr);
// Returns true if the host or the process has run out of a resource.
bool is_shortage(int error);

}  // namespace aclsim
