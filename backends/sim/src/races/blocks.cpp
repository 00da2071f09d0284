#include "races/blocks.h"

#include <iterator>
#include <utility>

#include "races/pieces.h"
#include "support/text.h"

namespace aclsim::races {

BlockRef Blocks::allocate(std::uintptr_t address, std::uint64_t size, BlockKind kind, const UseRef &allocation) {
    const std::uint32_t number = ++numbers_[static_cast<std::size_t>(kind)];
    auto block =
        std::make_shared<Block>(Block{address, size, kind, number, allocation->place, Shadow(size, allocation)});
    live_[address] = block;
    return block;
}

BlockRef Blocks::release(std::uintptr_t address) {
    const auto found = live_.find(address);
    if (found == live_.end()) {
        return nullptr;
    }
    BlockRef block = std::move(found->second);
    live_.erase(found);
    block->is_freed = true;
    return block;
}

void Blocks::restore(BlockRef block) {
    block->is_freed = false;
    live_[block->address] = std::move(block);
}

std::vector<BlockRef> Blocks::release_all(std::uintptr_t begin, std::uint64_t size) {
    std::vector<BlockRef> released;
    while (true) {
        const auto found = live_.lower_bound(begin);
        if (found == live_.end() || found->first - begin >= size) {
            return released;
        }
        released.push_back(release(found->first));
    }
}

void Blocks::find(const Access &access, Mode mode, PlaceId place, std::vector<Operand> &operands) const {
    const std::uintptr_t begin = as_integer(access.address);
    auto it = live_.upper_bound(begin);
    if (it != live_.begin() && std::prev(it)->second->end() > begin) {
        --it;
    }
    std::shared_ptr<const Layout> layout;
    if (!access.layout.is_whole()) {
        layout = std::make_shared<const Layout>(united(access.layout, access.size));
    }
    for (; it != live_.end() && it->first < begin + access.size; ++it) {
        const auto offset = static_cast<std::int64_t>(begin - it->first);
        operands.push_back({it->second, offset, access.size, layout, mode, place, access.name});
    }
}

}  // namespace aclsim::races
