// SPDX-License-Identifier: Apache-2.0
// Connections of processes that have still to name themselves. Strangers, which say nothing or something else, hold up
// nothing.
#pragma once

#include <cstddef>
#include <deque>
#include <utility>
#include <vector>

#include "hccl/socket.h"

namespace hccl {

class Reception {
  public:
    // Each connection begins with a message of that size.
    Reception(const Listener &listener, std::size_t size) : listener_(listener), size_(size) {}

    // Returns the next connection whose message is there. Refuses with HCCL_E_TIMEOUT after the deadline, and with
    // HCCL_E_UNAVAIL when the listener has been shut down.
    std::pair<Socket, std::vector<char>> next(Time deadline);

  private:
    struct Caller {
        Socket socket;
        Time deadline;
        std::vector<char> message;
        std::size_t received = 0;
    };

    void await(Time deadline);
    void accept_all();
    bool receive(Caller &caller) const;  // returns false if it has gone

    const Listener &listener_;
    const std::size_t size_;
    std::deque<Caller> callers_;
    int error_ = 0;  // why the host could not accept a connection just now; 0: it could
};

}  // namespace hccl
