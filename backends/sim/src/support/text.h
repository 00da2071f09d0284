// SPDX-License-Identifier: Apache-2.0
// Text forms of values, and addresses as numbers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <new>
#include <string>

#include "support/thread_annotations.h"

namespace aclsim {

inline std::uintptr_t as_integer(const void *address) { return reinterpret_cast<std::uintptr_t>(address); }

inline std::string text_of(const void *address) {
    char text[24];
    std::snprintf(text, sizeof text, "%p", address);
    return text;
}

// Returns the length in bytes of the character that begins there, or 0 if it is not well-formed UTF-8: a code in its
// shortest form, without surrogates.
inline std::size_t utf8_length(const std::string &text, std::size_t begin) {
    constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};  // code of that length in bytes
    const auto lead = static_cast<unsigned char>(text[begin]);
    const std::size_t length = lead < 0x80         ? 1
                               : lead >> 5 == 0x6  ? 2
                               : lead >> 4 == 0xE  ? 3
                               : lead >> 3 == 0x1E ? 4
                                                   : 0;
    if (length == 0 || begin + length > text.size()) {
        return 0;
    }
    std::uint32_t code = length == 1 ? lead : lead & (0x7FU >> length);
    for (std::size_t at = 1; at < length; ++at) {
        const auto byte = static_cast<unsigned char>(text[begin + at]);
        if ((byte & 0xC0) != 0x80) {
            return 0;
        }
        code = code << 6 | (byte & 0x3FU);
    }
    return code < kLeast[length] || code > 0x10FFFF || code >> 11 == 0xD800 >> 11 ? 0 : length;
}

inline bool is_utf8(const std::string &text) {
    std::size_t length = 0;
    for (std::size_t i = 0; i < text.size(); i += length) {
        length = utf8_length(text, i);
        if (length == 0) {
            return false;
        }
    }
    return true;
}

// Returns true for UTF-8 without control characters.
inline bool is_printable(const std::string &text) {
    const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; };
    return is_utf8(text) && std::none_of(text.begin(), text.end(), is_control);
}

inline std::string in_hexadecimal(const std::string &bytes) {
    std::string text;
    for (const char byte : bytes) {
        char digits[3];
        std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned>(static_cast<unsigned char>(byte)));
        text += digits;
    }
    return text;
}

// Returns operator information as text if all its bytes are printable, otherwise in hexadecimal.
inline std::string shown(const std::string &information) {
    const std::string text = information.substr(0, information.find_last_not_of('\0') + 1);
    return is_printable(text) ? text : in_hexadecimal(information);
}

// Returns the result of make(), or an empty text if the host has no memory for it. Disables the analysis, because
// make() may need a lock that the caller holds.
template <class Make>
std::string text_if_memory(Make make) noexcept NO_THREAD_SAFETY_ANALYSIS {
    try {
        return make();
    } catch (const std::bad_alloc &) {
        return {};
    }
}

}  // namespace aclsim
