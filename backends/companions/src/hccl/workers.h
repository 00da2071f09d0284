// SPDX-License-Identifier: Apache-2.0
// Threads on which operations run: as many as run at the same time. They are kept.
#pragma once

#include <functional>

namespace hccl {

// Runs the work on a separate thread. Throws std::system_error if there is none.
void run_on_worker(std::function<void()> work);

}  // namespace hccl
