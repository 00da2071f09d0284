// SPDX-License-Identifier: Apache-2.0
#include "engine/timer.h"

#include <algorithm>
#include <vector>

#include "engine/core.h"
#include "support/error.h"

namespace aclsim {
namespace {

constexpr std::chrono::microseconds kPollInterval{200};

// Returns true if a head that has set a time limit is blocked, or was blocked and will look again.
bool awaits_limit(const Stream &stream) REQUIRES(engine_lock) {
    return stream.state == Stream::State::Blocked || stream.state == Stream::State::Held;
}

}  // namespace

void Timer::start() {
    started_ = started_ || start_thread([this] { serve(); });  // the engine is never destroyed
    if (!started_) {
        fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "the host has no thread left to keep time limits");
    }
}

void Timer::arm(Stream &stream, Time when) {
    auto limit = limits_.extract({stream.expires_at_, &stream});
    if (limit.empty()) {
        limits_.emplace(when, &stream);
    } else {
        limit.value().first = when;
        limits_.insert(std::move(limit));
    }
    stream.expires_at_ = when;
    stream.is_timed_ = true;
    wake_before(when);
}

void Timer::poll(Stream &stream) {
    if (stream.polled_since_ != kNever) {
        return;
    }
    const Time now = core_.clock().now();
    if (polled_.empty()) {
        next_poll_ = now + kPollInterval;
        wake_before(next_poll_);
    }
    stream.polled_since_ = now;
    stream.is_timed_ = true;
    polled_.emplace(now, &stream);
}

void Timer::forget(Stream &stream) {
    stream.is_timed_ = false;
    limits_.erase({std::exchange(stream.expires_at_, kNever), &stream});
    polled_.erase({std::exchange(stream.polled_since_, kNever), &stream});
}

void Timer::serve() {
    Lock lock = core_.acquire();
    core_.begin_own_thread();
    for (;;) {
        const Time when = next_look();
        if (when > core_.clock().now()) {
            sleeps_until_ = when;
            core_.clock().wait_until(lock, changed_, when);
        } else {
            look();
            core_.do_deferred(lock);
        }
    }
}

// Most waits have a limit, few reach it: the thread sleeps on if it looks in time anyway, for a limit that has gone.
void Timer::wake_before(Time when) {
    if (when < sleeps_until_) {
        changed_.notify_one();
    }
}

Time Timer::next_look() const {
    const Time limit = limits_.empty() ? kNever : limits_.begin()->first;
    const Time poll = polled_.empty() ? kNever : next_poll_;
    return std::max(std::min(limit, poll), rests_until_);
}

// Handles expired limits and polled streams. The thread then rests as long as the look took, regardless of the number
// of streams: other threads need the lock too.
void Timer::look() {
    const Time begin = core_.clock().now();
    while (!limits_.empty() && limits_.begin()->first <= begin) {
        expire(next_expired(begin));
    }
    if (next_poll_ <= begin) {
        for (const auto &[since, stream] : polled_) {
            if (stream->state == Stream::State::Blocked) {
                core_.make_runnable(*stream);
            }
        }
    }
    core_.pump();
    const Time end = core_.clock().now();
    next_poll_ = std::max(next_poll_, end + kPollInterval);
    rests_until_ = end + (end - begin);
}

Stream &Timer::next_expired(Time now) const {
    if (core_.scheduler().takes_first()) {
        return *limits_.begin()->second;
    }
    std::vector<Stream *> candidates;
    for (auto it = limits_.begin(); it != limits_.end() && it->first <= now; ++it) {
        candidates.push_back(it->second);
    }
    return core_.scheduler().pick(Choice::Expired, candidates);
}

void Timer::expire(Stream &stream) {
    limits_.erase({std::exchange(stream.expires_at_, kNever), &stream});
    if (stream.timing.is_awaited) {
        core_.end_timing(stream);
    } else if (awaits_limit(stream)) {
        BlockingTask *const head = stream.queue.front()->as_blocking();
        if (head != nullptr && head->expire()) {
            core_.make_runnable(stream);
        }
    }
}

}  // namespace aclsim
