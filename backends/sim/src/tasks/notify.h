// Notifies: one bit that a record sets and one wait takes (events_streams_sync.md section 5), also between processes.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "engine/lock.h"
#include "engine/pending.h"
#include "engine/registry.h"
#include "engine/waiters.h"
#include "memory/permitted_processes.h"
#include "memory/shared_memory.h"

namespace aclsim {

class Core;
struct Device;

class Notify final : public Object {
  public:
    static constexpr Kind kKind = Kind::Notify;

    // Fails with ACL_ERROR_RT_NO_NOTIFY_RESOURCE if the device has none left.
    static Ref<Notify> create(Core &core, Device &device) REQUIRES(engine_lock);
    // A notify of another process, or of this one. nullptr: no such key; fails with ACL_ERROR_RT_NO_PERMISSION if the
    // process is not among those that the exporter named.
    static Ref<Notify> import_key(Core &core, Device &device, const std::string &key) REQUIRES(engine_lock);
    Notify(Device &owner, std::uint32_t notify_id, std::shared_ptr<SharedMemory> memory);
    ~Notify() override;

    void record(Core &core, Lock &lock, Stream &stream) REQUIRES(engine_lock);
    void wait(Core &core, Lock &lock, Stream &stream, std::uint32_t timeout_s) REQUIRES(engine_lock);
    void clear() REQUIRES(engine_lock) { bit().store(0); }

    bool is_shared() const REQUIRES(engine_lock) { return shared_ != nullptr; }
    // Makes it known to other processes; returns the key.
    const std::string &export_key(Core &core, bool checks_process) REQUIRES(engine_lock);
    void permit(const std::int32_t *processes, std::size_t count) REQUIRES(engine_lock);
    std::uint32_t creator_device() const REQUIRES(engine_lock);

    Device &device;
    const std::uint32_t id;

  private:
    friend class NotifyRecordTask;
    friend class NotifyWaitTask;
    static constexpr std::size_t kProcesses = 256;
    struct Shared {
        std::atomic<std::uint32_t> bit;
        std::uint32_t id;
        std::uint32_t device;
        PermittedProcesses<kProcesses> importers;
    };
    std::atomic<std::uint32_t> &bit() { return shared_ ? shared_->as<Shared>().bit : local_; }

    std::atomic<std::uint32_t> local_{0};
    std::shared_ptr<SharedMemory> shared_;
    PendingTasks records_;                  // of this process
    Point set_by_ GUARDED_BY(engine_lock);  // the newest record of this process that has set the bit
    Waiters waiters_;
    bool owns_id_ GUARDED_BY(engine_lock) = true;
};

}  // namespace aclsim
