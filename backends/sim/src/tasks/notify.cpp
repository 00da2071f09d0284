#include "tasks/notify.h"

#include <unistd.h>

#include "engine/condition.h"
#include "engine/core.h"
#include "machine/device.h"
#include "support/error.h"

namespace aclsim {

class NotifyRecordTask final : public Task {
  public:
    NotifyRecordTask(Core &core, Ref<Notify> notify) : core_(core), notify_(std::move(notify)) {}
    TaskKind kind() const override { return TaskKind::NotifyRecord; }
    Start start(Stream &stream) override REQUIRES(engine_lock) {
        notify_->records_.remove(stream, *this);
        notify_->set_by_ = stream.point(*this);
        notify_->bit().store(1);  // a second record before a wait has no effect
        notify_->waiters_.wake(core_);
        return Start::Done;
    }
    void cancel(Stream &stream) override REQUIRES(engine_lock) { notify_->records_.remove(stream, *this); }
    void note_queued(const Stream &stream) override REQUIRES(engine_lock) { notify_->records_.add(stream, *this); }

  private:
    Core &core_;
    Ref<Notify> notify_;
};

class NotifyWaitTask final : public ConditionTask {
  public:
    NotifyWaitTask(Core &core, Ref<Notify> notify, std::uint32_t timeout_s)
        : ConditionTask(core, timeout_s, notify->is_shared()), notify_(std::move(notify)) {}
    TaskKind kind() const override { return TaskKind::NotifyWait; }
    void add_causes(Causes &causes) const override REQUIRES(engine_lock) {
        causes.any = true;
        notify_->records_.add_causes(causes);
        causes.list.push_back({nullptr, 0, notify_->is_shared() ? Outside::OtherProcess : Outside::Host});
    }
    std::string awaited() const override { return "notify " + std::to_string(notify_->id); }

  protected:
    bool polls() const override REQUIRES(engine_lock) {
        return notify_->is_shared();
    }  // perhaps exported after the submission
    bool try_pass() override { return notify_->bit().exchange(0) != 0; }
    Waiters &waiters() override { return notify_->waiters_; }
    void note_passed(const Stream &stream) override REQUIRES(engine_lock) {
        core_.observers().tell(&Observer::ordered, notify_->set_by_, stream.point(*this), Ordering::Notify);
    }

  private:
    Ref<Notify> notify_;
};

Notify::Notify(Device &owner, std::uint32_t notify_id, std::shared_ptr<SharedMemory> memory)
    : device(owner), id(notify_id), shared_(std::move(memory)), owns_id_(shared_ == nullptr) {}

Notify::~Notify() {
    if (owns_id_) {
        device.notify_ids.release(id);
    }
}

Ref<Notify> Notify::create(Core &core, Device &device) {
    std::uint32_t id = 0;
    if (!device.notify_ids.acquire(id)) {
        fail(ACL_ERROR_RT_NO_NOTIFY_RESOURCE, "device %u gives out no more notifies; %u are in use", device.user_id,
             device.notify_ids.in_use());
    }
    auto notify = make_ref<Notify>(device, id, nullptr);
    core.registry().add(notify);
    return notify;
}

Ref<Notify> Notify::import_key(Core &core, Device &device, const std::string &key) {
    auto memory = SharedMemory::open<Shared>(key);
    if (memory == nullptr) {
        return nullptr;
    }
    const Shared &shared = memory->as<Shared>();
    if (!shared.importers.permits(getpid())) {
        fail(ACL_ERROR_RT_NO_PERMISSION, "the exporter did not name process %d in aclrtNotifySetImportPid",
             static_cast<int>(getpid()));
    }
    auto notify = make_ref<Notify>(device, shared.id, std::move(memory));
    core.registry().add(notify);
    return notify;
}

void Notify::record(Core &core, Lock &lock, Stream &stream) {
    const Ref<Notify> self(this);
    core.admit(lock, stream);
    core.submit(stream, NotifyRecordTask(core, self));
}

void Notify::wait(Core &core, Lock &lock, Stream &stream, std::uint32_t timeout_s) {
    const Ref<Notify> self(this);
    core.admit(lock, stream);
    core.submit(stream, NotifyWaitTask(core, self, timeout_s));
}

const std::string &Notify::export_key(Core &core, bool checks_process) {
    core.timer().start();  // waits that are blocked already poll from now on
    shared_ = SharedMemory::create<Shared>();
    Shared &shared = shared_->as<Shared>();
    shared.bit = local_.load();
    shared.id = id;
    shared.device = device.physical_id;
    const std::int32_t own = getpid();
    shared.importers.start(checks_process);
    shared.importers.add(&own, 1);  // the exporter may import too (events_streams_sync.md section 5 [obs])
    waiters_.wake(core);
    core.pump();
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
