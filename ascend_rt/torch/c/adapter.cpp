/* SPDX-License-Identifier: Apache-2.0 */
#include "adapter.h"

#include <mutex>

#include "torch_npu/csrc/aten/NPUGeneratorImpl.h"
#include "torch_npu/csrc/core/npu/NPUStream.h"

namespace ascend_rt {

// A generator of a device counts in steps of 4 numbers. An operator takes one step, whatever its size: each has a
// separate generator of the CPU, and none continues another's numbers.
static constexpr std::uint64_t kStep = 4;

void *current_stream(std::int8_t device) { return c10_npu::getCurrentNPUStream(device).stream(); }

void synchronize(std::int8_t device) { c10_npu::getCurrentNPUStream(device).synchronize(); }

RandomState advance(const std::optional<at::Generator> &generator, std::int8_t device) {
    const at::Generator given =
        generator && generator->defined() ? *generator : at_npu::detail::getDefaultNPUGenerator(device);
    TORCH_CHECK(given.device().is_privateuseone(), "Expected a 'npu' device type for generator but found '",
                given.device().type(), "'");
    auto *impl = static_cast<at_npu::NPUGeneratorImpl *>(given.unsafeGetGeneratorImpl());
    const std::lock_guard<std::mutex> lock(impl->mutex_);
    const at_npu::PhiloxNpuState state = impl->philox_npu_state(kStep);
    if (state.captured_) {
        return {0, state.offset_intragraph_, static_cast<const std::int64_t *>(state.seed_.ptr->const_data_ptr()),
                static_cast<const std::int64_t *>(state.offset_.ptr->const_data_ptr())};
    }
    return {state.seed_.val, state.offset_.val};
}

}  // namespace ascend_rt
