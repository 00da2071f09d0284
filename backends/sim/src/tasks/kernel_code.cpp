// SPDX-License-Identifier: Apache-2.0
#include "tasks/kernel_code.h"

#include "engine/core.h"

namespace aclsim {
namespace {

// Calls the program's function without holding the engine lock.
class DeferredRelease final : public DeferredWork {
  public:
    explicit DeferredRelease(const aclsimKernel &kernel) : kernel_(kernel) {}
    void work() noexcept override { kernel_.release(kernel_.userData); }

  private:
    const aclsimKernel kernel_;
};

}  // namespace

RegisteredCode::RegisteredCode(Core &core, const aclsimKernel &kernel)
    : KernelCode(kernel.workspaceSize),
      core_(core),
      kernel_(kernel),
      release_(kernel.release == nullptr ? nullptr : std::make_unique<DeferredRelease>(kernel)) {}

RegisteredCode::~RegisteredCode() {
    if (release_ != nullptr) {
        core_.defer(std::move(release_));
    }
}

}  // namespace aclsim
