// SPDX-License-Identifier: Apache-2.0
#include "hccl/reception.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <thread>

#include "hccl/hccl.h"
#include "refusal.h"

using companions::refuse;

namespace hccl {
namespace {

constexpr std::chrono::seconds kForMessage{10};
constexpr std::size_t kMostCallers = 1024;
constexpr std::chrono::milliseconds kBetweenLooks{1000};
constexpr std::chrono::milliseconds kForResources{20};  // until others may have given some back

}  // namespace

std::pair<Socket, std::vector<char>> Reception::next(Time deadline) {
    for (;;) {
        accept_all();
        for (auto caller = callers_.begin(); caller != callers_.end();) {
            if (!receive(*caller)) {
                caller = callers_.erase(caller);
            } else if (caller->received == size_) {
                std::pair found(std::move(caller->socket), std::move(caller->message));
                callers_.erase(caller);
                return found;
            } else {
                ++caller;
            }
        }
        if (Clock::now() >= deadline) {
            refuse(HCCL_E_TIMEOUT, error_ == 0 ? "no rank connected in time"
                                               : std::string("a rank could not connect: ") + std::strerror(error_));
        }
        await(deadline);
    }
}

void Reception::accept_all() {
    error_ = 0;
    for (;;) {
        Socket socket = listener_.accept();
        if (socket.is_open()) {
            callers_.push_back({std::move(socket), Clock::now() + kForMessage, std::vector<char>(size_)});
            if (callers_.size() > kMostCallers) {
                callers_.pop_front();
            }
        } else if (errno == EINVAL) {
            refuse(HCCL_E_UNAVAIL, "the ranks are not awaited any more");
        } else if (errno == EAGAIN) {
            return;
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            error_ = errno;
            return;
        } else if (errno != EINTR && errno != ECONNABORTED) {
            refuse(HCCL_E_TCP_CONNECT, std::string("accept: ") + std::strerror(errno));
        }
    }
}

bool Reception::receive(Caller &caller) const {
    while (caller.received < size_) {
        const ssize_t received = ::recv(caller.socket.descriptor(), caller.message.data() + caller.received,
                                        size_ - caller.received, MSG_DONTWAIT);
        if (received > 0) {
            caller.received += static_cast<std::size_t>(received);
        } else if (received == 0 || (errno != EAGAIN && errno != EINTR)) {
            return false;
        } else if (errno == EAGAIN) {
            return Clock::now() < caller.deadline;
        }
    }
    return true;
}

void Reception::await(Time deadline) {
    if (error_ != 0) {
        std::this_thread::sleep_for(kForResources);
        return;
    }
    std::vector<pollfd> polled{{listener_.descriptor(), POLLIN, 0}};
    for (const Caller &caller : callers_) {
        polled.push_back({caller.socket.descriptor(), POLLIN, 0});
    }
    const Time until = std::min(deadline, Clock::now() + kBetweenLooks);
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    ::poll(polled.data(), polled.size(), static_cast<int>(std::max<std::int64_t>(left + 1, 0)));
}

}  // namespace hccl
