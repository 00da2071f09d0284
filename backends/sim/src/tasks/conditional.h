// SPDX-License-Identifier: Apache-2.0
// Conditional tasks of a graph. The sub graph to execute is read from a cell in device memory when the task starts
// (graphs_kernels.md section B3, aclmdlRIAddCondTask).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "memory/internal_block.h"
#include "tasks/graph.h"

namespace aclsim {

class Memory;

// Guarded by the engine lock.
class Condition final : public Object {
  public:
    static constexpr Kind kKind = Kind::Condition;
    // Without a default value the cell is 0 at first and is left to the program. Fails with
    // ACL_ERROR_RT_MEMORY_ALLOCATION.
    Condition(Memory &memory, Graph &owner, std::optional<std::uint32_t> default_value) REQUIRES(engine_lock);
    ~Condition() override;
    void assign_default() REQUIRES(engine_lock);
    std::uint64_t value() const;
    std::uint64_t *cell() const { return static_cast<std::uint64_t *>(block_.get()); }

    const Graph &graph;  // owner, with which the condition ends
    bool is_used GUARDED_BY(engine_lock) = false;

  private:
    const std::optional<std::uint32_t> default_;
    InternalBlock block_;
};

// Requires the engine lock. Submits to a hidden stream.
void submit_conditional(Core &core, Stream &stream, const Ref<Condition> &condition, aclmdlRICondTaskType type,
                        std::vector<Ref<Graph>> graphs) REQUIRES(engine_lock);

}  // namespace aclsim
