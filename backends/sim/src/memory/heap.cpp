// SPDX-License-Identifier: Apache-2.0
#include "memory/heap.h"

#include <new>
#include <utility>

#include "support/error.h"
#include "support/expect.h"

namespace aclsim {

void *Heap::allocate(std::uint64_t size, std::uint64_t page, std::uint16_t module) {
    if (size > own_room()) {
        return nullptr;
    }
    if (unlikely(has_unlisted_)) {
        list_all();
    }
    Usage &usage = usage_[module];
    const std::uint64_t alignment = page == kSmallPage ? std::uint64_t{1} << unit_shift_ : page;
    size = round_up(size, alignment);
    if (size > own_room() || (card_ != nullptr && !card_->take(SharedCard::kBytes, size, capacity_))) {
        return nullptr;
    }
    const std::optional<std::size_t> first = take(size >> unit_shift_, alignment >> unit_shift_);
    if (!first) {
        return_to_card(size);
        return nullptr;
    }
    Span &span = spans_[*first];
    span.state = State::Live;
    span.owner = Owner::Application;
    span.module = module;
    span.page_shift = log2(page);
    ++live_blocks_;
    free_bytes_ -= size;
    usage.current += size;
    usage.peak = std::max(usage.peak, usage.current);
    return reinterpret_cast<void *>(address_of(*first));
}

// Takes the units from the smallest free span that has room at a multiple of the step.
std::optional<std::size_t> Heap::take(std::size_t size, std::size_t step) {
    for (auto found = free_.lower_bound({size, 0}); found != free_.end(); ++found) {
        const auto [room, begin] = *found;
        const std::size_t first = round_up(begin, step);
        const std::size_t before = first - begin;
        if (before + size > room) {
            continue;
        }
        auto node = free_.extract(found);
        add_free(begin, before, node);
        add_free(first + size, room - before - size, node);
        starts_.insert(first);
        return first;
    }
    return std::nullopt;
}

void Heap::add_free(std::size_t first, std::size_t size, FreeSpans::node_type &node) {
    if (size == 0) {
        return;
    }
    starts_.insert(first);
    spans_[first].state = State::Free;
    if (!node.empty()) {
        node.value() = {size, first};
        free_.insert(std::move(node));
        return;
    }
    try {
        free_.emplace(size, first);
    } catch (const std::bad_alloc &) {
        has_unlisted_ = true;
    }
}

void Heap::list_all() {
    for (std::size_t first = 0; first < units_; first = end_of(first)) {
        if (spans_[first].state == State::Free) {
            free_.emplace(end_of(first) - first, first);
        }
    }
    has_unlisted_ = false;
}

std::optional<Block> Heap::release(const void *address) {
    const std::optional<Block> block = find(address);
    if (!block || block->address != reinterpret_cast<std::uintptr_t>(address)) {
        return std::nullopt;
    }
    spans_[unit_of(address)].state = State::Returning;
    --live_blocks_;
    ++returning_;
    free_bytes_ += block->size;
    return_to_card(block->size);
    usage_[block->module].current -= block->size;
    return block;
}

void Heap::reuse(const Block &block) {
    if (is_reset_) {
        reuse_all();
        return;
    }
    --returning_;
    std::size_t first = (block.address - base_) >> unit_shift_;
    std::size_t end = first + (block.size >> unit_shift_);
    FreeSpans::node_type node;
    if (end < units_ && spans_[end].state == State::Free) {
        const std::size_t end_of_next = end_of(end);
        node = free_.extract({end_of_next - end, end});
        starts_.erase(end);
        end = end_of_next;
    }
    const std::size_t previous = starts_.last_below(first);
    if (first > 0 && spans_[previous].state == State::Free) {
        node = free_.extract({first - previous, previous});
        starts_.erase(first);
        first = previous;
    }
    add_free(first, end - first, node);
}

Block Heap::block_at(std::size_t first) const {
    const Span span = spans_[first];
    return {address_of(first), (end_of(first) - first) << unit_shift_, std::uint64_t{1} << span.page_shift, span.module,
            span.owner};
}

std::optional<Block> Heap::find(const void *address) const {
    const std::size_t unit = unit_of(address);
    if (unit >= units_) {
        return std::nullopt;
    }
    const std::size_t first = starts_.last_below(unit + 1);
    return spans_[first].state == State::Live ? std::optional<Block>(block_at(first)) : std::nullopt;
}

bool Heap::contains(const void *address, std::uint64_t size) const {
    const std::optional<Block> block = find(address);
    return block && block->owner != Owner::Mapping &&
           size <= block->size - (reinterpret_cast<std::uintptr_t>(address) - block->address);
}

std::optional<Heap::Tables> Heap::release_all() {
    ++era_;
    ++returning_;
    is_reset_ = true;
    live_blocks_ = 0;
    std::optional<Tables> gone = replace_tables();
    if (!gone) {
        starts_.clear();
        spans_.clear();
        free_.clear();
    }
    usage_.clear();
    has_unlisted_ = false;
    return_to_card(capacity_ - free_bytes_);
    free_bytes_ = capacity_;
    return gone;
}

std::optional<Heap::Tables> Heap::replace_tables() {
    const KeptText text;  // text of the call, which does not fail for lack of addresses
    try {
        NumberSet starts(starts_.limit());
        SparseArray<Span> spans(spans_.size());
        return Tables{std::exchange(starts_, std::move(starts)), std::exchange(spans_, std::move(spans)),
                      std::exchange(free_, {})};
    } catch (const Failure &) {
        return std::nullopt;
    }
}

void Heap::reuse_all() {
    if (--returning_ == 0) {
        is_reset_ = false;
        FreeSpans::node_type none;
        add_free(0, units_, none);
    }
}

}  // namespace aclsim
