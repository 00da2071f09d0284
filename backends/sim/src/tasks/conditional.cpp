#include "tasks/conditional.h"

#include <memory>
#include <utility>

#include "engine/core.h"
#include "memory/memory.h"
#include "support/error.h"

namespace aclsim {
namespace {

class ConditionalTask final : public Task {
  public:
    ConditionalTask(Ref<Condition> condition, aclmdlRICondTaskType type, std::vector<Ref<Graph>> graphs)
        : condition_(std::move(condition)), type_(type), graphs_(std::move(graphs)) {}
    TaskKind kind() const override { return TaskKind::Conditional; }

    Start start(Stream &stream) override REQUIRES(engine_lock) {
        while (under_way_ || begins()) {
            if (under_way_->proceed(stream, *this) == Start::Blocked) {
                return Start::Blocked;
            }
            result = under_way_->result();
            under_way_.reset();
            if (result != ACL_SUCCESS || type_ != ACL_MODEL_RI_COND_TYPE_WHILE) {
                break;
            }
        }
        return Start::Done;
    }
    void cancel(Stream &stream) override REQUIRES(engine_lock) {
        if (under_way_) {
            under_way_->cancel(stream);
            under_way_.reset();
        }
    }
    void add_causes(Causes &causes) const override REQUIRES(engine_lock) { under_way_->model().add_causes(causes); }
    std::vector<Ref<Stream>> parts() const override REQUIRES(engine_lock) {
        return under_way_ ? under_way_->parts() : std::vector<Ref<Stream>>();
    }
    std::string awaited() const override { return "sub graph " + std::to_string(under_way_->model().id); }

  private:
    // false: the condition selects no graph.
    bool begins() REQUIRES(engine_lock) {
        const std::uint64_t value = condition_->value();
        const std::uint64_t selected = type_ == ACL_MODEL_RI_COND_TYPE_SWITCH ? value : value != 0 ? 0 : 1;
        if (selected >= graphs_.size()) {
            return false;
        }
        under_way_ = std::make_unique<Execution>(graphs_[selected]);
        return true;
    }

    Ref<Condition> condition_;
    aclmdlRICondTaskType type_;
    std::vector<Ref<Graph>> graphs_;
    std::unique_ptr<Execution> under_way_;
};

}  // namespace

Condition::Condition(Memory &memory, Graph &owner, std::optional<std::uint32_t> default_value)
    : graph(owner),
      memory_(memory),
      device_(owner.context.device.physical_id),
      default_(default_value),
      cell_(static_cast<std::uint64_t *>(memory.space().allocate_internal(device_, sizeof *cell_))) {
    if (cell_ == nullptr) {
        fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "device %u has no memory left", owner.context.device.user_id);
    }
    note_allocation(memory_, cell_, sizeof *cell_);
    __atomic_store_n(cell_, default_.value_or(0), __ATOMIC_RELEASE);
}

Condition::~Condition() {
    if (cell_ != nullptr) {
        note_release(memory_, cell_);
        memory_.space().free_internal(device_, cell_);
    }
}

void Condition::assign_default() {
    if (default_) {
        __atomic_store_n(cell_, *default_, __ATOMIC_RELEASE);
    }
}

std::uint64_t Condition::value() const { return __atomic_load_n(cell_, __ATOMIC_ACQUIRE); }

void submit_conditional(Core &core, Stream &stream, const Ref<Condition> &condition, aclmdlRICondTaskType type,
                        std::vector<Ref<Graph>> graphs) {
    core.submit(stream, ConditionalTask(condition, type, std::move(graphs)));
}

}  // namespace aclsim
