// The end of the process, where the official library would end it.
#pragma once

#include <string>

namespace unforgiving {

// Writes "double: FUNCTION: the official library would end the process here: REASON" to standard error and to the log,
// and aborts: fault handlers, such as that of Python, then show where the program was.
[[noreturn]] void die(const char *function, const std::string &reason);

// Writes what is worth knowing of a call that goes on.
void say(const char *function, const std::string &text);

std::string text_of(const void *address);

}  // namespace unforgiving
