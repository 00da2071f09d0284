// SPDX-License-Identifier: Apache-2.0
// Memory that the race check knows: allocations by address, live ones and those of which the memory has not been given
// out again, and freed ones while anything refers to them.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/facts.h"
#include "races/shadow.h"

namespace aclsim::races {

enum class BlockKind : std::uint8_t { Device, Pinned, Managed, Pool, Shared, Registered };
constexpr std::size_t kBlockKinds = 6;

// Place of a block in memory that several processes use.
struct SharedBlock {
    std::string file;  // empty: no other process uses the block
    std::uint64_t offset = 0;
};

struct Block {
    std::uintptr_t address;
    std::uint64_t size;
    BlockKind kind;
    std::uint32_t number;  // counted for each kind, from 1
    PlaceId allocated;
    Shadow shadow;
    std::uint64_t freed = 0;                                          // number of the newest action then; 0: it is live
    bool is_coarse = false;                                           // older accesses were forgotten
    LaneId writer = 0;                                                // of the newest write by a task,
    Step written = 0;                                                 // and its step; 0: there was none
    std::map<std::uint64_t, std::pair<std::uint64_t, Part>> parts{};  // by their offset, with their end
    SharedBlock shared{};

    std::uintptr_t end() const { return address + size; }
};
using BlockRef = std::shared_ptr<Block>;

// Bytes of one block that an access touches; the layout starts at the offset, which may lie before the block if the
// access spans several blocks.
struct Operand {
    BlockRef block;
    std::int64_t offset;
    std::uint64_t size;
    std::shared_ptr<const Layout> layout;  // nullptr: all bytes
    Mode mode;
    PlaceId place;
    const char *name;
    Part part{};
    std::uint32_t item = 0;  // in a batch: its items are not ordered, even if one call waits for all
};

class Blocks {
  public:
    explicit Blocks(const std::uint64_t &newest_action) : newest_action_(newest_action) {}
    BlockRef allocate(std::uintptr_t address, std::uint64_t size, BlockKind kind, const UseRef &allocation);
    // Removes the block from the live ones; nullptr if there is none.
    BlockRef release(std::uintptr_t address);
    // The same, but accesses still find the block until its memory is given out again.
    BlockRef retire(std::uintptr_t address);
    BlockRef find(std::uintptr_t address) const;  // the live one that begins there; nullptr if there is none
    void restore(BlockRef block);                 // makes a retired one live again
    void release_all(std::uintptr_t begin, std::uint64_t size);
    // Appends what an access touches in known memory. `names_parts`: the operand's name is that of the part that it
    // begins with, unless that has a name.
    void find(const Access &access, Mode mode, PlaceId place, bool names_parts, std::vector<Operand> &operands) const;
    // Makes a part of the block, instead of those that were there.
    void give_out(std::uintptr_t address, std::uint64_t size, const Part &part);
    // Names the part that begins at the address, unless it has a name.
    void name_part(std::uintptr_t address, const char *name);

  private:
    std::map<std::uintptr_t, BlockRef>::const_iterator at(std::uintptr_t address) const;
    std::map<std::uintptr_t, BlockRef> known_;  // live ones and retired ones
    const std::uint64_t &newest_action_;
    std::array<std::uint32_t, kBlockKinds> numbers_{};
};

}  // namespace aclsim::races
