// SPDX-License-Identifier: Apache-2.0
#include "machine/operator_limit.h"

#include <algorithm>
#include <utility>

#include "machine/machine.h"
#include "support/error.h"

namespace aclsim {
namespace {

// The wait ends late by at most this fraction of the limit.
constexpr int kLooks = 16;

// Returns true if the program itself runs the task at the head of the stream.
bool is_at_host(const Stream &stream) REQUIRES(engine_lock) { return stream.queue.front()->info().has(kRunsProgram); }

// Returns true if the task at the head of the stream has a time limit on a device.
bool is_at_wait_or_kernel(const Stream &stream) REQUIRES(engine_lock) {
    const bool has_thread = stream.state == Stream::State::Ready || stream.state == Stream::State::Running;
    return stream.state == Stream::State::Blocked || (has_thread && stream.queue.front()->info().has(kIsKernel));
}

}  // namespace

Time OperatorLimit::look(Lock &) {
    const Time now = core_.clock().now();
    if (now < look_at_) {
        return look_at_;
    }
    const std::uint64_t ended = count_ended();
    if (std::exchange(ended_, ended) != ended || !is_waiting()) {
        since_ = now;
    }
    if (now - since_ >= limit_) {
        fail(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT,
             "no task of device %u has ended for %lld ms, the time limit of operators; waiting tasks stay pending",
             device_.user_id, static_cast<long long>(limit_.count() / 1000));
    }
    look_at_ = std::min(since_ + limit_, now + limit_ / kLooks);
    return look_at_;
}

// Returns a number that changes when a task ends.
std::uint64_t OperatorLimit::count_ended() const {
    std::uint64_t ended = 0;
    for (const Context *context : device_.contexts) {
        for (const auto &stream : context->streams) {
            ended += stream->completed.load(std::memory_order_relaxed);
        }
    }
    return ended;
}

// Returns true if the device's streams are idle or at waits or kernels, and no stream of any device runs program
// code: they may wait for a stream of another device.
bool OperatorLimit::is_waiting() const {
    const auto streams = core_.registry().all<Stream>();
    return !core_.is_held() && std::none_of(streams.begin(), streams.end(), [&](const auto &it) REQUIRES(engine_lock) {
        return it->state != Stream::State::Idle &&
               (is_at_host(*it) || (&device_of(*it) == &device_ && !is_at_wait_or_kernel(*it)));
    });
}

}  // namespace aclsim
