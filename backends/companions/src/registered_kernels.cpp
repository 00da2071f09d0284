// SPDX-License-Identifier: Apache-2.0
#include "registered_kernels.h"

#include <cstddef>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "refusal.h"

namespace companions {
namespace {

// A registered binary. Calls that use it hold a reference, so it ends after the last of them, without a lock.
struct Program {
    std::uint32_t magic;
    std::vector<char> data;
    aclrtBinHandle loaded = nullptr;

    ~Program() {
        if (loaded != nullptr) {
            aclrtBinaryUnLoad(loaded);
        }
    }
};

struct Stub {
    std::shared_ptr<Program> program;
    std::string name;
    std::string kernel;
};

struct Registry {
    std::mutex mutex;
    std::map<const Program *, std::shared_ptr<Program>> programs;
    std::map<const void *, Stub> stubs;
};

Registry &registry() {
    static auto *const all = new Registry;  // never destroyed, because threads may use it until the process ends
    return *all;
}

void require_binary(const rtDevBinary_t *binary) {
    require(binary, "bin");
    require(binary->data, "bin->data");
    if (binary->length == 0 || binary->length > std::numeric_limits<std::ptrdiff_t>::max()) {
        refuse(ACL_ERROR_RT_PARAM_INVALID, "bin->length is " + std::to_string(binary->length));
    }
}

// Binaries of other kinds, such as those of the AI CPU, are loaded without the option for the kind.
bool has_documented_kind(std::uint32_t magic) {
    return magic == ACL_RT_BINARY_MAGIC_ELF_VECTOR_CORE || magic == ACL_RT_BINARY_MAGIC_ELF_CUBE_CORE ||
           magic == ACL_RT_BINARY_MAGIC_ELF_AICORE;
}

aclError load(const void *data, std::size_t length, std::uint32_t magic, aclrtBinHandle *handle) {
    aclrtBinaryLoadOption option = {};
    option.type = ACL_RT_BINARY_LOAD_OPT_MAGIC;
    option.value.magic = magic;
    const aclrtBinaryLoadOptions options = {&option, 1};
    return aclrtBinaryLoadFromData(data, length, has_documented_kind(magic) ? &options : nullptr, handle);
}

// Finds a program; the caller holds the lock.
std::shared_ptr<Program> program_at(const Registry &all, const void *handle) {
    const auto found = all.programs.find(static_cast<const Program *>(handle));
    if (found == all.programs.end()) {
        refuse(ACL_ERROR_RT_INVALID_HANDLE, "the handle is not a registered binary");
    }
    return found->second;
}

// Returns the loaded binary, which has functions on every device. It is loaded without the lock, because a shared
// object runs code.
aclrtBinHandle loaded(Program &program) {
    std::int32_t device = 0;
    demand(aclrtGetDevice(&device));  // the code of a launch without one
    std::mutex &mutex = registry().mutex;
    {
        const std::lock_guard<std::mutex> guard(mutex);
        if (program.loaded != nullptr) {
            return program.loaded;
        }
    }
    aclrtBinHandle handle = nullptr;
    demand(load(program.data.data(), program.data.size(), program.magic, &handle));
    std::unique_lock<std::mutex> lock(mutex);
    if (program.loaded == nullptr) {
        program.loaded = handle;
        return handle;
    }
    lock.unlock();
    aclrtBinaryUnLoad(handle);  // another thread was faster
    return program.loaded;
}

}  // namespace

aclError register_binary(const rtDevBinary_t *binary, void **handle) {
    require_binary(binary);
    require(handle, "hdl");
    const auto *const data = static_cast<const char *>(binary->data);
    auto program = std::make_shared<Program>();
    program->magic = binary->magic;
    program->data.assign(data, data + binary->length);
    Registry &all = registry();
    const std::lock_guard<std::mutex> guard(all.mutex);
    *handle = program.get();
    all.programs.emplace(program.get(), std::move(program));
    return ACL_SUCCESS;
}

aclError unregister_binary(void *handle) {
    std::shared_ptr<Program> program;  // ends after the lock
    Registry &all = registry();
    const std::lock_guard<std::mutex> guard(all.mutex);
    program = program_at(all, handle);
    all.programs.erase(program.get());
    for (auto stub = all.stubs.begin(); stub != all.stubs.end();) {
        stub = stub->second.program == program ? all.stubs.erase(stub) : std::next(stub);
    }
    return ACL_SUCCESS;
}

aclError register_stub(void *binary, const void *stub, const char *stub_name, const void *kernel_name) {
    require(stub, "stubFunc");
    require(stub_name, "stubName");
    const char *const name = kernel_name == nullptr ? stub_name : static_cast<const char *>(kernel_name);
    Registry &all = registry();
    const std::lock_guard<std::mutex> guard(all.mutex);
    if (!all.stubs.emplace(stub, Stub{program_at(all, binary), stub_name, name}).second) {
        refuse(ACL_ERROR_RT_KERNEL_DUPLICATE, std::string("stubFunc of ") + stub_name + " is registered already");
    }
    return ACL_SUCCESS;
}

aclError find_stub(const char *stub_name, void **stub) {
    require(stub_name, "stubName");
    Registry &all = registry();
    const std::lock_guard<std::mutex> guard(all.mutex);
    for (const auto &[address, each] : all.stubs) {
        if (each.name == stub_name) {
            if (stub != nullptr) {
                *stub = const_cast<void *>(address);
            }
            return ACL_SUCCESS;
        }
    }
    refuse(ACL_ERROR_RT_KERNEL_LOOKUP, std::string("no kernel is registered as ") + stub_name);
}

aclrtFuncHandle function_of(const void *stub) {
    require(stub, "stubFunc");
    Stub kernel;
    {
        Registry &all = registry();
        const std::lock_guard<std::mutex> guard(all.mutex);
        const auto found = all.stubs.find(stub);
        if (found == all.stubs.end()) {
            refuse(ACL_ERROR_RT_INTERNAL_ERROR, "no kernel is registered for stubFunc; call rtFunctionRegister");
        }
        kernel = found->second;
    }
    aclrtFuncHandle function = nullptr;
    demand(aclrtBinaryGetFunction(loaded(*kernel.program), kernel.kernel.c_str(), &function));
    return function;
}

aclrtFuncHandle function_in(void *binary, std::uint64_t tiling_key) {
    std::shared_ptr<Program> program;
    {
        Registry &all = registry();
        const std::lock_guard<std::mutex> guard(all.mutex);
        program = program_at(all, binary);
    }
    aclrtFuncHandle function = nullptr;
    demand(aclrtBinaryGetFunctionByEntry(loaded(*program), tiling_key, &function));
    return function;
}

aclError launch(aclrtFuncHandle function, std::uint32_t blocks, const rtArgsEx_t *arguments, rtStream_t stream) {
    require(arguments, "argsInfo");
    if (arguments->isNoNeedH2DCopy != 0) {
        return aclrtLaunchKernel(function, blocks, arguments->args, arguments->argsSize, stream);
    }
    std::vector<aclrtPlaceHolderInfo> inside;
    for (std::uint32_t i = 0; i < arguments->hostInputInfoNum; ++i) {
        require(arguments->hostInputInfoPtr, "argsInfo->hostInputInfoPtr");
        inside.push_back({arguments->hostInputInfoPtr[i].addrOffset, arguments->hostInputInfoPtr[i].dataOffset});
    }
    if (arguments->hasTiling != 0) {
        inside.push_back({arguments->tilingAddrOffset, arguments->tilingDataOffset});
    }
    return aclrtLaunchKernelWithHostArgs(function, blocks, stream, nullptr, arguments->args, arguments->argsSize,
                                         inside.empty() ? nullptr : inside.data(), inside.size());
}

aclError load_binary(const rtDevBinary_t *binary, rtBinHandle *handle) {
    require_binary(binary);
    return load(binary->data, binary->length, binary->magic, handle);
}

}  // namespace companions
