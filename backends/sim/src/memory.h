// Simulated memory: one reserved address range, cut into equal slots, one for pinned host memory and one per device.
//
//   base          base + stride     base + 2 * stride
//   | pinned host | device 0        | device 1        | ...
//
// The slot of a pointer is a subtraction and a shift, so every pointer is classified in O(1). Memory inside a slot is
// real, and costs nothing until it is touched.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

namespace aclsim {

// Blocks inside one slot. Guarded by the engine's lock.
class Heap {
  public:
    Heap(std::uintptr_t base, std::uint64_t capacity) : base_(base), capacity_(capacity), free_bytes_(capacity) {
        add_free(base, capacity);
    }
    // nullptr when no free range is large enough.
    void *allocate(std::uint64_t size);
    // false unless the address is the start of a live block.
    bool release(const void *address);
    // Is [address, address + size) inside one live block?
    bool contains(const void *address, std::uint64_t size) const;
    void release_all();
    // Gives out no more than so many bytes at a time.
    void set_limit(std::uint64_t bytes) { may_use_ = bytes; }
    std::uint64_t free_bytes() const {
        const std::uint64_t used = capacity_ - free_bytes_;
        return std::min(free_bytes_, may_use_ > used ? may_use_ - used : 0);
    }
    std::uint64_t capacity() const { return capacity_; }
    std::size_t live_blocks() const { return blocks_.size(); }

  private:
    void add_free(std::uintptr_t address, std::uint64_t size);
    void remove_free(std::map<std::uintptr_t, std::uint64_t>::iterator range);

    std::uintptr_t base_;
    std::uint64_t capacity_;
    std::uint64_t free_bytes_;
    std::uint64_t may_use_ = UINT64_MAX;
    std::map<std::uintptr_t, std::uint64_t> blocks_;              // live: address -> size
    std::map<std::uintptr_t, std::uint64_t> free_;                // free: address -> size, never adjacent
    std::set<std::pair<std::uint64_t, std::uintptr_t>> by_size_;  // the same free ranges, smallest first
};

// Where an address lives, as the runtime's location classes (memory_cmo_allocator.md section 3).
enum class Place : std::uint8_t { Unregistered, Pinned, Device };

struct Location {
    Place place = Place::Unregistered;
    std::uint32_t device = 0;  // of Place::Device
};

class AddressSpace {
  public:
    AddressSpace(std::uint32_t devices, std::uint64_t device_memory);
    Location locate(const void *address) const;
    // The heap that holds the address, or nullptr for memory that the runtime did not allocate.
    Heap *heap_of(const void *address);
    Heap &pinned() { return heaps_[0]; }
    Heap &device(std::uint32_t device) { return heaps_[device + 1]; }

  private:
    std::uintptr_t base_ = 0;
    std::uint64_t stride_ = 0;
    std::vector<Heap> heaps_;
};

}  // namespace aclsim
