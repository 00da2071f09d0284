/* SPDX-License-Identifier: Apache-2.0 */
/* Queries to torch_npu. Its headers bring the vendor's acl.h, so they are included in adapter.cpp alone. */
#pragma once

#include <ATen/core/Generator.h>

#include <cstdint>
#include <optional>

namespace ascend_rt {

// The runtime's handle of the device's current stream, into which torch_npu has passed on all that it has queued.
void *current_stream(std::int8_t device);

// Waits for the device's current stream, and raises what has failed in it.
void synchronize(std::int8_t device);

// Reports the parts of memory that torch_npu's allocator gives out to checks.
bool watch_device_allocator();

struct RandomState {
    std::uint64_t seed = 0;
    std::uint64_t offset = 0;
    // For a captured operator: where each replay finds the seed, and the number to add to the offset.
    const std::int64_t *replayed_seed = nullptr;
    const std::int64_t *replayed_offset = nullptr;
};

// Takes the next numbers from a generator of a device, or from its default one.
RandomState advance(const std::optional<at::Generator> &generator, std::int8_t device);

}  // namespace ascend_rt
