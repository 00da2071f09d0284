// Waits for words that companion libraries and other processes change (abi/aclsim.h).
#include "tasks/word_wait.h"

#include "api/entry.h"
#include "memory/extent.h"

using namespace aclsim;

namespace {

constexpr AccessMode kModes[] = {AccessMode::Read, AccessMode::Write, AccessMode::ReadWrite};

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

// The memory is the task's from here on.
void note_accesses(Simulator &sim, const aclsimWait &wait) REQUIRES(engine_lock) {
    for (std::size_t i = 0; i < wait.accessCount; ++i) {
        const aclsimAccess &access = wait.accesses[i];
        if (static_cast<std::size_t>(access.mode) >= std::size(kModes)) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "access %zu has mode %d, which is none of aclsimAccessMode", i,
                 static_cast<int>(access.mode));
        }
        require_live(sim.memory, access.address, access.size, kModes[access.mode], access.name);
    }
}

void require_still_live(Simulator &sim, const aclsimWait &wait) REQUIRES(engine_lock) {
    for (std::size_t i = 0; i < wait.accessCount; ++i) {
        require_still_live(sim.memory, {{wait.accesses[i].address, wait.accesses[i].size}});
    }
}

}  // namespace

aclError aclsimSubmitWait(aclrtStream stream, const aclsimWait *wait) {
    return entry(Function::aclsimSubmitWait, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require_wait(wait);
        ContextStream &on = require_own_stream(sim, stream);
        if (on.keeper != nullptr) {
            fail(ACL_ERROR_RT_STREAM_MODEL, "stream %u is bound to a model, which would repeat %s; use another stream",
                 on.id, wait->name);
        }
        note_accesses(sim, *wait);
        if (sim.core.admit(lock, on)) {
            require_still_live(sim, *wait);
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
