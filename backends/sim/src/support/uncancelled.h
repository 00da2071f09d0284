// SPDX-License-Identifier: Apache-2.0
// Cancellation of threads (pthread_cancel) inside the library.
//
// A cancelled thread is unwound at its next cancellation point: a wait, or a system call that may block. A call may be
// abandoned where it waits for work, for example in a synchronization or for a callback. Everything else is completed:
// the release of memory and objects, partly in destructors, and work on files.
#pragma once

#include <pthread.h>

namespace aclsim {

// Prevents cancellation of the calling thread until the end of the scope.
class Uncancelled {
  public:
    Uncancelled() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
    ~Uncancelled() { pthread_setcancelstate(before_, nullptr); }
    Uncancelled(const Uncancelled &) = delete;
    Uncancelled &operator=(const Uncancelled &) = delete;

  private:
    int before_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace aclsim
