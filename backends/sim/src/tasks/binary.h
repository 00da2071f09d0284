// SPDX-License-Identifier: Apache-2.0
// Kernel binaries and their functions (graphs_kernels.md sections A1 to A3).
//
//  Binaries are parsed on the host when they are loaded; the image is copied to a device when it is first used there.
// Functions end with their binary; a launch in progress keeps both alive.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "abi/acl.h"
#include "engine/registry.h"
#include "tasks/device_object.h"
#include "tasks/host_library.h"
#include "tasks/kernel_code.h"

namespace aclsim {

constexpr std::size_t kCopiedAtOnce = 4096;  // largest copy made while holding the engine lock

class Binary;
class Kernels;
class Memory;
struct Device;

// Guarded by the engine lock.
class KernelFunction final : public Object {
  public:
    static constexpr Kind kKind = Kind::KernelFunction;
    static constexpr bool kIsShared = true;
    KernelFunction(Binary &owner, const KernelDescription &described, Ref<KernelCode> own_code)
        : binary(owner), description(described), code(std::move(own_code)) {}
    ~KernelFunction() override;
    bool is_cpu() const { return description.type == ACL_KERNEL_TYPE_AICPU; }

    const Ref<Binary> binary;
    const KernelDescription &description;
    const Ref<KernelCode> code;  // code of the binary; nullptr: device code, which needs a registered function
};

// Data that loading reads from a file without holding the engine lock.
struct BinaryContent {
    bool is_for_cpu = false;
    DeviceObject object;
    std::unique_ptr<HostLibrary> library;
    std::string library_error;                         // reason why the library could not be opened
    std::map<std::string, std::string> cpu_functions;  // functions by kernel name, from the operator description
    bool is_blank = true;  // for AI CPUs: only zeros in the first bytes after the magic number
};

// Parses the bytes. Fails with ACL_ERROR_RT_PARAM_INVALID.
BinaryContent read_binary(const unsigned char *data, std::size_t size, std::uint32_t magic);
// Parses a binary for AI CPUs. Accepts any bytes, because its functions are registered by name.
BinaryContent read_cpu_library(const unsigned char *data, std::size_t size);

// Guarded by the engine lock.
class Binary final : public Object {
  public:
    static constexpr Kind kKind = Kind::Binary;
    Binary(Kernels &kernels, BinaryContent content, bool is_lazy, bool is_old_style);
    ~Binary() override;

    // Returns the same function for the same name, or nullptr if there is no such kernel.
    KernelFunction *function(const std::string &name) REQUIRES(engine_lock);
    KernelFunction *function(std::uint64_t entry) REQUIRES(engine_lock);
    // Implements aclrtRegisterCpuFunc.
    KernelFunction &register_cpu_function(const std::string &function, const std::string &kernel) REQUIRES(engine_lock);
    void register_described_functions() REQUIRES(engine_lock);
    void remove_functions() REQUIRES(engine_lock);  // called when the binary is unloaded

    bool is_on(const Device &device) const REQUIRES(engine_lock);
    void *image_on(const Device &device) const REQUIRES(engine_lock);  // nullptr: not loaded on the device
    std::size_t image_size() const { return content_.object.image.size(); }
    // Copies the image to the device; lets other threads take the lock if it is large. Fails with
    // ACL_ERROR_RT_MEMORY_ALLOCATION.
    void load_on(Lock &lock, const Device &device) REQUIRES(engine_lock);
    void forget_device(std::uint32_t device) REQUIRES(engine_lock);  // called when the device's memory is gone
    const VariableDescription *variable(const std::string &name) const;
    // Address of a part of the image. A host library has its own symbols instead, which are the same for all devices.
    void *address_of(const std::string &symbol, const ImagePart &part, const Device &device) const
        REQUIRES(engine_lock);

    bool is_for_cpu() const { return content_.is_for_cpu; }
    // A binary whose functions are named by an operator description takes no others.
    bool takes_cpu_functions() const { return content_.is_for_cpu && content_.cpu_functions.empty(); }
    const std::string &library_error() const { return content_.library_error; }
    const bool is_lazy;
    const bool is_old_style;  // loaded by aclrtBinaryLoad
    aclrtOpExceptionCallback exception_callback GUARDED_BY(engine_lock) = nullptr;
    void *exception_data GUARDED_BY(engine_lock) = nullptr;

  private:
    KernelFunction &add_function(const KernelDescription &description, Ref<KernelCode> code) REQUIRES(engine_lock);
    Ref<KernelCode> own_code(const KernelDescription &description) const REQUIRES(engine_lock);

    Kernels &kernels_;
    Memory &memory_;
    BinaryContent content_;
    class Close;
    std::unique_ptr<Close> close_;  // allocated in advance, because destruction must not fail
    std::map<std::string, Ref<KernelFunction>> functions_ GUARDED_BY(engine_lock);  // requested so far
    std::map<std::string, KernelDescription> cpu_descriptions_ GUARDED_BY(engine_lock);
    // By physical device number (before ASCEND_RT_VISIBLE_DEVICES).
    std::map<std::uint32_t, void *> images_ GUARDED_BY(engine_lock);
    std::set<std::uint32_t> loading_ GUARDED_BY(engine_lock);  // devices to which a thread is copying the image
    std::condition_variable_any loaded_;
};

}  // namespace aclsim
