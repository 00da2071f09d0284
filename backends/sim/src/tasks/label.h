// Labels: places inside a model to jump to (events_streams_sync.md section 7).
#pragma once

#include <cstdint>
#include <vector>

#include "engine/registry.h"
#include "machine/machine.h"

namespace aclsim {

struct Label final : public Object {
    static constexpr Kind kKind = Kind::Label;
    explicit Label(const Context &owner) : context(owner) {}
    const Context &context;  // with which it ends
    bool is_in_list GUARDED_BY(engine_lock) = false;
};

struct LabelList final : public Object {
    static constexpr Kind kKind = Kind::LabelList;
    std::vector<Ref<Label>> labels GUARDED_BY(engine_lock);
    ~LabelList() override;
};

class Labels final : public Resident {
  public:
    explicit Labels(Machine &machine);
    // Fails with ACL_ERROR_RT_INTERNAL_ERROR if the process has as many as it can have.
    Ref<Label> create(const Context &context) REQUIRES(engine_lock);
    void remove(Label &label) REQUIRES(engine_lock);
    void context_closed(Context &context) override REQUIRES(engine_lock);

  private:
    Registry &registry_;
    std::size_t count_ GUARDED_BY(engine_lock) = 0;  // of live labels
};

}  // namespace aclsim
