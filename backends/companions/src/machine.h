// SPDX-License-Identifier: Apache-2.0
// The simulated machine, as the driver's libraries describe it. Devices have their numbers from before
// ASCEND_RT_VISIBLE_DEVICES.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "abi/acl.h"
#include "refusal.h"

namespace companions {

struct Machine {
    std::uint32_t devices;
    std::uint32_t chips;    // number in an NPU; each is a device
    bool has_hbm;           // if not, DDR
    std::string soc;        // "Ascend910_9391"
    std::string chip_name;  // part of the name for the chip: "910B1", or "Ascend910" if the NPU has one, too
    std::string npu_name;   // "9391", or ""
};

// Refuses with ACL_ERROR_INTERNAL_ERROR and the runtime's text if the settings of the simulator are wrong.
Machine machine();

// Returns the number of the device for functions of the runtime, or -1 if the process may not use it.
std::int32_t user_number(std::uint32_t device);

// Calls the body on a thread whose current device this is, and returns its code, or that of aclrtSetDevice, with the
// runtime's text. The process has the device set for as long as the body takes, or, if it succeeds, from then on.
enum class Afterwards { kReset, kStay };
Refusal on_device(std::int32_t user, Afterwards afterwards, const std::function<aclError()> &body);

struct Memory {
    std::size_t free;
    std::size_t total;
};

// Writes the memory of the device, in bytes. The code is 0, or that of the device's failure.
Refusal read_memory(std::int32_t user, bool has_hbm, Memory *memory);

}  // namespace companions
