#include "memory/memory.h"

#include <cstring>
#include <utility>

#include "support/config.h"
#include "support/error.h"

namespace aclsim {

Memory::Memory(Machine &machine_of_all) : core(machine_of_all.core), machine(machine_of_all) { machine.add(*this); }

AddressSpace &Memory::space() {
    if (!space_) {
        const Product &product = *config().product;
        space_ = std::make_unique<AddressSpace>(core, config().devices, product.memory_bytes - product.used_bytes,
                                                product.pinned_bytes);
    }
    return *space_;
}

void *Memory::overflow_status(Context &context) {
    if (context.overflow_address == nullptr) {
        void *status = space().allocate_internal(context.device.physical_id, kOverflowStatusSize);
        if (status == nullptr) {
            fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "device %u has no memory left", context.device.user_id);
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
    core.observers().tell(&Observer::freed_all, space().device(id).base(), space().device(id).capacity());
    space().free_all(id);
}

}  // namespace aclsim
