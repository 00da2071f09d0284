// SPDX-License-Identifier: Apache-2.0
#include "memory/tensor_item.h"

#include <utility>

#include "support/error.h"

namespace aclsim {
namespace {

const char *name_of(Dataset::Side side) { return side == Dataset::Side::Device ? "device" : "host"; }

}  // namespace

void PinnedRelease::operator()(void *address) const {
    memory->core.observers().report<kMemory>(&Observer::freed_by_library, address);
    memory->space().free_pinned(address);
}

PinnedBlock allocate_pinned_block(Memory &memory, Lock &lock, std::uint64_t size) {
    Heap &heap = memory.space().pinned();
    void *const address =
        allocate_patiently(memory, lock, [&]() REQUIRES(engine_lock) { return heap.allocate(size, page_for(size)); });
    if (address == nullptr) {
        fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "%llu bytes of pinned host memory do not fit",
             static_cast<unsigned long long>(size));
    }
    heap.set_owner(address, Owner::Runtime);
    PinnedBlock block(address, PinnedRelease{&memory});
    note_allocation(memory, address, size);
    return block;
}

void Dataset::add(const DataItem &item) {
    if (has_received_) {
        fail_unremembered(ACL_ERROR_FEATURE_UNSUPPORTED, "the set has received items, to which none can be added");
    }
    const Side side = side_of(item);
    if (side != Side::Unknown && side_ != Side::Unknown && side != side_) {
        fail_unremembered(ACL_ERROR_INVALID_PARAM, "the item is in memory of the %s, the set in that of the %s",
                          name_of(side), name_of(side_));
    }
    items_.push_back(item.handle());
    side_ = side_ == Side::Unknown ? side : side_;
}

Dataset::Side Dataset::side_of(const DataItem &item) {
    if (item.data == nullptr) {
        return Side::Unknown;
    }
    const Place place = memory_.space().locate(item.data).place;
    return place == Place::Device || place == Place::Managed ? Side::Device : Side::Host;
}

void Dataset::receive(const std::vector<Ref<DataItem>> &items, PinnedBlock &block) {
    Registry &registry = memory_.core.registry();
    std::vector<void *> handles;
    handles.reserve(items.size());
    try {
        for (const auto &item : items) {
            registry.add(item);
            handles.push_back(item->handle());
        }
    } catch (...) {
        for (std::size_t i = 0; i < handles.size(); ++i) {
            registry.remove(*items[i]);
        }
        throw;
    }
    clear_received();
    items_ = std::move(handles);
    block_ = std::move(block);
    has_received_ = true;
}

void Dataset::clear_received() {
    if (!has_received_) {
        return;
    }
    for (void *const handle : items_) {
        if (DataItem *const item = memory_.core.registry().find<DataItem>(handle)) {
            memory_.core.registry().remove(*item);
        }
    }
    items_.clear();
    block_.reset();
}

}  // namespace aclsim
