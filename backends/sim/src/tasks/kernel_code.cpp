#include "tasks/kernel_code.h"

#include "engine/core.h"

namespace aclsim {
namespace {

// The program's function must not be called with the lock held.
class DeferredRelease final : public DeferredWork {
  public:
    explicit DeferredRelease(const aclsimKernel &kernel) : kernel_(kernel) {}
    void work() noexcept override { kernel_.release(kernel_.userData); }

  private:
    const aclsimKernel kernel_;
};

}  // namespace

RegisteredCode::~RegisteredCode() {
    if (kernel_.release != nullptr) {
        core_.defer(std::make_unique<DeferredRelease>(kernel_));
    }
}

}  // namespace aclsim
