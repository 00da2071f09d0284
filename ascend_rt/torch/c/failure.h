/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that failed when their turn in a stream came. */
#pragma once

#include <cstdint>
#include <string>

namespace ascend_rt {

// The first failure of a device is the cause of what fails after it. As on hardware, the device is of no use from then
// on: the simulator stops its context, and nothing that is queued runs on data that was never computed.
void note_failure(std::int8_t device, const std::string &text);

// The failures of all devices, one after the other; "" if nothing has failed.
std::string all_failures();

// Raises the failure of the device, if there is one.
void raise_failure(std::int8_t device);

// Forgets the failure of a device, which the program has restarted.
void forget_failure(std::int8_t device);

}  // namespace ascend_rt
