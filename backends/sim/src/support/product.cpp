// SPDX-License-Identifier: Apache-2.0
#include "support/product.h"

#include <algorithm>
#include <cstring>

#include "abi/acl.h"
#include "support/units.h"

namespace aclsim {
namespace {

constexpr std::uint64_t kPinned = 200 * kGiB;

// Streams, events, queue depths and tick lengths: events_streams_sync.md sections 1 to 3. Values seen on devices take
// precedence: the queues of 910B and 910C (hardware_seen.md section 2.1), their memory (hardware_seen.md sections 4.1
// and 4.2), and the pinned memory of 910B (hardware_seen.md section 2.10). Other memory sizes and the connections of
// devices are those of common boards. Intervals: the documented longest limits of operators (1091 s, 547 s, 68 s)
// divided by 254 are powers of two of nanoseconds.
// clang-format off
constexpr Product kProducts[] = {
    // name, soc, memory, used, pinned, l2, cube, vector, aicpu, streams, events, notifies, queue, ticks, interval, stars, control, ipc, timeout,
    // 1g, arch, stack, topology, host link, form factor, traits, bit
    {"910B", "Ascend910B1", 62428 * kMiB, 384 * kMiB, kPinned, 192 * kMiB, 24, 48, 6, 1984, 65536, 8192, 1792, 50000, 4294967, true, true, true, true, true,
     2201, 192 * kKiB, ACL_RT_DEVS_TOPOLOGY_HCCS, ACL_HOST_DEVICE_CONNECT_TYPE_PCIE, ACL_DEVICE_FORM_FACTOR_A_K,
     kHasDeviceOnlyObjects | kForeignWaitsAreUntimed | kHasCacheFlush | kKeepsHostAddress | kCopiesNeedPeerAccess | kCopiesRowsInDevice |
         kHasKernelRatio | kImportsNeedPeerAccess | kDeviceSyncTakesOperatorLimit, k910B},
    {"910C", "Ascend910_9391", 62748 * kMiB, 384 * kMiB, kPinned, 192 * kMiB, 24, 48, 6, 1984, 65536, 8192, 1792, 50000, 4294967, true, true, true, true, true,
     2201, 192 * kKiB, ACL_RT_DEVS_TOPOLOGY_HCCS_SW, ACL_HOST_DEVICE_CONNECT_TYPE_HCCS, ACL_DEVICE_FORM_FACTOR_POD,
     kHasDeviceOnlyObjects | kForeignWaitsAreUntimed | kHasSuperPod | kHasCacheFlush | kKeepsHostAddress | kCopiesRowsInDevice |
         kHasKernelRatio | kImportsNeedPeerAccess | kDeviceSyncTakesOperatorLimit, k910C},
    {"310B", "Ascend310B1", 12 * kGiB, 0, kPinned, 4 * kMiB, 1, 1, 4, 512, 65536, 2048, 2010, 48000, 4294967, true, false, false, true, false,
     3002, 7680 * kKiB, ACL_RT_DEVS_TOPOLOGY_PHB, ACL_HOST_DEVICE_CONNECT_TYPE_PCIE, ACL_DEVICE_FORM_FACTOR_PCIE_CARD,
     kIgnoresForeignWaits | kHasDdr | kLacksP2p, k310B},
    {"310P", "Ascend310P3", 24 * kGiB, 0, kPinned, 16 * kMiB, 8, 8, 8, 1024, 1023, 1024, 2042, 1000000, 2147483, false, false, false, false, false,
     2002, 192 * kKiB, ACL_RT_DEVS_TOPOLOGY_PHB, ACL_HOST_DEVICE_CONNECT_TYPE_PCIE, ACL_DEVICE_FORM_FACTOR_PCIE_CARD,
     kHasDeviceOnlyObjects | kRefusesHugeStreams | kIgnoresForeignWaits | kHasGroups |
         kNotifyWaitsTakeGlobalLimit | kHasDdr | kCopiesNeedPeerAccess | kHasKernelRatio | kMixLaunchesNameEngine, k310P},
    {"910", "Ascend910A", 32 * kGiB, 0, kPinned, 32 * kMiB, 32, 32, 14, 2048, 65535, 1024, 2042, 1000000, 268435, false, false, false, false, false,
     1001, 192 * kKiB, ACL_RT_DEVS_TOPOLOGY_HCCS, ACL_HOST_DEVICE_CONNECT_TYPE_PCIE, ACL_DEVICE_FORM_FACTOR_A_K,
     kIgnoresForeignWaits | kCopiesNeedPeerAccess, k910},
    {"950", "Ascend950PR", 128 * kGiB, 0, kPinned, 128 * kMiB, 32, 64, 6, 1984, 65536, 65535, 2014, 1000000, 4294967, true, true, true, true, true,
     3510, 128 * kKiB, ACL_RT_DEVS_TOPOLOGY_HCCS_SW, ACL_HOST_DEVICE_CONNECT_TYPE_UB, ACL_DEVICE_FORM_FACTOR_POD,
     kHasDeviceOnlyObjects | kComputesWithoutStamps | kIgnoresDefaultReset | kDeviceSyncSkipsCpuStreams | kHasSimt |
         kHasSuperPod | kHasCacheFlush | kPadsNothing | kCopiesNeedPeerAccess | kCopiesRowsInDevice | kHasLongDescriptors |
         kStreamAbortResetsEvents | kHasKernelRatio | kHasWideLaunches | kLaunchesFromPlainStreams, k950},
};
// clang-format on

struct Soc {
    const char *name;
    std::uint32_t npu_arch;
};
constexpr Soc kSocs[] = {
    {"Ascend910A", 1001},     {"Ascend910B", 1001},     {"Ascend910ProA", 1001},  {"Ascend910ProB", 1001},
    {"Ascend910B1", 2201},    {"Ascend910B2", 2201},    {"Ascend910B2C", 2201},   {"Ascend910B3", 2201},
    {"Ascend910B4", 2201},    {"Ascend910B4-1", 2201},  {"Ascend910_9391", 2201}, {"Ascend910_9392", 2201},
    {"Ascend910_9381", 2201}, {"Ascend910_9382", 2201}, {"Ascend910_9372", 2201}, {"Ascend910_9362", 2201},
    {"Ascend310P1", 2002},    {"Ascend310P3", 2002},    {"Ascend310P5", 2002},    {"Ascend310P7", 2002},
    {"Ascend310B1", 3002},    {"Ascend310B2", 3002},    {"Ascend310B3", 3002},    {"Ascend310B4", 3002},
    {"Ascend950PR", 3510},
};

}  // namespace

const Product *find_product(const std::string &name) {
    for (const Product &product : kProducts) {
        if (name == product.name) {
            return &product;
        }
    }
    return nullptr;
}

std::uint32_t npu_arch_of(const std::string &soc_name) {
    for (const Soc &soc : kSocs) {
        if (soc_name == soc.name) {
            return soc.npu_arch;
        }
    }
    return 0;
}

std::string product_names() {
    std::string names;
    for (const Product &product : kProducts) {
        names += (names.empty() ? "" : ", ") + std::string(product.name);
    }
    return names;
}

}  // namespace aclsim
