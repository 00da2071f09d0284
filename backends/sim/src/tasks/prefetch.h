// SPDX-License-Identifier: Apache-2.0
// Prefetching of managed memory (memory_cmo_allocator.md section 5).
#pragma once

#include <cstddef>

#include "engine/task.h"
#include "memory/memory.h"
#include "support/pages.h"

namespace aclsim {

// Populates the pages, as a prefetch does at its destination. Tolerates memory that has been freed in the meantime.
class PrefetchTask final : public Task {
  public:
    PrefetchTask(Memory &memory, const void *pointer, std::size_t size)
        : memory_(memory), pointer_(pointer), size_(size) {}
    static constexpr TaskInfo kInfo{"PREFETCH", "a prefetch"};
    const TaskInfo &info() const override { return kInfo; }
    Start start(Stream &) override REQUIRES(engine_lock) {
        return memory_.managed_memory.contains(pointer_, size_) ? Start::Run : Start::Done;
    }
    void run() override { populate_pages(pointer_, size_); }

  private:
    Memory &memory_;
    const void *pointer_;
    std::size_t size_;
};

}  // namespace aclsim
