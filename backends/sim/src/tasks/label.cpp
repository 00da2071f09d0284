#include "tasks/label.h"

#include "support/error.h"

namespace aclsim {
namespace {

constexpr std::size_t kLabels = 65535;  // per process

}  // namespace

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
    ++count_;
    auto label = make_ref<Label>(context);
    registry_.add(label);
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
