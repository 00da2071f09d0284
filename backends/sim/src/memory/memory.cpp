// SPDX-License-Identifier: Apache-2.0
#include "memory/memory.h"

#include <cstring>
#include <utility>

#include "support/config.h"
#include "support/error.h"
#include "support/strict.h"
#include "support/text.h"

namespace aclsim {

Memory::Memory(Machine &machine_of_all) : core(machine_of_all.core), machine(machine_of_all) { machine.add(*this); }

AddressSpace &Memory::space() {
    if (!space_) {
        const Product &product = *config().product;
        space_ = std::make_unique<AddressSpace>(core, config().devices, product.memory_bytes - product.used_bytes,
                                                product.pinned_bytes);
        for (const auto &device : machine.devices) {
            space_->device(device->physical_id).share(device->card.get());
        }
    }
    return *space_;
}

void *Memory::overflow_status(Context &context) {
    if (context.overflow_address == nullptr) {
        void *status = space().allocate_internal(context.device.physical_id, kOverflowStatusSize);
        if (status == nullptr) {
            fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "%zu bytes do not fit: %s", kOverflowStatusSize,
                 describe_room(*this, context.device).c_str());
        }
        note_allocation(*this, status, kOverflowStatusSize);
        std::memset(status, 0, kOverflowStatusSize);
        context.overflow_address = status;
    }
    return context.overflow_address;
}

bool Memory::free_device_block(const void *address) {
    if (!space().is_device_block(address)) {
        return false;
    }
    note_release(*this, address);
    return_device_block(address);
    return true;
}

void Memory::return_device_block(const void *address) {
    ipc_memory.forget(address);
    space().free_device(address);
}

void Memory::context_closed(Context &context) {
    if (void *address = std::exchange(context.overflow_address, nullptr)) {
        note_release(*this, address);
        space().free_internal(context.device.physical_id, address);
    }
}

void Memory::device_closed(Device &device) {
    const std::uint32_t id = device.physical_id;
    pools.close(*this, device);
    symbols.forget_device(id);
    ipc_memory.forget_device(id);
    virtual_memory.drop(id);
    if (!space_) {  // skips a reservation, which could fail: no memory of the device was ever used
        return;
    }
    report_release(space().device(id).base(), space().device(id).capacity());
    space().free_all(id);
}

bool Memory::is_live(const void *address, std::uint64_t size) {
    return space().locate(address).place != Place::Unregistered && space().is_live(address, size);
}

void refuse_dead_block(Memory &memory, const void *block) {
    if (is_strict() && !memory.is_live(block, 1)) {
        end_if_strict("block " + text_of(block) + " is not allocated" + explain_address(memory, block));
    }
}

std::string describe_room(Memory &memory, const Device &device) {
    const Heap &heap = memory.space().device(device.physical_id);
    return std::to_string(heap.free_bytes()) + " of " + std::to_string(heap.capacity()) + " bytes are free on device " +
           std::to_string(device.user_id) + mention_others(heap.card(), SharedCard::kBytes);
}

void InternalRelease::operator()(void *address) const {
    if (memory->space().device(device).era() == era) {
        memory->core.observers().report<kMemory>(&Observer::freed_by_library, address);
        memory->space().free_internal(device, address);
    }
}

InternalBlock own_block(Memory &memory, std::uint32_t device, void *address) {
    return {address, {&memory, device, memory.space().device(device).era()}};
}

void Memory::report_release(const void *address) {
    const std::optional<Block> block = space().find(address);
    if (release_listener_ != nullptr && block) {
        release_listener_->memory_released(block->address, block->size);
    }
    core.observers().report<kMemory>(&Observer::freed, address);
}

void Memory::report_release(std::uintptr_t begin, std::uint64_t size) {
    if (release_listener_ != nullptr) {
        release_listener_->memory_released(begin, size);
    }
    core.observers().report<kMemory>(&Observer::freed_all, begin, size);
}

std::uint64_t Memory::note_free_in_stream(const void *address, std::uint64_t size) {
    const std::uint64_t number = pools.next_number();
    if (release_listener_ != nullptr) {
        release_listener_->memory_released(as_integer(address), size);
    }
    core.observers().report<kMemory>(&Observer::free_submitted, address, number);
    return number;
}

void note_shared(Memory &memory, const void *address, const PhysicalPages &pages) {
    if (memory.core.observers().want(kMemory)) {
        const FileIdentity file = pages.file->identity();
        const SharedPlace place{file.device, file.number, pages.offset};
        memory.core.observers().report<kMemory>(&Observer::shared, address, place);
    }
}

}  // namespace aclsim
