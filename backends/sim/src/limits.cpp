#include "limits.h"

#include <algorithm>
#include <array>

#include "config.h"
#include "error.h"

namespace aclsim {
namespace {

constexpr std::uint64_t kKiB = 1ULL << 10;
constexpr std::uint64_t kMiB = 1ULL << 20;
constexpr std::uint64_t kStackUnit = 16 * kKiB;

// The ranges of device_context_init_errors.md section 3, aclInit.
struct Rule {
    std::uint64_t initial;
    std::uint64_t smallest;
    std::uint64_t largest;
    std::uint64_t multiple_of;
    bool needs_simt;
};
constexpr Rule kRules[] = {
    {1152, 128, UINT32_MAX, 128, true},          // SIMT_STACK_SIZE
    {1024, 128, UINT32_MAX, 128, true},          // SIMT_DVG_WARP_STACK_SIZE
    {32 * kKiB, 0, UINT32_MAX, 1, false},        // SIMD_STACK_SIZE, see below
    {32 * kKiB, 1 * kKiB, 64 * kMiB, 8, false},  // SIMD_PRINTF_FIFO_SIZE_PER_CORE
    {2 * kMiB, 1 * kMiB, 64 * kMiB, 1, true},    // SIMT_PRINTF_FIFO_SIZE
};
constexpr std::size_t kLimits = sizeof kRules / sizeof kRules[0];

std::array<std::uint64_t, kLimits> g_values = {kRules[0].initial, kRules[1].initial, kRules[2].initial,
                                               kRules[3].initial, kRules[4].initial};

const Rule &require_rule(aclrtDeviceLimit limit) {
    const Rule &rule = kRules[limit];
    if (rule.needs_simt && !config().product->has(kHasSimt)) {
        refuse(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "%s has no limit %d, which is for SIMT kernels",
               config().product->name, static_cast<int>(limit));
    }
    return rule;
}

// The stack of an AI Core grows in steps; a value below the smallest stack is accepted and ignored [obs].
std::uint64_t stack_size(std::uint64_t value) {
    const std::uint64_t rounded = (value + kStackUnit - 1) / kStackUnit * kStackUnit;
    if (rounded > config().product->largest_stack) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "a stack of %llu bytes is larger than %u",
             static_cast<unsigned long long>(value), config().product->largest_stack);
    }
    return std::max(rounded, kRules[ACL_RT_DEV_LIMIT_SIMD_STACK_SIZE].initial);
}

}  // namespace

std::uint64_t device_limit(aclrtDeviceLimit limit) {
    require_rule(limit);
    return g_values[limit];
}

void set_device_limit(aclrtDeviceLimit limit, std::uint64_t value) {
    const Rule &rule = require_rule(limit);
    if (value < rule.smallest || value > rule.largest || value % rule.multiple_of != 0) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "%llu is not between %llu and %llu, or no multiple of %llu",
             static_cast<unsigned long long>(value), static_cast<unsigned long long>(rule.smallest),
             static_cast<unsigned long long>(rule.largest), static_cast<unsigned long long>(rule.multiple_of));
    }
    g_values[limit] = limit == ACL_RT_DEV_LIMIT_SIMD_STACK_SIZE ? stack_size(value) : value;
}

}  // namespace aclsim
