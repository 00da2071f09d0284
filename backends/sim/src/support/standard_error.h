// SPDX-License-Identifier: Apache-2.0
// Messages for people.
#pragma once

namespace aclsim {

// Prints to standard error, unless messages are off.
[[gnu::format(printf, 1, 2)]] void print_error(const char *format, ...);
// They are off at first if the program has no standard error when this library is loaded: its number may be that of any
// other file later.
void set_messages(bool are_printed);

}  // namespace aclsim
