// SPDX-License-Identifier: Apache-2.0
#include "engine/stream_order.h"

#include <algorithm>

#include "engine/stream.h"

namespace aclsim {

void StreamOrder::add(const Stream &waiting, const Point &recorded) {
    if (is_noting_) {
        const auto [link, is_new] = links_.emplace(Pair(waiting.serial, recorded.stream), recorded.sequence);
        link->second = std::max(link->second, recorded.sequence);
        if (is_new) {
            reversed_.emplace(recorded.stream, waiting.serial);
        }
    }
}

bool StreamOrder::has(const Stream &waiting, const Point &recorded) const {
    const auto found = links_.find({waiting.serial, recorded.stream});
    return found != links_.end() && found->second >= recorded.sequence;
}

void StreamOrder::forget(const Stream &gone) {
    for (auto link = links_.lower_bound({gone.serial, 0}); link != links_.end() && link->first.first == gone.serial;) {
        reversed_.erase({link->first.second, gone.serial});
        link = links_.erase(link);
    }
    for (auto it = reversed_.lower_bound({gone.serial, 0}); it != reversed_.end() && it->first == gone.serial;) {
        links_.erase({it->second, gone.serial});
        it = reversed_.erase(it);
    }
}

}  // namespace aclsim
