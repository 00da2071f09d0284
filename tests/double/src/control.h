// SPDX-License-Identifier: Apache-2.0
// Additions to the official library: the simulator's control, and the variables of the environment that it reads.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "call.h"

namespace unforgiving {

// ASCEND_RT_DOUBLE_PLAIN=ASCEND_RT_SIM_CARDS,...: the double has no control of the simulator, and reads of its
// variables only those that are named. Looked at with each call: tests in one process differ in what they may use.
void require_control(const Site &site);

// Hides the simulator's variables while it reads its settings.
class HiddenVariables {
  public:
    HiddenVariables();
    ~HiddenVariables();
    HiddenVariables(const HiddenVariables &) = delete;
    HiddenVariables &operator=(const HiddenVariables &) = delete;

  private:
    std::vector<std::pair<std::string, std::string>> hidden_;
};

}  // namespace unforgiving
