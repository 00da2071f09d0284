// SPDX-License-Identifier: Apache-2.0
// Knowledge that a thread of the program passes on with a message, noted for observers.
#pragma once

#include <memory>

#include "engine/core.h"
#include "engine/thread.h"

namespace aclsim {

class Handover {
  public:
    // Called on the thread that sends.
    void give(const Core &core) REQUIRES(engine_lock) {
        if (Observers::want_host_accesses()) {
            key_ = key_ == nullptr ? std::make_shared<const char>() : key_;
            core.observers().report<kHostAccess>(&Observer::host_released, thread_number(),
                                                 static_cast<const void *>(key_.get()));
        }
    }
    // Called on the thread that receives.
    void take(const Core &core) const REQUIRES(engine_lock) {
        if (key_ != nullptr) {
            core.observers().report<kHostAccess>(&Observer::host_acquired, thread_number(),
                                                 static_cast<const void *>(key_.get()));
        }
    }

  private:
    std::shared_ptr<const char> key_;  // by its address
};

}  // namespace aclsim
