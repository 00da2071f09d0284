#include "engine/timer.h"

#include <algorithm>
#include <system_error>
#include <thread>

#include "engine/core.h"
#include "support/error.h"

namespace aclsim {
namespace {

constexpr std::chrono::microseconds kPollInterval{200};

}  // namespace

void Timer::start() {
    if (started_) {
        return;
    }
    try {
        std::thread([this] { serve(); }).detach();  // the engine is never destroyed
        started_ = true;
    } catch (const std::system_error &) {
        fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "the host has no thread left to keep time limits");
    }
}

void Timer::arm(Stream &stream, Clock::time_point when) {
    limits_.erase({stream.expires_at, &stream});
    stream.expires_at = when;
    limits_.emplace(when, &stream);
    if (limits_.begin()->second == &stream) {
        changed_.notify_one();
    }
}

void Timer::poll(Stream &stream) {
    if (stream.polled_since != Stream::kNever) {
        return;
    }
    const Clock::time_point now = Clock::now();
    if (polled_.empty()) {
        next_poll_ = now + kPollInterval;
        changed_.notify_one();
    }
    stream.polled_since = now;
    polled_.emplace(now, &stream);
}

void Timer::forget(Stream &stream) {
    limits_.erase({std::exchange(stream.expires_at, Stream::kNever), &stream});
    polled_.erase({std::exchange(stream.polled_since, Stream::kNever), &stream});
}

void Timer::serve() {
    Lock lock = engine_.acquire();
    for (;;) {
        const Clock::time_point when = next_look();
        if (when == Stream::kNever) {
            changed_.wait(lock);
        } else if (when > Clock::now()) {
            changed_.wait_until(lock, when);
        } else {
            look();
            engine_.exceptions().deliver_aside(engine_, lock);
        }
    }
}

Timer::Clock::time_point Timer::next_look() const {
    const Clock::time_point limit = limits_.empty() ? Stream::kNever : limits_.begin()->first;
    const Clock::time_point poll = polled_.empty() ? Stream::kNever : next_poll_;
    return std::max(std::min(limit, poll), rests_until_);
}

// However much there is to look at, the thread rests as long as it took: the lock is needed for other things too.
void Timer::look() {
    const Clock::time_point begin = Clock::now();
    while (!limits_.empty() && limits_.begin()->first <= begin) {
        expire(*limits_.begin()->second);
    }
    if (next_poll_ <= begin) {
        for (const auto &[since, stream] : polled_) {
            if (stream->state == Stream::State::Blocked) {
                engine_.make_runnable(*stream);
            }
        }
    }
    engine_.pump();
    const Clock::time_point end = Clock::now();
    next_poll_ = std::max(next_poll_, end + kPollInterval);
    rests_until_ = end + (end - begin);
}

void Timer::expire(Stream &stream) {
    limits_.erase({std::exchange(stream.expires_at, Stream::kNever), &stream});
    Task *head = stream.queue.front();
    if (stream.state == Stream::State::Blocked && (std::exchange(head->is_delayed, false) || head->expire())) {
        engine_.make_runnable(stream);
    }
}

}  // namespace aclsim
