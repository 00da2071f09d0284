// SPDX-License-Identifier: Apache-2.0
// Numbers of the queues, and the routes between them: of one process, or of all processes of the user.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/lock.h"
#include "support/shared_memory.h"
#include "support/shared_turn.h"

namespace aclsim {

struct Route {
    std::uint32_t source;
    std::uint32_t destination;
    std::int32_t status;  // ACL_TDT_QUEUE_ROUTE_…
};

// Returns true if the routes lead from one queue to the other.
bool leads(const std::vector<Route> &routes, std::uint32_t from, std::uint32_t to);

// Guarded by the engine lock, and between processes by its own lock, which a Step has.
class QueueDirectory {
  public:
    static constexpr std::uint32_t kMostQueues = 4096;
    static constexpr std::size_t kMostRoutes = 1024;
    // Opens the directory of all processes at its first use, and again if another process has truncated or removed it.
    // Fails with ACL_ERROR_RT_RESOURCE_ALLOC_FAIL.
    class Step {
      public:
        explicit Step(QueueDirectory &directory) REQUIRES(engine_lock);

      private:
        std::optional<SharedTurn> turn_;
    };

    // Gives a number to the queue with that identity, which is not 0. Fails with ACL_ERROR_RT_OVER_LIMIT.
    std::uint32_t add(std::uint64_t identity) REQUIRES(engine_lock);
    void remove(std::uint32_t queue, std::uint64_t identity) REQUIRES(engine_lock);
    std::uint64_t identity(std::uint32_t queue) const REQUIRES(engine_lock);  // 0 if the queue does not exist

    bool has_route(std::uint32_t source, std::uint32_t destination) const REQUIRES(engine_lock);
    bool add_route(std::uint32_t source, std::uint32_t destination) REQUIRES(engine_lock);  // false: the table is full
    void remove_route(std::uint32_t source, std::uint32_t destination) REQUIRES(engine_lock);
    void mark_abnormal(std::uint32_t source, std::uint32_t destination) REQUIRES(engine_lock);
    std::vector<Route> routes() const REQUIRES(engine_lock);

  private:
    struct Ends {
        std::atomic<std::uint64_t> source_identity;  // 0: the row is free
        std::atomic<std::uint64_t> destination_identity;
        std::atomic<std::uint32_t> source;
        std::atomic<std::uint32_t> destination;
        std::atomic<std::uint32_t> is_abnormal;
    };
    struct Table {
        std::atomic<std::uint64_t> identities[kMostQueues];
        Ends routes[kMostRoutes];
    };
    void require_table() REQUIRES(engine_lock);
    bool is_used(std::uint64_t identity) const REQUIRES(engine_lock);
    bool is_route(const Ends &ends) const REQUIRES(engine_lock);
    Ends *find_route(std::uint32_t source, std::uint32_t destination) const REQUIRES(engine_lock);
    Table &table() const REQUIRES(engine_lock) { return memory_ ? memory_->as<Table>() : *private_; }

    std::shared_ptr<SharedMemory> memory_ GUARDED_BY(engine_lock);  // with ASCEND_RT_SIM_QUEUES=device
    std::unique_ptr<Table> private_ GUARDED_BY(engine_lock);
};

}  // namespace aclsim
