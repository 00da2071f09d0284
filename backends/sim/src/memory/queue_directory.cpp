// SPDX-License-Identifier: Apache-2.0
#include "memory/queue_directory.h"

#include <unistd.h>

#include <set>
#include <string>

#include "abi/acl.h"
#include "support/config.h"
#include "support/error.h"

namespace aclsim {
namespace {

constexpr int kTableLayout = 1;  // increment with every change of the table

}  // namespace

bool leads(const std::vector<Route> &routes, std::uint32_t from, std::uint32_t to) {
    std::set<std::uint32_t> reached{from};
    for (bool grows = true; grows;) {
        grows = false;
        for (const Route &route : routes) {
            grows |= reached.count(route.source) != 0 && reached.insert(route.destination).second;
        }
    }
    return reached.count(to) != 0;
}

QueueDirectory::Step::Step(QueueDirectory &directory) {
    directory.require_table();
    if (directory.memory_ == nullptr) {
        return;
    }
    turn_.emplace(*directory.memory_, 0);
    if (!turn_->has_it()) {
        fail(ACL_ERROR_RT_DRV_INTERNAL_ERROR, "a process that is stopped keeps the list of queues locked");
    }
}

void QueueDirectory::require_table() {
    if (!config().queues_are_on_device) {
        if (private_ == nullptr) {
            private_ = std::make_unique<Table>();
        }
        return;
    }
    if (memory_ == nullptr || !memory_->has_its_size() || !memory_->has_its_name()) {
        memory_ = SharedMemory::open_or_create<Table>(
            "queues" + std::to_string(kTableLayout) + "-u" + std::to_string(geteuid()), SharedMemory::Users::Own);
    }
}

bool QueueDirectory::is_used(std::uint64_t identity) const {
    return memory_ == nullptr || SharedMemory::is_used(SharedMemory::name_of(identity));
}

// Takes the numbers of queues without a process only if there are no others: looking for them takes a file each.
std::uint32_t QueueDirectory::add(std::uint64_t identity) {
    for (const bool looks : {false, true}) {
        for (std::uint32_t queue = 0; queue < kMostQueues; ++queue) {
            std::atomic<std::uint64_t> &row = table().identities[queue];
            if (row == 0 || (looks && !is_used(row))) {
                row = identity;
                return queue;
            }
        }
    }
    fail(ACL_ERROR_RT_OVER_LIMIT, "there are %u queues already", kMostQueues);
}

void QueueDirectory::remove(std::uint32_t queue, std::uint64_t identity) {
    if (table().identities[queue] == identity) {
        table().identities[queue] = 0;
    }
}

std::uint64_t QueueDirectory::identity(std::uint32_t queue) const {
    return queue < kMostQueues ? table().identities[queue].load() : 0;
}

// A route names its queues by their identities too, because their numbers are given out again.
bool QueueDirectory::is_route(const Ends &ends) const {
    return ends.source_identity != 0 && ends.source < kMostQueues && ends.destination < kMostQueues;
}

QueueDirectory::Ends *QueueDirectory::find_route(std::uint32_t source, std::uint32_t destination) const {
    for (Ends &ends : table().routes) {
        if (is_route(ends) && ends.source == source && ends.destination == destination &&
            ends.source_identity == identity(source) && ends.destination_identity == identity(destination)) {
            return &ends;
        }
    }
    return nullptr;
}

bool QueueDirectory::has_route(std::uint32_t source, std::uint32_t destination) const {
    return find_route(source, destination) != nullptr;
}

bool QueueDirectory::add_route(std::uint32_t source, std::uint32_t destination) {
    for (Ends &ends : table().routes) {
        const bool is_free = !is_route(ends) || identity(ends.source) != ends.source_identity ||
                             identity(ends.destination) != ends.destination_identity;
        if (is_free) {
            ends.source = source;
            ends.destination = destination;
            ends.is_abnormal = 0;
            ends.destination_identity = identity(destination);
            ends.source_identity = identity(source);
            return true;
        }
    }
    return false;
}

void QueueDirectory::remove_route(std::uint32_t source, std::uint32_t destination) {
    if (Ends *const ends = find_route(source, destination)) {
        ends->source_identity = 0;
    }
}

void QueueDirectory::mark_abnormal(std::uint32_t source, std::uint32_t destination) {
    if (Ends *const ends = find_route(source, destination)) {
        ends->is_abnormal = 1;
    }
}

std::vector<Route> QueueDirectory::routes() const {
    std::vector<Route> found;
    for (const Ends &ends : table().routes) {
        if (is_route(ends) && identity(ends.source) == ends.source_identity &&
            identity(ends.destination) == ends.destination_identity) {
            found.push_back({ends.source, ends.destination,
                             ends.is_abnormal != 0 ? ACL_TDT_QUEUE_ROUTE_BIND_ABNORMAL : ACL_TDT_QUEUE_ROUTE_BIND});
        }
    }
    return found;
}

}  // namespace aclsim
