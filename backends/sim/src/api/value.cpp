// SPDX-License-Identifier: Apache-2.0
// Writing a value and waiting for one in stream order (events_streams_sync.md section 8).
#include "tasks/value.h"

#include <atomic>

#include "api/entry.h"
#include "control/stall.h"
#include "engine/condition.h"
#include "memory/memory.h"
#include "tasks/copy.h"

using namespace aclsim;

namespace {

constexpr std::uint32_t kHighestWaitFlag = ACL_STREAM_WAIT_VALUE_NOR;

// Checks the address. The documents demand 8-byte alignment, which the runtime does not check; the simulator reports an
// error to avoid torn values.
void require_value_address(Simulator &sim, const void *address, AccessMode mode) REQUIRES(engine_lock) {
    const bool is_device = sim.memory.space().locate(address).place == Place::Device;
    const bool is_aligned = reinterpret_cast<std::uintptr_t>(address) % sizeof(std::uint64_t) == 0;
    if (!is_device || !is_aligned || !sim.memory.space().is_live(address, sizeof(std::uint64_t))) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "%p is not 8 bytes of live device memory, aligned to 8%s", address,
             explain_address(sim.memory, address).c_str());
    }
    note_use(sim.memory, address, sizeof(std::uint64_t), mode, "devAddr");
}

}  // namespace

aclError aclrtValueWrite(void *devAddr, uint64_t value, uint32_t flag, aclrtStream stream) {
    return entry(Function::aclrtValueWrite, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require(devAddr, "devAddr");
        require_supported();
        if (flag != 0) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "flag must be 0");
        }
        ContextStream &on = require_own_stream(sim, stream);
        require_value_address(sim, devAddr, AccessMode::Write);
        admit_with(sim.memory, lock, on, {{devAddr, sizeof value}});
        sim.values.write(on, devAddr, value);
    });
}

aclError aclrtValueWait(void *devAddr, uint64_t value, uint32_t flag, aclrtStream stream) {
    return entry(Function::aclrtValueWait, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require(devAddr, "devAddr");
        require_supported();
        if (flag > kHighestWaitFlag) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "there is no wait flag %u", flag);
        }
        ContextStream &on = require_own_stream(sim, stream);
        require_value_address(sim, devAddr, AccessMode::Read);
        admit_with(sim.memory, lock, on, {{devAddr, sizeof value}});
        sim.values.wait(on, devAddr, value, flag);
    });
}
