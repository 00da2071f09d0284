#include "tasks/label.h"

#include "engine/core.h"
#include "support/error.h"

namespace aclsim {
namespace {

constexpr std::size_t kLabels = 65535;  // per process
std::size_t g_labels = 0;               // guarded by the engine's lock

}  // namespace

Label::~Label() { --g_labels; }

LabelList::~LabelList() {
    for (const auto &label : labels) {
        if (const auto live = label.lock()) {
            live->is_in_list = false;
        }
    }
}

std::shared_ptr<Label> create_label(Engine &engine, std::weak_ptr<Context> context) {
    if (g_labels == kLabels) {
        fail(ACL_ERROR_RT_INTERNAL_ERROR, "all %zu labels are in use", kLabels);
    }
    ++g_labels;
    auto label = std::make_shared<Label>(std::move(context));
    engine.registry().add(label);
    return label;
}

void drop_labels(Engine &engine, const Context &context) {
    for (const auto &label : engine.registry().all<Label>()) {
        if (label->context.lock().get() == &context) {
            engine.registry().remove(*label);
        }
    }
}

}  // namespace aclsim
