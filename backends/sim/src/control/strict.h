// SPDX-License-Identifier: Apache-2.0
// Handles and threads in strict mode (support/strict.h).
#pragma once

#include "engine/ended_handles.h"
#include "engine/observer.h"
#include "engine/registry.h"
#include "machine/machine.h"

namespace aclsim {

// As an observer, it only makes calls record their places.
class Strict final : public Observer, public Resident {
  public:
    explicit Strict(Machine &machine) : Observer(kAllPlaces), machine_(machine) {}
    void turn_on() REQUIRES(engine_lock);

    // Ends the process in strict mode if the present call would follow the handle, which names no live object of that
    // kind.
    void refuse(const void *handle, Kind kind, const char *what) const REQUIRES(engine_lock);
    // Ends the process in strict mode if another thread waits inside a call.
    void refuse_waits() const REQUIRES(engine_lock);

    // Ends the events of the device: those of the vendor's library refer to their device.
    void device_closed(Device &device) override REQUIRES(engine_lock);

  private:
    Machine &machine_;
    EndedHandles ended_;
};

}  // namespace aclsim
