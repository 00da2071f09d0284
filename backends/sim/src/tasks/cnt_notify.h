// Counting notifies of the 950 (events_streams_sync.md section 6): a counter that records change and waits compare.
#pragma once

#include <cstdint>

#include "abi/acl.h"
#include "engine/lock.h"
#include "engine/pending.h"
#include "engine/registry.h"
#include "engine/waiters.h"

namespace aclsim {

class Core;
struct Device;

class CntNotify final : public Object {
  public:
    static constexpr Kind kKind = Kind::CntNotify;
    static Ref<CntNotify> create(Core &core, Device &device) REQUIRES(engine_lock);
    CntNotify(Device &owner, std::uint32_t notify_id) : device(owner), id(notify_id) {}
    ~CntNotify() override;

    void record(Core &core, Lock &lock, Stream &stream, const aclrtCntNotifyRecordInfo &info) REQUIRES(engine_lock);
    void wait(Core &core, Lock &lock, Stream &stream, const aclrtCntNotifyWaitInfo &info) REQUIRES(engine_lock);

    Device &device;
    const std::uint32_t id;

  private:
    friend class CntNotifyRecordTask;
    friend class CntNotifyWaitTask;
    std::uint32_t count_ GUARDED_BY(engine_lock) = 0;
    PendingTasks records_;
    Point changed_by_ GUARDED_BY(engine_lock);  // the newest record
    Waiters waiters_;
};

}  // namespace aclsim
