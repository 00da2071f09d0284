// SPDX-License-Identifier: Apache-2.0
#include "machine/device_limits.h"

#include <atomic>
#include <cstddef>

#include "support/config.h"
#include "support/units.h"

namespace aclsim {
namespace {

constexpr std::uint64_t kStackUnit = 16 * kKiB;
constexpr std::uint64_t kDefaultStack = 32 * kKiB;

struct LimitRule {
    std::uint64_t initial;
    std::uint64_t smallest;
    std::uint64_t largest;
    std::uint64_t multiple;
    bool is_simt;
};

// Same order as aclrtDeviceLimit. The largest stack of the scalar cores depends on the product.
constexpr LimitRule kLimitRules[] = {
    {1152, 0, UINT32_MAX, 128, true},         {1024, 0, UINT32_MAX, 128, true},
    {kDefaultStack, 0, 0, 1, false},          {32 * kKiB, 1 * kKiB, 64 * kMiB, 8, false},
    {2 * kMiB, 1 * kMiB, 64 * kMiB, 1, true},
};
constexpr std::size_t kLimitCount = sizeof kLimitRules / sizeof kLimitRules[0];

std::atomic<std::uint64_t> g_limits[kLimitCount] = {{kLimitRules[0].initial},
                                                    {kLimitRules[1].initial},
                                                    {kLimitRules[2].initial},
                                                    {kLimitRules[3].initial},
                                                    {kLimitRules[4].initial}};

std::size_t index_of(aclrtDeviceLimit limit) { return static_cast<std::size_t>(limit); }

}  // namespace

bool has_device_limit(aclrtDeviceLimit limit) {
    return !kLimitRules[index_of(limit)].is_simt || config().product->has(kHasSimt);
}

bool is_device_limit_valid(aclrtDeviceLimit limit, std::uint64_t value) {
    const LimitRule &rule = kLimitRules[index_of(limit)];
    const std::uint64_t largest =
        limit == ACL_RT_DEV_LIMIT_SIMD_STACK_SIZE ? config().product->largest_stack : rule.largest;
    return value >= rule.smallest && value <= largest && value % rule.multiple == 0;
}

std::uint64_t device_limit(aclrtDeviceLimit limit) { return g_limits[index_of(limit)].load(std::memory_order_relaxed); }

void set_device_limit(aclrtDeviceLimit limit, std::uint64_t value) {
    if (limit == ACL_RT_DEV_LIMIT_SIMD_STACK_SIZE) {
        if (value <= kDefaultStack) {
            return;
        }
        value = (value + kStackUnit - 1) / kStackUnit * kStackUnit;
    }
    g_limits[index_of(limit)].store(value, std::memory_order_relaxed);
}

}  // namespace aclsim
