// SPDX-License-Identifier: Apache-2.0
// Product profiles: the differences between the simulated chips, as data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "support/function.h"

namespace aclsim {

// Differences between the chips in a rule, by sections of events_streams_sync.md unless another page is named.
enum Trait : std::uint32_t {
    kHasDeviceOnlyObjects = 1U << 0,       // streams and events for the device only (sections 2 and 3)
    kRefusesHugeStreams = 1U << 1,         // (section 3)
    kIgnoresForeignWaits = 1U << 2,        // waiting on another device's stream does nothing (section 2)
    kForeignWaitsAreUntimed = 1U << 3,     // waiting on another device's stream has no time limit (section 2)
    kComputesWithoutStamps = 1U << 4,      // elapsed time is computed even without stamps, and unsigned (section 2)
    kIgnoresDefaultReset = 1U << 5,        // resetting an event of aclrtCreateEvent does nothing (section 2)
    kDeviceSyncSkipsCpuStreams = 1U << 6,  // (section 4)
    kHasSimt = 1U << 7,                    // device_context_init_errors.md section 5
    kHasSuperPod = 1U << 8,
    kHasCacheFlush = 1U << 9,
    kHasGroups = 1U << 10,                   // device_context_init_errors.md section 7
    kNotifyWaitsTakeGlobalLimit = 1U << 11,  // untimed waits for notifies take the process-wide limit (section 5)
    // memory_cmo_allocator.md sections 1 and 2
    kHasDdr = 1U << 12,                   // instead of HBM
    kLacksP2p = 1U << 13,                 // no memory for other devices
    kPadsNothing = 1U << 14,              // aclrtMalloc pads no more than aclrtMallocAlign32
    kKeepsHostAddress = 1U << 15,         // host memory can have the same address on the device
    kCopiesNeedPeerAccess = 1U << 16,     // inter-device copies (memory_cmo_allocator.md section 3, as the next two)
    kCopiesRowsInDevice = 1U << 17,       // two-dimensional copies whose source and destination are on the device
    kHasLongDescriptors = 1U << 18,       // 64 bytes, not 32 (memory_cmo_allocator.md sections 3 and 6)
    kStreamAbortResetsEvents = 1U << 19,  // the abort of a device does so on every chip (section 0.2)
    // graphs_kernels.md sections A3 and A5
    kHasKernelRatio = 1U << 20,            // number of cores of both kinds that work together in a kernel
    kMixLaunchesNameEngine = 1U << 21,     // configuration of kernels for both kinds of cores names the engine
    kHasWideLaunches = 1U << 22,           // the number of blocks keeps its 32 bits
    kLaunchesFromPlainStreams = 1U << 23,  // persistent streams launch no graphs (graphs_kernels.md section B5)
    kImportsNeedPeerAccess = 1U << 24,     // memory of another device, by key (hardware_seen.md section 4.12)
    // An untimed synchronization of a device ends if nothing has ended for the time limit of operators
    // (hardware_seen.md section 1.9).
    kDeviceSyncTakesOperatorLimit = 1U << 25,
};

struct Product {
    const char *name;            // value of ASCEND_RT_SIM_PRODUCT
    const char *soc_name;        // result of aclrtGetSocName
    std::uint64_t memory_bytes;  // result of aclrtGetMemInfo: less than the board has (hardware_seen.md section 4.1)
    std::uint64_t used_bytes;    // bytes in use before a program allocates anything (hardware_seen.md section 4.2)
    std::uint64_t pinned_bytes;  // pinned and physical host memory of a process (hardware_seen.md section 2.10)
    std::uint64_t l2_bytes;
    std::uint32_t cube_cores;
    std::uint32_t vector_cores;
    std::uint32_t aicpu_cores;
    std::uint32_t streams;      // per device, including the default streams
    std::uint32_t events;       // hardware event IDs per device
    std::uint32_t notifies;     // per device
    std::uint32_t queue_depth;  // tasks that a stream takes before a submit blocks
    std::uint32_t ticks_per_ms;
    std::uint64_t timeout_interval_us;  // an operator's time limit is 1 to 254 of these
    bool is_stars;                      // hardware task scheduler: 950, 910C, 910B, 310B
    bool has_control_queue;             // NULL means the default stream in control calls: 950, 910C, 910B
    bool has_ipc_events;
    bool has_wait_timeout;  // time limits of waits are enforced: not on 310P and 910
    bool has_huge1g_pages;
    std::uint32_t npu_arch;       // ACL_DEV_ATTR_NPU_ARCH
    std::uint32_t largest_stack;  // bytes per AI Core
    std::uint32_t topology;       // connection of two devices, ACL_RT_DEVS_TOPOLOGY_*
    std::uint32_t host_link;      // ACL_HOST_DEVICE_CONNECT_TYPE_*
    std::uint32_t form_factor;    // ACL_DEVICE_FORM_FACTOR_*
    std::uint32_t traits;         // bits of enum Trait
    ProductBit bit;

    bool has(Trait trait) const { return (traits & trait) != 0; }
};

// Returns the profile of that name, or nullptr.
const Product *find_product(const std::string &name);
// Returns true if the function is documented for the product, or if no document restricts it.
inline bool is_documented_for(Function function, const Product &product) {
    return (info_of(function).products & product.bit) != 0;
}
// Returns the architecture of a chip by its full name; 0 for an unknown name.
std::uint32_t npu_arch_of(const std::string &soc_name);
// Returns "910B, 910C, ...", for messages.
std::string product_names();

}  // namespace aclsim
