// SPDX-License-Identifier: Apache-2.0
// Allocates parts of a range of addresses.
//
// The range is divided into adjacent spans: blocks, free spans, and spans being returned to the host. A bit marks each
// address at which a span begins, and two bytes beside it describe the span. A span's neighbours, and the span that
// contains an address, are found from the bits. A call touches two or three cache lines of these tables, even among a
// million blocks. Free spans are also sorted by size; they are few, because neighbours are joined.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "engine/lock.h"
#include "machine/shared_card.h"
#include "memory/number_set.h"
#include "memory/sparse_array.h"

namespace aclsim {

constexpr std::uint64_t kSmallPage = 4096;
constexpr std::uint64_t kHugePage = 2ULL << 20;
constexpr std::uint64_t kGiantPage = 1ULL << 30;

enum class MemoryKind : std::uint8_t { Ddr, Hbm, Any };  // kind requested by an aclrtMemAttr

constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t step) { return (value + step - 1) / step * step; }

// Page size of the policy "huge first": huge pages above 1 MiB (memory_cmo_allocator.md section 1, page rule).
constexpr std::uint64_t page_for(std::uint64_t size) { return size > (1ULL << 20) ? kHugePage : kSmallPage; }

// Owner of a block, which frees it.
enum class Owner : std::uint8_t {
    Application,
    Stream,   // frees it in stream order: aclrtMemPoolFreeAsync
    Runtime,  // uses it internally: pools, workspaces, symbols
    Mapping,  // physical memory, accessed only at its mappings, never at its address here
};

struct Block {
    std::uintptr_t address;
    std::uint64_t size;
    std::uint64_t page;    // bytes
    std::uint16_t module;  // component that requested it
    Owner owner = Owner::Application;
};

// Memory allocated by one component.
struct Usage {
    std::uint64_t current = 0;
    std::uint64_t peak = 0;
};

// Guarded by the engine lock.
class Heap {
  public:
    static constexpr std::uint16_t kApplication = 33;  // module of allocations that name no other
    static constexpr std::uint16_t kModules = 64;      // module numbers are below this
    // Alignment requested from the driver (memory_cmo_allocator.md section 1, size rule).
    static constexpr std::uint64_t kUnit = 512;

    // Requires a base aligned to giant pages and a unit that is a power of two. Block sizes are multiples of the unit;
    // blocks share small pages.
    Heap(std::uintptr_t base, std::uint64_t capacity, std::uint64_t unit = kUnit)
        : base_(base),
          capacity_(capacity),
          unit_shift_(log2(unit)),
          units_(capacity >> unit_shift_),
          free_bytes_(capacity),
          starts_(units_),
          spans_(units_) {
        free_.emplace(units_, 0);
    }
    // Rounds the size up to the page and aligns the block to it; uses the unit instead of a small page. Returns nullptr
    // if there is no room.
    void *allocate(std::uint64_t size, std::uint64_t page, std::uint16_t module = kApplication) REQUIRES(engine_lock);
    void *allocate(std::uint64_t size) REQUIRES(engine_lock) { return allocate(size, page_for(size)); }
    // Sets the owner of the block that starts there.
    void set_owner(const void *address, Owner owner) REQUIRES(engine_lock) { spans_[unit_of(address)].owner = owner; }
    // Releases the live block that starts at the address and returns it; returns nothing if there is none. The block
    // counts as free immediately, but is allocated again only after its pages have returned to the host and reuse() was
    // called.
    std::optional<Block> release(const void *address) REQUIRES(engine_lock);
    void reuse(const Block &block) REQUIRES(engine_lock);
    // Returns the live block that contains the address.
    std::optional<Block> find(const void *address) const REQUIRES(engine_lock);
    // Returns true if [address, address + size) is inside one live block and may be accessed there.
    bool contains(const void *address, std::uint64_t size) const REQUIRES(engine_lock);
    // Releases all blocks. Nothing is allocated until the pages of every block are handled, including those of earlier
    // releases: otherwise new content would be lost with them. Returns the tables of the blocks, which the caller
    // destroys without the lock, because they may take many pages; returns nothing if the host has no addresses for new
    // tables, and clears the old ones.
    struct Tables;
    std::optional<Tables> release_all() REQUIRES(engine_lock);
    void reuse_all() REQUIRES(engine_lock);
    // Sets the number of bytes that may be in use at a time.
    void set_limit(std::uint64_t bytes) REQUIRES(engine_lock) { may_use_ = bytes; }
    // Sets the card whose memory other processes use too; nullptr if it is not shared. Call before the first use.
    void share(SharedCard *card) REQUIRES(engine_lock) { card_ = card; }
    SharedCard *card() const REQUIRES(engine_lock) { return card_; }
    std::uint64_t free_bytes() const REQUIRES(engine_lock) {
        return card_ == nullptr ? own_room() : std::min(own_room(), card_->left(SharedCard::kBytes, capacity_));
    }
    std::uint64_t capacity() const { return capacity_; }
    std::uintptr_t base() const { return base_; }
    std::uint64_t era() const REQUIRES(engine_lock) { return era_; }  // changed by release_all()
    std::size_t live_blocks() const REQUIRES(engine_lock) { return live_blocks_; }
    const std::map<std::uint16_t, Usage> &usage() const REQUIRES(engine_lock) { return usage_; }

  private:
    enum class State : std::uint8_t { Free, Returning, Live };
    // Describes the span that begins at a unit. All bits zero means free, the initial state of the whole range.
    struct Span {
        State state : 2;
        Owner owner : 2;
        std::uint16_t module : 6;
        std::uint16_t page_shift : 6;
    };
    static_assert(sizeof(Span) == 2 && kModules <= 1U << 6);
    using FreeSpans = std::set<std::pair<std::size_t, std::size_t>>;  // number of units, first unit

    std::optional<Tables> replace_tables() REQUIRES(engine_lock);
    static std::uint16_t log2(std::uint64_t power) { return static_cast<std::uint16_t>(__builtin_ctzll(power)); }
    // Returns at least units_ for an address outside the heap.
    std::size_t unit_of(const void *address) const {
        return (reinterpret_cast<std::uintptr_t>(address) - base_) >> unit_shift_;
    }
    std::uintptr_t address_of(std::size_t unit) const { return base_ + (unit << unit_shift_); }
    // Returns the free bytes, ignoring other processes.
    std::uint64_t own_room() const REQUIRES(engine_lock) {
        const std::uint64_t used = capacity_ - free_bytes_;
        return std::min(free_bytes_, may_use_ > used ? may_use_ - used : 0);
    }
    void return_to_card(std::uint64_t size) REQUIRES(engine_lock) {
        if (card_ != nullptr) {
            card_->give_back(SharedCard::kBytes, size);
        }
    }
    std::optional<std::size_t> take(std::size_t size, std::size_t step) REQUIRES(engine_lock);
    // Uses the node if it is not empty. If no node can be allocated, the span is free but not listed, so a release
    // cannot fail.
    void add_free(std::size_t first, std::size_t size, FreeSpans::node_type &node) REQUIRES(engine_lock);
    void list_all() REQUIRES(engine_lock);  // adds all free spans to the list
    std::size_t end_of(std::size_t unit) const REQUIRES(engine_lock) { return starts_.first_above(unit); }
    Block block_at(std::size_t first) const REQUIRES(engine_lock);

    std::uintptr_t base_;
    std::uint64_t capacity_;
    std::uint16_t unit_shift_;
    std::size_t units_;
    SharedCard *card_ GUARDED_BY(engine_lock) = nullptr;
    std::uint64_t free_bytes_ GUARDED_BY(engine_lock);
    std::uint64_t may_use_ GUARDED_BY(engine_lock) = UINT64_MAX;
    std::uint32_t returning_ GUARDED_BY(engine_lock) = 0;  // releases that still await reuse() or reuse_all()
    bool is_reset_ = false;                                // all blocks were released, and some are still returning
    std::uint64_t era_ GUARDED_BY(engine_lock) = 0;
    std::size_t live_blocks_ GUARDED_BY(engine_lock) = 0;
    NumberSet starts_ GUARDED_BY(engine_lock);           // first unit of each span; unit 0 is implied
    SparseArray<Span> spans_ GUARDED_BY(engine_lock);    // keyed by first unit
    FreeSpans free_ GUARDED_BY(engine_lock);             // smallest first; never neighbours
    bool has_unlisted_ GUARDED_BY(engine_lock) = false;  // free spans missing in the list
    std::map<std::uint16_t, Usage> usage_ GUARDED_BY(engine_lock);
};

struct Heap::Tables {
    NumberSet starts;
    SparseArray<Span> spans;
    FreeSpans free;
};

}  // namespace aclsim
