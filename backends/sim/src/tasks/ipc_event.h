// SPDX-License-Identifier: Apache-2.0
// State of an IPC event (K7): its records and their completion, shared by the processes that opened it
// (events_streams_sync.md section 2, aclrtIpcGetEventHandle).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "engine/pending.h"
#include "engine/task.h"
#include "engine/waiters.h"
#include "support/shared_memory.h"

namespace aclsim {

class Core;

// Records numbered from 1. Each completes independently: streams of several processes make them, and a later one may
// complete first.
class IpcRecords {
  public:
    static std::shared_ptr<IpcRecords> create();
    static std::shared_ptr<IpcRecords> open(const std::string &name);  // nullptr: not found
    explicit IpcRecords(std::shared_ptr<SharedMemory> memory) : memory_(std::move(memory)) {}

    const std::string &name() const { return memory_->name(); }
    // Returns the number of a new record. Fails with ACL_ERROR_RT_RESOURCE_ALLOC_FAIL if it would be more than kSlots
    // ahead of an incomplete one, or if the host has no page for its slot.
    std::uint64_t issue(const Point &task);
    std::uint64_t newest() const { return shared().issued; }  // 0: never recorded, which counts as complete
    bool is_complete(std::uint64_t record) const {
        return record == 0 || shared().slots[record % kSlots].completed >= record;
    }
    void complete(Core &core, std::uint64_t record) REQUIRES(engine_lock);
    // Task that makes a record, identified by numbers of its process; process 0: unknown.
    struct Maker {
        std::uint64_t process = 0;
        Point task{};
        bool is_own() const;
    };
    Maker maker_of(std::uint64_t record) const;

    PendingTasks pending;  // records of this process
    Waiters waiters;

  private:
    // Most records that may be made while one of them is incomplete. Slots are given pages in batches, before they are
    // used.
    static constexpr std::size_t kSlots = 65536;
    static constexpr std::size_t kReservedSlots = 64;
    struct Slot {
        std::atomic<std::uint64_t> completed;  // newest complete record of this slot
        std::atomic<std::uint64_t> made;       // record that the following fields describe
        std::atomic<std::uint64_t> process;    // process that makes it, and its task there
        std::atomic<std::uint64_t> stream;
        std::atomic<std::uint64_t> sequence;
    };
    struct Shared {
        std::atomic<std::uint64_t> issued;
        Slot slots[kSlots];
    };
    static_assert(offsetof(Shared, slots) + kReservedSlots * sizeof(Slot) <= SharedMemory::kFirstBytes);
    Shared &shared() const { return memory_->as<Shared>(); }

    std::shared_ptr<SharedMemory> memory_;
};

// Requires the engine lock. Submits to a stream that has admitted a task.
void submit_ipc_record(Core &core, Stream &stream, std::shared_ptr<IpcRecords> records, std::uint64_t record)
    REQUIRES(engine_lock);
void submit_ipc_wait(Core &core, Stream &stream, std::shared_ptr<IpcRecords> records, std::uint32_t timeout_s)
    REQUIRES(engine_lock);

}  // namespace aclsim
