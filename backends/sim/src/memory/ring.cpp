// SPDX-License-Identifier: Apache-2.0
#include "memory/ring.h"

#include <iterator>
#include <utility>

namespace aclsim {

void PrivateRing::put(Message &message) {
    messages_.push_back(std::move(message));
    ++changes_;
}

Message PrivateRing::take() {
    Message message = std::move(messages_.front());
    messages_.pop_front();
    ++changes_;
    return message;
}

std::vector<Message> PrivateRing::close() {
    std::vector<Message> left(std::make_move_iterator(messages_.begin()), std::make_move_iterator(messages_.end()));
    messages_.clear();
    is_open_ = false;
    ++changes_;
    return left;
}

}  // namespace aclsim
