// SPDX-License-Identifier: Apache-2.0
// Adds an observer to the engine for the lifetime of an object.
#pragma once

#include "api/simulator.h"

class Observing {
  public:
    explicit Observing(aclsim::Observer &observer) : observer_(observer) {
        const aclsim::Lock lock = sim_.core.acquire();
        sim_.core.add_observer(observer_);
    }
    ~Observing() {
        const aclsim::Lock lock = sim_.core.acquire();
        sim_.core.remove_observer(observer_);
    }
    Observing(const Observing &) = delete;
    Observing &operator=(const Observing &) = delete;

  private:
    aclsim::Simulator &sim_ = aclsim::Simulator::get();
    aclsim::Observer &observer_;
};
