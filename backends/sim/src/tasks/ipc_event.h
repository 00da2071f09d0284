// What an IPC event (K7) is made of: its records, and which of them are complete, shared by the processes that opened
// it (events_streams_sync.md section 2, aclrtIpcGetEventHandle).
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

// Records have numbers from 1 on. Each is complete or not by itself: they are made by streams of several processes, and
// a later one may be complete first.
class IpcRecords {
  public:
    static std::shared_ptr<IpcRecords> create();
    static std::shared_ptr<IpcRecords> open(const std::string &name);  // nullptr: there is none of that name
    explicit IpcRecords(std::shared_ptr<SharedMemory> memory) : memory_(std::move(memory)) {}

    const std::string &name() const { return memory_->name(); }
    // The number of a new record. Fails with ACL_ERROR_RT_RESOURCE_ALLOC_FAIL if it would be more than kSlots behind
    // one that is not complete, or the host has no page for its slot.
    std::uint64_t issue(const Point &task);
    std::uint64_t newest() const { return shared().issued; }  // 0: never recorded, which counts as complete
    bool is_complete(std::uint64_t record) const {
        return record == 0 || shared().slots[record % kSlots].completed >= record;
    }
    void complete(Core &core, std::uint64_t record) REQUIRES(engine_lock);
    // The task that makes a record, by the numbers of its process; process 0: not known.
    struct Maker {
        std::uint64_t process = 0;
        Point task{};
        bool is_own() const;
    };
    Maker maker_of(std::uint64_t record) const;

    PendingTasks pending;  // records of this process
    Waiters waiters;

  private:
    // How many records may be made while one of them is not complete. Slots get pages, so many at a time, before a
    // record has one of them.
    static constexpr std::size_t kSlots = 65536;
    static constexpr std::size_t kReservedSlots = 64;
    struct Slot {
        std::atomic<std::uint64_t> completed;  // the newest record of this slot that is
        std::atomic<std::uint64_t> made;       // the record of which the following is known
        std::atomic<std::uint64_t> process;    // that makes it, and the task there
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

// The tasks; engine lock held, the stream has admitted one.
void submit_ipc_record(Core &core, Stream &stream, std::shared_ptr<IpcRecords> records, std::uint64_t record)
    REQUIRES(engine_lock);
void submit_ipc_wait(Core &core, Stream &stream, std::shared_ptr<IpcRecords> records, std::uint32_t timeout_s)
    REQUIRES(engine_lock);

}  // namespace aclsim
