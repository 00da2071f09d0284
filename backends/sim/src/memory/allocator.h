// SPDX-License-Identifier: Apache-2.0
// Allocators that the application registers for a stream, and operators that take their workspace from them
// (memory_cmo_allocator.md section 8).
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "abi/acl.h"
#include "engine/lock.h"
#include "engine/registry.h"
#include "engine/stream.h"
#include "memory/internal_block.h"

namespace aclsim {

class ContextStream;
class Memory;
struct Device;

// Content of a descriptor, copied by a registration.
struct Allocator {
    aclrtAllocator object = nullptr;
    aclrtAllocatorAllocFunc allocate = nullptr;
    aclrtAllocatorFreeFunc release = nullptr;
    aclrtAllocatorAllocAdviseFunc advise = nullptr;
    aclrtAllocatorGetAddrFromBlockFunc address_of = nullptr;
};

struct AllocatorDesc final : public Object {
    static constexpr Kind kKind = Kind::AllocatorDesc;
    Allocator allocator;
};

// Guarded by the engine lock.
class Allocators {
  public:
    struct Registration {
        aclrtAllocatorDesc desc;  // original handle; the descriptor may have been destroyed since
        Allocator allocator;
    };
    // Streams are keys by value: a registration outlives its stream, and no other stream ever has the same value.
    void add(aclrtStream stream, const Registration &registration) REQUIRES(engine_lock) {
        registrations_[stream] = registration;
    }
    void remove(aclrtStream stream) REQUIRES(engine_lock);
    const Registration *find(aclrtStream stream) const REQUIRES(engine_lock);

    // Turn of one operator to use an allocator, so that the allocator's callbacks never run concurrently.
    class Turn {
      public:
        // Waits for the turn. Fails with ACL_ERROR_RT_STREAM_NOT_COMPLETE if the last operator that the allocator
        // served is on another stream that no host thread has synchronized since.
        Turn(Allocators &allocators, Lock &lock, aclrtAllocator object, const Stream &stream);
        ~Turn();
        Turn(const Turn &) = delete;
        Turn &operator=(const Turn &) = delete;
        void note_use(const Stream &stream)
            REQUIRES(engine_lock);  // the stream's newest task works with memory of the allocator

      private:
        Allocators &allocators_;
        aclrtAllocator object_;
    };

  private:
    struct Use {
        bool is_in_turn = false;
        Ref<const Stream> stream;
        std::uint64_t sequence = 0;
        bool is_settled() const REQUIRES(engine_lock);
    };
    void forget_settled() REQUIRES(engine_lock);

    std::map<aclrtStream, Registration> registrations_ GUARDED_BY(engine_lock);
    std::map<aclrtAllocator, Use> uses_ GUARDED_BY(engine_lock);  // last operator served, by allocator
    std::condition_variable_any turn_over_;
};

// Memory that a task works with: device memory, which is freed with the task, or a block of the application's
// allocator.
class Workspace {
  public:
    Workspace() = default;                                      // no workspace
    Workspace(Memory &memory, void *address, std::size_t size)  // the application's
        : memory_(&memory), address_(address), size_(size) {}
    Workspace(InternalBlock own, std::size_t size)
        : memory_(own.get_deleter().memory), address_(own.get()), size_(size), own_(std::move(own)) {}
    void *address() const { return address_; }
    std::size_t size() const { return size_; }
    // Returns true also if there is no workspace.
    bool is_live(const Device &device) const REQUIRES(engine_lock);

  private:
    Memory *memory_ = nullptr;
    void *address_ = nullptr;
    std::size_t size_ = 0;
    InternalBlock own_;
};

// Requires the engine lock, as do the functions below, and releases it while callbacks run. Takes the workspace as
// described for aclsimRunOperator in abi/aclsim.h. When the stream has admitted a task, passes the workspace to submit,
// which submits the task.
void submit_with_workspace(Memory &memory, Lock &lock, ContextStream &stream, std::size_t bytes,
                           const std::function<void(Workspace)> &submit) REQUIRES(engine_lock);
// Implements aclsimRunOperator.
void run_operator(Memory &memory, Lock &lock, ContextStream &stream, std::size_t workspace_bytes) REQUIRES(engine_lock);

}  // namespace aclsim
