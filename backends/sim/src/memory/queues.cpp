// SPDX-License-Identifier: Apache-2.0
#include "memory/queues.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "engine/core.h"
#include "memory/shared_ring.h"
#include "support/config.h"
#include "support/error.h"

namespace aclsim {
namespace {

[[noreturn]] void fail_of_number(std::uint32_t number) {
    fail(ACL_ERROR_RT_DRV_INTERNAL_ERROR,
         "this process has neither created queue %u nor attached to it, or the queue was destroyed", number);
}

class Discard final : public DeferredWork {
  public:
    explicit Discard(std::vector<Message> messages) : messages_(std::move(messages)) {}
    void work() noexcept override { messages_.clear(); }

  private:
    std::vector<Message> messages_;
};

SharedRing &shared_ring(Queue &queue) { return static_cast<SharedRing &>(*queue.ring); }

}  // namespace

void Queues::discard(std::vector<Message> messages) {
    if (!messages.empty()) {
        machine_.core.defer(std::make_unique<Discard>(std::move(messages)));
    }
}

// --- life ------------------------------------------------------------------------------------------------------------

Ref<Queue> Queues::add(Ref<Queue> queue) {
    queues_[queue->number] = queue;
    return queue;
}

Ref<Queue> Queues::find(std::uint32_t number) {
    const auto found = queues_.find(number);
    return found != queues_.end() && found->second->ring->is_open() ? found->second : nullptr;
}

std::uint32_t Queues::create(const QueueAttributes &attributes, const Device &device) {
    const QueueDirectory::Step step(directory_);
    Ref<Queue> queue;
    if (config().queues_are_on_device) {
        auto ring = SharedRing::create(attributes);
        const std::uint64_t identity = ring->number();
        queue = make_ref<Queue>(identity, std::move(ring), device.user_id, true);
    } else {
        queue = make_ref<Queue>(++created_, std::make_unique<PrivateRing>(attributes), device.user_id, true);
    }
    queue->number = directory_.add(queue->identity);
    try {
        return add(queue)->number;
    } catch (...) {
        directory_.remove(queue->number, queue->identity);
        throw;
    }
}

Ref<Queue> Queues::require(std::uint32_t number, std::uint32_t right) {
    const auto found = queues_.find(number);
    if (found == queues_.end()) {
        fail_of_number(number);
    }
    const Ref<Queue> queue = found->second;
    if (!queue->ring->is_open()) {
        queues_.erase(found);
        queue->changed.notify_all();
        fail_of_number(number);
    }
    if ((queue->ring->rights() & right) == 0) {
        fail(ACL_ERROR_RT_NO_PERMISSION, "this process was not granted the right 0x%x to queue %u", right, number);
    }
    return queue;
}

void Queues::destroy(std::uint32_t number) {
    const Ref<Queue> queue = require(number, kManage);
    const QueueDirectory::Step step(directory_);
    for (const Route &route : directory_.routes()) {
        if (route.source == number || route.destination == number) {
            fail_unremembered(ACL_ERROR_FAILURE, "queue %u has a route from %u to %u; unbind it first", number,
                              route.source, route.destination);
        }
    }
    end(*queue);
}

// Requires a Step of the directory.
void Queues::end(Queue &queue) {
    const Ref<Queue> kept(queue);
    {
        const Ring::Step step(*queue.ring);
        discard(queue.ring->close());
    }
    directory_.remove(queue.number, queue.identity);
    queues_.erase(queue.number);
    queue.changed.notify_all();
}

// Ends a queue without failing: what a process that is stopped keeps locked ends with its last user.
void Queues::end_with_device(Queue &queue) {
    const KeptText text;
    try {
        const QueueDirectory::Step step(directory_);
        for (const Route &route : directory_.routes()) {
            if (route.source == queue.number || route.destination == queue.number) {
                count_route(route, -1);
                directory_.remove_route(route.source, route.destination);
            }
        }
        end(queue);
    } catch (const Failure &) {
        queues_.erase(queue.number);
    }
}

void Queues::device_closed(Device &device) {
    std::vector<Ref<Queue>> ending;
    for (const auto &[number, queue] : queues_) {
        if (queue->device == device.user_id) {
            ending.push_back(queue);
        }
    }
    for (const Ref<Queue> &queue : ending) {
        if (queue->is_own && queue->ring->is_open()) {
            end_with_device(*queue);
        } else {
            queues_.erase(queue->number);
        }
        queue->changed.notify_all();
    }
}

void Queues::grant(std::uint32_t number, pid_t process, std::uint32_t rights) {
    const Ref<Queue> queue = require(number, kManage);
    const Ring::Step step(*queue->ring);
    shared_ring(*queue).grant(process, rights);
}

std::uint32_t Queues::attach(Lock &lock, std::uint32_t number, const Device &device, Time deadline) {
    if (const Ref<Queue> known = find(number)) {
        return known->ring->rights();
    }
    std::uint64_t identity = 0;
    {
        const QueueDirectory::Step step(directory_);
        identity = directory_.identity(number);
    }
    auto ring = identity == 0 ? nullptr : SharedRing::open(identity);
    if (ring == nullptr) {
        fail(ACL_ERROR_RT_DRV_INTERNAL_ERROR, "there is no queue %u", number);
    }
    auto queue = make_ref<Queue>(identity, std::move(ring), device.user_id, false);
    queue->number = number;
    const auto try_to_attach = [&]() REQUIRES(engine_lock) {
        const Ring::Step step(*queue->ring);
        return shared_ring(*queue).attach();
    };
    std::optional<HostWait> wait;
    InterruptPoll poll(machine_.core, ACL_ERROR_RT_NO_PERMISSION, "a right to the queue");
    while (!try_to_attach()) {
        if (!wait) {
            wait.emplace(machine_.core, Outside::OtherProcess, "a right to a queue", deadline, &poll);
        }
        if (!wait->sleep(lock, queue->changed, machine_.core.clock().now() + std::chrono::milliseconds(1))) {
            fail(ACL_ERROR_RT_NO_PERMISSION, "this process was not granted a right to queue %u in time", number);
        }
        if (!queue->ring->is_open()) {
            fail_of_number(number);
        }
        if (const Ref<Queue> known = find(number)) {  // another thread has attached meanwhile
            return known->ring->rights();
        }
    }
    return add(queue)->ring->rights();
}

// --- messages --------------------------------------------------------------------------------------------------------

// Looks at growing intervals for what other processes do; threads of this one wake the sleeper.
template <class Attempt>
void Queues::wait(Lock &lock, Queue &queue, const char *awaited, std::uint32_t others, const Waiting &waiting,
                  Attempt attempt) {
    constexpr std::chrono::milliseconds kLongest(1), kUntilCheck(100);
    Core &core = machine_.core;
    Ring &ring = *queue.ring;
    const Time deadline =
        waiting.timeout_ms < 0 ? kNever : core.clock().now() + std::chrono::milliseconds(waiting.timeout_ms);
    std::optional<HostWait> wait;
    InterruptPoll poll(core, waiting.late, awaited);
    Time check_at = core.clock().now();
    std::chrono::microseconds interval(50);
    for (bool is_late = waiting.timeout_ms == 0;;) {
        if (find(queue.number).get() != &queue) {
            fail(ACL_ERROR_RT_DRV_INTERNAL_ERROR, "queue %u was destroyed, or its use ended with a reset",
                 queue.number);
        }
        const std::uint64_t seen = ring.changes();
        if (attempt()) {
            return;
        }
        if (is_late) {
            fail(waiting.late, "queue %u has %s, and the time to wait is over", queue.number,
                 others == kEnqueue ? "no message" : "no room");
        }
        if (!wait) {
            {
                const Unlocked unlocked(lock);
                core.spinner().until([&] { return ring.changes() != seen; });
            }
            wait.emplace(core, ring.is_shared() ? Outside::OtherProcess : Outside::Host, awaited, deadline, &poll);
            continue;
        }
        if (ring.is_shared() && core.clock().now() >= check_at) {
            check_at = core.clock().now() + kUntilCheck;
            const Ring::Step step(ring);
            if (const pid_t ended = shared_ring(queue).find_ended(others)) {
                fail(ACL_ERROR_RT_DRV_INTERNAL_ERROR, "process %d, which this call may have waited for, has ended",
                     static_cast<int>(ended));
            }
        }
        is_late = !wait->sleep(lock, queue.changed, ring.is_shared() ? core.clock().now() + interval : kNever);
        interval = std::min<std::chrono::microseconds>(2 * interval, kLongest);
    }
}

// Messages of a queue with routes go on to others. The call itself has succeeded by now, so it does not fail.
void Queues::note_change(Queue &queue) {
    queue.changed.notify_all();
    if (queue.ring->routes() == 0) {
        return;
    }
    const KeptText text;
    try {
        const QueueDirectory::Step step(directory_);
        forward();
    } catch (const Failure &) {
        return;  // the routes are locked by a process that is stopped: the next change sends the messages on
    }
}

void Queues::put(Lock &lock, const Ref<Queue> &queue, Source &source, const Waiting &waiting) {
    Ring &ring = *queue->ring;
    const auto has_room = [&]() REQUIRES(engine_lock) {
        const Ring::Step step(ring);
        return ring.overwrites() || !ring.is_full();
    };
    wait(lock, *queue, "room in a queue", kDequeue, waiting, [&]() REQUIRES(engine_lock) {
        if (!has_room()) {
            return false;
        }
        Message &message = source.message(lock);
        try {
            const Ring::Step step(ring);
            if (ring.is_full() && ring.overwrites()) {
                std::vector<Message> oldest;
                oldest.push_back(ring.take());
                discard(std::move(oldest));
            }
            if (!ring.is_open() || ring.is_full()) {
                source.put_back();
                return false;
            }
            handover_of(ring, message).give(machine_.core);
            ring.put(message);
        } catch (...) {
            source.put_back();
            throw;
        }
        return true;
    });
    note_change(*queue);
}

Message Queues::take(Lock &lock, const Ref<Queue> &queue, const Accept &accept, const Waiting &waiting) {
    Ring &ring = *queue->ring;
    Message message;
    wait(lock, *queue, "a message in a queue", kEnqueue, waiting, [&]() REQUIRES(engine_lock) {
        const Ring::Step step(ring);
        if (ring.count() == 0) {
            return false;
        }
        accept(ring.front());
        message = ring.take();
        handover_of(ring, message).take(machine_.core);
        return true;
    });
    note_change(*queue);
    return message;
}

// --- routes ----------------------------------------------------------------------------------------------------------

// Returns the queue, opened for a moment if this process does not use it, or nullptr.
Ref<Queue> Queues::find_or_open(std::uint32_t number) {
    if (queues_.count(number) != 0) {
        return find(number);
    }
    const std::uint64_t identity = directory_.identity(number);
    auto ring = identity == 0 || !config().queues_are_on_device ? nullptr : SharedRing::open(identity);
    return ring == nullptr ? nullptr : make_ref<Queue>(identity, std::move(ring), 0, false);
}

void Queues::count_route(const Route &route, std::int32_t change) {
    for (const std::uint32_t number : {route.source, route.destination}) {
        if (const Ref<Queue> queue = find_or_open(number)) {
            queue->ring->routes() += static_cast<std::uint32_t>(change);
        }
    }
}

bool Queues::bind_one(const Route &route) {
    if (directory_.has_route(route.source, route.destination)) {
        return true;
    }
    if (!find_or_open(route.source) || !find_or_open(route.destination) ||
        leads(directory_.routes(), route.destination, route.source) ||
        !directory_.add_route(route.source, route.destination)) {
        return false;
    }
    count_route(route, 1);
    return true;
}

bool Queues::bind(std::vector<Route> &routes) {
    const QueueDirectory::Step step(directory_);
    bool are_bound = true;
    for (Route &route : routes) {
        const bool is_bound = bind_one(route);
        route.status = is_bound ? ACL_TDT_QUEUE_ROUTE_BIND : ACL_TDT_QUEUE_ROUTE_UNBIND;
        are_bound = are_bound && is_bound;
    }
    const KeptText text;
    forward();  // messages that are there already
    return are_bound;
}

void Queues::unbind(std::vector<Route> &routes) {
    const QueueDirectory::Step step(directory_);
    for (Route &route : routes) {
        if (directory_.has_route(route.source, route.destination)) {
            directory_.remove_route(route.source, route.destination);
            count_route(route, -1);
        }
        route.status = ACL_TDT_QUEUE_ROUTE_UNBIND;
    }
}

std::vector<Route> Queues::routes() {
    const QueueDirectory::Step step(directory_);
    return directory_.routes();
}

// Moves messages from one queue to all others that its routes name, as long as each has room. Returns true if one was
// moved.
bool Queues::forward_from(std::uint32_t source, const std::vector<Route> &routes) {
    const Ref<Queue> from = find_or_open(source);
    std::vector<Ref<Queue>> to;
    for (const Route &route : routes) {
        Ref<Queue> queue = route.source != source ? nullptr : find_or_open(route.destination);
        if (queue) {
            to.push_back(std::move(queue));
        } else if (route.source == source) {
            directory_.mark_abnormal(route.source, route.destination);
        }
    }
    if (!from || to.empty()) {
        return false;
    }
    bool has_moved = false;
    std::deque<Ring::Step> steps;
    steps.emplace_back(*from->ring);
    for (const Ref<Queue> &queue : to) {
        steps.emplace_back(*queue->ring);
    }
    const auto has_room = [](const Ref<Queue> &queue) REQUIRES(engine_lock) { return !queue->ring->is_full(); };
    while (from->ring->count() > 0 && std::all_of(to.begin(), to.end(), has_room)) {
        Message message = from->ring->take();
        for (const Ref<Queue> &queue : to) {
            Message copy = queue == to.back() ? std::move(message) : message.another();
            queue->ring->put(copy);
        }
        has_moved = true;
    }
    return has_moved;
}

// Leaves out what only a process that writes to the shared memory itself can have made: messages would go round without
// an end.
std::vector<Route> Queues::routes_without_circles() {
    std::vector<Route> found;
    for (const Route &route : directory_.routes()) {
        if (leads(found, route.destination, route.source)) {
            directory_.mark_abnormal(route.source, route.destination);
        } else {
            found.push_back(route);
        }
    }
    return found;
}

void Queues::forward() {
    const std::vector<Route> all = routes_without_circles();
    for (bool has_moved = true; has_moved;) {
        has_moved = false;
        for (auto route = all.begin(); route != all.end(); ++route) {
            const bool is_first =
                std::none_of(all.begin(), route, [&](const Route &other) { return other.source == route->source; });
            try {
                has_moved |= is_first && forward_from(route->source, all);
            } catch (const Failure &) {
                directory_.mark_abnormal(route->source, route->destination);
            }
        }
    }
    for (const auto &[number, queue] : queues_) {
        queue->changed.notify_all();
    }
}

}  // namespace aclsim
