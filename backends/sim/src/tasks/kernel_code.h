// SPDX-License-Identifier: Apache-2.0
// Code that runs in place of a kernel: a function of a host library, a function registered by the program, or nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "abi/acl.h"
#include "engine/lock.h"
#include "support/ref.h"

namespace aclsim {

class Core;
class DeferredWork;

class KernelCode : public RefCounted {
  public:
    static constexpr bool kIsShared = true;
    explicit KernelCode(std::size_t workspace) : workspace_bytes(workspace) {}
    // Runs one block. Call without holding the engine lock, on any thread. Returns the code with which the task fails.
    // May throw.
    virtual aclError run(const aclsimKernelBlock &block) const EXCLUDES(engine_lock) = 0;
    // Returns true if there is nothing to run.
    virtual bool is_empty() const { return false; }
    // Returns true if a thread that waits with a time limit may run it.
    virtual bool is_brief() const { return false; }

    const std::size_t workspace_bytes;
    bool is_registered GUARDED_BY(engine_lock) = false;  // referenced by Kernels
};

// Function of a host library.
class HostCode final : public KernelCode {
  public:
    HostCode(aclsimHostKernel function, std::size_t workspace) : KernelCode(workspace), function_(function) {}
    aclError run(const aclsimKernelBlock &block) const override {
        function_(block.arguments, block.index, block.count, block.workspace);
        return ACL_SUCCESS;
    }

  private:
    aclsimHostKernel function_;
};

// Function of a library for AI CPUs: takes only the arguments, and returns an error code.
class CpuCode final : public KernelCode {
  public:
    using Entry = std::uint32_t (*)(void *arguments);
    explicit CpuCode(Entry function) : KernelCode(0), function_(function) {}
    aclError run(const aclsimKernelBlock &block) const override {
        return function_(block.arguments) == 0 ? ACL_SUCCESS : ACL_ERROR_RT_AICPU_EXCEPTION;
    }

  private:
    Entry function_;
};

// Kernel whose binary contains no instruction for it.
class EmptyCode final : public KernelCode {
  public:
    EmptyCode() : KernelCode(0) {}
    aclError run(const aclsimKernelBlock &) const override { return ACL_SUCCESS; }
    bool is_empty() const override { return true; }
};

// Code from aclsimRegisterKernel, returned to the program when the last launch that uses it is done.
class RegisteredCode final : public KernelCode {
  public:
    RegisteredCode(Core &core, const aclsimKernel &kernel);
    ~RegisteredCode() override;
    aclError run(const aclsimKernelBlock &block) const override { return kernel_.function(&block, kernel_.userData); }
    bool is_brief() const override { return kernel_.isBrief != 0; }

  private:
    Core &core_;
    const aclsimKernel kernel_;
    std::unique_ptr<DeferredWork> release_;  // allocated in advance, because destruction must not fail
};

}  // namespace aclsim
