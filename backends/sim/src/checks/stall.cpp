#include "checks/stall.h"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "engine/stream.h"
#include "machine/context.h"
#include "machine/device.h"
#include "support/config.h"
#include "support/error.h"

namespace aclsim {
namespace {

// What a thread does that runs a task of this kind; the others need no thread.
std::string running(TaskKind kind) {
    switch (kind) {
        case TaskKind::HostFunction:
            return "a host function";
        case TaskKind::Reduce:
            return "a reduction";
        case TaskKind::Fill:
            return "a fill of memory";
        case TaskKind::Cmo:
            return "a cache operation";
        case TaskKind::Operator:
            return "an operator";
        default:
            return "a copy";
    }
}

std::string doing(const Stream &stream, const Task &head) {
    switch (stream.state) {
        case Stream::State::Held:
            return "is held by aclsimHold";
        case Stream::State::Ready:
            return "waits for a thread to run " + running(head.kind());
        case Stream::State::Running:
            return "runs " + running(head.kind());
        default:
            return head.is_delayed ? "is delayed by aclsimDelayTasks" : "waits for " + head.awaited();
    }
}

std::string name_of(const Stream &stream) {
    return "stream " + std::to_string(stream.id) + " of device " + std::to_string(stream.context.device.user_id);
}

std::string line_about(const Stream &stream) {
    const Task *head = stream.queue.front();
    if (head == nullptr) {
        return "  " + name_of(stream) + " has nothing to do\n";
    }
    return "  " + name_of(stream) + ", at task " + std::to_string(head->sequence) + " of " +
           std::to_string(stream.submitted) + ", " + doing(stream, *head) + "\n";
}

}  // namespace

std::string text_of(const void *address) {
    char text[24];
    std::snprintf(text, sizeof text, "%p", address);
    return text;
}

std::chrono::steady_clock::time_point stall_time() {
    using Clock = std::chrono::steady_clock;
    return config().stall.count() == 0 ? Clock::time_point::max() : Clock::now() + config().stall;
}

std::string stall_heading() {
    return "ascend_rt simulator: " + std::string(current_function()) + " has waited " +
           std::to_string(config().stall.count()) + " ms for ";
}

std::string explain_stall(const Stream &stream, std::uint64_t sequence) {
    std::string text = "task " + std::to_string(sequence) + " of " + name_of(stream) + "\n";
    std::vector<const Stream *> seen;
    for (const Stream *at = &stream; at != nullptr;) {
        if (std::find(seen.begin(), seen.end(), at) != seen.end()) {
            return text + "  which waits for itself: a deadlock\n";
        }
        seen.push_back(at);
        text += line_about(*at);
        Task *head = at->state == Stream::State::Blocked ? at->queue.front() : nullptr;
        at = head != nullptr ? head->waits_for() : nullptr;
    }
    return text;
}

}  // namespace aclsim
