#include "tasks/ipc_event.h"

#include "engine/condition.h"
#include "engine/core.h"

namespace aclsim {
namespace {

class IpcRecordTask final : public Task {
  public:
    IpcRecordTask(Engine &engine, std::shared_ptr<IpcRecords> records, std::uint64_t record)
        : engine_(engine), records_(std::move(records)), record_(record) {}
    TaskKind kind() const override { return TaskKind::Record; }
    Start start(Stream &) override {
        records_->complete(engine_, record_);
        return Start::Done;
    }
    // Nobody in another process should wait for what was aborted here.
    void cancel(Stream &) override { records_->complete(engine_, record_); }

  private:
    Engine &engine_;
    std::shared_ptr<IpcRecords> records_;
    std::uint64_t record_;
};

class IpcWaitTask final : public ConditionTask {
  public:
    IpcWaitTask(Engine &engine, std::shared_ptr<IpcRecords> records, std::uint32_t timeout_s)
        : ConditionTask(engine, timeout_s, /*polls=*/true), records_(std::move(records)), record_(records_->newest()) {}
    TaskKind kind() const override { return TaskKind::Wait; }

  protected:
    bool try_pass() override { return records_->is_complete(record_); }
    Waiters &waiters() override { return records_->waiters(); }
    std::string awaited() const override { return "record " + std::to_string(record_) + " of an IPC event"; }

  private:
    std::shared_ptr<IpcRecords> records_;
    std::uint64_t record_;  // a wait is bound to the record that was the newest when it was issued
};

}  // namespace

std::shared_ptr<IpcRecords> IpcRecords::create() {
    return std::make_shared<IpcRecords>(SharedMemory::create<Counts>());
}

std::shared_ptr<IpcRecords> IpcRecords::open(const std::string &name) {
    auto memory = SharedMemory::open<Counts>(name);
    return memory ? std::make_shared<IpcRecords>(std::move(memory)) : nullptr;
}

void IpcRecords::complete(Engine &engine, std::uint64_t record) {
    std::atomic<std::uint64_t> &completed = counts().completed;
    std::uint64_t before = completed;
    while (before < record && !completed.compare_exchange_weak(before, record)) {
    }
    waiters_.wake(engine);
}

void submit_ipc_record(Engine &engine, Stream &stream, std::shared_ptr<IpcRecords> records, std::uint64_t record) {
    engine.submit(stream, IpcRecordTask(engine, std::move(records), record));
}

void submit_ipc_wait(Engine &engine, Stream &stream, std::shared_ptr<IpcRecords> records, std::uint32_t timeout_s) {
    engine.submit(stream, IpcWaitTask(engine, std::move(records), timeout_s));
}

}  // namespace aclsim
