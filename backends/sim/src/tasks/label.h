// Labels: places inside a model to jump to (events_streams_sync.md section 7).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/registry.h"

namespace aclsim {

class Context;
class Engine;

struct Label final : public Object {
    static constexpr Kind kKind = Kind::Label;
    explicit Label(std::weak_ptr<Context> owner) : context(std::move(owner)) {}
    ~Label() override;

    const std::weak_ptr<Context> context;
    bool is_in_list = false;
};

struct LabelList final : public Object {
    static constexpr Kind kKind = Kind::LabelList;
    std::vector<std::weak_ptr<Label>> labels;
    ~LabelList() override;
};

// Fails with ACL_ERROR_RT_INTERNAL_ERROR if the process has as many as it can have.
std::shared_ptr<Label> create_label(Engine &engine, std::weak_ptr<Context> context);
// Labels end with their context.
void drop_labels(Engine &engine, const Context &context);

}  // namespace aclsim
