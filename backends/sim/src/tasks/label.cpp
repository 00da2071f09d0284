// SPDX-License-Identifier: Apache-2.0
#include "tasks/label.h"

#include <algorithm>
#include <cstring>

#include "engine/core.h"
#include "support/error.h"
#include "tasks/model.h"

namespace aclsim {
namespace {

template <class T>
T load(const void *address) {
    T value{};
    std::memcpy(&value, address, sizeof value);
    return value;
}

template <class T>
bool holds_for(T left, aclrtCondition condition, T right) {
    switch (condition) {
        case ACL_RT_EQUAL:
            return left == right;
        case ACL_RT_NOT_EQUAL:
            return left != right;
        case ACL_RT_GREATER:
            return left > right;
        case ACL_RT_GREATER_OR_EQUAL:
            return left >= right;
        case ACL_RT_LESS:
            return left < right;
        default:
            return left <= right;
    }
}

}  // namespace

// --- branches --------------------------------------------------------------------------------------------------------

// Does nothing if the model was stopped in the meantime and has no further tasks.
void BranchTask::finish() {
    was_cut_short = interruption_.is_requested();
    if (!was_cut_short) {
        branch(*stream_, stream_->point(*this));
    }
}

void JumpTask::run() { found_ = load<std::uint32_t>(index_); }

void JumpTask::branch(const Stream &stream, const Point &branch) {
    const std::size_t index = std::min<std::size_t>(found_, list_->labels.size() - 1);
    if (!model_.jump(stream, branch, *list_->labels[index])) {
        result = ACL_ERROR_RT_MODEL_EXECUTE;
    }
}

std::size_t Comparison::size() const {
    return type == ACL_RT_SWITCH_INT64 ? sizeof(std::int64_t) : sizeof(std::int32_t);
}

bool Comparison::holds() const {
    return type == ACL_RT_SWITCH_INT64 ? holds_for(load<std::int64_t>(left), condition, load<std::int64_t>(right))
                                       : holds_for(load<std::int32_t>(left), condition, load<std::int32_t>(right));
}

void SwitchTask::branch(const Stream &stream, const Point &branch) {
    if (holds_) {
        model_.switch_to(stream, branch, other_);
    } else {
        model_.go_on(stream);
    }
}

// --- labels ----------------------------------------------------------------------------------------------------------

LabelList::~LabelList() {
    for (const auto &label : labels) {
        label->is_in_list = false;
    }
}

Labels::Labels(Machine &machine) : registry_(machine.core.registry()) { machine.add(*this); }

Ref<Label> Labels::create(const Context &context) {
    if (count_ == kLabels) {
        fail(ACL_ERROR_RT_INTERNAL_ERROR, "all %zu labels are in use", kLabels);
    }
    auto label = make_ref<Label>(context);
    registry_.add(label);
    ++count_;
    return label;
}

void Labels::remove(Label &label) {
    registry_.remove(label);
    --count_;
}

void Labels::context_closed(Context &context) {
    for (const auto &label : registry_.all<Label>()) {
        if (&label->context == &context) {
            remove(*label);
        }
    }
}

}  // namespace aclsim
