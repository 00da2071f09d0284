/* SPDX-License-Identifier: Apache-2.0 */
/* Waits that Ctrl-C ends. */
#pragma once

#include <cstdint>

namespace ascend_rt {

// Waits until the device's current stream has done its work, for a call that is going to wait for it: Python handles
// signals only after that call. Raises what a signal handler raises; reports no failure of the stream, which the call
// does. In threads other than the main one, and while the stream is captured, it does nothing.
void wait_interruptibly(std::int8_t device);

}  // namespace ascend_rt
