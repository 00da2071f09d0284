// SPDX-License-Identifier: Apache-2.0
#include "tasks/binary.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "machine/device.h"
#include "memory/memory.h"
#include "support/error.h"
#include "tasks/kernels.h"

namespace aclsim {
namespace {

constexpr std::size_t kMagicBytes = 4;
constexpr std::size_t kLookedAt = 1024;  // bytes of a binary for AI CPUs that are checked for content

bool is_host_library(const Elf &file) {
    return file.machine() == Elf::host_machine() && file.type() == Elf::Type::Shared;
}

// Values of a constant in the file.
template <class T>
std::vector<T> values_of(const Elf &file, const Elf::Symbol &symbol) {
    const Elf::Section &section = file.sections()[symbol.section];
    if (symbol.offset > section.size || symbol.size > section.size - symbol.offset) {
        throw ElfError{"the object " + std::string(symbol.name) + " reaches beyond the end of its section"};
    }
    std::vector<T> values(symbol.size / sizeof(T));
    if (section.content != nullptr && !values.empty()) {
        std::memcpy(values.data(), section.content + symbol.offset, values.size() * sizeof(T));
    }
    return values;
}

// Sizes from NAME_parameters, with offsets laid out as in a C structure.
std::vector<KernelParameter> parameters_of(const std::vector<std::uint32_t> &sizes) {
    constexpr std::uint32_t kLargestAlignment = 8;
    std::vector<KernelParameter> parameters;
    std::uint32_t offset = 0;
    for (const std::uint32_t size : sizes) {
        const std::uint32_t power = size & -size;  // largest power of two that divides it
        const std::uint32_t alignment = std::clamp(power, 1U, kLargestAlignment);
        offset = (offset + alignment - 1) / alignment * alignment;
        parameters.push_back({offset, size});
        offset += size;
    }
    return parameters;
}

// Treats every exported function as a kernel; abi/aclsim_kernel.h describes the other symbols that are read.
DeviceObject read_host_object(const Elf &file) {
    DeviceObject object;
    std::map<std::string, Elf::Symbol> data;
    for (const Elf::Symbol &symbol : file.symbols(Elf::Table::Exported)) {
        const std::string name(symbol.name);
        const ImagePart part{symbol.offset, symbol.size};
        if (symbol.type == Elf::SymbolType::Object) {
            object.variables.push_back({name, part});
            data.emplace(name, symbol);
        } else if (symbol.type == Elf::SymbolType::Function) {
            KernelDescription kernel;
            kernel.name = name;
            kernel.cube_code = kernel.vector_code = part;
            object.kernels.push_back(std::move(kernel));
        }
    }
    for (KernelDescription &kernel : object.kernels) {
        const auto sizes = data.find(kernel.name + "_parameters");
        if (sizes != data.end()) {
            kernel.parameters = parameters_of(values_of<std::uint32_t>(file, sizes->second));
        }
        const auto workspace = data.find(kernel.name + "_workspace_size");
        if (workspace != data.end() && workspace->second.size == sizeof kernel.workspace_bytes) {
            kernel.workspace_bytes = values_of<std::uint64_t>(file, workspace->second).front();
        }
    }
    if (object.kernels.empty()) {
        throw ElfError{"it exports no function"};
    }
    return object;
}

}  // namespace

BinaryContent read_binary(const unsigned char *data, std::size_t size, std::uint32_t magic) {
    BinaryContent content;
    try {
        Elf file(data, size);
        if (file.machine() != Elf::host_machine()) {
            content.object = read_device_object(file, magic);
            return content;
        }
        if (!is_host_library(file)) {
            throw ElfError{"it is for this host but no shared object; link it with -shared"};
        }
        file.require_segments();
        content.library = std::make_unique<HostLibrary>(data, file.extent());
        content.object = read_host_object(file);
    } catch (const ElfError &error) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "the kernel binary cannot be used: %s", error.what.c_str());
    }
    return content;
}

BinaryContent read_cpu_library(const unsigned char *data, std::size_t size) {
    BinaryContent content;
    content.is_for_cpu = true;
    const unsigned char *end = data + std::min(size, kLookedAt);
    content.is_blank = std::all_of(data + std::min(size, kMagicBytes), end, [](unsigned char it) { return it == 0; });
    if (content.is_blank) {
        return content;
    }
    try {
        Elf file(data, size);
        if (is_host_library(file)) {
            file.require_segments();
            content.library = std::make_unique<HostLibrary>(data, file.extent());
        }
    } catch (const ElfError &error) {
        content.library_error = error.what;
    } catch (const Failure &) {
        content.library_error = "its library cannot be loaded on this host";
    }
    return content;
}

KernelFunction::~KernelFunction() = default;

// Closes a library without holding the engine lock, because its destructors are code of the program.
class Binary::Close final : public DeferredWork {
  public:
    void work() noexcept override { library.reset(); }

    std::unique_ptr<HostLibrary> library;
};

Binary::Binary(Kernels &kernels, BinaryContent content, bool lazy, bool old_style)
    : is_lazy(lazy),
      is_old_style(old_style),
      kernels_(kernels),
      memory_(kernels.memory),
      content_(std::move(content)),
      close_(content_.library ? std::make_unique<Close>() : nullptr) {
    kernels_.binaries_.insert(this);
}

Binary::~Binary() {
    kernels_.binaries_.erase(this);
    for (const auto &[device, address] : images_) {
        memory_.space().free_internal(device, address);
    }
    if (close_ != nullptr) {
        close_->library = std::move(content_.library);
        memory_.core.defer(std::move(close_));
    }
}

KernelFunction &Binary::add_function(const KernelDescription &description, Ref<KernelCode> code) {
    const auto function = make_ref<KernelFunction>(*this, description, std::move(code));
    memory_.core.registry().add_with(function,
                                     [&]() REQUIRES(engine_lock) { functions_.emplace(description.name, function); });
    return *function;
}

Ref<KernelCode> Binary::own_code(const KernelDescription &description) const {
    if (content_.library) {
        void *function = content_.library->find(description.name);
        return make_ref<HostCode>(reinterpret_cast<aclsimHostKernel>(function), description.workspace_bytes);
    }
    return description.is_empty ? Ref<KernelCode>(make_ref<EmptyCode>()) : nullptr;
}

KernelFunction *Binary::function(const std::string &name) {
    const auto known = functions_.find(name);
    if (known != functions_.end()) {
        return known->second.get();
    }
    const auto &kernels = content_.object.kernels;
    const auto found = std::find_if(kernels.begin(), kernels.end(), [&](const auto &it) { return it.name == name; });
    return found == kernels.end() ? nullptr : &add_function(*found, own_code(*found));
}

KernelFunction *Binary::function(std::uint64_t entry) {
    const auto &kernels = content_.object.kernels;
    const auto found = std::find_if(kernels.begin(), kernels.end(), [&](const auto &it) { return it.entry == entry; });
    return found == kernels.end() ? nullptr : function(found->name);
}

KernelFunction &Binary::register_cpu_function(const std::string &function, const std::string &kernel) {
    const auto known = functions_.find(kernel);
    if (known != functions_.end()) {
        return *known->second;
    }
    KernelDescription &description = cpu_descriptions_[kernel];
    description.name = kernel;
    description.type = ACL_KERNEL_TYPE_AICPU;
    void *entry = content_.library ? content_.library->find(function) : nullptr;
    Ref<KernelCode> code;
    if (entry != nullptr) {
        code = make_ref<CpuCode>(reinterpret_cast<CpuCode::Entry>(entry));
    } else if (content_.is_blank && content_.cpu_functions.empty()) {
        code = make_ref<EmptyCode>();
    }
    return add_function(description, std::move(code));
}

void Binary::register_described_functions() {
    for (const auto &[kernel, function] : content_.cpu_functions) {
        register_cpu_function(function, kernel);
    }
}

void Binary::remove_functions() {
    const auto functions = std::exchange(functions_, {});
    for (const auto &[name, function] : functions) {
        memory_.core.registry().remove(*function);
    }
}

bool Binary::is_on(const Device &device) const { return images_.count(device.physical_id) != 0; }

void *Binary::image_on(const Device &device) const {
    const auto found = images_.find(device.physical_id);
    return found == images_.end() ? nullptr : found->second;
}

void Binary::load_on(Lock &lock, const Device &device) {
    const Ref<Binary> keep(this);
    while (!is_on(device)) {
        if (loading_.count(device.physical_id) != 0) {
            loaded_.wait(lock);
            continue;
        }
        std::map<std::uint32_t, void *> loaded{{device.physical_id, nullptr}};  // entries made while that may fail
        std::set<std::uint32_t> loading{device.physical_id};
        const std::vector<unsigned char> &image = content_.object.image;
        void *const address = loaded.begin()->second =
            memory_.space().allocate_internal(device.physical_id, std::max<std::size_t>(image.size(), 1));
        if (address == nullptr) {
            fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "device %u has no room for a kernel binary of %zu bytes",
                 device.user_id, image.size());
        }
        if (image.size() <= kCopiedAtOnce) {
            std::copy(image.begin(), image.end(), static_cast<unsigned char *>(address));
            images_.merge(loaded);
            continue;
        }
        loading_.merge(loading);
        {
            const Unlocked unlocked(lock);
            std::copy(image.begin(), image.end(), static_cast<unsigned char *>(address));
        }
        // Otherwise the device was reset in the meantime, and its memory is gone.
        if (loading_.erase(device.physical_id) != 0) {
            images_.merge(loaded);
        }
        loaded_.notify_all();
    }
}

void Binary::forget_device(std::uint32_t device) {
    images_.erase(device);
    loading_.erase(device);
}

const VariableDescription *Binary::variable(const std::string &name) const {
    const auto &variables = content_.object.variables;
    const auto found =
        std::find_if(variables.begin(), variables.end(), [&](const auto &it) { return it.name == name; });
    return found == variables.end() ? nullptr : &*found;
}

void *Binary::address_of(const std::string &symbol, const ImagePart &part, const Device &device) const {
    if (content_.library) {
        return content_.library->find(symbol);
    }
    return static_cast<unsigned char *>(image_on(device)) + part.offset;
}

}  // namespace aclsim
