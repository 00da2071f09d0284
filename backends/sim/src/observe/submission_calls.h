// SPDX-License-Identifier: Apache-2.0
// Calls that submitted the pending tasks, for reports about tasks that will never end. The race check knows them, too.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

#include "engine/observer.h"
#include "support/call_note.h"

namespace aclsim {

class SubmissionCalls {
  public:
    // Returns the call that submitted the task, or that added the kept task that it repeats. The note is empty if the
    // call is not known.
    virtual CallNote find(const Stream &stream, std::uint64_t sequence) const REQUIRES(engine_lock) = 0;
    // Returns the number by which reports name a pending task. It counts waits that needed no task, because their
    // record was complete: otherwise it would depend on the schedule. The number of a later task counts all of them.
    virtual std::uint64_t number_of(const Stream &stream, std::uint64_t sequence) const REQUIRES(engine_lock) = 0;

  protected:
    ~SubmissionCalls() = default;
};

// Facts arrive from threads of all shards, so the notes are guarded by their mutex, the innermost lock.
class NotedCalls final : public Observer, public SubmissionCalls {
  public:
    NotedCalls() : Observer(kTasks | kOrder | kAllPlaces) {}
    CallNote find(const Stream &stream, std::uint64_t sequence) const override REQUIRES(engine_lock);
    std::uint64_t number_of(const Stream &stream, std::uint64_t sequence) const override REQUIRES(engine_lock);

    void stream_destroyed(const Moment &, const Stream &) override REQUIRES(engine_lock);
    void submitted(const Moment &, const Stream &, const Task &, const Submission &) override REQUIRES(engine_lock);
    void ended(const Moment &, const Stream &, const Task &, std::uint32_t) override REQUIRES(engine_lock);
    void dropped(const Moment &, const Stream &, const Task &, aclError) override REQUIRES(engine_lock);
    void replayed(const Moment &, const Stream &, const Task &kept, const Task &replay) override REQUIRES(engine_lock);
    void changed(const Moment &, const Stream &, const Task &former, const Task &now, const Submission &) override
        REQUIRES(engine_lock);
    void waits(const Moment &, Point task, const SyncObject &object, const WaitBinding &binding) override
        REQUIRES(engine_lock);

  private:
    using Key = std::pair<std::uint64_t, std::uint64_t>;  // stream and sequence number
    using Guard = std::lock_guard<std::mutex>;

    struct Pending {
        CallNote call;
        std::uint64_t number;
    };
    // The following functions require the mutex.
    void note(const Stream &stream, const Task &task, const CallNote &call);
    std::uint64_t number_of_next(std::uint64_t stream, std::uint64_t sequence) const;

    mutable std::mutex mutex_;
    std::map<Key, Pending> pending_;
    std::map<const Task *, CallNote> kept_;                      // by tasks that models keep, which they may outlive
    std::map<std::uint64_t, std::uint64_t> waits_without_task_;  // by stream
};

}  // namespace aclsim
