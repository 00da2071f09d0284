// SPDX-License-Identifier: Apache-2.0
// Functions of the vendor's library. This library has functions of the same names in front of them.
#pragma once

#include "abi/acl.h"

namespace aclsim::wrapped {

// Finds the function in the libraries behind this one in the order of the dynamic loader, then in those that
// ASCEND_RT_CHECK_WRAPS names; nullptr if the release lacks it.
void *find_in_vendor(const char *function);

template <auto *kFunction>
decltype(kFunction) vendor(const char *name) {
    static const auto found = reinterpret_cast<decltype(kFunction)>(find_in_vendor(name));
    return found;
}
// NOLINTNEXTLINE: the name of the function is needed as text, too
#define VENDOR(function) (::aclsim::wrapped::vendor<function>(#function))

}  // namespace aclsim::wrapped
