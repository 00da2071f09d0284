/* SPDX-License-Identifier: Apache-2.0 */
/* Places of the program, which errors name: those of calls, and for the operators of a backward pass, whose threads run
 * no code of the program, those of the forward pass. */
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "abi/aclsim.h"
#include "operator.h"

namespace ascend_rt {

// Lines of Python, innermost first.
struct Place {
    std::int32_t count = 0;
    std::array<aclsimCallFrame, 8> frames{};
    bool is_forward = false;  // where the operator was called whose gradient is computed
};

// Returns where the calling thread is in the program.
Place place_here();

// Returns the innermost line outside of PyTorch, "train.py:12 in step"; "" if no line is known.
std::string line_of(const Place &place);

// Remembers the place of an operator that PyTorch is going to differentiate.
void note_forward_place(c10::ArrayRef<IValue> arguments, c10::ArrayRef<IValue> results, const Place &place);

// While it lives, calls on a thread of a backward pass have the place of the operator that is differentiated.
class ForwardPlace {
  public:
    ForwardPlace();
    ~ForwardPlace();
    ForwardPlace(const ForwardPlace &) = delete;
    ForwardPlace &operator=(const ForwardPlace &) = delete;

  private:
    bool is_set_ = false;
};

}  // namespace ascend_rt
