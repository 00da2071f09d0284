// SPDX-License-Identifier: Apache-2.0
// Operations of companion libraries, which have a place in a stream and run elsewhere (abi/aclsim.h).
#include "tasks/operation.h"

#include <vector>

#include "api/entry.h"
#include "engine/operands.h"
#include "memory/extent.h"

using namespace aclsim;

namespace {

void require_operation(const aclsimOperation *operation) {
    require(operation, "operation");
    require(operation->name, "name");
    require(reinterpret_cast<const void *>(operation->begin), "begin");
    if (operation->accessCount > 0) {
        require(operation->accesses, "accesses");
    }
}

}  // namespace

aclError aclsimSubmitOperation(aclrtStream stream, const aclsimOperation *operation) {
    return entry(Function::aclsimSubmitOperation, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require_operation(operation);
        current_call()->appear_as(operation->name);
        const std::vector<Access> accesses = read_accesses(operation->accesses, operation->accessCount);
        ContextStream &on = require_own_stream(sim, stream);
        for (const Access &access : accesses) {  // memory belongs to the task from here on
            require_live(sim.memory, access);
        }
        if (sim.core.admit(lock, on)) {
            for (const Access &access : accesses) {
                require_still_live(sim.memory, {{access.address, access.size}});
            }
        }
        sim.operations.submit(on, *operation, accesses);
    });
}

aclError aclsimEndOperation(uint64_t execution, aclError result, const char *text) {
    return entry(Function::aclsimEndOperation,
                 [&](Simulator &sim, Lock &) REQUIRES(engine_lock) { sim.operations.end(execution, result, text); });
}
