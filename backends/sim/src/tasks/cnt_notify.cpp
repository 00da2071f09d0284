#include "tasks/cnt_notify.h"

#include "engine/condition.h"
#include "engine/core.h"
#include "machine/device.h"
#include "support/error.h"

namespace aclsim {
namespace {

std::uint32_t changed(std::uint32_t count, const aclrtCntNotifyRecordInfo &info) {
    switch (info.mode) {
        case ACL_RT_CNT_NOTIFY_RECORD_ADD_MODE:
            return count + info.value;
        case ACL_RT_CNT_NOTIFY_RECORD_BIT_OR_MODE:
            return count | info.value;
        case ACL_RT_CNT_NOTIFY_RECORD_BIT_AND_MODE:
            return count & info.value;
        default:
            return info.value;
    }
}

bool is_satisfied(std::uint32_t count, const aclrtCntNotifyWaitInfo &info) {
    switch (info.mode) {
        case ACL_RT_CNT_NOTIFY_WAIT_LESS_MODE:
            return count < info.value;
        case ACL_RT_CNT_NOTIFY_WAIT_BIGGER_MODE:
            return count > info.value;
        case ACL_RT_CNT_NOTIFY_WAIT_BIGGER_OR_EQUAL_MODE:
            return count >= info.value;
        case ACL_RT_CNT_NOTIFY_WAIT_EQUAL_WITH_BITMASK_MODE:
            return (count & info.value) == info.value;
        default:
            return count == info.value;
    }
}

}  // namespace

class CntNotifyRecordTask final : public Task {
  public:
    CntNotifyRecordTask(Core &core, Ref<CntNotify> notify, const aclrtCntNotifyRecordInfo &info)
        : core_(core), notify_(std::move(notify)), info_(info) {}
    TaskKind kind() const override { return TaskKind::NotifyRecord; }
    Start start(Stream &stream) override REQUIRES(engine_lock) {
        notify_->records_.remove(stream, *this);
        notify_->changed_by_ = stream.point(*this);
        notify_->count_ = changed(notify_->count_, info_);
        notify_->waiters_.wake(core_);
        return Start::Done;
    }
    void cancel(Stream &stream) override REQUIRES(engine_lock) { notify_->records_.remove(stream, *this); }
    void note_queued(const Stream &stream) override REQUIRES(engine_lock) { notify_->records_.add(stream, *this); }

  private:
    Core &core_;
    Ref<CntNotify> notify_;
    aclrtCntNotifyRecordInfo info_;
};

class CntNotifyWaitTask final : public ConditionTask {
  public:
    CntNotifyWaitTask(Core &core, Ref<CntNotify> notify, const aclrtCntNotifyWaitInfo &info)
        : ConditionTask(core, info.timeout, /*polls=*/false), notify_(std::move(notify)), info_(info) {}
    TaskKind kind() const override { return TaskKind::NotifyWait; }
    void add_causes(Causes &causes) const override REQUIRES(engine_lock) {
        causes.any = true;
        notify_->records_.add_causes(causes);
        causes.list.push_back({nullptr, 0, Outside::Host});
    }

  protected:
    bool try_pass() override REQUIRES(engine_lock) {
        if (!is_satisfied(notify_->count_, info_)) {
            return false;
        }
        notify_->count_ = info_.isClear != 0 ? 0 : notify_->count_;
        return true;
    }
    void note_passed(const Stream &stream) override REQUIRES(engine_lock) {
        core_.observers().tell(&Observer::ordered, notify_->changed_by_, stream.point(*this), Ordering::Notify);
    }
    Waiters &waiters() override { return notify_->waiters_; }
    std::string awaited() const override REQUIRES(engine_lock) {
        return "counting notify " + std::to_string(notify_->id) + ", which is at " + std::to_string(notify_->count_);
    }

  private:
    Ref<CntNotify> notify_;
    aclrtCntNotifyWaitInfo info_;
};

CntNotify::~CntNotify() { device.notify_ids.release(id); }

Ref<CntNotify> CntNotify::create(Core &core, Device &device) {
    std::uint32_t id = 0;
    if (!device.notify_ids.acquire(id)) {
        fail(ACL_ERROR_RT_NO_NOTIFY_RESOURCE, "device %u gives out no more notifies; %u are in use", device.user_id,
             device.notify_ids.in_use());
    }
    auto notify = make_ref<CntNotify>(device, id);
    core.registry().add(notify);
    return notify;
}

void CntNotify::record(Core &core, Lock &lock, Stream &stream, const aclrtCntNotifyRecordInfo &info) {
    const Ref<CntNotify> self(this);
    core.admit(lock, stream);
    core.submit(stream, CntNotifyRecordTask(core, self, info));
}

void CntNotify::wait(Core &core, Lock &lock, Stream &stream, const aclrtCntNotifyWaitInfo &info) {
    const Ref<CntNotify> self(this);
    core.admit(lock, stream);
    core.submit(stream, CntNotifyWaitTask(core, self, info));
}

}  // namespace aclsim
