// Allocates parts of a range of addresses.
//
// The range is cut into spans, one behind the other: blocks, what is free, and what is on its way back to the host. A
// bit says that a span begins at an address, and two bytes beside it what the span is; its neighbours, and the span
// that an address is in, are found among the bits. A call touches two or three cache lines of these tables, also among
// a million blocks. What is free is sorted by size, too: there is little of it, because neighbours are joined.
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

enum class MemoryKind : std::uint8_t { Ddr, Hbm, Any };  // what an aclrtMemAttr asks for

constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t step) { return (value + step - 1) / step * step; }

// What the policy "huge first" takes: huge pages above 1 MiB (memory_cmo_allocator.md section 1, page rule).
constexpr std::uint64_t page_for(std::uint64_t size) { return size > (1ULL << 20) ? kHugePage : kSmallPage; }

// Who frees a block.
enum class Owner : std::uint8_t {
    Application,
    Stream,   // when it gets there: aclrtMemPoolFreeAsync
    Runtime,  // which has it for itself: pools, workspaces, symbols
    Mapping,  // physical memory: used only where it is mapped, never at its address here
};

struct Block {
    std::uintptr_t address;
    std::uint64_t size;
    std::uint64_t page;    // bytes
    std::uint16_t module;  // the component that asked for it
    Owner owner = Owner::Application;
};

// What one component has allocated.
struct Usage {
    std::uint64_t current = 0;
    std::uint64_t peak = 0;
};

// Guarded by the engine's lock.
class Heap {
  public:
    static constexpr std::uint16_t kApplication = 33;  // the module of everything that names no other
    static constexpr std::uint16_t kModules = 64;      // modules are numbers below that
    // Asked of the driver (memory_cmo_allocator.md section 1, size rule).
    static constexpr std::uint64_t kUnit = 512;

    // The base is aligned to giant pages. A block has a multiple of the unit, a power of two; small pages are shared.
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
    // Rounded up to the page and aligned to it, or to the unit instead of a small page. nullptr: no room.
    void *allocate(std::uint64_t size, std::uint64_t page, std::uint16_t module = kApplication) REQUIRES(engine_lock);
    void *allocate(std::uint64_t size) REQUIRES(engine_lock) { return allocate(size, page_for(size)); }
    // Of the block that starts there.
    void set_owner(const void *address, Owner owner) REQUIRES(engine_lock) { spans_[unit_of(address)].owner = owner; }
    // What was released; nothing, unless the address is the start of a live block. It counts as free from now on, and
    // is given out again after its pages have gone back to the host and reuse() was called.
    std::optional<Block> release(const void *address) REQUIRES(engine_lock);
    void reuse(const Block &block) REQUIRES(engine_lock);
    // The live block that the address is in.
    std::optional<Block> find(const void *address) const REQUIRES(engine_lock);
    // Is [address, address + size) inside one live block, and may it be used there?
    bool contains(const void *address, std::uint64_t size) const REQUIRES(engine_lock);
    // The same for all. Nothing is given out until the pages of every block that was released before, too, have been
    // dealt with: otherwise new content would be lost with them. Returns the tables of the blocks, to be destroyed
    // without the lock, because they may take many pages; none if the host has no addresses for new ones, and the old
    // ones were cleared.
    struct Tables;
    std::optional<Tables> release_all() REQUIRES(engine_lock);
    void reuse_all() REQUIRES(engine_lock);
    // How many bytes may be in use at a time.
    void set_limit(std::uint64_t bytes) REQUIRES(engine_lock) { may_use_ = bytes; }
    // The memory is that of a card which other processes use, too; nullptr: nobody else does. Before the first use.
    void share(SharedCard *card) REQUIRES(engine_lock) { card_ = card; }
    SharedCard *card() const REQUIRES(engine_lock) { return card_; }
    std::uint64_t free_bytes() const REQUIRES(engine_lock) {
        return card_ == nullptr ? own_room() : std::min(own_room(), card_->left(SharedCard::kBytes, capacity_));
    }
    std::uint64_t capacity() const { return capacity_; }
    std::uintptr_t base() const { return base_; }
    std::size_t live_blocks() const REQUIRES(engine_lock) { return live_blocks_; }
    const std::map<std::uint16_t, Usage> &usage() const REQUIRES(engine_lock) { return usage_; }

  private:
    enum class State : std::uint8_t { Free, Returning, Live };
    // Of the span that begins at a unit. Without any bit it is free, as the whole range is at first.
    struct Span {
        State state : 2;
        Owner owner : 2;
        std::uint16_t module : 6;
        std::uint16_t page_shift : 6;
    };
    static_assert(sizeof(Span) == 2 && kModules <= 1U << 6);
    using FreeSpans = std::set<std::pair<std::size_t, std::size_t>>;  // how many units, and the first one

    std::optional<Tables> replace_tables() REQUIRES(engine_lock);
    static std::uint16_t log2(std::uint64_t power) { return static_cast<std::uint16_t>(__builtin_ctzll(power)); }
    // Not below units_: of another address.
    std::size_t unit_of(const void *address) const {
        return (reinterpret_cast<std::uintptr_t>(address) - base_) >> unit_shift_;
    }
    std::uintptr_t address_of(std::size_t unit) const { return base_ + (unit << unit_shift_); }
    // What this process could have if there were no other.
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
    // In the node, if there is one. Without memory for a node the span is free and not listed: a release cannot fail.
    void add_free(std::size_t first, std::size_t size, FreeSpans::node_type &node) REQUIRES(engine_lock);
    void list_all() REQUIRES(engine_lock);  // that are free
    std::size_t end_of(std::size_t unit) const REQUIRES(engine_lock) { return starts_.first_above(unit); }
    Block block_at(std::size_t first) const REQUIRES(engine_lock);

    std::uintptr_t base_;
    std::uint64_t capacity_;
    std::uint16_t unit_shift_;
    std::size_t units_;
    SharedCard *card_ GUARDED_BY(engine_lock) = nullptr;
    std::uint64_t free_bytes_ GUARDED_BY(engine_lock);
    std::uint64_t may_use_ GUARDED_BY(engine_lock) = UINT64_MAX;
    std::uint32_t returning_ GUARDED_BY(engine_lock) = 0;  // releases that reuse() or reuse_all() is still to follow
    bool is_reset_ = false;                                // all was released, and some of that is returning
    std::size_t live_blocks_ GUARDED_BY(engine_lock) = 0;
    NumberSet starts_ GUARDED_BY(engine_lock);           // units where spans begin; at the first one does in any case
    SparseArray<Span> spans_ GUARDED_BY(engine_lock);    // by their first unit
    FreeSpans free_ GUARDED_BY(engine_lock);             // smallest first; no two are neighbours
    bool has_unlisted_ GUARDED_BY(engine_lock) = false;  // free spans that are not in the list
    std::map<std::uint16_t, Usage> usage_ GUARDED_BY(engine_lock);
};

struct Heap::Tables {
    NumberSet starts;
    SparseArray<Span> spans;
    FreeSpans free;
};

}  // namespace aclsim
