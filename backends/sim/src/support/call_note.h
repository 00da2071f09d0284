// SPDX-License-Identifier: Apache-2.0
// Note of a call, kept without text because most notes are never shown.
#pragma once

#include <string>

#include "support/call_place.h"
#include "support/error.h"

namespace aclsim {

struct CallNote {
    const char *function = "";
    CallPlace place{};

    static CallNote present() {
        const CurrentCall *call = current_call();
        return call == nullptr ? CallNote() : CallNote{call->name(), call->place};
    }
    bool is_known() const { return *function != '\0'; }
    std::string text() const {
        return function + (place.kind == CallPlace::Kind::Unknown ? std::string() : " at " + name_of(place));
    }
};

}  // namespace aclsim
