// SPDX-License-Identifier: Apache-2.0
// Simulated memory: the location of addresses, and every kind of allocation.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "engine/core.h"
#include "machine/machine.h"
#include "memory/address_space.h"
#include "memory/allocator.h"
#include "memory/ipc_memory.h"
#include "memory/managed_memory.h"
#include "memory/memory_pool.h"
#include "memory/symbol.h"
#include "memory/virtual_memory.h"

namespace aclsim {

// Interface for owners of data keyed by address, which becomes meaningless when the memory there is freed.
class ReleaseListener {
  public:
    virtual ~ReleaseListener() = default;
    virtual void memory_released(std::uintptr_t begin, std::uint64_t size) REQUIRES(engine_lock) = 0;
};

// Guarded by the engine lock.
class Memory final : public Resident {
  public:
    explicit Memory(Machine &machine_of_all);
    AddressSpace &space() REQUIRES(engine_lock);  // reserved at the first use
    // Queries that do not reserve the address space.
    bool is_on_device(const void *address) const REQUIRES(engine_lock) {
        return space_ && space_->locate(address).place == Place::Device;
    }
    bool is_pinned(const void *address) const REQUIRES(engine_lock) {
        return space_ && space_->locate(address).place == Place::Pinned;
    }
    // Returns the memory to which the operators of a context report overflows; allocated at the first call, freed with
    // the context.
    static constexpr std::size_t kOverflowStatusSize = 64;
    void *overflow_status(Context &context) REQUIRES(engine_lock);
    // Returns true if all of it is simulated memory that is allocated or registered.
    bool is_live(const void *address, std::uint64_t size) REQUIRES(engine_lock);
    // Frees a block of aclrtMalloc; returns false if none starts there.
    bool free_device_block(const void *address) REQUIRES(engine_lock);
    // Does the same for a block whose release was already reported to observers.
    void return_device_block(const void *address) REQUIRES(engine_lock);

    void set_release_listener(ReleaseListener &listener) { release_listener_ = &listener; }
    // Reports to observers and the listener that memory from the address on is about to be freed.
    void report_release(const void *address) REQUIRES(engine_lock);
    void report_release(std::uintptr_t begin, std::uint64_t size) REQUIRES(engine_lock);
    // Records that a stream will free the memory; returns the number of the free.
    std::uint64_t note_free_in_stream(const void *address, std::uint64_t size) REQUIRES(engine_lock);

    void context_closed(Context &context) override REQUIRES(engine_lock);
    void device_closed(Device &device) override REQUIRES(engine_lock);
    void device_synchronized(Device &device) override REQUIRES(engine_lock) { pools.trim(*this, device); }

    Core &core;
    Machine &machine;
    VirtualMemory virtual_memory{*this};
    Symbols symbols{*this};
    ManagedMemory managed_memory{*this};
    IpcMemory ipc_memory{*this};
    MemoryPools pools;
    Allocators allocators;

  private:
    std::unique_ptr<AddressSpace> space_ GUARDED_BY(engine_lock);
    ReleaseListener *release_listener_ = nullptr;
};

// Report to observers an allocation with its requested size, the sharing of one with other processes, a release, and a
// use by the present call.
inline void note_allocation(Memory &memory, void *address, std::uint64_t size, Pages pages = Pages::Own)
    REQUIRES(engine_lock) {
    if (memory.core.observers().want(kMemory)) {
        const Allocation allocation{address, size, memory.space().find(address)->size, pages};
        memory.core.observers().report<kMemory>(&Observer::allocated, allocation);
    }
}

void note_shared(Memory &memory, const void *address, const PhysicalPages &pages) REQUIRES(engine_lock);

inline void note_release(Memory &memory, const void *address) REQUIRES(engine_lock) {
    if (memory.core.observers().want(kMemory | kOrder)) {
        memory.report_release(address);
    }
}

// Ignores the user's own memory, which is unknown even if simulated memory was at its addresses before.
inline void note_use(Memory &memory, const Access &access) REQUIRES(engine_lock) {
    if (memory.core.observers().want(kMemory) && memory.space().locate(access.address).place != Place::Unregistered) {
        if (memory.space().is_orphaned(access.address)) {
            memory.core.observers().report<kMemory>(&Observer::used_orphan, access);
        }
        memory.core.note_access(access);
    }
}
inline void note_use(Memory &memory, const void *address, std::uint64_t size, AccessMode mode, const char *name)
    REQUIRES(engine_lock) {
    if (memory.core.observers().want(kMemory)) {
        note_use(memory, {address, size, mode, name});
    }
}

// Releases the engine lock while work() runs on memory that must not be freed meanwhile.
template <class Work>
void work_unlocked(Memory &memory, Lock &lock, Work work) REQUIRES(engine_lock) {
    {
        const Unlocked unlocked(lock);
        work();
    }
    memory.core.note_done_with_memory();
}

// Calls allocate() again if it fails while memory that was freed before is not yet available: its pages are being
// returned to the host, for which the engine lock is released. Returns nullptr if there is no room.
template <class Allocate>
void *allocate_patiently(Memory &memory, Lock &lock, Allocate allocate) REQUIRES(engine_lock) {
    void *const address = allocate();
    return address == nullptr && memory.core.deferred().await(lock) ? allocate() : address;
}

// Describes the free memory of the device, for the message of a failed allocation.
std::string describe_room(Memory &memory, const Device &device) REQUIRES(engine_lock);

// Returns the observers' knowledge of an address that is not live, to be appended to an error message.
inline std::string explain_address(Memory &memory, const void *address) REQUIRES(engine_lock) {
    return memory.core.observers().explain(address);
}

// Ends the process in strict mode if the present call frees a block that is not allocated.
void refuse_dead_block(Memory &memory, const void *block) REQUIRES(engine_lock);

}  // namespace aclsim
