// SPDX-License-Identifier: Apache-2.0
// JSON of the lines of the race check.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

#include "support/json.h"

namespace aclsim::races {

inline std::string field(const char *name, const std::string &json) { return quoted(name) + ":" + json; }
inline std::string field(const char *name, std::uint64_t number) { return field(name, std::to_string(number)); }
inline std::string text_field(const char *name, const std::string &text) { return field(name, quoted(text)); }

// Returns an object of the fields that are not empty.
inline std::string object(std::initializer_list<std::string> fields) {
    std::string text;
    for (const std::string &it : fields) {
        if (!it.empty()) {
            text += (text.empty() ? "{" : ",") + it;
        }
    }
    return text + "}";
}

}  // namespace aclsim::races
