// SPDX-License-Identifier: Apache-2.0
#include "engine/call_order.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace aclsim {

void CallOrder::add(const Point &task, const void *object, std::function<bool()> take) {
    open_.push_back({task, object, std::move(take)});
    retry();
}

void CallOrder::add_wait_for(const Point &record, const Point &wait) {
    if (open_.empty()) {
        return;
    }
    add(wait, nullptr, [this, record] {
        return std::none_of(open_.begin(), open_.end(), [&](const Call &it) {
            return it.task.stream == record.stream && it.task.sequence < record.sequence;
        });
    });
}

template <class Predicate>
void CallOrder::remove_if(Predicate is_it) {
    open_.erase(std::remove_if(open_.begin(), open_.end(), is_it), open_.end());
}

void CallOrder::remove(const Point &task) {
    remove_if([&](const Call &it) { return it.task == task; });
}

void CallOrder::forget(const void *object) {
    remove_if([&](const Call &it) { return it.object == object; });
}

bool CallOrder::has_open(const void *object, std::uint64_t stream) const {
    return std::any_of(open_.begin(), open_.end(),
                       [&](const Call &it) { return it.object == object && it.task.stream == stream; });
}

void CallOrder::retry() {
    for (bool goes_on = true; std::exchange(goes_on, false);) {
        std::vector<std::uint64_t> blocked;  // streams
        for (std::size_t i = 0; i < open_.size();) {
            const std::uint64_t stream = open_[i].task.stream;
            if (std::find(blocked.begin(), blocked.end(), stream) == blocked.end()) {
                if (open_[i].take()) {
                    open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(i));
                    goes_on = !blocked.empty();
                    continue;
                }
                blocked.push_back(stream);
            }
            ++i;
        }
    }
}

}  // namespace aclsim
