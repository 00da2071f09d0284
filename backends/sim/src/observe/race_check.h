// SPDX-License-Identifier: Apache-2.0
// Race check (ASCEND_RT_SIM_CHECK=races): reports accesses to the same memory that nothing orders. Translates the facts
// of the engine for the detector in races/.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/observer.h"
#include "observe/submission_calls.h"
#include "races/detector.h"

namespace aclsim {

// Facts arrive from threads of all shards, so the state of the check is guarded by its mutex, the innermost lock.
class RaceCheck final : public Observer, public SubmissionCalls {
  public:
    // Creates the check of the process, which writes findings, and completes them when the process ends.
    static RaceCheck &start();
    // Do nothing without a check:
    static void write_counts();  // writes how often each race has been seen so far
    static void finish_all();    // completes the findings
    RaceCheck(races::Output &output, bool separates_threads);

    // Properties of the function that is called at a place.
    struct Traits {
        bool is_of_time;  // elapsed times and time stamps
        bool is_of_event;
        bool synchronizes;  // by a value in memory
        bool is_hint;       // for caches, or for the place of managed memory: changes no content
        bool is_operator;   // names its operands by the type and shape of tensors, and not by its parameters
    };

    void stream_created(const Moment &, const Stream &) override REQUIRES(engine_lock);
    void stream_destroyed(const Moment &, const Stream &) override REQUIRES(engine_lock);
    void submitted(const Moment &, const Stream &, const Task &, const Submission &) override REQUIRES(engine_lock);
    void started(const Moment &, const Stream &, const Task &, std::uint32_t) override REQUIRES(engine_lock);
    void passed(const Moment &, const Stream &, const Task &, const Submission &, std::uint32_t) override
        REQUIRES(engine_lock);
    void ended(const Moment &, const Stream &, const Task &, std::uint32_t) override REQUIRES(engine_lock);
    void dropped(const Moment &, const Stream &, const Task &, aclError) override REQUIRES(engine_lock);
    void replayed(const Moment &, const Stream &, const Task &kept, const Task &replay) override REQUIRES(engine_lock);
    void changed(const Moment &, const Stream &, const Task &former, const Task &now, const Submission &) override
        REQUIRES(engine_lock);

    void records(const Moment &, Point task, const SyncObject &) override REQUIRES(engine_lock);
    void waits(const Moment &, Point task, const SyncObject &, const WaitBinding &binding) override
        REQUIRES(engine_lock);
    void ordered(const Moment &, const Edge &edge) override REQUIRES(engine_lock);
    void host_learned(const Moment &, std::uint32_t thread, Point task, HostSync how) override REQUIRES(engine_lock);
    void host_learned_of_process(const Moment &, std::uint32_t thread, Point task, std::uint64_t process) override
        REQUIRES(engine_lock);

    void allocated(const Moment &, const Allocation &allocation) override REQUIRES(engine_lock);
    void shared(const Moment &, const void *address, const SharedPlace &) override REQUIRES(engine_lock);
    void freed(const Moment &, const void *address) override REQUIRES(engine_lock);
    void registered(const Moment &, const void *address, std::uint64_t size) override REQUIRES(engine_lock);
    void unregistered(const Moment &, const void *address) override REQUIRES(engine_lock);
    void freed_by_library(const Moment &, const void *address) override REQUIRES(engine_lock);
    void freed_all(const Moment &, std::uintptr_t begin, std::uint64_t size) override REQUIRES(engine_lock);
    void free_submitted(const Moment &, const void *address, std::uint64_t number) override REQUIRES(engine_lock);
    void free_reached(const Moment &, std::uint64_t number, Point task) override REQUIRES(engine_lock);
    void free_dropped(const Moment &, std::uint64_t number) override REQUIRES(engine_lock);
    void allocation_reached(const Moment &, std::uint64_t number, Point task) override REQUIRES(engine_lock);
    void call_done_with_memory(const Moment &, const std::vector<Access> &accesses) override REQUIRES(engine_lock);
    void accessed(const Moment &, const Stream &, const Task &, const Access &access, bool is_there) override
        REQUIRES(engine_lock);
    void host_accessed(const Moment &, std::uint32_t thread, const Access &access) override REQUIRES(engine_lock);
    void host_released(const Moment &, std::uint32_t thread, const void *key) override REQUIRES(engine_lock);
    void host_acquired(const Moment &, std::uint32_t thread, const void *key) override REQUIRES(engine_lock);
    void given_out(const Moment &, const void *address, std::uint64_t size) override REQUIRES(engine_lock);
    void reusable(const Moment &, const void *address, std::uint64_t size) override REQUIRES(engine_lock);
    void part_named(const Moment &, const void *address, const char *name) override REQUIRES(engine_lock);
    void fact_lost(const Moment &) override REQUIRES(engine_lock);

    CallNote find(const Stream &stream, std::uint64_t sequence) const override REQUIRES(engine_lock);
    std::uint64_t number_of(const Stream &stream, std::uint64_t sequence) const override REQUIRES(engine_lock);
    void finish();  // reports all that is known

  private:
    using Guard = std::lock_guard<std::mutex>;
    using Operands = std::vector<races::Operand>;
    const Traits &traits_of(races::PlaceId place);
    Operands operands_of(const std::vector<Access> &accesses, races::PlaceId place);
    races::PlaceId place_of(const Stream &stream, const Task &task) REQUIRES(engine_lock);
    // The stream reaches the allocation or the free of a block.
    void reach(std::uint64_t number, Point task, races::Mode mode);

    mutable std::mutex mutex_;
    races::Places places_;
    std::vector<Traits> traits_;  // by place
    races::Reports reports_;
    races::Detector detector_;
    bool is_over_ = false;  // a fact was lost
    // Tasks that models keep, with their accesses and the place of the call that added them.
    struct Kept {
        races::PlaceId place;
        std::uint64_t batch;
        std::uint64_t number;  // in the order in which they were added
        Operands operands;
    };
    std::unordered_map<const Task *, Kept> kept_;
    std::uint64_t kept_so_far_ = 0;
    std::unordered_map<const Task *, Origin> replays_;  // queued by a model, until their kept task is known
    // Blocks whose allocation or free a stream has not reached, by number, and the call's place.
    std::map<std::uint64_t, std::pair<races::BlockRef, races::PlaceId>> in_stream_;
};

}  // namespace aclsim
