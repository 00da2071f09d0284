// aclInit(NULL) after aclInit with a configuration: the official library compares the two without looking.
#pragma once

#include "call.h"

namespace unforgiving {

// Ends the process if the path is NULL and a call of aclInit has had one.
void check_configuration(const Call &call, const char *path);
// Remembers that aclInit has had a path.
void note_configuration(aclError result, const char *path);

}  // namespace unforgiving
