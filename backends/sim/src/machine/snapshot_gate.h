// SPDX-License-Identifier: Apache-2.0
// Gate that blocks calls while a snapshot of the process is taken (device_context_init_errors.md section 8).
//
// Each call passes the gate once, at its beginning, with the engine lock already held, so an open gate costs one test
// of a variable. Calls that were inside when the gate closed continue, and so do the devices.
#pragma once

#include <condition_variable>

#include "engine/core.h"
#include "support/expect.h"

namespace aclsim {

// Guarded by the engine lock.
class SnapshotGate {
  public:
    explicit SnapshotGate(Core &core) : core_(core) {}
    void close() REQUIRES(engine_lock) { is_closed_ = true; }
    void open() REQUIRES(engine_lock) {
        is_closed_ = false;
        opened_.notify_all();
    }
    bool is_closed() const REQUIRES(engine_lock) { return is_closed_; }
    void pass(Lock &lock) REQUIRES(engine_lock) {
        if (unlikely(is_closed_)) {
            wait(lock);
        }
    }

  private:
    void wait(Lock &lock) REQUIRES(engine_lock) {
        HostWait wait(core_, Outside::Host, "aclrtSnapShotProcessUnlock: the process is locked", kNever);
        while (is_closed_) {
            wait.sleep(lock, opened_);
        }
    }

    Core &core_;
    bool is_closed_ GUARDED_BY(engine_lock) = false;
    std::condition_variable_any opened_;
};

}  // namespace aclsim
