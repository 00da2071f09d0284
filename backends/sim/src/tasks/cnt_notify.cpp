#include "tasks/cnt_notify.h"

#include "engine/condition.h"
#include "engine/core.h"
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
    CntNotifyRecordTask(Engine &engine, std::shared_ptr<CntNotify> notify, const aclrtCntNotifyRecordInfo &info)
        : engine_(engine), notify_(std::move(notify)), info_(info) {}
    TaskKind kind() const override { return TaskKind::NotifyRecord; }
    Start start(Stream &) override {
        notify_->count_ = changed(notify_->count_, info_);
        notify_->waiters_.wake(engine_);
        return Start::Done;
    }

  private:
    Engine &engine_;
    std::shared_ptr<CntNotify> notify_;
    aclrtCntNotifyRecordInfo info_;
};

class CntNotifyWaitTask final : public ConditionTask {
  public:
    CntNotifyWaitTask(Engine &engine, std::shared_ptr<CntNotify> notify, const aclrtCntNotifyWaitInfo &info)
        : ConditionTask(engine, info.timeout, /*polls=*/false), notify_(std::move(notify)), info_(info) {}
    TaskKind kind() const override { return TaskKind::NotifyWait; }

  protected:
    bool try_pass() override {
        if (!is_satisfied(notify_->count_, info_)) {
            return false;
        }
        notify_->count_ = info_.isClear != 0 ? 0 : notify_->count_;
        return true;
    }
    Waiters &waiters() override { return notify_->waiters_; }
    std::string awaited() const override {
        return "counting notify " + std::to_string(notify_->id) + ", which is at " + std::to_string(notify_->count_);
    }

  private:
    std::shared_ptr<CntNotify> notify_;
    aclrtCntNotifyWaitInfo info_;
};

CntNotify::~CntNotify() { device.notify_ids.release(id); }

std::shared_ptr<CntNotify> CntNotify::create(Engine &engine, Device &device) {
    std::uint32_t id = 0;
    if (!device.notify_ids.acquire(id)) {
        fail(ACL_ERROR_RT_NO_NOTIFY_RESOURCE, "device %u gives out no more notifies; %u are in use", device.user_id,
             device.notify_ids.in_use());
    }
    auto notify = std::make_shared<CntNotify>(device, id);
    engine.registry().add(notify);
    return notify;
}

void CntNotify::record(Engine &engine, Lock &lock, Stream &stream, const aclrtCntNotifyRecordInfo &info) {
    const auto self = shared_from_this();
    engine.admit(lock, stream);
    engine.submit(stream, CntNotifyRecordTask(engine, self, info));
}

void CntNotify::wait(Engine &engine, Lock &lock, Stream &stream, const aclrtCntNotifyWaitInfo &info) {
    const auto self = shared_from_this();
    engine.admit(lock, stream);
    engine.submit(stream, CntNotifyWaitTask(engine, self, info));
}

}  // namespace aclsim
