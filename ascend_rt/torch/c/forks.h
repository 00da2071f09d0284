/* SPDX-License-Identifier: Apache-2.0 */
/* Forks of the process. The child has only the thread that forked, so what others held locked stays locked there. */
#pragma once

#include <atomic>
#include <mutex>

namespace ascend_rt {

// The only mutex of this library. The thread that forks takes it, so that the child gets it free and the data whole.
// The forking thread may hold the GIL, so no code of Python, PyTorch or the runtime runs while the mutex is held.
extern std::mutex held_in_forks;

// Set in a forked child, until the runtime has accepted a call there.
extern std::atomic<bool> is_new_child;

}  // namespace ascend_rt
