// SPDX-License-Identifier: Apache-2.0
// Notifies: a number that records change and waits compare (events_streams_sync.md sections 5 and 6). A plain notify
// has one bit, which a record sets and a wait clears, also between processes; a counting notify of the 950 exposes the
// whole number.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "abi/acl.h"
#include "engine/facts.h"
#include "engine/lock.h"
#include "engine/pending.h"
#include "engine/registry.h"
#include "engine/waiters.h"
#include "memory/permitted_processes.h"
#include "support/shared_memory.h"
#include "tasks/called_records.h"

namespace aclsim {

class Core;
struct Device;

class AnyNotify : public Object {
  public:
    ~AnyNotify() override;

    Device &device;
    const std::uint32_t id;

  protected:
    AnyNotify(Device &owner, std::uint32_t notify_id, bool owns_id) : device(owner), id(notify_id), owns_id_(owns_id) {}
    std::string name() const;  // devices number their notifies separately
    // Fails with ACL_ERROR_RT_NO_NOTIFY_RESOURCE if the device has none left.
    static std::uint32_t take_id(Device &device) REQUIRES(engine_lock);

    void record(Core &core, Lock &lock, Stream &stream, const aclrtCntNotifyRecordInfo &info) REQUIRES(engine_lock);
    void wait(Core &core, Lock &lock, Stream &stream, const aclrtCntNotifyWaitInfo &info) REQUIRES(engine_lock);
    // Value, which other processes may change concurrently.
    virtual std::atomic<std::uint32_t> &value() REQUIRES(engine_lock) = 0;
    virtual bool is_shared() const REQUIRES(engine_lock) { return false; }
    virtual std::string text() REQUIRES(engine_lock) = 0;
    virtual SyncKind sync_kind() const = 0;
    // A record that changed the value to this one.
    struct Change {
        Point record;
        std::uint32_t value;
    };
    // Notes a record that either replaces the effect of earlier ones or adds to it.
    virtual void note_change(const Change &change, bool replaces, std::uint32_t former) REQUIRES(engine_lock);
    std::vector<Point> satisfied_by(const aclrtCntNotifyWaitInfo &info) const REQUIRES(engine_lock);
    // Notes that the records which satisfied the wait precede it.
    virtual void note_edges(Core &core, const Point &wait, const aclrtCntNotifyWaitInfo &info) REQUIRES(engine_lock);

    Waiters waiters_;
    CalledRecords called_;
    std::vector<Change> changes_ GUARDED_BY(engine_lock);  // in their order
    std::uint32_t former_ GUARDED_BY(engine_lock) = 0;     // value before them

  private:
    friend class NotifyRecordTask;
    friend class NotifyWaitTask;
    const bool owns_id_;
    PendingTasks records_;  // records of this process
};

class CntNotify final : public AnyNotify {
  public:
    static constexpr Kind kKind = Kind::CntNotify;
    static Ref<CntNotify> create(Core &core, Device &device) REQUIRES(engine_lock);
    explicit CntNotify(Device &owner) REQUIRES(engine_lock) : AnyNotify(owner, take_id(owner), true) {}
    using AnyNotify::record;
    using AnyNotify::wait;

  protected:
    std::atomic<std::uint32_t> &value() override { return count_; }
    std::string text() override;
    SyncKind sync_kind() const override { return SyncKind::CountingNotify; }

  private:
    std::atomic<std::uint32_t> count_{0};
};

class Notify final : public AnyNotify {
  public:
    static constexpr Kind kKind = Kind::Notify;

    static Ref<Notify> create(Core &core, Device &device) REQUIRES(engine_lock);
    // Returns a notify of another process, or of this one; nullptr if the key is unknown. Fails with
    // ACL_ERROR_RT_NO_PERMISSION if the process is not among those named by the exporter.
    static Ref<Notify> import_key(Core &core, Device &device, const std::string &key) REQUIRES(engine_lock);
    explicit Notify(Device &owner) REQUIRES(engine_lock) : AnyNotify(owner, take_id(owner), true) {}
    Notify(Device &owner, std::uint32_t notify_id, std::shared_ptr<SharedMemory> memory) REQUIRES(engine_lock)
        : AnyNotify(owner, notify_id, false), shared_(std::move(memory)) {
        called_.end_order();
    }

    void record(Core &core, Lock &lock, Stream &stream) REQUIRES(engine_lock);
    void wait(Core &core, Lock &lock, Stream &stream, std::uint32_t timeout_s) REQUIRES(engine_lock);
    void clear() REQUIRES(engine_lock) {
        value().store(0);
        called_.forget_records();
    }

    bool is_shared() const override REQUIRES(engine_lock) { return shared_ != nullptr; }
    // Exports the notify to other processes and returns its key.
    const std::string &export_key(Core &core, bool checks_process) REQUIRES(engine_lock);
    void permit(const std::int32_t *processes, std::size_t count) REQUIRES(engine_lock);
    std::uint32_t creator_device() const REQUIRES(engine_lock);

  protected:
    std::atomic<std::uint32_t> &value() override REQUIRES(engine_lock) {
        return shared_ ? shared_->as<Shared>().bit : bit_;
    }
    std::string text() override { return "notify " + name(); }
    SyncKind sync_kind() const override { return SyncKind::Notify; }
    void note_change(const Change &change, bool replaces, std::uint32_t former) override REQUIRES(engine_lock);
    void note_edges(Core &core, const Point &wait, const aclrtCntNotifyWaitInfo &info) override REQUIRES(engine_lock);

  private:
    static constexpr std::size_t kProcesses = 256;
    struct Shared {
        std::atomic<std::uint32_t> bit;
        std::uint32_t id;
        std::uint32_t device;
        std::atomic<std::uint64_t> process;  // process that set the bit, and its task there; 0: none
        std::atomic<std::uint64_t> stream;
        std::atomic<std::uint64_t> sequence;
        PermittedProcesses<kProcesses> importers;
    };
    static_assert(sizeof(Shared) <= SharedMemory::kFirstBytes);

    std::atomic<std::uint32_t> bit_{0};
    std::shared_ptr<SharedMemory> shared_;
};

}  // namespace aclsim
