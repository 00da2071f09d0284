// Simulated memory: what is at an address, and every kind of allocation.
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

// Keeps something by addresses, which means nothing once the memory there is gone.
class ReleaseListener {
  public:
    virtual ~ReleaseListener() = default;
    virtual void memory_released(std::uintptr_t begin, std::uint64_t size) REQUIRES(engine_lock) = 0;
};

// Guarded by the engine's lock.
class Memory final : public Resident {
  public:
    explicit Memory(Machine &machine_of_all);
    AddressSpace &space() REQUIRES(engine_lock);  // reserved at the first use
    // Reserves nothing.
    bool is_on_device(const void *address) const REQUIRES(engine_lock) {
        return space_ && space_->locate(address).place == Place::Device;
    }
    bool is_pinned(const void *address) const REQUIRES(engine_lock) {
        return space_ && space_->locate(address).place == Place::Pinned;
    }
    // What the operators of a context report overflows in; made at the first call, and freed with the context.
    static constexpr std::size_t kOverflowStatusSize = 64;
    void *overflow_status(Context &context) REQUIRES(engine_lock);
    // A block of aclrtMalloc; false: there is none that starts there.
    bool free_device_block(const void *address) REQUIRES(engine_lock);
    // The same of such a block that observers know to be freed.
    void return_device_block(const void *address) REQUIRES(engine_lock);

    void set_release_listener(ReleaseListener &listener) { release_listener_ = &listener; }
    // Memory from that address on is about to be freed: observers and the listener are told.
    void tell_release(const void *address) REQUIRES(engine_lock);
    void tell_release(std::uintptr_t begin, std::uint64_t size) REQUIRES(engine_lock);
    // A stream is to free it; returns the number of the free.
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

// For observers: memory was allocated, with the size that was asked for; it is freed; the present call works on it.
inline void note_allocation(Memory &memory, void *address, std::uint64_t size, Pages pages = Pages::Own)
    REQUIRES(engine_lock) {
    if (memory.core.observers().want(kMemory)) {
        const Allocation allocation{address, size, memory.space().find(address)->size, pages};
        memory.core.observers().tell<kMemory>(&Observer::allocated, allocation);
    }
}

inline void note_release(Memory &memory, const void *address) REQUIRES(engine_lock) {
    if (memory.core.observers().want(kMemory | kOrder)) {
        memory.tell_release(address);
    }
}

// Memory of the user's own is not known, whatever was at its addresses before.
inline void note_use(Memory &memory, const Access &access) REQUIRES(engine_lock) {
    if (memory.core.observers().want(kMemory) && memory.space().locate(access.address).place != Place::Unregistered) {
        if (memory.space().is_orphaned(access.address)) {
            memory.core.observers().tell<kMemory>(&Observer::used_orphan, access);
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

// Works without the lock, on memory that must not be freed meanwhile.
template <class Work>
void work_unlocked(Memory &memory, Lock &lock, Work work) REQUIRES(engine_lock) {
    {
        const Unlocked unlocked(lock);
        work();
    }
    memory.core.note_done_with_memory();
}

// Waits until the pages that are on their way back to the host have arrived there; false: there are none. Lets other
// threads in.
inline bool await_returned_pages(Memory &memory, Lock &lock) REQUIRES(engine_lock) {
    return memory.core.await_deferred(lock);
}

// Calls allocate() until it gives something, or no pages are on their way back to the host. nullptr: there is no room.
template <class Allocate>
void *allocate_patiently(Memory &memory, Lock &lock, Allocate allocate) REQUIRES(engine_lock) {
    void *address = allocate();
    while (address == nullptr && await_returned_pages(memory, lock)) {
        address = allocate();
    }
    return address;
}

// What a failure for lack of memory says of the device.
std::string describe_room(Memory &memory, const Device &device) REQUIRES(engine_lock);

// What observers know of an address that is not live, to be put behind the text of a failure.
inline std::string explain_address(Memory &memory, const void *address) REQUIRES(engine_lock) {
    return memory.core.observers().explain(address);
}

}  // namespace aclsim
