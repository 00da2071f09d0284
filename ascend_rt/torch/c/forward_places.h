/* SPDX-License-Identifier: Apache-2.0 */
/* Places of the operators of a backward pass. Its threads run no code of the program, so they have those of the forward
 * pass. */
#pragma once

#include "operator.h"

namespace ascend_rt {

// Remembers the place of an operator that PyTorch is going to differentiate, for as long as a check needs places.
void note_forward_place(c10::ArrayRef<IValue> arguments);

// While it lives, calls of the runtime on a thread of a backward pass have the place of the operator that is
// differentiated.
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
