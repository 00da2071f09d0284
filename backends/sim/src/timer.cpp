#include "timer.h"

#include <system_error>
#include <thread>
#include <utility>

#include "engine.h"

namespace aclsim {

void Timer::arm(Stream &stream, std::uint64_t sequence, Clock::time_point when) {
    limits_.emplace(when, Limit{stream.weak_from_this(), sequence});
    if (!started_) {
        try {
            std::thread([this] { serve(); }).detach();  // the engine is never destroyed
            started_ = true;
        } catch (const std::system_error &) {
            // The host has no thread left: limits are kept from the next one on.
        }
    }
    changed_.notify_one();
}

void Timer::serve() {
    Lock lock = engine_.acquire();
    for (;;) {
        if (limits_.empty()) {
            changed_.wait(lock);
        } else if (const auto first = limits_.begin(); first->first > Clock::now()) {
            const Clock::time_point when = first->first;
            changed_.wait_until(lock, when);
        } else {
            const Limit limit = first->second;
            limits_.erase(first);
            expire(limit);
            engine_.exceptions().deliver_aside(engine_, lock);
        }
    }
}

void Timer::expire(const Limit &limit) {
    const auto stream = limit.stream.lock();
    if (stream == nullptr || stream->state != Stream::State::Blocked) {
        return;
    }
    Task *head = stream->queue.front();
    const bool is_head = head->sequence == limit.sequence;
    if (is_head && (std::exchange(head->is_delayed, false) || head->expire())) {
        engine_.make_runnable(*stream);
        engine_.pump();
    }
}

}  // namespace aclsim
