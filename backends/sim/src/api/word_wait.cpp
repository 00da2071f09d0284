// Waits for words that companion libraries and other processes change (abi/aclsim.h).
#include "tasks/word_wait.h"

#include <vector>

#include "api/entry.h"
#include "memory/extent.h"

using namespace aclsim;

namespace {

constexpr std::uint32_t kDimensions = 16;

AccessMode mode_of(const aclsimAccess &operand) {
    switch (operand.mode) {
        case ACLSIM_ACCESS_READ:
            return AccessMode::Read;
        case ACLSIM_ACCESS_WRITE:
            return AccessMode::Write;
        case ACLSIM_ACCESS_READ_WRITE:
            return AccessMode::ReadWrite;
        default:
            fail(ACL_ERROR_RT_PARAM_INVALID, "mode %d is none of aclsimAccessMode", static_cast<int>(operand.mode));
    }
}

const char *name_of(const aclsimAccess &operand) { return operand.name == nullptr ? "operand" : operand.name; }

// From the first byte of the operand to the last one; no bytes if a dimension has no element.
Extent extent_of(const aclsimAccess &operand) {
    if (operand.rank > kDimensions || (operand.rank > 0 && operand.shape == nullptr)) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "%s has %u dimensions, more than %u, or no shape", name_of(operand),
             operand.rank, kDimensions);
    }
    std::int64_t begin = 0;
    std::int64_t end = operand.elementSize;
    std::int64_t dense = operand.elementSize;  // the stride of a dimension without gaps
    for (std::uint32_t i = operand.rank; i-- > 0;) {
        const std::int64_t count = operand.shape[i];
        const std::int64_t stride = operand.strides == nullptr ? dense : operand.strides[i];
        std::int64_t reach = 0;
        if (count <= 0) {
            return {operand.address, 0};
        }
        std::int64_t &side = stride < 0 ? begin : end;
        if (__builtin_mul_overflow(count - 1, stride, &reach) || __builtin_add_overflow(side, reach, &side) ||
            __builtin_mul_overflow(dense, count, &dense)) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "%s reaches beyond the end of all memory", name_of(operand));
        }
    }
    return {static_cast<const unsigned char *>(operand.address) + begin, static_cast<std::size_t>(end - begin)};
}

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
std::vector<Extent> note_accesses(Simulator &sim, const aclsimWait &wait) REQUIRES(engine_lock) {
    std::vector<Extent> extents;
    for (std::uint64_t i = 0; i < wait.accessCount; ++i) {
        const aclsimAccess &operand = wait.accesses[i];
        const AccessMode mode = mode_of(operand);
        const Extent extent = extent_of(operand);
        if (extent.size > 0) {
            require_live(sim.memory, extent.address, extent.size, mode, name_of(operand));
            extents.push_back(extent);
        }
    }
    return extents;
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
        const std::vector<Extent> extents = note_accesses(sim, *wait);
        if (sim.core.admit(lock, on)) {
            for (const Extent &extent : extents) {
                require_still_live(sim.memory, {extent});
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
