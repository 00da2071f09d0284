/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about tensors for the checks of the simulator. */
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>

namespace ascend_rt {

// Returns whether a check follows what the program does with memory.
bool is_checked();

// Returns type and sizes, "float32[64, 128]"; the text stays forever.
const char *name_of(const at::Tensor &tensor);

// Names the memory of a tensor that a copy of the runtime uses, which knows only bytes.
void name_memory(const at::Tensor &tensor);

// Reports to checks what the allocators of torch_npu do, for the device and for pinned memory of the host.
void watch_allocators();
void note_given_out(const void *address, std::size_t size);
void note_reusable(const void *address, std::size_t size);
// Number of the task that the calling thread has submitted last.
std::uint64_t last_task();

void watch_host_allocator();

}  // namespace ascend_rt
