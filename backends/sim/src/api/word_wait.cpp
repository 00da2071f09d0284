// Waits for words that companion libraries and other processes change (abi/aclsim.h).
#include "tasks/word_wait.h"

#include <vector>

#include "api/entry.h"
#include "engine/operands.h"
#include "memory/extent.h"

using namespace aclsim;

namespace {

void require_word(const volatile std::uint64_t *word) {
    if (word == nullptr || reinterpret_cast<std::uintptr_t>(word) % sizeof *word != 0) {
        fail_unremembered(ACL_ERROR_INVALID_PARAM, "word is NULL or not aligned to 8");
    }
}

void require_wait(const aclsimWait *wait) {
    require(wait, "wait");
    require(wait->name, "name");
    require_word(wait->word);
    if (wait->accessCount > 0) {
        require(wait->accesses, "accesses");
    }
}

}  // namespace

aclError aclsimSubmitWait(aclrtStream stream, const aclsimWait *wait) {
    return entry(Function::aclsimSubmitWait, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require_wait(wait);
        const std::vector<Access> accesses = read_accesses(wait->accesses, wait->accessCount);
        ContextStream &on = require_own_stream(sim, stream);
        if (on.keeper != nullptr) {
            fail(ACL_ERROR_RT_STREAM_MODEL, "stream %u is bound to a model, which would repeat %s; use another stream",
                 on.id, wait->name);
        }
        for (const Access &access : accesses) {  // memory belongs to the task from here on
            require_live(sim.memory, access);
        }
        if (sim.core.admit(lock, on)) {
            for (const Access &access : accesses) {
                require_still_live(sim.memory, {{access.address, access.size}});
            }
        }
        sim.words.submit_wait(on, *wait);
    });
}

aclError aclsimWake(const volatile uint64_t *word) {
    return entry(Function::aclsimWake, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require_word(word);
        sim.words.wake(word);
    });
}
