// SPDX-License-Identifier: Apache-2.0
// Device limits from the configuration of aclInit, on a 910B: rounded, accepted and ignored values.
#include "machine/device_limits.h"

#include <cstdio>
#include <cstdlib>

#include "check.h"

namespace {

constexpr std::uint64_t kKiB = 1024;
constexpr std::uint64_t kMiB = 1024 * kKiB;

struct Case {
    aclrtDeviceLimit limit;
    std::uint64_t value;
    bool is_valid;
};
constexpr Case kCases[] = {
    {ACL_RT_DEV_LIMIT_SIMT_STACK_SIZE, 1152, true},
    {ACL_RT_DEV_LIMIT_SIMT_STACK_SIZE, 1153, false},
    {ACL_RT_DEV_LIMIT_SIMT_DVG_WARP_STACK_SIZE, 128, true},
    {ACL_RT_DEV_LIMIT_SIMD_STACK_SIZE, 0, true},
    {ACL_RT_DEV_LIMIT_SIMD_STACK_SIZE, 192 * kKiB, true},
    {ACL_RT_DEV_LIMIT_SIMD_STACK_SIZE, 192 * kKiB + 1, false},
    {ACL_RT_DEV_LIMIT_SIMD_PRINTF_FIFO_SIZE_PER_CORE, 1 * kKiB, true},
    {ACL_RT_DEV_LIMIT_SIMD_PRINTF_FIFO_SIZE_PER_CORE, 1 * kKiB + 4, false},
    {ACL_RT_DEV_LIMIT_SIMD_PRINTF_FIFO_SIZE_PER_CORE, 64 * kMiB + 8, false},
    {ACL_RT_DEV_LIMIT_SIMT_PRINTF_FIFO_SIZE, 1 * kMiB, true},
    {ACL_RT_DEV_LIMIT_SIMT_PRINTF_FIFO_SIZE, 1 * kMiB - 1, false},
};

void ranges() {
    for (const Case &it : kCases) {
        CHECK(aclsim::is_device_limit_valid(it.limit, it.value) == it.is_valid);
    }
    CHECK(!aclsim::has_device_limit(ACL_RT_DEV_LIMIT_SIMT_STACK_SIZE));
    CHECK(!aclsim::has_device_limit(ACL_RT_DEV_LIMIT_SIMT_PRINTF_FIFO_SIZE));
    CHECK(aclsim::has_device_limit(ACL_RT_DEV_LIMIT_SIMD_STACK_SIZE));
}

void stacks() {
    CHECK(aclsim::device_limit(ACL_RT_DEV_LIMIT_SIMD_STACK_SIZE) == 32 * kKiB);
    aclsim::set_device_limit(ACL_RT_DEV_LIMIT_SIMD_STACK_SIZE, 0);
    CHECK(aclsim::device_limit(ACL_RT_DEV_LIMIT_SIMD_STACK_SIZE) == 32 * kKiB);
    aclsim::set_device_limit(ACL_RT_DEV_LIMIT_SIMD_STACK_SIZE, 32 * kKiB + 1);
    CHECK(aclsim::device_limit(ACL_RT_DEV_LIMIT_SIMD_STACK_SIZE) == 48 * kKiB);
}

void configuration() {
    char path[] = "/tmp/aclsim-limits-XXXXXX";
    const int descriptor = mkstemp(path);
    CHECK(descriptor >= 0);
    std::FILE *file = fdopen(descriptor, "w");
    std::fputs(R"({"StackSize": {"aicore_stack_size": 70000, "simt_stack_size": 1280},
                   "simd_printf_fifo_size_per_core": 4096, "simt_printf_fifo_size": 1048576})",
               file);
    std::fclose(file);
    CHECK_OK(aclInit(path));
    std::remove(path);
    CHECK(aclsim::device_limit(ACL_RT_DEV_LIMIT_SIMD_STACK_SIZE) == 80 * kKiB);
    CHECK(aclsim::device_limit(ACL_RT_DEV_LIMIT_SIMD_PRINTF_FIFO_SIZE_PER_CORE) == 4 * kKiB);
    CHECK(aclsim::device_limit(ACL_RT_DEV_LIMIT_SIMT_STACK_SIZE) == 1152);  // ignored on this product
    CHECK(aclsim::device_limit(ACL_RT_DEV_LIMIT_SIMT_PRINTF_FIFO_SIZE) == 2 * kMiB);
}

}  // namespace

int main() {
    setenv("ASCEND_RT_SIM_PRODUCT", "910B", 1);
    ranges();
    stacks();
    configuration();
}
