// SPDX-License-Identifier: Apache-2.0
#include "tasks/ipc_event.h"

#include <utility>

#include "engine/condition.h"
#include "engine/core.h"
#include "support/error.h"
#include "tasks/event.h"

namespace aclsim {
namespace {

class IpcRecordTask final : public Task {
  public:
    IpcRecordTask(Core &core, std::shared_ptr<IpcRecords> records, std::uint64_t record)
        : core_(core), records_(std::move(records)), record_(record) {}
    const TaskInfo &info() const override { return kEventRecord; }
    Start start(Stream &stream) override REQUIRES(engine_lock) {
        cancel(stream);
        return Start::Done;
    }
    void note_queued(const Stream &stream) override REQUIRES(engine_lock) { records_->pending.add(stream, *this); }
    // Counts an aborted record as complete, so that other processes do not wait for it forever.
    void cancel(Stream &stream) noexcept override REQUIRES(engine_lock) {
        records_->pending.remove(stream, *this);
        records_->complete(core_, record_);
    }

  private:
    Core &core_;
    std::shared_ptr<IpcRecords> records_;
    std::uint64_t record_;
};

class IpcWaitTask final : public ConditionTask {
  public:
    IpcWaitTask(Core &core, std::shared_ptr<IpcRecords> records, std::uint32_t timeout_s)
        : ConditionTask(core, timeout_s, /*polls=*/true), records_(std::move(records)), record_(records_->newest()) {}
    const TaskInfo &info() const override { return kEventWait; }
    void add_causes(Causes &causes) const override REQUIRES(engine_lock) {
        causes.any = true;
        records_->pending.add_causes(causes);
        causes.list.push_back({nullptr, 0, Outside::OtherProcess});
    }
    std::string awaited() const override { return "record " + std::to_string(record_) + " of an IPC event"; }

  protected:
    bool try_pass() override { return records_->is_complete(record_); }
    void note_passed(const Stream &stream) override REQUIRES(engine_lock) {
        const IpcRecords::Maker maker = records_->maker_of(record_);
        if (maker.process != 0) {
            core_.note_edge({maker.task, stream.point(*this), Ordering::IpcEvent, maker.is_own() ? 0 : maker.process});
        }
    }
    Waiters &waiters() override { return records_->waiters; }

  private:
    std::shared_ptr<IpcRecords> records_;
    std::uint64_t record_;  // newest record when the wait was issued, to which it is bound
};

}  // namespace

std::shared_ptr<IpcRecords> IpcRecords::create() {
    return std::make_shared<IpcRecords>(SharedMemory::create<Shared>());
}

std::shared_ptr<IpcRecords> IpcRecords::open(const std::string &name) {
    auto memory = SharedMemory::open<Shared>(name);
    return memory ? std::make_shared<IpcRecords>(std::move(memory)) : nullptr;
}

std::uint64_t IpcRecords::issue(const Point &task) {
    std::uint64_t issued = shared().issued;
    do {
        if (issued >= kSlots && !is_complete(issued + 1 - kSlots)) {
            fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "%zu records of the IPC event are not complete", kSlots);
        }
        const std::uint64_t slot = issued + 1;
        if (slot < kSlots && slot % kReservedSlots == 0) {
            memory_->reserve(&shared().slots[slot], kReservedSlots * sizeof(Slot));
        }
    } while (!shared().issued.compare_exchange_weak(issued, issued + 1));
    const std::uint64_t record = issued + 1;
    Slot &slot = shared().slots[record % kSlots];
    slot.process = own_process();
    slot.stream = task.stream;
    slot.sequence = task.sequence;
    slot.made = record;
    return record;
}

void IpcRecords::complete(Core &core, std::uint64_t record) {
    shared().slots[record % kSlots].completed = record;
    waiters.wake(core);
}

bool IpcRecords::Maker::is_own() const { return process == own_process(); }

IpcRecords::Maker IpcRecords::maker_of(std::uint64_t record) const {
    const Slot &slot = shared().slots[record % kSlots];
    if (record == 0 || slot.made != record) {
        return {};
    }
    return {slot.process, {slot.stream, slot.sequence}};
}

void submit_ipc_record(Core &core, Stream &stream, std::shared_ptr<IpcRecords> records, std::uint64_t record) {
    core.submit(stream, IpcRecordTask(core, std::move(records), record));
}

void submit_ipc_wait(Core &core, Stream &stream, std::shared_ptr<IpcRecords> records, std::uint32_t timeout_s) {
    core.submit(stream, IpcWaitTask(core, std::move(records), timeout_s));
}

}  // namespace aclsim
