// The simulator behind the double: every function of it, by its own type.
#pragma once

#include "abi/acl.h"
#include "engine_table.h"  // generated: struct Engine, a pointer for each function

namespace unforgiving {

// Opened when the double is loaded, in a scope of its own: nobody else in the process finds its symbols.
const Engine &engine();

}  // namespace unforgiving
