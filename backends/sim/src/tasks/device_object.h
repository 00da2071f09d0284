// SPDX-License-Identifier: Apache-2.0
// Contents of a device object: kernels with their metadata, variables, and the image of both that is loaded to a device
// (graphs_kernels.md sections A2 and A3). The code is not executed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "abi/acl.h"
#include "support/elf.h"

namespace aclsim {

// Parameter in the argument block.
struct KernelParameter {
    std::uint32_t offset;
    std::uint32_t size;
};

// Position in the image.
struct ImagePart {
    std::uint64_t offset;
    std::uint64_t size;
};

struct KernelDescription {
    std::string name;
    aclrtKernelType type = ACL_KERNEL_TYPE_AICORE;
    std::uint16_t cube_ratio = 0;  // cores of each kind that work together, if a kernel uses both
    std::uint16_t vector_ratio = 0;
    std::uint64_t entry = 0;  // for aclrtBinaryGetFunctionByEntry: the number at the end of the name
    std::optional<ImagePart> cube_code;
    std::optional<ImagePart> vector_code;
    bool has_metadata = false;
    std::optional<std::vector<KernelParameter>> parameters;  // absent if the metadata does not list them
    std::uint64_t workspace_bytes = 0;                       // for a kernel of a host library
    // Set if all bytes of the code are zero. Compilers do not produce such kernels, so there is nothing to execute.
    bool is_empty = false;
};

struct VariableDescription {
    std::string name;
    ImagePart part;
};

struct DeviceObject {
    std::vector<KernelDescription> kernels;
    std::vector<VariableDescription> variables;
    std::vector<unsigned char> image;
};

// The magic number selects the cores of kernels whose metadata does not. Throws ElfError, also if there is no kernel.
DeviceObject read_device_object(const Elf &file, std::uint32_t magic);

// Reads the metadata section of the kernel: its parameters, and everything else that it specifies.
void read_metadata(const Elf &file, KernelDescription &kernel, const std::string &symbol);

}  // namespace aclsim
