#include "engine/stream_order.h"

#include <algorithm>

#include "engine/stream.h"

namespace aclsim {

void StreamOrder::add(const Stream &waiting, const Point &recorded) {
    if (is_noting_) {
        std::uint64_t &known = links_[{waiting.serial, recorded.stream}];
        known = std::max(known, recorded.sequence);
    }
}

bool StreamOrder::has(const Stream &waiting, const Point &recorded) const {
    const auto found = links_.find({waiting.serial, recorded.stream});
    return found != links_.end() && found->second >= recorded.sequence;
}

void StreamOrder::forget(const Stream &gone) {
    for (auto link = links_.begin(); link != links_.end();) {
        const auto &[waiting, recorded] = link->first;
        link = waiting == gone.serial || recorded == gone.serial ? links_.erase(link) : std::next(link);
    }
}

}  // namespace aclsim
