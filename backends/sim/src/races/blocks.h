// Memory that the race check knows: live allocations by address, and freed ones while anything refers to them.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "engine/facts.h"
#include "races/shadow.h"

namespace aclsim::races {

enum class BlockKind : std::uint8_t { Device, Pinned, Managed, Pool, Shared };
constexpr std::size_t kBlockKinds = 5;

struct Block {
    std::uintptr_t address;
    std::uint64_t size;
    BlockKind kind;
    std::uint32_t number;  // counted for each kind, from 1
    PlaceId allocated;
    Shadow shadow;
    bool is_freed = false;
    bool is_coarse = false;  // older accesses were forgotten
    LaneId writer = 0;       // of the newest write by a task,
    Step written = 0;        // and its step; 0: there was none

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
};

class Blocks {
  public:
    BlockRef allocate(std::uintptr_t address, std::uint64_t size, BlockKind kind, const UseRef &allocation);
    // Removes the block from the live ones; nullptr if there is none.
    BlockRef release(std::uintptr_t address);
    void restore(BlockRef block);  // undoes the release
    std::vector<BlockRef> release_all(std::uintptr_t begin, std::uint64_t size);
    // Appends the parts of an access that are in known memory.
    void find(const Access &access, Mode mode, PlaceId place, std::vector<Operand> &operands) const;

  private:
    std::map<std::uintptr_t, BlockRef> live_;
    std::array<std::uint32_t, kBlockKinds> numbers_{};
};

}  // namespace aclsim::races
