#include "tasks/notify.h"

#include <unistd.h>

#include "engine/condition.h"
#include "engine/core.h"
#include "support/error.h"

namespace aclsim {

class NotifyRecordTask final : public Task {
  public:
    NotifyRecordTask(Engine &engine, std::shared_ptr<Notify> notify) : engine_(engine), notify_(std::move(notify)) {}
    TaskKind kind() const override { return TaskKind::NotifyRecord; }
    Start start(Stream &) override {
        notify_->bit().store(1);  // twice before a wait is the same as once
        notify_->waiters_.wake(engine_);
        return Start::Done;
    }

  private:
    Engine &engine_;
    std::shared_ptr<Notify> notify_;
};

class NotifyWaitTask final : public ConditionTask {
  public:
    NotifyWaitTask(Engine &engine, std::shared_ptr<Notify> notify, std::uint32_t timeout_s)
        : ConditionTask(engine, timeout_s, notify->is_shared()), notify_(std::move(notify)) {}
    TaskKind kind() const override { return TaskKind::NotifyWait; }

  protected:
    bool polls() const override { return notify_->is_shared(); }  // perhaps only since the task was submitted
    bool try_pass() override { return notify_->bit().exchange(0) != 0; }
    Waiters &waiters() override { return notify_->waiters_; }
    std::string awaited() const override { return "notify " + std::to_string(notify_->id); }

  private:
    std::shared_ptr<Notify> notify_;
};

Notify::Notify(Device &owner, std::uint32_t notify_id, std::shared_ptr<SharedMemory> memory)
    : device(owner), id(notify_id), shared_(std::move(memory)), owns_id_(shared_ == nullptr) {}

Notify::~Notify() {
    if (owns_id_) {
        device.notify_ids.release(id);
    }
}

std::shared_ptr<Notify> Notify::create(Engine &engine, Device &device) {
    std::uint32_t id = 0;
    if (!device.notify_ids.acquire(id)) {
        fail(ACL_ERROR_RT_NO_NOTIFY_RESOURCE, "device %u gives out no more notifies; %u are in use", device.user_id,
             device.notify_ids.in_use());
    }
    auto notify = std::make_shared<Notify>(device, id, nullptr);
    engine.registry().add(notify);
    return notify;
}

std::shared_ptr<Notify> Notify::import_key(Engine &engine, Device &device, const std::string &key) {
    auto memory = SharedMemory::open<Shared>(key);
    if (memory == nullptr) {
        return nullptr;
    }
    const Shared &shared = memory->as<Shared>();
    if (!shared.importers.permits(getpid())) {
        fail(ACL_ERROR_RT_NO_PERMISSION, "the exporter did not name process %d in aclrtNotifySetImportPid",
             static_cast<int>(getpid()));
    }
    auto notify = std::make_shared<Notify>(device, shared.id, std::move(memory));
    engine.registry().add(notify);
    return notify;
}

void Notify::record(Engine &engine, Lock &lock, Stream &stream) {
    const auto self = shared_from_this();
    engine.admit(lock, stream);
    engine.submit(stream, NotifyRecordTask(engine, self));
}

void Notify::wait(Engine &engine, Lock &lock, Stream &stream, std::uint32_t timeout_s) {
    const auto self = shared_from_this();
    engine.admit(lock, stream);
    engine.submit(stream, NotifyWaitTask(engine, self, timeout_s));
}

const std::string &Notify::export_key(Engine &engine, bool checks_process) {
    engine.timer().start();  // who waits already polls from now on
    shared_ = SharedMemory::create<Shared>();
    Shared &shared = shared_->as<Shared>();
    shared.bit = local_.load();
    shared.id = id;
    shared.device = device.physical_id;
    const std::int32_t own = getpid();
    shared.importers.start(checks_process);
    shared.importers.add(&own, 1);  // the exporter may import too [obs]
    waiters_.wake(engine);
    engine.pump();
    return shared_->name();
}

void Notify::permit(const std::int32_t *processes, std::size_t count) {
    if (!shared_) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "the notify was not exported; call aclrtNotifyGetExportKey first");
    }
    if (!shared_->as<Shared>().importers.add(processes, count)) {
        fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "at most %zu processes may import a notify", kProcesses - 1);
    }
}

std::uint32_t Notify::creator_device() const { return shared_ ? shared_->as<Shared>().device : device.physical_id; }

}  // namespace aclsim
