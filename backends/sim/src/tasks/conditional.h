// Conditional tasks of a graph: which of its sub graphs executes is read from a cell in device memory when the task is
// reached (graphs_kernels.md section B3, aclmdlRIAddCondTask).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tasks/graph.h"

namespace aclsim {

class Memory;

// Guarded by the engine's lock.
class Condition final : public Object {
  public:
    static constexpr Kind kKind = Kind::Condition;
    // Fails with ACL_ERROR_RT_MEMORY_ALLOCATION. No value: the user's own business, 0 at first.
    Condition(Memory &memory, Graph &owner, std::optional<std::uint32_t> default_value) REQUIRES(engine_lock);
    ~Condition() override;
    void assign_default() REQUIRES(engine_lock);
    std::uint64_t value() const;
    std::uint64_t *cell() const { return cell_; }

    const Graph &graph;  // with which it ends
    bool is_used GUARDED_BY(engine_lock) = false;

  private:
    Memory &memory_;
    const std::uint32_t device_;
    const std::optional<std::uint32_t> default_;
    std::uint64_t *cell_;
};

// Engine lock held; the hidden stream takes a task.
void submit_conditional(Core &core, Stream &stream, const Ref<Condition> &condition, aclmdlRICondTaskType type,
                        std::vector<Ref<Graph>> graphs) REQUIRES(engine_lock);

}  // namespace aclsim
