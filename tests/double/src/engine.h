// SPDX-License-Identifier: Apache-2.0
// The simulator behind the double: every function of it, by its own type.
#pragma once

#include "abi/acl.h"
#include "engine_table.h"  // generated: struct Engine, a pointer for each function

namespace unforgiving {

// Opened when the double is loaded, in a separate scope: no other library in the process finds its symbols.
const Engine &engine();

}  // namespace unforgiving
