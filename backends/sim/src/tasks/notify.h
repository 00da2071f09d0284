// Notifies: one bit that a record sets and one wait takes (events_streams_sync.md section 5), also between processes.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "engine/registry.h"
#include "engine/waiters.h"
#include "memory/permitted_processes.h"
#include "memory/shared_memory.h"

namespace aclsim {

class Engine;
class Stream;
struct Device;

class Notify final : public Object, public std::enable_shared_from_this<Notify> {
  public:
    static constexpr Kind kKind = Kind::Notify;

    // Fails with ACL_ERROR_RT_NO_NOTIFY_RESOURCE if the device has none left.
    static std::shared_ptr<Notify> create(Engine &engine, Device &device);
    // A notify of another process, or of this one. nullptr: no such key; fails with ACL_ERROR_RT_NO_PERMISSION if the
    // process is not among those that the exporter named.
    static std::shared_ptr<Notify> import_key(Engine &engine, Device &device, const std::string &key);
    Notify(Device &owner, std::uint32_t notify_id, std::shared_ptr<SharedMemory> memory);
    ~Notify() override;

    void record(Engine &engine, std::unique_lock<std::mutex> &lock, Stream &stream);
    void wait(Engine &engine, std::unique_lock<std::mutex> &lock, Stream &stream, std::uint32_t timeout_s);
    void clear() { bit().store(0); }

    bool is_shared() const { return shared_ != nullptr; }
    // Makes it known to other processes; returns the key.
    const std::string &export_key(Engine &engine, bool checks_process);
    void permit(const std::int32_t *processes, std::size_t count);
    std::uint32_t creator_device() const;

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
    Waiters waiters_;
    bool owns_id_ = true;
};

}  // namespace aclsim
