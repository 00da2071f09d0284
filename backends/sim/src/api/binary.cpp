// SPDX-License-Identifier: Apache-2.0
// Kernel binaries (graphs_kernels.md section A2).
#include "tasks/binary.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/entry.h"
#include "support/file.h"
#include "support/json.h"
#include "support/uncancelled.h"
#include "tasks/kernels.h"

using namespace aclsim;

namespace {

constexpr std::size_t kDeepestDescription = 32;
constexpr std::size_t kLongestBinary = 1 << 30;
constexpr std::uint32_t kMagics[] = {ACL_RT_BINARY_MAGIC_ELF_AICORE, ACL_RT_BINARY_MAGIC_ELF_VECTOR_CORE,
                                     ACL_RT_BINARY_MAGIC_ELF_CUBE_CORE};
constexpr std::int32_t kCpuFromData = 2;  // CPU_KERNEL_MODE: only the library; its functions are registered
constexpr std::int32_t kCpuWithLibrary = 1;
constexpr std::int32_t kCpuDescriptionOnly = 0;

// Binary described by aclrtCreateBinary. The caller keeps ownership of the bytes.
struct BinaryDescription final : public Object {
    static constexpr Kind kKind = Kind::BinaryDescription;
    BinaryDescription(const void *its_data, std::size_t its_size) : data(its_data), size(its_size) {}
    const void *data;
    std::size_t size;
};

struct LoadOptions {
    bool is_lazy = false;
    std::uint32_t magic = ACL_RT_BINARY_MAGIC_ELF_AICORE;
    std::optional<std::int32_t> cpu_mode;
};

[[noreturn]] void fail_option(const aclrtBinaryLoadOption &option, std::uint32_t value) {
    fail(ACL_ERROR_RT_PARAM_INVALID, "option %d of a binary cannot have the value %u here",
         static_cast<int>(option.type), value);
}

LoadOptions read_options(const aclrtBinaryLoadOptions *options, bool is_file) {
    LoadOptions read;
    if (options == nullptr) {
        return read;
    }
    if (options->options == nullptr) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "options->options is NULL");
    }
    for (std::size_t i = 0; i < options->numOpt; ++i) {
        const aclrtBinaryLoadOption &option = options->options[i];
        bool is_right = false;
        switch (option.type) {
            case ACL_RT_BINARY_LOAD_OPT_LAZY_LOAD:
                is_right = option.value.isLazyLoad <= 1;
                read.is_lazy = option.value.isLazyLoad == 1;
                break;
            case ACL_RT_BINARY_LOAD_OPT_MAGIC:
                is_right = !is_file &&
                           std::find(std::begin(kMagics), std::end(kMagics), option.value.magic) != std::end(kMagics);
                read.magic = option.value.magic;
                break;
            case ACL_RT_BINARY_LOAD_OPT_CPU_KERNEL_MODE:
                is_right = is_file ? option.value.cpuKernelMode == kCpuDescriptionOnly ||
                                         option.value.cpuKernelMode == kCpuWithLibrary
                                   : option.value.cpuKernelMode == kCpuFromData;
                read.cpu_mode = option.value.cpuKernelMode;
                break;
        }
        if (!is_right) {
            fail_option(option, option.value.magic);
        }
    }
    return read;
}

// --- files -----------------------------------------------------------------------------------------------------------

std::string require_file(const std::string &path, std::size_t longest) {
    const Uncancelled uncancelled;
    try {
        return read_file(path, longest);
    } catch (const FileError &error) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "%s: %s", path.c_str(), error.what.c_str());
    }
}

const unsigned char *bytes_of(const std::string &content) {
    return reinterpret_cast<const unsigned char *>(content.data());
}

std::string with_extension(const std::string &path, const char *extension) {
    const std::size_t directory = path.find_last_of('/') + 1;
    const std::size_t dot = path.find_last_of('.');
    return (dot == std::string::npos || dot < directory ? path : path.substr(0, dot)) + extension;
}

Json read_description(const std::string &path) {
    try {
        return parse_json(require_file(path, kLongestJson), kDeepestDescription);
    } catch (const JsonError &error) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "%s is not JSON: %s", path.c_str(), error.text().c_str());
    }
}

// Reads the description beside an object; ignores one that cannot be read (graphs_kernels.md section A2 [obs]).
Json description_beside(const std::string &path) {
    const std::string beside = with_extension(path, ".json");
    try {
        return beside == path ? Json() : parse_json(read_file(beside, kLongestJson), kDeepestDescription);
    } catch (const FileError &) {
        return {};
    } catch (const JsonError &) {
        return {};
    }
}

// Reads the magic number from the description beside the object.
std::uint32_t magic_beside(const std::string &path) {
    constexpr struct {
        const char *name;
        std::uint32_t magic;
    } kNames[] = {{"RT_DEV_BINARY_MAGIC_ELF_AIVEC", ACL_RT_BINARY_MAGIC_ELF_VECTOR_CORE},
                  {"RT_DEV_BINARY_MAGIC_ELF_AICUBE", ACL_RT_BINARY_MAGIC_ELF_CUBE_CORE}};
    const Json description = description_beside(path);
    const Json *debug = description.find("debugOptions");
    if (debug != nullptr && debug->text.find("printf") != std::string::npos) {
        fail_unremembered(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "%s: kernels that print cannot be loaded this way",
                          with_extension(path, ".json").c_str());
    }
    const Json *magic = description.find("magic");
    const auto found = std::find_if(std::begin(kNames), std::end(kNames),
                                    [&](const auto &it) { return magic != nullptr && magic->text == it.name; });
    return found == std::end(kNames) ? ACL_RT_BINARY_MAGIC_ELF_AICORE : found->magic;
}

BinaryContent read_object(const std::string &path) {
    const std::uint32_t magic = magic_beside(path);
    const std::string content = require_file(path, kLongestBinary);
    return read_binary(bytes_of(content), content.size(), magic);
}

// Reads a description of operators for AI CPUs: {"kernel": {"opInfo": {"functionName": "..."}}}.
BinaryContent read_cpu_description(const std::string &path, bool has_library) {
    const Json description = read_description(path);
    const std::string library = has_library ? require_file(with_extension(path, ".so"), kLongestBinary) : "";
    BinaryContent content = read_cpu_library(bytes_of(library), library.size());
    for (const auto &[kernel, operation] : description.members) {
        const Json *information = operation.find("opInfo");
        const Json *function = information != nullptr ? information->find("functionName") : nullptr;
        content.cpu_functions[kernel] = function != nullptr ? function->text : kernel;
    }
    if (content.cpu_functions.empty()) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "%s describes no operator", path.c_str());
    }
    return content;
}

// --- handles ---------------------------------------------------------------------------------------------------------

Binary &require_binary(Simulator &sim, aclrtBinHandle handle) REQUIRES(engine_lock) {
    require(handle, "binHandle");
    return require_handle<Binary>(sim, handle, "kernel binary");
}

aclrtBinHandle add_binary(Simulator &sim, BinaryContent content, bool is_lazy) REQUIRES(engine_lock) {
    return sim.kernels.add(std::move(content), is_lazy, /*is_old_style=*/false)->handle();
}

KernelFunction &require_entry(Binary &binary, std::uint64_t entry) REQUIRES(engine_lock) {
    KernelFunction *function = binary.function(entry);
    if (function == nullptr) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "the binary has no kernel with the entry %llu",
             static_cast<unsigned long long>(entry));
    }
    return *function;
}

// Loads the function's binary to the current device, as every request for a function does (section A1).
aclrtFuncHandle load_function(Simulator &sim, Lock &lock, KernelFunction &function) REQUIRES(engine_lock) {
    const Device &device = require_current_device(sim);
    const Ref<KernelFunction> keep(function);
    if (!function.binary->is_lazy) {
        function.binary->load_on(lock, device);
    }
    return function.handle();
}

}  // namespace

aclError aclrtBinaryLoadFromFile(const char *binPath, aclrtBinaryLoadOptions *options, aclrtBinHandle *binHandle) {
    return entry(Function::aclrtBinaryLoadFromFile, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require(binPath, "binPath");
        require(binHandle, "binHandle");
        const LoadOptions wanted = read_options(options, /*is_file=*/true);
        BinaryContent content;
        {
            const Unlocked unlocked(lock);
            content = wanted.cpu_mode ? read_cpu_description(binPath, *wanted.cpu_mode == kCpuWithLibrary)
                                      : read_object(binPath);
        }
        *binHandle = add_binary(sim, std::move(content), wanted.is_lazy);
    });
}

aclError aclrtBinaryLoadFromData(const void *data, size_t length, const aclrtBinaryLoadOptions *options,
                                 aclrtBinHandle *binHandle) {
    return entry(Function::aclrtBinaryLoadFromData, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require(data, "data");
        require(binHandle, "binHandle");
        if (length == 0) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "length is 0");
        }
        const LoadOptions wanted = read_options(options, /*is_file=*/false);
        BinaryContent content;
        {
            const Unlocked unlocked(lock);
            const auto *bytes = static_cast<const unsigned char *>(data);
            content = wanted.cpu_mode ? read_cpu_library(bytes, length) : read_binary(bytes, length, wanted.magic);
        }
        *binHandle = add_binary(sim, std::move(content), wanted.is_lazy);
    });
}

aclrtBinary aclrtCreateBinary(const void *data, size_t dataLen) {
    aclrtBinary made = nullptr;
    ungated_entry(Function::aclrtCreateBinary, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(data, "data");
        const auto binary = make_ref<BinaryDescription>(data, dataLen);
        sim.core.registry().add(binary);
        made = binary->handle();
    });
    return made;
}

aclError aclrtDestroyBinary(aclrtBinary binary) {
    return ungated_entry(Function::aclrtDestroyBinary, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(binary, "binary");
        sim.core.registry().remove(require_handle<BinaryDescription>(sim, binary, "description of a binary"));
    });
}

aclError aclrtBinaryLoad(const aclrtBinary binary, aclrtBinHandle *binHandle) {
    return entry(Function::aclrtBinaryLoad, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require(binary, "binary");
        require(binHandle, "binHandle");
        const auto &description = require_handle<BinaryDescription>(sim, binary, "description of a binary");
        const auto *data = static_cast<const unsigned char *>(description.data);
        const std::size_t size = description.size;
        if (size == 0) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "the binary was described with 0 bytes");
        }
        require_current_device(sim);
        BinaryContent content;
        {
            const Unlocked unlocked(lock);
            content = read_binary(data, size, ACL_RT_BINARY_MAGIC_ELF_AICORE);
        }
        const Device &device = require_current_device(sim);
        const Ref<Binary> loaded = sim.kernels.add(std::move(content), /*is_lazy=*/false, /*is_old_style=*/true);
        try {
            loaded->load_on(lock, device);
        } catch (...) {
            sim.kernels.unload(*loaded);
            throw;
        }
        *binHandle = loaded->handle();
    });
}

aclError aclrtBinaryUnLoad(aclrtBinHandle binHandle) {
    return entry(Function::aclrtBinaryUnLoad, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        Binary &binary = require_binary(sim, binHandle);
        if (binary.is_old_style) {
            require_context(sim);
        }
        sim.kernels.unload(binary);
    });
}

// Reports every error after the handle checks with one code (section A2, aclrtBinaryGetFunction).
aclError aclrtBinaryGetFunction(const aclrtBinHandle binHandle, const char *kernelName, aclrtFuncHandle *funcHandle) {
    return entry(Function::aclrtBinaryGetFunction, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require(binHandle, "binHandle");
        require(kernelName, "kernelName");
        require(funcHandle, "funcHandle");
        Binary &binary = require_binary(sim, binHandle);
        KernelFunction *function = binary.function(std::string(kernelName));
        if (function == nullptr || current_context(sim) == nullptr) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "%s%s", function == nullptr ? "the binary has no kernel " : kernelName,
                 function == nullptr ? kernelName : ": the calling thread has no current context");
        }
        try {
            *funcHandle = load_function(sim, lock, *function);
        } catch (const Failure &) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "the binary of kernel %s cannot be loaded to the current device",
                 kernelName);
        }
    });
}

aclError aclrtBinaryGetFunctionByEntry(aclrtBinHandle binHandle, uint64_t funcEntry, aclrtFuncHandle *funcHandle) {
    return entry(Function::aclrtBinaryGetFunctionByEntry, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require(binHandle, "binHandle");
        require(funcHandle, "funcHandle");
        *funcHandle = nullptr;
        *funcHandle = load_function(sim, lock, require_entry(require_binary(sim, binHandle), funcEntry));
    });
}

aclError aclrtBinaryGetDevAddress(const aclrtBinHandle binHandle, void **binAddr, size_t *binSize) {
    return entry(Function::aclrtBinaryGetDevAddress, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require(binHandle, "binHandle");
        if (binAddr == nullptr || binSize == nullptr) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "binAddr or binSize is NULL");
        }
        const Ref<Binary> binary(require_binary(sim, binHandle));
        const Device &device = require_current_device(sim);
        if (!binary->is_lazy) {
            binary->load_on(lock, device);
        }
        *binAddr = binary->image_on(device);
        *binSize = binary->image_size();
    });
}

aclError aclrtBinaryGetGlobal(aclrtBinHandle binHandle, const char *name, void **dptr, size_t *size) {
    return entry(Function::aclrtBinaryGetGlobal, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require(binHandle, "binHandle");
        require(name, "name");
        if (dptr == nullptr && size == nullptr) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "dptr and size are NULL");
        }
        const Ref<Binary> binary(require_binary(sim, binHandle));
        if (binary->is_for_cpu()) {
            fail_unremembered(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "a binary for AI CPUs has no variables");
        }
        const VariableDescription *variable = binary->variable(name);
        if (variable == nullptr) {
            fail(ACL_ERROR_RT_SYMBOL_NOT_FOUND, "the binary has no variable %s", name);
        }
        const Device &device = require_current_device(sim);
        binary->load_on(lock, device);
        if (dptr != nullptr) {
            *dptr = binary->address_of(variable->name, variable->part, device);
        }
        if (size != nullptr) {
            *size = variable->part.size;
        }
    });
}

aclError aclrtBinarySetExceptionCallback(aclrtBinHandle binHandle, aclrtOpExceptionCallback callback, void *userData) {
    return entry(Function::aclrtBinarySetExceptionCallback, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(binHandle, "binHandle");
        require(reinterpret_cast<const void *>(callback), "callback");
        Binary &binary = require_binary(sim, binHandle);
        binary.exception_callback = callback;
        binary.exception_data = userData;
    });
}

aclError aclrtRegisterCpuFunc(const aclrtBinHandle handle, const char *funcName, const char *kernelName,
                              aclrtFuncHandle *funcHandle) {
    return entry(Function::aclrtRegisterCpuFunc, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require(handle, "handle");
        require(funcName, "funcName");
        require(kernelName, "kernelName");
        require(funcHandle, "funcHandle");
        Binary &binary = require_binary(sim, handle);
        if (!binary.takes_cpu_functions()) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "only binaries that were loaded with CPU_KERNEL_MODE 2 take functions");
        }
        require_context(sim);
        *funcHandle = load_function(sim, lock, binary.register_cpu_function(funcName, kernelName));
    });
}

aclError aclrtGetFuncBySymbol(const void *symbol, aclrtFuncHandle *funcHandle) {
    return entry(Function::aclrtGetFuncBySymbol, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require(symbol, "symbol");
        require(funcHandle, "funcHandle");
        require_supported();
        KernelFunction *function = sim.kernels.find_symbol(symbol);
        if (function == nullptr) {
            fail(ACL_ERROR_RT_INVALID_DEVICE_FUNCTION, "%p is not a symbol of a kernel", symbol);
        }
        *funcHandle = load_function(sim, lock, *function);
    });
}

// --- control of the simulator (abi/aclsim.h) -------------------------------------------------------------------------

aclError aclsimRegisterKernel(const char *name, const aclsimKernel *kernel) {
    return entry(Function::aclsimRegisterKernel, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(name, "name");
        require(kernel, "kernel");
        require(reinterpret_cast<const void *>(kernel->function), "kernel->function");
        sim.kernels.register_code(name, make_ref<RegisteredCode>(sim.core, *kernel));
    });
}

aclError aclsimUnregisterKernel(const char *name) {
    return entry(Function::aclsimUnregisterKernel, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(name, "name");
        if (!sim.kernels.unregister_code(name)) {
            fail(ACL_ERROR_RT_INVALID_DEVICE_FUNCTION, "no function is registered for kernel %s", name);
        }
    });
}

aclError aclsimRegisterKernelSymbol(const void *symbol, aclrtBinHandle binary, const char *kernelName) {
    return entry(Function::aclsimRegisterKernelSymbol, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(symbol, "symbol");
        require(kernelName, "kernelName");
        const KernelFunction *function = require_binary(sim, binary).function(std::string(kernelName));
        if (function == nullptr || !sim.kernels.add_symbol(symbol, *function)) {
            fail(ACL_ERROR_RT_INVALID_DEVICE_FUNCTION, "%p already has a kernel, or there is no kernel %s", symbol,
                 kernelName);
        }
    });
}
