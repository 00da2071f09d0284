// SPDX-License-Identifier: Apache-2.0
#include "memory/address_space.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <new>
#include <utility>

#include "support/config.h"
#include "support/error.h"
#include "support/own_view.h"
#include "support/page_faults.h"
#include "support/pages.h"
#include "support/shared_memory.h"
#include "support/text.h"

namespace aclsim {
namespace {

constexpr std::uint64_t kSmallestSlot = 64ULL << 30;
constexpr std::uint64_t kLargestVirtual = 4ULL << 40;

// Pinned memory begins at a different offset than device memory: addresses that differ only in high bits compete for
// the same places in a processor's first-level cache, which makes a copy between them an eighth slower.
constexpr std::uint64_t kPinnedOffset = kHugePage;

std::uint64_t slot_size(std::uint64_t device_memory) {
    std::uint64_t size = kSmallestSlot;
    while (size < device_memory) {
        size *= 2;
    }
    return size;
}

// Returns the span that contains the address, in a map from begins to ends; or nullptr.
const std::pair<const std::uintptr_t, std::uintptr_t> *find_span(const std::map<std::uintptr_t, std::uintptr_t> &spans,
                                                                 std::uintptr_t address) {
    const auto after = spans.upper_bound(address);
    return after == spans.begin() || std::prev(after)->second <= address ? nullptr : &*std::prev(after);
}

template <class Discard, class Then>
class DeferredDiscard final : public DeferredWork {
  public:
    DeferredDiscard(Discard discard, Then then) : discard_(std::move(discard)), then_(std::move(then)) {}
    void work() noexcept override {
        (*discard_)();
        discard_.reset();  // may be the last reference to a page file
    }
    void finish() override REQUIRES(engine_lock) { then_(); }

  private:
    std::optional<Discard> discard_;
    Then then_;
};

constexpr auto kNoNotice = [] {};

}  // namespace

AddressSpace::AddressSpace(Core &core, std::uint32_t devices, std::uint64_t device_memory, std::uint64_t pinned_memory)
    : core_(core),
      stride_(slot_size(device_memory)),
      pinned_slots_(round_up(kPinnedOffset + pinned_memory, stride_) / stride_) {
    for (std::uint32_t device = 0; device < devices; ++device) {
        files_.push_back(PageFile::create(device_memory));
    }
    const std::uint64_t size = stride_ * (pinned_slots_ + devices) + kGiantPage;
    range_ = owned_addresses(size);
    if (range_ == nullptr) {
        fail(ACL_ERROR_RT_MEMORY_ALLOCATION,
             "cannot reserve %llu GiB of address space (%s); lower ASCEND_RT_SIM_DEVICES or raise ulimit -v",
             static_cast<unsigned long long>(size >> 30), std::strerror(errno));
    }
    base_ = round_up(as_integer(range_.get()), kGiantPage);
    heaps_.reserve(devices + 1);
    prefer_large_pages(reinterpret_cast<void *>(base_), stride_ * pinned_slots_);
    const bool is_protected = config().checks_races && kProtectsPages;
    if (is_protected) {
        map_pinned_twice(pinned_memory);
    }
    heaps_.emplace_back(base_ + kPinnedOffset, pinned_memory, is_protected ? host_page_size() : Heap::kUnit);
    for (std::uint32_t device = 0; device < devices; ++device) {
        const std::uintptr_t slot = base_ + stride_ * (pinned_slots_ + device);
        files_[device]->map(reinterpret_cast<void *>(slot), 0, device_memory);
        heaps_.emplace_back(slot, device_memory);
    }
}

// Maps pinned memory at a second address for the library's use; blocks then have whole pages, which can be protected.
void AddressSpace::map_pinned_twice(std::uint64_t size) {
    pinned_file_ = PageFile::create(size);
    pinned_view_ = owned_addresses(size + kLargePage);
    if (pinned_view_ == nullptr) {
        fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "cannot reserve %llu GiB of address space for the race check",
             static_cast<unsigned long long>(size >> 30));
    }
    const std::uintptr_t begin = base_ + kPinnedOffset;
    pinned_file_->map(reinterpret_cast<void *>(begin), 0, size);
    const std::uintptr_t view = round_up(as_integer(pinned_view_.get()), kLargePage);
    pinned_file_->map(reinterpret_cast<void *>(view), 0, size);
    g_own_view = {begin, size, view - begin};
    show_to_system_calls(begin, size);
}

AddressSpace::~AddressSpace() {
    for (const auto &[begin, end] : taken_) {
        give_addresses_back(reinterpret_cast<void *>(begin), end - begin);
    }
}

const Heap *AddressSpace::slot_of(const void *address) const {
    const std::uint64_t slot = (as_integer(address) - base_) / stride_;
    const std::uint64_t heap = slot < pinned_slots_ ? 0 : slot - pinned_slots_ + 1;
    return as_integer(address) < base_ || heap >= heaps_.size() ? nullptr : &heaps_[heap];
}

Location AddressSpace::locate(const void *address) const {
    const Heap *slot = slot_of(address);
    if (slot == nullptr) {
        const Range *range = find_range(address);
        return range == nullptr ? Location{} : range->location;
    }
    const auto index = static_cast<std::uint32_t>(slot - heaps_.data());
    return index == 0 ? Location{Place::Pinned, 0} : Location{Place::Device, index - 1};
}

std::optional<Block> AddressSpace::find(const void *address) const {
    const Heap *slot = slot_of(address);
    if (slot != nullptr) {
        const std::optional<Block> block = slot->find(address);
        return block && block->owner == Owner::Mapping ? std::nullopt : block;
    }
    const Range *range = find_range(address);
    return range == nullptr ? std::nullopt
                            : std::optional<Block>({range->address, range->size, range->page, Heap::kApplication});
}

bool AddressSpace::is_live(const void *address, std::uint64_t size) const {
    const Heap *slot = slot_of(address);
    if (slot != nullptr) {
        return slot->contains(address, size);
    }
    if (!is_virtual(as_integer(address))) {
        return true;
    }
    if (size > UINTPTR_MAX - as_integer(address)) {
        return false;
    }
    // Neighbouring mappings form one piece of memory.
    for (std::uintptr_t at = as_integer(address), end = at + size; at < end;) {
        const Range *range = find_range(reinterpret_cast<const void *>(at));
        if (range == nullptr || !range->is_accessible) {
            return false;
        }
        at = range->address + range->size;
    }
    return true;
}

bool AddressSpace::is_pinned_block(const void *address) const {
    const std::optional<Block> block = heaps_[0].find(address);
    return block && block->address == as_integer(address) && block->owner == Owner::Application;
}

void AddressSpace::free_pinned(const void *address) {
    const std::optional<Block> block = pinned().release(address);
    if (!block) {
        return;
    }
    ranges_.erase(ranges_.lower_bound(block->address), ranges_.lower_bound(block->address + block->size));
    if (block->page == kSmallPage) {
        pinned().reuse(*block);
        return;
    }
    discard_then(
        [=, file = pinned_file_, offset = block->address - pinned().base()] {
            if (file != nullptr) {
                file->discard(offset, block->size);
            } else {
                discard_pages(reinterpret_cast<void *>(block->address), block->size);
            }
        },
        [=]() REQUIRES(engine_lock) { pinned().reuse(*block); });
}

void AddressSpace::release_counted(const void *address) {
    if (const std::optional<Block> block = pinned().release(address)) {
        pinned().reuse(*block);
    }
}

template <class Discard, class Then>
void AddressSpace::discard_then(Discard discard, Then then) {
    std::unique_ptr<DeferredWork> chore;
    try {
        chore = std::make_unique<DeferredDiscard<Discard, Then>>(std::move(discard), std::move(then));
    } catch (const std::bad_alloc &) {  // runs under the lock despite the delay: released memory cannot be kept
        discard();
        then();
        return;
    }
    core_.defer(std::move(chore));
}

void AddressSpace::drop_file(std::shared_ptr<PageFile> file) {
    discard_then([file = std::move(file)] {}, kNoNotice);
}

void AddressSpace::discard(std::shared_ptr<PageFile> file, std::uint64_t offset, std::uint64_t size) {
    discard_then([=] { file->discard(offset, size); }, kNoNotice);
}

bool AddressSpace::is_device_block(const void *address, Owner owner) const {
    const std::optional<Block> block = find(address);
    return locate(address).place == Place::Device && slot_of(address) != nullptr && block &&
           block->address == as_integer(address) && block->owner == owner;
}

bool AddressSpace::change_owner(const void *address, Owner from, Owner to) {
    const bool is_there = is_device_block(address, from);
    if (is_there) {
        device(locate(address).device).set_owner(address, to);
    }
    return is_there;
}

bool AddressSpace::free_device(const void *address) {
    if (!is_device_block(address)) {
        return false;
    }
    free_internal(locate(address).device, address);
    return true;
}

void *AddressSpace::allocate_internal(std::uint32_t id, std::uint64_t size, std::uint64_t page, Owner owner) {
    void *address = device(id).allocate(size, page);
    if (address != nullptr) {
        device(id).set_owner(address, owner);
    }
    return address;
}

void AddressSpace::free_internal(std::uint32_t id, const void *address) {
    const std::optional<Block> block = device(id).release(address);
    if (!block) {
        return;
    }
    if (block->size < kHugePage) {
        device(id).reuse(*block);
        return;
    }
    discard_then([this, id, block] { files_[id]->discard(block->address - heaps_[id + 1].base(), block->size); },
                 [this, id, block]() REQUIRES(engine_lock) { device(id).reuse(*block); });
}

void AddressSpace::free_all(std::uint32_t id) {
    if (device(id).live_blocks() > 0) {
        discard_then(
            [this, id, tables = device(id).release_all()] { files_[id]->discard(0, heaps_[id + 1].capacity()); },
            [this, id]() REQUIRES(engine_lock) { device(id).reuse_all(); });
    }
}

std::uint64_t AddressSpace::offset_of(std::uint32_t device, const void *address) const {
    return as_integer(address) - heaps_[device + 1].base();
}

void *AddressSpace::reserve(std::uint64_t size, std::uint64_t alignment, void *wish) {
    if (wish == nullptr) {
        return has_virtual() ? virtual_->allocate(size, alignment) : nullptr;
    }
    const auto next = wished_.lower_bound(as_integer(wish));
    const bool is_free = find_span(wished_, as_integer(wish)) == nullptr &&
                         (next == wished_.end() || next->first - as_integer(wish) >= size);
    if (!is_free || !take(as_integer(wish), as_integer(wish) + size)) {
        return nullptr;
    }
    wished_.emplace(as_integer(wish), as_integer(wish) + size);
    return wish;
}

// Takes addresses that the host has not granted yet. If some are occupied, those before them stay taken.
bool AddressSpace::take(std::uintptr_t begin, std::uintptr_t end) {
    while (begin < end) {
        if (const auto *known = find_span(taken_, begin)) {
            begin = known->second;
            continue;
        }
        const auto next = taken_.lower_bound(begin);
        const std::uintptr_t stop = next == taken_.end() ? end : std::min(end, next->first);
        const auto taken = taken_.emplace(begin, stop).first;
        if (reserve_addresses(stop - begin, reinterpret_cast<void *>(begin)) == nullptr) {
            taken_.erase(taken);
            return false;
        }
        begin = stop;
    }
    return true;
}

// A process limit, or a sanitizer that uses most addresses itself, may leave less than the usual size.
bool AddressSpace::has_virtual() {
    for (std::uint64_t size = kLargestVirtual; !virtual_ && size >= kSmallestSlot; size /= 2) {
        virtual_range_ = owned_addresses(size + kGiantPage);
        if (virtual_range_ != nullptr) {
            const std::uintptr_t begin = round_up(as_integer(virtual_range_.get()), kGiantPage);
            virtual_ = std::make_unique<Heap>(begin, size, kHugePage);
        }
    }
    return virtual_ != nullptr;
}

void AddressSpace::unreserve(void *address) {
    if (wished_.erase(as_integer(address)) == 0) {
        const std::optional<Block> block = virtual_->release(address);
        virtual_->reuse(*block);
    }
}

void AddressSpace::clear_range(std::uintptr_t address, std::function<void()> then) {
    const std::uint64_t size = ranges_.at(address).size;
    clearing_.insert(ranges_.extract(address));
    discard_then([=] { clear_addresses(reinterpret_cast<void *>(address), size); },
                 [this, address, then = std::move(then)]() REQUIRES(engine_lock) {
                     clearing_.erase(address);
                     if (then) {
                         then();
                     }
                 });
}

const Range *AddressSpace::find_range(const void *address) const {
    const auto after = ranges_.upper_bound(as_integer(address));
    if (after == ranges_.begin()) {
        return nullptr;
    }
    const Range &range = std::prev(after)->second;
    return as_integer(address) - range.address < range.size ? &range : nullptr;
}

bool AddressSpace::is_orphaned(const void *address) const {
    const Range *range = find_range(address);
    return range != nullptr && range->exported_as != 0 &&
           !SharedMemory::is_used(SharedMemory::name_of(range->exported_as));
}

bool AddressSpace::overlaps_range(const void *address, std::uint64_t size) const {
    const std::uintptr_t begin = as_integer(address);
    const auto next = ranges_.lower_bound(begin);
    const auto is_in_the_way = [&](const auto &cleared) {
        return cleared.first < begin + size && begin < cleared.first + cleared.second.size;
    };
    return find_range(address) != nullptr || (next != ranges_.end() && next->first < begin + size) ||
           std::any_of(clearing_.begin(), clearing_.end(), is_in_the_way);
}

bool AddressSpace::is_virtual(std::uintptr_t address) const {
    if (virtual_ && address >= virtual_->base() && address - virtual_->base() < virtual_->capacity()) {
        return true;
    }
    return find_span(taken_, address) != nullptr;
}

}  // namespace aclsim
