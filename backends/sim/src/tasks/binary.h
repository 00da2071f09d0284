// Kernel binaries and the functions in them (graphs_kernels.md sections A1 to A3).
//
// A binary is parsed on the host when it is loaded, and its image is copied to a device when it is first used there.
// The functions die with it; a launch that is on its way keeps both.
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

constexpr std::size_t kCopiedAtOnce = 4096;  // what takes longer to copy is copied without the engine's lock

class Binary;
class Kernels;
class Memory;
struct Device;

// Guarded by the engine's lock.
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
    const Ref<KernelCode> code;  // of its binary; nullptr: code for a device, which needs a registered function
};

// What loading reads from a file, without the engine's lock.
struct BinaryContent {
    bool is_for_cpu = false;
    DeviceObject object;
    std::unique_ptr<HostLibrary> library;
    std::string library_error;                         // why there is none although there could be
    std::map<std::string, std::string> cpu_functions;  // by the names of kernels, as a description of operators tells
    bool is_blank = true;                              // of AI CPUs: its first bytes are zeros, behind the magic number
};

// What is in these bytes; fails with ACL_ERROR_RT_PARAM_INVALID.
BinaryContent read_binary(const unsigned char *data, std::size_t size, std::uint32_t magic);
// The same for AI CPUs, where any bytes will do: functions are registered by name.
BinaryContent read_cpu_library(const unsigned char *data, std::size_t size);

// Guarded by the engine's lock.
class Binary final : public Object {
  public:
    static constexpr Kind kKind = Kind::Binary;
    Binary(Kernels &kernels, BinaryContent content, bool is_lazy, bool is_old_style);
    ~Binary() override;

    // nullptr: there is no such kernel. The same name gives the same function.
    KernelFunction *function(const std::string &name) REQUIRES(engine_lock);
    KernelFunction *function(std::uint64_t entry) REQUIRES(engine_lock);
    // aclrtRegisterCpuFunc.
    KernelFunction &register_cpu_function(const std::string &function, const std::string &kernel) REQUIRES(engine_lock);
    void remove_functions() REQUIRES(engine_lock);  // the binary is unloaded

    bool is_on(const Device &device) const REQUIRES(engine_lock);
    void *image_on(const Device &device) const REQUIRES(engine_lock);  // nullptr: it is not there
    std::size_t image_size() const { return content_.object.image.size(); }
    // Lets other threads in if there is much to copy. Fails with ACL_ERROR_RT_MEMORY_ALLOCATION.
    void load_on(Lock &lock, const Device &device) REQUIRES(engine_lock);
    void forget_device(std::uint32_t device) REQUIRES(engine_lock);  // its memory is gone
    const VariableDescription *variable(const std::string &name) const;
    // Of a part of the image. A host library has its own instead of an image, the same for all devices.
    void *address_of(const std::string &symbol, const ImagePart &part, const Device &device) const
        REQUIRES(engine_lock);

    bool is_for_cpu() const { return content_.is_for_cpu; }
    // One whose functions a description names takes no others.
    bool takes_cpu_functions() const { return content_.is_for_cpu && content_.cpu_functions.empty(); }
    const std::string &library_error() const { return content_.library_error; }
    const bool is_lazy;
    const bool is_old_style;  // of aclrtBinaryLoad
    aclrtOpExceptionCallback exception_callback GUARDED_BY(engine_lock) = nullptr;
    void *exception_data GUARDED_BY(engine_lock) = nullptr;

  private:
    KernelFunction &add_function(const KernelDescription &description, Ref<KernelCode> code) REQUIRES(engine_lock);
    Ref<KernelCode> own_code(const KernelDescription &description) const REQUIRES(engine_lock);

    Kernels &kernels_;
    Memory &memory_;
    BinaryContent content_;
    class Close;
    std::unique_ptr<Close> close_;  // made in advance: a destruction cannot fail
    std::map<std::string, Ref<KernelFunction>> functions_ GUARDED_BY(engine_lock);  // those that were asked for
    std::map<std::string, KernelDescription> cpu_descriptions_ GUARDED_BY(engine_lock);
    std::map<std::uint32_t, void *> images_ GUARDED_BY(engine_lock);  // by device, its number before visibility
    std::set<std::uint32_t> loading_ GUARDED_BY(engine_lock);         // devices that a thread copies the image to
    std::condition_variable_any loaded_;
};

}  // namespace aclsim
