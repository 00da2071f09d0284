// What an IPC event (K7) is made of: a count of the records issued and of those completed, shared by the processes that
// opened it (events_streams_sync.md section 2, aclrtIpcGetEventHandle).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "engine/task.h"
#include "engine/waiters.h"
#include "memory/shared_memory.h"

namespace aclsim {

class Engine;

class IpcRecords : public std::enable_shared_from_this<IpcRecords> {
  public:
    static std::shared_ptr<IpcRecords> create();
    static std::shared_ptr<IpcRecords> open(const std::string &name);  // nullptr: there is none of that name
    explicit IpcRecords(std::shared_ptr<SharedMemory> memory) : memory_(std::move(memory)) {}

    const std::string &name() const { return memory_->name(); }
    std::uint64_t issue() { return ++counts().issued; }
    std::uint64_t newest() const { return counts().issued; }  // 0: never recorded, which counts as complete
    bool is_complete(std::uint64_t record) const { return counts().completed >= record; }
    void complete(Engine &engine, std::uint64_t record);
    Waiters &waiters() { return waiters_; }

  private:
    struct Counts {
        std::atomic<std::uint64_t> issued;
        std::atomic<std::uint64_t> completed;
    };
    Counts &counts() const { return memory_->as<Counts>(); }

    std::shared_ptr<SharedMemory> memory_;
    Waiters waiters_;
};

// The tasks; engine lock held, the stream has admitted one.
void submit_ipc_record(Engine &engine, Stream &stream, std::shared_ptr<IpcRecords> records, std::uint64_t record);
void submit_ipc_wait(Engine &engine, Stream &stream, std::shared_ptr<IpcRecords> records, std::uint32_t timeout_s);

}  // namespace aclsim
