/* SPDX-License-Identifier: Apache-2.0 */
#include "adapter.h"

#include <mutex>

#include "checks.h"
#include "torch_npu/csrc/aten/NPUGeneratorImpl.h"
#include "torch_npu/csrc/core/npu/NPUCachingAllocator.h"
#include "torch_npu/csrc/core/npu/NPUStream.h"

namespace ascend_rt {

// A generator of a device counts in steps of 4 numbers. An operator takes one step, whatever its size: each has a
// separate generator of the CPU, and none continues another's numbers.
static constexpr std::uint64_t kStep = 4;

void *current_stream(std::int8_t device) { return c10_npu::getCurrentNPUStream(device).stream(); }

void synchronize(std::int8_t device) { c10_npu::getCurrentNPUStream(device).synchronize(); }

#if ASCEND_RT_TORCH >= 212
namespace {

// Memory that the thread has freed last, and its newest task then.
struct Freed {
    std::int64_t address;
    std::uint64_t task;
};
thread_local Freed t_freed{0, 0};

// A block is free at once, for its stream, unless other streams use it: then events are recorded there, and it becomes
// free when queries have shown that they are complete. Called under the allocator's lock.
void follow(const c10_npu::NPUCachingAllocator::TraceEntry &entry) {
    using Entry = c10_npu::NPUCachingAllocator::TraceEntry;
    const auto *address = reinterpret_cast<const void *>(entry.addr_);  // NOLINT: the entry has a number
    const auto size = static_cast<std::size_t>(entry.size_);
    if (entry.action_ == Entry::ALLOC) {
        note_given_out(address, size);
    } else if (entry.action_ == Entry::FREE_REQUESTED) {
        t_freed = {entry.addr_, last_task()};
    } else if (entry.action_ == Entry::FREE_COMPLETED) {
        const bool is_free_at_once = t_freed.address == entry.addr_ && t_freed.task == last_task();
        if (!is_free_at_once) {
            note_reusable(address, size);
        }
        t_freed = {0, 0};
    }
}

}  // namespace

bool watch_device_allocator() {
    c10_npu::NPUCachingAllocator::attachAllocatorTraceTracker(follow);
    return true;
}
#else
// The allocator of older releases reports nothing. Its queries count as the program's then: order may be assumed that
// is not there, so a check overlooks a missing record_stream, and reports nothing falsely.
bool watch_device_allocator() { return false; }
#endif

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
