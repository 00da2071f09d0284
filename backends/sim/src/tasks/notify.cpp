// SPDX-License-Identifier: Apache-2.0
#include "tasks/notify.h"

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "engine/condition.h"
#include "engine/core.h"
#include "machine/device.h"
#include "support/error.h"

namespace aclsim {

namespace {

// Has no effect on a bit that is already set.
constexpr aclrtCntNotifyRecordInfo kSetBit{ACL_RT_CNT_NOTIFY_RECORD_SET_VALUE_MODE, 1};

constexpr std::size_t kMostChanges = 4096;

}  // namespace

class NotifyRecordTask final : public Task {
  public:
    NotifyRecordTask(Core &core, Ref<AnyNotify> notify, const aclrtCntNotifyRecordInfo &info)
        : core_(core), notify_(std::move(notify)), info_(info) {}
    static constexpr TaskInfo kInfo{"NOTIFY_RECORD"};
    const TaskInfo &info() const override { return kInfo; }
    Start start(Stream &stream) override REQUIRES(engine_lock) {
        notify_->records_.remove(stream, *this);
        std::atomic<std::uint32_t> &value = notify_->value();
        const std::uint32_t before = value;
        const std::uint32_t after = changed(before, info_);  // 1 for a shared notify, regardless of the value
        if (after != before) {
            const bool replaces = before == 0 || info_.mode == ACL_RT_CNT_NOTIFY_RECORD_SET_VALUE_MODE;
            notify_->note_change({stream.point(*this), after}, replaces, before);
        }
        value = after;
        notify_->waiters_.wake(core_);
        return Start::Done;
    }
    void cancel(Stream &stream) noexcept override REQUIRES(engine_lock) {
        notify_->records_.remove(stream, *this);
        notify_->called_.end_order();
    }
    void note_queued(const Stream &stream) override REQUIRES(engine_lock) { notify_->records_.add(stream, *this); }

  private:
    Core &core_;
    Ref<AnyNotify> notify_;
    aclrtCntNotifyRecordInfo info_;
};

class NotifyWaitTask final : public ConditionTask {
  public:
    NotifyWaitTask(Core &core, Ref<AnyNotify> notify, const aclrtCntNotifyWaitInfo &info)
        : ConditionTask(core, info.timeout, notify->is_shared()), notify_(std::move(notify)), info_(info) {}
    static constexpr TaskInfo kInfo{"NOTIFY_WAIT"};
    const TaskInfo &info() const override { return kInfo; }
    void add_causes(Causes &causes) const override REQUIRES(engine_lock) {
        causes.any = true;
        notify_->records_.add_causes(causes);
        causes.list.push_back({nullptr, 0, notify_->is_shared() ? Outside::OtherProcess : Outside::Host});
    }
    std::string awaited() const override REQUIRES(engine_lock) { return notify_->text(); }

  protected:
    bool polls() const override REQUIRES(engine_lock) {
        return notify_->is_shared();
    }  // may have been exported after the submission
    bool try_pass() override REQUIRES(engine_lock) {
        std::atomic<std::uint32_t> &value = notify_->value();
        std::uint32_t found = value;
        do {
            if (!is_satisfied(found, info_)) {
                return false;
            }
        } while (info_.isClear != 0 && !value.compare_exchange_weak(found, 0));  // only one wait takes it
        found_ = found;
        return true;
    }
    void note_passed(const Stream &stream) override REQUIRES(engine_lock) {
        if (core_.observers().want(kOrder)) {
            notify_->note_edges(core_, stream.point(*this), info_);
            notify_->called_.note_passed(stream.point(*this));
        }
        if (clears_for_others()) {
            notify_->note_change({stream.point(*this), 0}, /*replaces=*/true, found_);
        }
    }
    void leave(Stream &stream) override REQUIRES(engine_lock) {
        ConditionTask::leave(stream);
        notify_->called_.note_over(stream.point(*this));
        if (clears_for_others()) {
            notify_->waiters_.wake(core_);
        }
    }
    Waiters &waiters() override { return notify_->waiters_; }

  private:
    // Returns whether the number that it clears may satisfy another wait.
    bool clears_for_others() const { return info_.isClear != 0 && notify_->sync_kind() == SyncKind::CountingNotify; }

    Ref<AnyNotify> notify_;
    aclrtCntNotifyWaitInfo info_;
    std::uint32_t found_ = 0;
};

// --- AnyNotify -------------------------------------------------------------------------------------------------------

AnyNotify::~AnyNotify() {
    if (owns_id_) {
        device.notify_ids.release(id);
    }
}

std::string AnyNotify::name() const { return std::to_string(id) + " of device " + std::to_string(device.user_id); }

std::uint32_t AnyNotify::take_id(Device &device) {
    std::uint32_t id = 0;
    if (!device.notify_ids.acquire(id)) {
        fail(ACL_ERROR_RT_NO_NOTIFY_RESOURCE, "device %u gives out no more notifies; %u are in use", device.user_id,
             device.notify_ids.in_use());
    }
    return id;
}

void AnyNotify::record(Core &core, Lock &lock, Stream &stream, const aclrtCntNotifyRecordInfo &info) {
    const Ref<AnyNotify> self(this);
    core.admit(lock, stream);
    if (core.observers().want(kOrder)) {
        core.observers().report<kOrder>(&Observer::records, stream.next(), SyncObject{sync_kind(), handle()});
        called_.note_record(core.call_order(), stream, info);
    }
    core.submit(stream, NotifyRecordTask(core, self, info));
}

void AnyNotify::wait(Core &core, Lock &lock, Stream &stream, const aclrtCntNotifyWaitInfo &info) {
    const Ref<AnyNotify> self(this);
    core.admit(lock, stream);
    core.observers().report<kOrder>(&Observer::waits, stream.next(), SyncObject{sync_kind(), handle()},
                                    WaitBinding{WaitBinding::State::Any});
    if (core.observers().want(kOrder)) {
        called_.note_wait(core.call_order(), stream, info);
    }
    core.submit(stream, NotifyWaitTask(core, self, info));
}

void AnyNotify::note_change(const Change &change, bool replaces, std::uint32_t former) {
    if (replaces) {
        changes_.clear();
        former_ = former;
    }
    if (changes_.size() >= kMostChanges) {  // keep the newest of each stream: order may be assumed that is not there
        std::vector<Change> newest;
        for (auto it = changes_.rbegin(); it != changes_.rend(); ++it) {
            const auto is_of_stream = [&](const Change &its) { return its.record.stream == it->record.stream; };
            if (std::none_of(newest.begin(), newest.end(), is_of_stream)) {
                newest.push_back(*it);
            }
        }
        changes_.assign(newest.rbegin(), newest.rend());
    }
    changes_.push_back(change);
}

// Returns the newest record of each stream, of those up to the one from which on the number satisfied the wait.
std::vector<Point> AnyNotify::satisfied_by(const aclrtCntNotifyWaitInfo &info) const {
    std::vector<Point> found;
    auto end = changes_.end();
    while (end != changes_.begin() && is_satisfied(std::prev(end)->value, info)) {
        --end;
    }
    if (end == changes_.begin() && is_satisfied(former_, info)) {
        return found;  // without any of them
    }
    end += end != changes_.end() ? 1 : 0;
    for (auto it = changes_.begin(); it != end; ++it) {
        const auto is_of_stream = [&](const Change &its) { return its.record.stream == it->record.stream; };
        if (std::none_of(std::next(it), end, is_of_stream)) {
            found.push_back(it->record);
        }
    }
    return found;
}

void AnyNotify::note_edges(Core &core, const Point &wait, const aclrtCntNotifyWaitInfo &info) {
    const CalledRecords::Binding *const binding = called_.binding_of(wait);
    if (binding == nullptr) {
        core.note_edges({}, satisfied_by(info), {{}, wait, Ordering::Notify});
    } else if (binding->needed != 0) {
        Edge edge{{}, wait, Ordering::Notify};
        edge.needed = binding->needed;
        core.note_edges(binding->shares, satisfied_by(info), edge);
    }
}

// --- CntNotify -------------------------------------------------------------------------------------------------------

Ref<CntNotify> CntNotify::create(Core &core, Device &device) {
    auto notify = make_ref<CntNotify>(device);
    core.registry().add(notify);
    return notify;
}

std::string CntNotify::text() { return "counting notify " + name() + ", which is at " + std::to_string(count_); }

// --- Notify ----------------------------------------------------------------------------------------------------------

Ref<Notify> Notify::create(Core &core, Device &device) {
    auto notify = make_ref<Notify>(device);
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

void Notify::record(Core &core, Lock &lock, Stream &stream) { AnyNotify::record(core, lock, stream, kSetBit); }

// Stores the record of a shared notify in its page, because other processes record it, too.
void Notify::note_change(const Change &change, bool replaces, std::uint32_t former) {
    AnyNotify::note_change(change, replaces, former);
    if (shared_) {
        Shared &shared = shared_->as<Shared>();
        shared.process = own_process();
        shared.stream = change.record.stream;
        shared.sequence = change.record.sequence;
    }
}

void Notify::note_edges(Core &core, const Point &wait, const aclrtCntNotifyWaitInfo &info) {
    if (!shared_) {
        return AnyNotify::note_edges(core, wait, info);
    }
    const Shared &shared = shared_->as<Shared>();
    const std::uint64_t process = shared.process;
    if (process != 0) {
        core.note_edge(
            {{shared.stream, shared.sequence}, wait, Ordering::Notify, process == own_process() ? 0 : process});
    }
}

void Notify::wait(Core &core, Lock &lock, Stream &stream, std::uint32_t timeout_s) {
    AnyNotify::wait(core, lock, stream, {ACL_RT_CNT_NOTIFY_WAIT_BIGGER_MODE, 0, timeout_s, /*isClear=*/1, {}});
}

const std::string &Notify::export_key(Core &core, bool checks_process) {
    core.timer().start();  // waits that are already blocked poll from now on
    shared_ = SharedMemory::create<Shared>();
    called_.end_order();
    Shared &shared = shared_->as<Shared>();
    if (bit_ != 0 && !changes_.empty()) {
        note_change(Change(changes_.front()), /*replaces=*/true, 0);
    }
    shared.bit = bit_.load();
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
