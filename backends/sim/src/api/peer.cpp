// SPDX-License-Identifier: Apache-2.0
// Pairs of devices: access, connection, atomic operations (device_context_init_errors.md section 5).
#include "api/entry.h"

using namespace aclsim;

namespace {

bool exists(Simulator &sim, std::int64_t id) {
    return id >= 0 && id < static_cast<std::int64_t>(sim.machine.devices.size());
}

// Finds the peer device in a call about access from the current device.
Device &require_peer(Simulator &sim, std::int32_t id) REQUIRES(engine_lock) {
    const Device &own = require_current_device(sim);
    if (static_cast<std::int32_t>(own.user_id) == id) {
        fail_unremembered(ACL_ERROR_INVALID_PARAM, "device %d is the current one", id);
    }
    require_supported();
    return require_device(sim, id);
}

// Capabilities of the operations. The list of existing operations is invented, except for the kinds: scalar operations
// exist on chips with SIMT kernels, DMA operations over a link that reduces.
constexpr std::uint32_t kBothSigns = ACL_RT_ATOMIC_CAPABILITY_SIGNED | ACL_RT_ATOMIC_CAPABILITY_UNSIGNED;
constexpr std::uint32_t kInteger = kBothSigns | ACL_RT_ATOMIC_CAPABILITY_SCALAR32 | ACL_RT_ATOMIC_CAPABILITY_SCALAR64;
constexpr std::uint32_t kBits = ACL_RT_ATOMIC_CAPABILITY_SCALAR32 | ACL_RT_ATOMIC_CAPABILITY_SCALAR64;
constexpr std::uint32_t kFloat =
    ACL_RT_ATOMIC_CAPABILITY_SIGNED | ACL_RT_ATOMIC_CAPABILITY_SCALAR16 | ACL_RT_ATOMIC_CAPABILITY_SCALAR32;
constexpr std::uint32_t kReduction = ACL_RT_ATOMIC_CAPABILITY_SIGNED | ACL_RT_ATOMIC_CAPABILITY_REDUCTION |
                                     ACL_RT_ATOMIC_CAPABILITY_SCALAR8 | ACL_RT_ATOMIC_CAPABILITY_SCALAR16 |
                                     ACL_RT_ATOMIC_CAPABILITY_SCALAR32;

enum class Needs : std::uint8_t { Simt, Dma };
struct Operation {
    aclrtAtomicOperation operation;
    Needs needs;
    std::uint32_t capabilities;
};
constexpr Operation kOperations[] = {
    {ACL_RT_ATOMIC_OPERATION_INTEGER_ADD, Needs::Simt, kInteger},
    {ACL_RT_ATOMIC_OPERATION_INTEGER_MIN, Needs::Simt, kInteger},
    {ACL_RT_ATOMIC_OPERATION_INTEGER_MAX, Needs::Simt, kInteger},
    {ACL_RT_ATOMIC_OPERATION_INTEGER_INCREMENT, Needs::Simt, kInteger},
    {ACL_RT_ATOMIC_OPERATION_INTEGER_DECREMENT, Needs::Simt, kInteger},
    {ACL_RT_ATOMIC_OPERATION_AND, Needs::Simt, kBits},
    {ACL_RT_ATOMIC_OPERATION_OR, Needs::Simt, kBits},
    {ACL_RT_ATOMIC_OPERATION_XOR, Needs::Simt, kBits},
    {ACL_RT_ATOMIC_OPERATION_EXCHANGE, Needs::Simt, kBits},
    {ACL_RT_ATOMIC_OPERATION_CAS, Needs::Simt, kBits},
    {ACL_RT_ATOMIC_OPERATION_FLOAT_ADD, Needs::Simt, kFloat},
    {ACL_RT_ATOMIC_OPERATION_FLOAT_MIN, Needs::Simt, kFloat},
    {ACL_RT_ATOMIC_OPERATION_FLOAT_MAX, Needs::Simt, kFloat},
    {ACL_RT_ATOMIC_OPERATION_DMA_ADD, Needs::Dma, kReduction},
    {ACL_RT_ATOMIC_OPERATION_DMA_MIN, Needs::Dma, kReduction},
    {ACL_RT_ATOMIC_OPERATION_DMA_MAX, Needs::Dma, kReduction},
    {ACL_RT_ATOMIC_OPERATION_SIMD_SCALAR_ADD, Needs::Simt, kInteger},
    {ACL_RT_ATOMIC_OPERATION_SIMD_SCALAR_MIN, Needs::Simt, kInteger},
    {ACL_RT_ATOMIC_OPERATION_SIMD_SCALAR_MAX, Needs::Simt, kInteger},
    {ACL_RT_ATOMIC_OPERATION_SIMD_SCALAR_CAS, Needs::Simt, kBits},
    {ACL_RT_ATOMIC_OPERATION_SIMD_SCALAR_EXCH, Needs::Simt, kBits},
};

const Operation &require_operation(aclrtAtomicOperation operation) {
    for (const Operation &row : kOperations) {
        if (row.operation == operation) {
            return row;
        }
    }
    fail(ACL_ERROR_RT_PARAM_INVALID, "there is no atomic operation %d", static_cast<int>(operation));
}

void require_operations(const std::uint32_t *capabilities, const aclrtAtomicOperation *operations,
                        std::uint32_t count) {
    require(capabilities, "capabilities");
    require(operations, "operations");
    if (count == 0) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "count is 0");
    }
    for (std::uint32_t i = 0; i < count; ++i) {
        require_operation(operations[i]);
    }
}

void write_capabilities(std::uint32_t *capabilities, const aclrtAtomicOperation *operations, std::uint32_t count,
                        bool reduces) {
    const bool has_simt = config().product->has(kHasSimt);
    for (std::uint32_t i = 0; i < count; ++i) {
        const Operation &row = require_operation(operations[i]);
        const bool is_there = row.needs == Needs::Simt ? has_simt : reduces;
        capabilities[i] = is_there ? row.capabilities : 0;
    }
}

}  // namespace

aclError aclrtDeviceCanAccessPeer(int32_t *canAccessPeer, int32_t deviceId, int32_t peerDeviceId) {
    return entry(Function::aclrtDeviceCanAccessPeer, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        if (deviceId == peerDeviceId) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "device %d and its peer are the same", deviceId);
        }
        require_supported();
        if (canAccessPeer == nullptr) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "canAccessPeer is NULL");  // code 107000, not 100000 (section 5)
        }
        require_device(sim, deviceId);
        require_device(sim, peerDeviceId);
        *canAccessPeer = 1;
    });
}

aclError aclrtDeviceEnablePeerAccess(int32_t peerDeviceId, uint32_t flags) {
    return entry(Function::aclrtDeviceEnablePeerAccess, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        if (flags != 0) {
            fail_unremembered(ACL_ERROR_FEATURE_UNSUPPORTED, "flags must be 0, not %u", flags);
        }
        const Device &peer = require_peer(sim, peerDeviceId);
        require_current_device(sim).accessible_peers.insert(peer.physical_id);
    });
}

aclError aclrtDeviceDisablePeerAccess(int32_t peerDeviceId) {
    return entry(Function::aclrtDeviceDisablePeerAccess, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        const Device &peer = require_peer(sim, peerDeviceId);
        require_current_device(sim).accessible_peers.erase(peer.physical_id);
    });
}

aclError aclrtDevicePeerAccessStatus(int32_t deviceId, int32_t peerDeviceId, int32_t *status) {
    return entry(Function::aclrtDevicePeerAccessStatus, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(status, "status");
        if (!exists(sim, deviceId) || !exists(sim, peerDeviceId)) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "device %d or %d does not exist", deviceId, peerDeviceId);
        }
        const Device &peer = require_device(sim, peerDeviceId);
        *status = static_cast<int32_t>(require_device(sim, deviceId).accessible_peers.count(peer.physical_id));
    });
}

aclError aclrtGetDevicesTopo(uint32_t deviceId, uint32_t otherDeviceId, uint64_t *value) {
    return entry(Function::aclrtGetDevicesTopo, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(value, "value");
        if (config().visible_is_set) {  // ids go to the driver unchecked otherwise (section 5 [obs])
            require_device(sim, deviceId);
            require_device(sim, otherDeviceId);
        }
        *value = config().product->topology;
    });
}

aclError aclrtDeviceGetHostAtomicCapabilities(uint32_t *capabilities, const aclrtAtomicOperation *operations,
                                              const uint32_t count, int32_t deviceId) {
    return entry(Function::aclrtDeviceGetHostAtomicCapabilities, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require_operations(capabilities, operations, count);
        require_device(sim, deviceId);
        write_capabilities(capabilities, operations, count, /*reduces=*/false);
    });
}

aclError aclrtDeviceGetP2PAtomicCapabilities(uint32_t *capabilities, const aclrtAtomicOperation *operations,
                                             const uint32_t count, int32_t srcDeviceId, int32_t dstDeviceId) {
    return entry(Function::aclrtDeviceGetP2PAtomicCapabilities, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require_operations(capabilities, operations, count);
        if (srcDeviceId == dstDeviceId) {
            fail(ACL_ERROR_RT_INVALID_DEVICEID, "source and destination are both device %d", srcDeviceId);
        }
        require_device(sim, srcDeviceId);
        require_device(sim, dstDeviceId);
        write_capabilities(capabilities, operations, count, /*reduces=*/config().product->has_control_queue);
    });
}
