// SPDX-License-Identifier: Apache-2.0
// Kernel launches (graphs_kernels.md section A5).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "abi/acl.h"
#include "engine/block_store.h"
#include "engine/task.h"
#include "memory/allocator.h"
#include "support/ref.h"
#include "tasks/argument_list.h"
#include "tasks/binary.h"
#include "tasks/copy.h"
#include "tasks/kernel_code.h"

namespace aclsim {

class Kernels;

// Copies the attributes of a configuration. Fails with ACL_ERROR_RT_PARAM_INVALID.
std::vector<aclrtLaunchKernelAttr> read_launch_config(const aclrtLaunchKernelCfg *cfg);

// Returns the time limit of the kernel from its attributes; 0: unlimited.
std::uint64_t read_time_limit(const std::vector<aclrtLaunchKernelAttr> &attributes, std::uint64_t usual_us);

// Copy of arguments, shared by launches. Small ones are stored inside the object.
class ArgumentCopy final : public RefCounted {
  public:
    static void *operator new(std::size_t size, std::uint32_t shard) { return take_object(size, shard); }
    static void operator delete(void *block, std::uint32_t) { give_back_object(block, sizeof(ArgumentCopy)); }
    static void operator delete(void *block, std::size_t size) { give_back_object(block, size); }
    explicit ArgumentCopy(std::size_t size) : many_(size > sizeof few_ ? new unsigned char[size] : nullptr) {}
    unsigned char *bytes() { return many_ ? many_.get() : few_; }

  private:
    const std::unique_ptr<unsigned char[]> many_;
    alignas(std::max_align_t) unsigned char few_[128];
};

// Arguments of a launch: memory of the program that the kernel reads when it runs, or a copy of it.
class KernelArguments {
  public:
    static KernelArguments in_memory(void *address, std::size_t size) { return {address, size}; }
    // Replaces each placeholder by the address of its data in the copy. Lets other threads take the lock if there is
    // much to copy.
    static KernelArguments copied(Lock &lock, const Device &device, const void *source, std::size_t size,
                                  const std::vector<PlaceHolder> &place_holders) REQUIRES(engine_lock);
    static KernelArguments of_list(const Device &device, const ArgumentList &list) REQUIRES(engine_lock);

    void *address() const { return address_; }
    std::size_t size() const { return size_; }
    bool is_copy() const { return static_cast<bool>(copy_); }

  private:
    static void fill(unsigned char *copy, const std::vector<PlaceHolder> &place_holders);
    KernelArguments(void *address, std::size_t size) : address_(address), size_(size) {}
    KernelArguments(std::size_t size, Ref<ArgumentCopy> copy)
        : address_(copy->bytes()), size_(size), copy_(std::move(copy)) {}

    void *address_;
    std::size_t size_;
    Ref<ArgumentCopy> copy_;
};

// Description of a launch. Immutable, and may be launched repeatedly.
struct KernelLaunch final : public RefCounted {
    static void *operator new(std::size_t size, std::uint32_t shard) { return take_object(size, shard); }
    static void operator delete(void *block, std::uint32_t) { give_back_object(block, sizeof(KernelLaunch)); }
    static void operator delete(void *block, std::size_t size) { give_back_object(block, size); }
    KernelLaunch(KernelFunction &launched, std::uint32_t number_of_blocks, KernelArguments its_arguments,
                 std::vector<aclrtLaunchKernelAttr> its_attributes, std::uint64_t usual_limit_us)
        : function(launched),
          blocks(number_of_blocks),
          arguments(std::move(its_arguments)),
          attributes(std::move(its_attributes)),
          limit_us(read_time_limit(attributes, usual_limit_us)) {}
    // Returns true if the state that it shares with other devices has no other references.
    bool stays_in_shard() const REQUIRES(engine_lock) {
        return function->kind() == KernelFunction::kKind && (code == function->code || code->is_registered);
    }

    const Ref<KernelFunction> function;
    Ref<KernelCode> code;  // set by prepare()
    const std::uint32_t blocks;
    dim3 grid{};  // for a SIMT launch
    dim3 threads{};
    const KernelArguments arguments;
    const std::vector<aclrtLaunchKernelAttr> attributes;
    const std::uint64_t limit_us;  // limit of the execution; 0: none
};

// Numbers of a task, as reported to exception callbacks.
struct TaskOrigin {
    std::uint32_t device;
    std::uint32_t stream;
    std::uint32_t task;
};

// Kernel whose blocks run in parallel on the workers. Repeatable: rewind().
class KernelTask final : public Task, public TaskDetails {
  public:
    KernelTask(Memory &memory, Ref<KernelLaunch> launch, Workspace workspace);
    static constexpr TaskInfo kInfo{"KERNEL", "a kernel", kIsKernel};
    const TaskInfo &info() const override { return kInfo; }
    Work work() const override { return {Cost::Kernel, bytes_, &launch_->function->description.name}; }
    Start start(Stream &stream) override REQUIRES(engine_lock);
    bool stays_in_shard(const Stream &) const override REQUIRES(engine_lock);
    void run() override;
    void rewind() override REQUIRES(engine_lock);
    bool is_brief() const override { return running_ && running_->code->is_brief(); }
    const TaskDetails &details() const override { return *this; }
    std::string failure_reason() const override REQUIRES(engine_lock) { return failure_; }
    FailedKernel failed_kernel() const override REQUIRES(engine_lock);
    void describe(aclmdlRITaskParams &params) const override REQUIRES(engine_lock);
    void label(const Stream &, TaskLabel &label) const override REQUIRES(engine_lock);

    const KernelLaunch &launch() const { return *launch_; }
    // Creates the task that a graph is to execute in place of this one, which is not running: a prepared launch in the
    // same workspace. Fails with ACL_ERROR_RT_FEATURE_NOT_SUPPORT if the workspace is too small.
    std::unique_ptr<Task> changed_to(Ref<KernelLaunch> launch) REQUIRES(engine_lock);
    // Replaces the launch of this task from its next start on. Returns false if the workspace is too small.
    bool update(Ref<KernelLaunch> launch) REQUIRES(engine_lock);

  private:
    bool has_arguments() const REQUIRES(engine_lock);

    Memory &memory_;
    Ref<KernelLaunch> launch_;
    Ref<KernelLaunch> running_;
    Workspace workspace_;
    Interruption interruption_;
    TaskOrigin origin_{};
    Executor *workers_ = nullptr;  // workers of the stream's device
    std::string failure_;          // description
    std::uint64_t bytes_ = 0;      // moved by the last run
};

// Number of blocks that the chip uses. Older generations keep 16 bits of it, without a check (graphs_kernels.md section
// A5).
std::uint32_t kept_blocks(std::uint32_t blocks);
// Loads a lazy binary; any other must have been used on the device before (graphs_kernels.md sections A1 and A2). Lets
// other threads take the lock if there is much to copy.
void load_for_launch(Lock &lock, const KernelFunction &function, const Device &device) REQUIRES(engine_lock);
// Returns true if a launch of the function on the stream's device needs no state that is shared between devices.
bool can_launch_in_shard(const Kernels &kernels, const KernelFunction &function, const Device &device)
    REQUIRES(engine_lock);
// Finds the code for the launch. Fails with ACL_ERROR_RT_INVALID_HANDLE if the function is not on the device, and with
// ACL_ERROR_RT_INVALID_DEVICE_FUNCTION if the kernel has no code that runs here.
void prepare(Kernels &kernels, const Device &device, KernelLaunch &launch) REQUIRES(engine_lock);
// Prepares the launch and submits it to the stream. Also fails as submissions and operators with a workspace do.
void launch_kernel(Kernels &kernels, Lock &lock, ContextStream &stream, Ref<KernelLaunch> launch) REQUIRES(engine_lock);

}  // namespace aclsim
