// SPDX-License-Identifier: Apache-2.0
// Interface through which the engine reports facts about its work. Timelines, race detectors, the memory check,
// statistics and tests are observers; the engine does not depend on them.
//
// Observers only watch: fast paths, immediate small copies and shards work the same with and without them, so that the
// observed program behaves like the unobserved one. Interfaces that influence tasks are in hooks.h and scheduler.h.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "engine/clock.h"
#include "engine/facts.h"
#include "support/call_place.h"
#include "support/expect.h"

namespace aclsim {

class Stream;
class Task;

// Time of one step of the engine, read once, when the first observer asks for it.
class Moment {
  public:
    explicit Moment(const Clock &clock) : clock_(clock) {}
    Time time() const {
        if (!time_) {
            time_ = clock_.now();
        }
        return *time_;
    }

  private:
    const Clock &clock_;
    mutable std::optional<Time> time_;
};

// Kinds of facts that observers can request. Facts without an interested observer are not collected.
enum Facts : std::uint32_t {
    kTasks = 1U << 0,       // streams, and the life of tasks
    kOrder = 1U << 1,       // ordering between tasks, and knowledge gained by the host
    kMemory = 1U << 2,      // allocations, frees and accesses
    kCalls = 1U << 3,       // begin and end of calls
    kPlaces = 1U << 4,      // places in the program of calls that work with memory
    kAllPlaces = 1U << 5,   // and of all other calls but those that only ask
    kHostAccess = 1U << 6,  // accesses by code of the program, and order between its threads
    kEveryFact = (1U << 7) - 1,
};

// Receives facts. Every function is called with the shard of the fact, or with the global lock, and must not call the
// API. Facts of different shards may arrive concurrently from several threads; facts of one stream arrive one by one.
// Identify a task by its stream and its sequence number: its address may change until it has started. A task kept by a
// model does not move.
class Observer {
  public:
    explicit Observer(std::uint32_t wanted = kEveryFact) : wanted_facts(wanted) {}
    virtual ~Observer() = default;
    Observer(const Observer &) = delete;
    Observer &operator=(const Observer &) = delete;

    const std::uint32_t wanted_facts;

    // --- kTasks: streams, and the life of a task -------------------------------------------------------------------
    virtual void stream_created(const Moment &, const Stream &) REQUIRES(engine_lock) {}
    virtual void stream_destroyed(const Moment &, const Stream &) REQUIRES(engine_lock) {}
    virtual void submitted(const Moment &, const Stream &, const Task &, const Submission &) REQUIRES(engine_lock) {}
    // Repeated whenever the task blocks again.
    virtual void blocked(const Moment &, const Stream &, const Task &, const Causes &) REQUIRES(engine_lock) {}
    // `thread` is the OS thread number; a task that takes no time starts on the thread that submits it or wakes its
    // stream.
    virtual void started(const Moment &, const Stream &, const Task &, std::uint32_t /*thread*/) REQUIRES(engine_lock) {
    }
    virtual void ended(const Moment &, const Stream &, const Task &, std::uint32_t /*thread*/) REQUIRES(engine_lock) {}
    // Replaces submitted(), started() and ended() for a task with kEndsAtOnce whose stream was idle.
    virtual void passed(const Moment &now, const Stream &stream, const Task &task, const Submission &how,
                        std::uint32_t thread) REQUIRES(engine_lock) {
        submitted(now, stream, task, how);
        started(now, stream, task, thread);
        ended(now, stream, task, thread);
    }
    // Replaces ended() for a task that was dropped.
    virtual void dropped(const Moment &, const Stream &, const Task &, aclError /*reason*/) REQUIRES(engine_lock) {}
    // Reports that a model executes one of its tasks as another task.
    virtual void replayed(const Moment &, const Stream &, const Task & /*kept*/, const Task & /*replay*/)
        REQUIRES(engine_lock) {}
    // Reports that a task kept by a graph was changed: it has other parameters and other accesses from now on.
    virtual void changed(const Moment &, const Stream &, const Task & /*former*/, const Task & /*now*/,
                         const Submission &) REQUIRES(engine_lock) {}

    // --- kOrder ----------------------------------------------------------------------------------------------------
    // Reported by the call, before the task is submitted: the object of the record or wait at that point.
    virtual void records(const Moment &, Point /*task*/, const SyncObject &) REQUIRES(engine_lock) {}
    virtual void waits(const Moment &, Point /*task*/, const SyncObject &, const WaitBinding &) REQUIRES(engine_lock) {}
    virtual void ordered(const Moment &, const Edge &) REQUIRES(engine_lock) {}
    // Reports that the thread knows the task and its predecessors to be done.
    virtual void host_learned(const Moment &, std::uint32_t /*thread*/, Point, HostSync) REQUIRES(engine_lock) {}
    // The same for a record of another process; the point belongs to that process.
    virtual void host_learned_of_process(const Moment &, std::uint32_t /*thread*/, Point, std::uint64_t /*process*/)
        REQUIRES(engine_lock) {}
    // Reports a query that was answered with "not done yet".
    virtual void host_polled(const Moment &, std::uint32_t /*thread*/, Point) REQUIRES(engine_lock) {}

    // --- kMemory ---------------------------------------------------------------------------------------------------
    virtual void allocated(const Moment &, const Allocation &) REQUIRES(engine_lock) {}
    virtual void freed(const Moment &, const void * /*address*/) REQUIRES(engine_lock) {}
    // Reports that the library frees memory of a task that has done with it, whatever the program does.
    virtual void freed_by_library(const Moment &moment, const void *address) REQUIRES(engine_lock) {
        freed(moment, address);
    }
    // Reports that all memory of a device or a pool was freed.
    virtual void freed_all(const Moment &, std::uintptr_t /*begin*/, std::uint64_t /*size*/) REQUIRES(engine_lock) {}
    // Reports a queued free: the memory is freed for subsequent calls, while earlier tasks still use it. The number
    // identifies the free that the stream will reach or drop.
    virtual void free_submitted(const Moment &, const void * /*address*/, std::uint64_t /*number*/)
        REQUIRES(engine_lock) {}
    // The point is that of the freeing task; no task if the memory is freed together with its model.
    virtual void free_reached(const Moment &, std::uint64_t /*number*/, Point) REQUIRES(engine_lock) {}
    virtual void free_dropped(const Moment &, std::uint64_t /*number*/) REQUIRES(engine_lock) {}
    // Reports that the stream reached an allocation of Pages::InStream; the point is the first task that may use the
    // memory.
    virtual void allocation_reached(const Moment &, std::uint64_t /*number*/, Point) REQUIRES(engine_lock) {}
    // Reports that other processes may use the memory of the allocation at the address from now on, or already do.
    virtual void shared(const Moment &, const void * /*address*/, const SharedPlace &) REQUIRES(engine_lock) {}
    // Report mistakes of the program that the call itself does not report: first, a queued free of memory that is not
    // live.
    virtual void freed_nothing(const Moment &, const void * /*address*/) REQUIRES(engine_lock) {}
    // Reports that the present call uses memory of another process that has freed it or ended.
    virtual void used_orphan(const Moment &, const Access &) REQUIRES(engine_lock) {}
    // Report the beginning and the end of a registration of host memory.
    virtual void registered(const Moment &, const void * /*address*/, std::uint64_t /*size*/) REQUIRES(engine_lock) {}
    virtual void unregistered(const Moment &, const void * /*address*/) REQUIRES(engine_lock) {}
    // Reports that registered memory was freed without having been unregistered.
    virtual void freed_registered(const Moment &, const void * /*address*/) REQUIRES(engine_lock) {}
    // Reports memory that a call of the thread uses until it declares to be done with it, submits a task that takes the
    // memory over, or ends.
    virtual void call_accesses(const Moment &, const Access &) REQUIRES(engine_lock) {}
    virtual void call_done_with_memory(const Moment &, const std::vector<Access> &) REQUIRES(engine_lock) {}
    // Reports that a starting task has read its operands from memory; false: there are none, and the task fails.
    virtual void accessed(const Moment &, const Stream &, const Task &, const Access &, bool /*is_there*/)
        REQUIRES(engine_lock) {}

    // --- kHostAccess -----------------------------------------------------------------------------------------------
    // Reports at the call that launches a model, for each task that the model may execute: the program must leave alone
    // what they use, although the stream reaches the launch later.
    virtual void launched(const Moment &, Point /*launch*/, const Task & /*kept*/) REQUIRES(engine_lock) {}
    // Reports that code of the program reads or writes memory. Called on that thread: running_host_function() names the
    // task whose function makes the access, which then belongs to the task's stream. `thread` is thread_number(), as in
    // host_learned(); started() and ended() of that task report the same number. The place is that of current_call().
    virtual void host_accessed(const Moment &, std::uint32_t /*thread*/, const Access &) REQUIRES(engine_lock) {}
    // Report that the thread hands over what it knows by the key, and that the thread comes after all that was handed
    // over by the key so far. Called on that thread, too; a host function hands over what precedes it in its stream.
    virtual void host_released(const Moment &, std::uint32_t /*thread*/, const void * /*key*/) REQUIRES(engine_lock) {}
    virtual void host_acquired(const Moment &, std::uint32_t /*thread*/, const void * /*key*/) REQUIRES(engine_lock) {}

    // Report that an allocator above the library gives out a part of a block, that all uses of a part are over which
    // quiet queries have shown to be over, and the name of the part that begins at the address.
    virtual void given_out(const Moment &, const void * /*address*/, std::uint64_t /*size*/) REQUIRES(engine_lock) {}
    virtual void reusable(const Moment &, const void * /*address*/, std::uint64_t /*size*/) REQUIRES(engine_lock) {}
    virtual void part_named(const Moment &, const void * /*address*/, const char * /*name*/) REQUIRES(engine_lock) {}

    // --- kCalls ----------------------------------------------------------------------------------------------------
    // Calls nest, because callbacks make calls.
    virtual void call_began(const Moment &, const CallSite &) REQUIRES(engine_lock) {}
    virtual void call_ended(const Moment &, const CallSite &) REQUIRES(engine_lock) {}

    // Reports that the observer has missed a fact, because the host had no memory to note it.
    virtual void fact_lost(const Moment &) REQUIRES(engine_lock) {}

    // Appends known facts about the address that a call fails with to the text of the failure.
    virtual void explain(const void * /*address*/, std::string & /*text*/) const REQUIRES(engine_lock) {}
};

// Observers of one engine, in the order of their addition. Changes require the global lock.
class Observers {
  public:
    explicit Observers(const Clock &clock) : clock_(clock) {}
    bool any() const REQUIRES(engine_lock) { return unlikely(wanted_ != 0); }
    // Returns true if any observer wants one of these facts.
    bool want(std::uint32_t facts) const REQUIRES(engine_lock) { return unlikely((wanted_ & facts) != 0); }
    std::uint32_t wanted() const REQUIRES(engine_lock) { return wanted_; }
    void add(Observer &observer) REQUIRES(engine_lock) {
        list_.push_back(&observer);
        note_wanted();
    }
    void remove(Observer &observer) REQUIRES(engine_lock) {
        list_.erase(std::remove(list_.begin(), list_.end(), &observer), list_.end());
        note_wanted();
    }
    // Call with or without the lock.
    static bool want_accesses() { return wants_accesses_.load(std::memory_order_relaxed); }
    static bool want_host_accesses() { return wants_host_accesses_.load(std::memory_order_relaxed); }
    Moment moment() const { return Moment(clock_); }
    // Passes a fact to the observers that want its kind: report<kTasks>(&Observer::ended, stream, task, thread).
    template <std::uint32_t kFacts, class... Parameters, class... Arguments>
    void report(void (Observer::*fact)(const Moment &, Parameters...), const Arguments &...arguments) const
        REQUIRES(engine_lock) {
        if (want(kFacts)) {
            report_at<kFacts>(moment(), fact, arguments...);
        }
    }
    // Does the same for facts of one step, which have the same time.
    template <std::uint32_t kFacts, class... Parameters, class... Arguments>
    void report_at(const Moment &moment, void (Observer::*fact)(const Moment &, Parameters...),
                   const Arguments &...arguments) const REQUIRES(engine_lock) {
        each<kFacts>(moment, [&](Observer &observer) REQUIRES(engine_lock) { (observer.*fact)(moment, arguments...); });
    }
    // Calls the function for each observer that wants these facts.
    template <std::uint32_t kFacts, class Tell>
    void each(const Moment &moment, Tell report) const REQUIRES(engine_lock) {
        for (Observer *observer : list_) {
            if ((observer->wanted_facts & kFacts) != 0) {
                try {
                    report(*observer);
                } catch (const std::bad_alloc &) {  // the fact has happened: neither its call nor its task may fail
                    observer->fact_lost(moment);
                }
            }
        }
    }
    std::string explain(const void *address) const REQUIRES(engine_lock) {
        std::string text;
        for (const Observer *observer : list_) {
            observer->explain(address, text);
        }
        return text;
    }

  private:
    void note_wanted() REQUIRES(engine_lock) {
        wanted_ = 0;
        for (const Observer *observer : list_) {
            wanted_ |= observer->wanted_facts;
        }
        wants_accesses_.store((wanted_ & kMemory) != 0, std::memory_order_relaxed);
        wants_host_accesses_.store((wanted_ & kHostAccess) != 0, std::memory_order_relaxed);
        g_wanted_places.store((wanted_ & kAllPlaces) != 0 ? WantedPlaces::All
                              : (wanted_ & kPlaces) != 0  ? WantedPlaces::OfMemory
                                                          : WantedPlaces::None,
                              std::memory_order_relaxed);
    }

    static inline std::atomic<bool> wants_accesses_{false};
    static inline std::atomic<bool> wants_host_accesses_{false};
    const Clock &clock_;
    std::vector<Observer *> list_ GUARDED_BY(engine_lock);
    std::uint32_t wanted_ GUARDED_BY(engine_lock) = 0;
};

}  // namespace aclsim
