// What a device object contains: its kernels, with what their metadata tells, its variables, and the image of both that
// is loaded to a device (graphs_kernels.md sections A2 and A3). Its code is not executed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "abi/acl.h"
#include "support/elf.h"

namespace aclsim {

// A parameter in the block of arguments.
struct KernelParameter {
    std::uint32_t offset;
    std::uint32_t size;
};

// Where something is in the image.
struct ImagePart {
    std::uint64_t offset;
    std::uint64_t size;
};

struct KernelDescription {
    std::string name;
    aclrtKernelType type = ACL_KERNEL_TYPE_AICORE;
    std::uint16_t cube_ratio = 0;  // of a kernel for both kinds of cores: how many of each work together
    std::uint16_t vector_ratio = 0;
    std::uint64_t entry = 0;  // aclrtBinaryGetFunctionByEntry: the number that the name ends with
    std::optional<ImagePart> cube_code;
    std::optional<ImagePart> vector_code;
    bool has_metadata = false;
    std::optional<std::vector<KernelParameter>> parameters;  // none: the metadata does not tell
    std::uint64_t workspace_bytes = 0;                       // of a host library's kernel
    // All bytes of its code are zero. No compiler makes such a kernel: there is nothing to run.
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

// The magic number tells the cores of kernels whose metadata does not. Throws ElfError, also if there is no kernel.
DeviceObject read_device_object(const Elf &file, std::uint32_t magic);

// The parameters that a binary's metadata section for a kernel lists, with everything else that it tells.
void read_metadata(const Elf &file, KernelDescription &kernel, const std::string &symbol);

}  // namespace aclsim
