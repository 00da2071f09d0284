// SPDX-License-Identifier: Apache-2.0
// Calls that the active captures forbid (graphs_kernels.md section B1).
#pragma once

#include <cstdint>
#include <vector>

#include "abi/acl.h"
#include "engine/lock.h"

namespace aclsim {

class Capture;
class Context;

// Guarded by the engine lock.
class CaptureModes {
  public:
    // Records that a capture begins in the calling thread, or that it ends.
    void enter(Capture &capture, const Context &context, aclmdlRICaptureMode mode) REQUIRES(engine_lock);
    void leave(const Capture &capture) REQUIRES(engine_lock);
    Capture *first_in(const Context &context) const REQUIRES(engine_lock);  // nullptr if there is none
    bool captures_in(const Context &context) const REQUIRES(engine_lock) {
        return !entries_.empty() && strictest_in(context) != kNone;
    }
    // Fails with the code if the calling thread may not use memory synchronously now.
    void require_permitted(const Context &context, aclError code) const REQUIRES(engine_lock) {
        if (!entries_.empty()) {
            require_permitted_slowly(context, code);
        }
    }
    // Sets the calling thread's exchange mode and returns the former one.
    static aclmdlRICaptureMode exchange(aclmdlRICaptureMode mode);

  private:
    static constexpr int kNone = ACL_MODEL_RI_CAPTURE_MODE_RELAXED + 1;  // less strict than any mode
    struct Entry {
        Capture *capture;
        const Context *context;
        aclmdlRICaptureMode mode;
        std::uint32_t thread;
    };
    int strictest_in(const Context &context) const REQUIRES(engine_lock);
    int strictest_of_thread() const REQUIRES(engine_lock);
    void require_permitted_slowly(const Context &context, aclError code) const REQUIRES(engine_lock);

    std::vector<Entry> entries_ GUARDED_BY(engine_lock);
};

}  // namespace aclsim
