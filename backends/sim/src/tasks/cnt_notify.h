// Counting notifies of the 950 (events_streams_sync.md section 6): a counter that records change and waits compare.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "abi/acl.h"
#include "engine/registry.h"
#include "engine/waiters.h"

namespace aclsim {

class Engine;
class Stream;
struct Device;

class CntNotify final : public Object, public std::enable_shared_from_this<CntNotify> {
  public:
    static constexpr Kind kKind = Kind::CntNotify;
    static std::shared_ptr<CntNotify> create(Engine &engine, Device &device);
    CntNotify(Device &owner, std::uint32_t notify_id) : device(owner), id(notify_id) {}
    ~CntNotify() override;

    void record(Engine &engine, std::unique_lock<std::mutex> &lock, Stream &stream,
                const aclrtCntNotifyRecordInfo &info);
    void wait(Engine &engine, std::unique_lock<std::mutex> &lock, Stream &stream, const aclrtCntNotifyWaitInfo &info);

    Device &device;
    const std::uint32_t id;

  private:
    friend class CntNotifyRecordTask;
    friend class CntNotifyWaitTask;
    std::uint32_t count_ = 0;
    Waiters waiters_;
};

}  // namespace aclsim
