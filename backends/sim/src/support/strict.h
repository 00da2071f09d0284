// SPDX-License-Identifier: Apache-2.0
// Strict mode (ASCEND_RT_SIM_STRICT=1): the process ends where the vendor's library may end it.
//
// The vendor's library follows what it is given before it validates it: behind a handle of the wrong type there is a
// magic word, behind a destroyed or invented one, or a block that was freed, there is anything. The simulator answers
// such calls with a code. In strict mode it reports the call with its place, and aborts, as fault handlers expect it.
#pragma once

#include <string>

#include "support/config.h"

namespace aclsim {

inline bool is_strict() { return config().is_strict; }
// Ends the process in strict mode: the present call does what the vendor's library may not survive.
void end_if_strict(const std::string &reason);
// Does the same for another call.
void end_if_strict(const std::string &call, const std::string &reason);

}  // namespace aclsim
