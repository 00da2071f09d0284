// A graph as text (aclmdlRIDebugJsonPrint).
#pragma once

#include <string>

#include "tasks/model.h"

namespace aclsim {

// An array of events as chrome://tracing shows them, one for each task of the user's. A verbose one has their
// parameters too.
std::string graph_json(Model &model, bool is_verbose) REQUIRES(engine_lock);

}  // namespace aclsim
