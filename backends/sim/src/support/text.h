// Values as texts show them, and addresses as numbers.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

namespace aclsim {

inline std::uintptr_t as_integer(const void *address) { return reinterpret_cast<std::uintptr_t>(address); }

inline std::string text_of(const void *address) {
    char text[24];
    std::snprintf(text, sizeof text, "%p", address);
    return text;
}

}  // namespace aclsim
