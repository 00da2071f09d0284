/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers: the state of a device's generator decides them, and the CPU's algorithm makes them. */
#pragma once

#include "adapter.h"

namespace ascend_rt {

at::Generator generator_of(const RandomState &state);

}  // namespace ascend_rt
