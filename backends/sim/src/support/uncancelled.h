// Cancellation of threads (pthread_cancel) inside the library.
//
// A cancelled thread is unwound at its next cancellation point: a wait, or a system call that may block. A call may be
// given up where it waits for work, in a synchronization or for a callback, say. Everything else is done in full: the
// release of memory and objects, which is partly in destructors, and what works on files.
#pragma once

#include <pthread.h>

namespace aclsim {

// The calling thread is not cancelled before the end of the scope.
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
