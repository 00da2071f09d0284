// SPDX-License-Identifier: Apache-2.0
// Binary of kernels that can be loaded without a compiler.
#pragma once

#include <array>

#include "check.h"

// Loads a binary for AI CPUs: its content is arbitrary, because functions are registered by name.
inline aclrtBinHandle load_cpu_binary() {
    constexpr std::array<char, 8> kBytes{'k', 'e', 'r', 'n', 'e', 'l', 's', '\n'};
    aclrtBinaryLoadOption option{};
    option.type = ACL_RT_BINARY_LOAD_OPT_CPU_KERNEL_MODE;
    option.value.cpuKernelMode = 2;
    const aclrtBinaryLoadOptions options{&option, 1};
    aclrtBinHandle binary = nullptr;
    CHECK_OK(aclrtBinaryLoadFromData(kBytes.data(), kBytes.size(), &options, &binary));
    return binary;
}
