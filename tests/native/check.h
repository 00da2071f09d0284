// SPDX-License-Identifier: Apache-2.0
// Assertions of the native tests. They remain active in release builds and print the place of a failure.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

#include "abi/acl.h"

#define CHECK(condition)                                                                   \
    do {                                                                                   \
        if (!(condition)) {                                                                \
            std::fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
            std::abort();                                                                  \
        }                                                                                  \
    } while (false)

#define CHECK_CODE(expected, call)                                                                              \
    do {                                                                                                        \
        const aclError check_code_ = (call);                                                                    \
        if (check_code_ != (expected)) {                                                                        \
            const char *check_text_ = aclGetRecentErrMsg();                                                     \
            std::fprintf(stderr, "%s:%d: %s answered %d, not %d: %s\n", __FILE__, __LINE__, #call, check_code_, \
                         static_cast<int>(expected), check_text_ == nullptr ? "" : check_text_);                \
            std::abort();                                                                                       \
        }                                                                                                       \
    } while (false)

#define CHECK_OK(call) CHECK_CODE(ACL_SUCCESS, call)

// Reads the text, which the library then forgets.
inline std::string recent_text() {
    const char *const text = aclGetRecentErrMsg();
    return text == nullptr ? "" : text;
}

inline bool contains(const std::string &text, const std::string &part) { return text.find(part) != std::string::npos; }
