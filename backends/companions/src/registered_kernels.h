// SPDX-License-Identifier: Apache-2.0
// Kernels that programs register with the runtime's inner functions, by the address of a host function or as all
// kernels of a binary. Programs register while they are loaded, and may fork before they use the runtime. Therefore a
// registration only keeps the binary, and the first launch loads it.
#pragma once

#include <cstdint>

#include "abi/acl.h"
#include "runtime/rt.h"

namespace companions {

// Binaries. Their handles are not those of aclrtBinaryLoad.
aclError register_binary(const rtDevBinary_t *binary, void **handle);
aclError unregister_binary(void *handle);

// Kernels: the address means the kernel with the given name in the binary.
aclError register_stub(void *binary, const void *stub, const char *stub_name, const void *kernel_name);
aclError find_stub(const char *stub_name, void **stub);

// Functions of the current device.
aclrtFuncHandle function_of(const void *stub);
aclrtFuncHandle function_in(void *binary, std::uint64_t tiling_key);

aclError launch(aclrtFuncHandle function, std::uint32_t blocks, const rtArgsEx_t *arguments, rtStream_t stream);

// Loads a binary on the current device, for functions that take its handles.
aclError load_binary(const rtDevBinary_t *binary, rtBinHandle *handle);

}  // namespace companions
