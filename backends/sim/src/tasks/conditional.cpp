// SPDX-License-Identifier: Apache-2.0
#include "tasks/conditional.h"

#include <memory>
#include <utility>

#include "engine/core.h"
#include "memory/memory.h"
#include "support/error.h"

namespace aclsim {
namespace {

class ConditionalTask final : public BlockingTask {
  public:
    ConditionalTask(Core &core, Ref<Condition> condition, aclmdlRICondTaskType type, std::vector<Ref<Graph>> graphs)
        : core_(core), condition_(std::move(condition)), type_(type), graphs_(std::move(graphs)) {
        core_.timer().start();
    }
    static constexpr TaskInfo kInfo{"CONDITIONAL"};
    const TaskInfo &info() const override { return kInfo; }

    // Begins one execution of a loop per start, and continues by the timer. A loop that needs no worker would otherwise
    // run indefinitely under the engine lock.
    Start start(Stream &stream) override REQUIRES(engine_lock) {
        if (!under_way_ && !begins(stream)) {
            return Start::Done;
        }
        if (under_way_->proceed(stream, *this) == Start::Blocked) {
            return Start::Blocked;
        }
        result = under_way_->result();
        under_way_.reset();
        if (type_ != ACL_MODEL_RI_COND_TYPE_WHILE || result != ACL_SUCCESS || condition_->value() == 0) {
            return Start::Done;
        }
        core_.timer().poll(stream);
        return Start::Blocked;
    }
    void cancel(Stream &stream) noexcept override REQUIRES(engine_lock) {
        if (under_way_) {
            under_way_->cancel(stream);
            under_way_.reset();
        }
    }
    void add_causes(Causes &causes) const override REQUIRES(engine_lock) {
        if (under_way_) {
            under_way_->model().add_causes(causes);
        } else {
            causes.list.push_back({nullptr, 0, Outside::Clock});
        }
    }
    std::vector<Ref<Stream>> parts() const override REQUIRES(engine_lock) {
        return under_way_ ? under_way_->parts() : std::vector<Ref<Stream>>();
    }
    std::string awaited() const override {
        return under_way_ ? "sub graph " + std::to_string(under_way_->model().id) : "the next turn of its loop";
    }

  private:
    // Returns false if the condition selects no graph.
    bool begins(const Stream &stream) REQUIRES(engine_lock) {
        const std::uint64_t value = condition_->value();
        const std::uint64_t selected = type_ == ACL_MODEL_RI_COND_TYPE_SWITCH ? value : value != 0 ? 0 : 1;
        if (selected >= graphs_.size()) {
            return false;
        }
        under_way_ = std::make_unique<Execution>(graphs_[selected], model_of(stream)->origin());
        return true;
    }

    Core &core_;
    Ref<Condition> condition_;
    aclmdlRICondTaskType type_;
    std::vector<Ref<Graph>> graphs_;
    std::unique_ptr<Execution> under_way_;
};

}  // namespace

Condition::Condition(Memory &memory, Graph &owner, std::optional<std::uint32_t> default_value)
    : graph(owner), default_(default_value) {
    const Device &device = owner.context.device;
    constexpr std::size_t kBytes = sizeof(std::uint64_t);
    block_ = own_block(memory, device.physical_id, memory.space().allocate_internal(device.physical_id, kBytes));
    if (block_ == nullptr) {
        fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "%zu bytes do not fit: %s", kBytes, describe_room(memory, device).c_str());
    }
    note_allocation(memory, block_.get(), kBytes);
    __atomic_store_n(cell(), default_.value_or(0), __ATOMIC_RELEASE);
}

Condition::~Condition() = default;

void Condition::assign_default() {
    if (default_) {
        __atomic_store_n(cell(), *default_, __ATOMIC_RELEASE);
    }
}

std::uint64_t Condition::value() const { return __atomic_load_n(cell(), __ATOMIC_ACQUIRE); }

void submit_conditional(Core &core, Stream &stream, const Ref<Condition> &condition, aclmdlRICondTaskType type,
                        std::vector<Ref<Graph>> graphs) {
    core.submit(stream, ConditionalTask(core, condition, type, std::move(graphs)));
}

}  // namespace aclsim
