// SPDX-License-Identifier: Apache-2.0
#include "races/blocks.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "races/pieces.h"
#include "support/text.h"

namespace aclsim::races {

BlockRef Blocks::allocate(std::uintptr_t address, std::uint64_t size, BlockKind kind, const UseRef &allocation) {
    const std::uint32_t number = ++numbers_[static_cast<std::size_t>(kind)];
    auto block =
        std::make_shared<Block>(Block{address, size, kind, number, allocation->place, Shadow(size, allocation)});
    for (auto it = at(address); it != known_.end() && it->first < address + size;) {
        it = it->second->freed != 0 ? known_.erase(it) : std::next(it);
    }
    known_[address] = block;
    return block;
}

BlockRef Blocks::release(std::uintptr_t address) {
    BlockRef block = retire(address);
    if (block != nullptr) {
        known_.erase(address);
    }
    return block;
}

BlockRef Blocks::retire(std::uintptr_t address) {
    BlockRef block = find(address);
    if (block != nullptr) {
        block->freed = newest_action_;
    }
    return block;
}

BlockRef Blocks::find(std::uintptr_t address) const {
    const auto found = known_.find(address);
    return found == known_.end() || found->second->freed != 0 ? nullptr : found->second;
}

void Blocks::restore(BlockRef block) {
    block->freed = 0;
    known_[block->address] = std::move(block);
}

void Blocks::release_all(std::uintptr_t begin, std::uint64_t size) {
    const auto first = known_.lower_bound(begin);
    auto behind = first;
    for (; behind != known_.end() && behind->first - begin < size; ++behind) {
        behind->second->freed = newest_action_;
    }
    known_.erase(first, behind);
}

// Returns the block that the address is in, or else the one behind it.
std::map<std::uintptr_t, BlockRef>::const_iterator Blocks::at(std::uintptr_t address) const {
    const auto behind = known_.upper_bound(address);
    const bool is_inside = behind != known_.begin() && std::prev(behind)->second->end() > address;
    return is_inside ? std::prev(behind) : behind;
}

namespace {

// Returns the part that the offset is in. If it begins there, and has no name, it gets the given one.
Part part_at(Block &block, std::int64_t offset, const char *name) {
    const auto at = static_cast<std::uint64_t>(std::max<std::int64_t>(offset, 0));
    const auto behind = block.parts.upper_bound(at);
    if (behind == block.parts.begin() || std::prev(behind)->second.first <= at) {
        return {};
    }
    auto &[begin, part] = *std::prev(behind);
    if (part.second.name == nullptr && begin == at && *name != '\0') {
        part.second.name = name;
    }
    return part.second;
}

}  // namespace

void Blocks::find(const Access &access, Mode mode, PlaceId place, bool names_parts,
                  std::vector<Operand> &operands) const {
    const std::uintptr_t begin = as_integer(access.address);
    std::shared_ptr<const Layout> layout;
    if (!access.layout.is_whole()) {
        layout = std::make_shared<const Layout>(united(access.layout, access.size));
    }
    for (auto it = at(begin); it != known_.end() && it->first < begin + access.size; ++it) {
        const auto offset = static_cast<std::int64_t>(begin - it->first);
        const Part part =
            it->second->parts.empty() ? Part{} : part_at(*it->second, offset, names_parts ? access.name : "");
        operands.push_back({it->second, offset, access.size, layout, mode, place, access.name, part, access.item});
    }
}

void Blocks::give_out(std::uintptr_t address, std::uint64_t size, const Part &part) {
    const auto found = at(address);
    if (found == known_.end() || found->first > address) {
        return;
    }
    const std::uint64_t begin = address - found->first;
    auto &parts = found->second->parts;
    auto old = parts.lower_bound(begin);
    if (old != parts.begin() && std::prev(old)->second.first > begin) {
        --old;
    }
    while (old != parts.end() && old->first < begin + size) {
        old = parts.erase(old);
    }
    parts[begin] = {begin + size, part};
}

void Blocks::name_part(std::uintptr_t address, const char *name) {
    const auto found = at(address);
    if (found != known_.end() && found->first <= address) {
        part_at(*found->second, static_cast<std::int64_t>(address - found->first), name);
    }
}

}  // namespace aclsim::races
