// SPDX-License-Identifier: Apache-2.0
// Failures of functions above the runtime: code and text are reported like those of runtime functions.
#pragma once

#include <new>
#include <string>
#include <utility>

#include "abi/acl.h"
#include "abi/aclsim_refusal.h"

namespace companions {

struct Refusal {
    aclError code;
    std::string text;
};

[[noreturn]] inline void refuse(aclError code, std::string text) { throw Refusal{code, std::move(text)}; }

// Fails with the code and the text of a function of the runtime, unless it succeeded.
inline void demand(aclError code) {
    if (code != ACL_SUCCESS) {
        const char *const text = aclGetRecentErrMsg();
        refuse(code, text == nullptr ? "" : text);
    }
}

// Fails with ACL_ERROR_INVALID_PARAM if the argument is NULL.
inline void require(const void *argument, const char *name) {
    if (argument == nullptr) {
        refuse(ACL_ERROR_INVALID_PARAM, std::string(name) + " is NULL");
    }
}

// Runs the body of an entry point and converts its exceptions to return codes.
template <class Body>
aclError checked(const char *function, Body body) {
    try {
        body();
        return ACL_SUCCESS;
    } catch (const Refusal &refusal) {
        return aclsimRefuse(function, refusal.code, refusal.text.c_str());
    } catch (const std::bad_alloc &) {
        return aclsimRefuse(function, ACL_ERROR_BAD_ALLOC, "host out of RAM");
    }
}

}  // namespace companions
