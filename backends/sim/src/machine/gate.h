// The gate that keeps calls out while a snapshot of the process is taken (device_context_init_errors.md section 8).
//
// A call passes it once, at its beginning, with the engine lock that it has anyway: an open gate costs the test of one
// variable. What was inside when the gate closed goes on, and so do the devices.
#pragma once

#include <condition_variable>
#include <mutex>

#include "engine/patience.h"

namespace aclsim {

// Guarded by the engine's lock.
class Gate {
  public:
    void close() { is_closed_ = true; }
    void open() {
        is_closed_ = false;
        opened_.notify_all();
    }
    void pass(std::unique_lock<std::mutex> &lock) {
        if (is_closed_) {
            wait(lock);
        }
    }

  private:
    void wait(std::unique_lock<std::mutex> &lock) {
        Patience patience;
        while (is_closed_) {
            patience.wait(lock, opened_, [] { return "aclrtSnapShotProcessUnlock: the process is locked\n"; });
        }
    }

    bool is_closed_ = false;
    std::condition_variable opened_;
};

}  // namespace aclsim
