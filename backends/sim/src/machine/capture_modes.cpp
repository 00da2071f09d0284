// SPDX-License-Identifier: Apache-2.0
#include "machine/capture_modes.h"

#include <algorithm>
#include <utility>

#include "engine/thread.h"
#include "support/error.h"

namespace aclsim {
namespace {

thread_local aclmdlRICaptureMode t_exchange = ACL_MODEL_RI_CAPTURE_MODE_GLOBAL;

}  // namespace

void CaptureModes::enter(Capture &capture, const Context &context, aclmdlRICaptureMode mode) {
    entries_.push_back({&capture, &context, mode, thread_number()});
}

void CaptureModes::leave(const Capture &capture) {
    entries_.erase(
        std::remove_if(entries_.begin(), entries_.end(), [&](const Entry &it) { return it.capture == &capture; }),
        entries_.end());
}

Capture *CaptureModes::first_in(const Context &context) const {
    const auto found =
        std::find_if(entries_.begin(), entries_.end(), [&](const Entry &it) { return it.context == &context; });
    return found == entries_.end() ? nullptr : found->capture;
}

int CaptureModes::strictest_in(const Context &context) const {
    int strictest = kNone;
    for (const Entry &entry : entries_) {
        strictest = entry.context == &context ? std::min<int>(strictest, entry.mode) : strictest;
    }
    return strictest;
}

int CaptureModes::strictest_of_thread() const {
    int strictest = kNone;
    for (const Entry &entry : entries_) {
        strictest = entry.thread == thread_number() ? std::min<int>(strictest, entry.mode) : strictest;
    }
    return strictest;
}

void CaptureModes::require_permitted_slowly(const Context &context, aclError code) const {
    const int around = strictest_in(context);
    if (around == kNone || t_exchange == ACL_MODEL_RI_CAPTURE_MODE_RELAXED) {
        return;
    }
    const int own = strictest_of_thread();
    const bool is_denied =
        t_exchange == ACL_MODEL_RI_CAPTURE_MODE_GLOBAL
            ? around == ACL_MODEL_RI_CAPTURE_MODE_GLOBAL || own == ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL
            : own <= ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL;
    if (is_denied) {
        fail(code,
             "a capture in this context, or in this thread, denies synchronous use of memory; capture in a less strict "
             "mode, or call aclmdlRICaptureThreadExchangeMode");
    }
}

aclmdlRICaptureMode CaptureModes::exchange(aclmdlRICaptureMode mode) { return std::exchange(t_exchange, mode); }

}  // namespace aclsim
