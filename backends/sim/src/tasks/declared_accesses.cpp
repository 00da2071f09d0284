// SPDX-License-Identifier: Apache-2.0
#include "tasks/declared_accesses.h"

#include <optional>
#include <utility>

#include "memory/memory.h"
#include "support/expect.h"
#include "support/thread_state.h"

namespace aclsim {
namespace {

struct Declared {
    std::optional<std::vector<Access>> accesses;
};

}  // namespace

void declare_accesses(std::vector<Access> accesses) { ThreadState<Declared>::get().accesses = std::move(accesses); }

DeclarationScope::~DeclarationScope() {
    if (Declared *const declared = ThreadState<Declared>::find(); unlikely(declared != nullptr)) {
        declared->accesses.reset();
    }
}

void note_kernel_accesses(Memory &memory) {
    Declared *const declared = ThreadState<Declared>::find();
    if (declared == nullptr || !declared->accesses) {
        memory.core.note_unknown_accesses();
        return;
    }
    const std::vector<Access> accesses = *std::exchange(declared->accesses, std::nullopt);
    for (const Access &access : accesses) {
        note_use(memory, access);
    }
}

}  // namespace aclsim
