// The interface through which the engine reports facts about its work. Time lines, race detectors, the memory check,
// statistics and tests are observers; the engine does not know them.
//
// An observer only watches: fast paths, small copies at once and the shards stay as they are without it, so that it
// sees the program that runs without it. What disturbs tasks is in hooks.h and scheduler.h.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
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

// The time of one step of the engine, read when the first observer asks for it, and once.
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

// Kinds of facts that observers ask for. A kind without an observer is not even collected.
enum Facts : std::uint32_t {
    kTasks = 1U << 0,      // streams, and the life of tasks
    kOrder = 1U << 1,      // what comes after what, and what the host learns
    kMemory = 1U << 2,     // allocations, frees and accesses
    kCalls = 1U << 3,      // begin and end of calls
    kPlaces = 1U << 4,     // places of calls in the program: of those that work with memory,
    kAllPlaces = 1U << 5,  // and of all others
    kEveryFact = (1U << 6) - 1,
};

// Every function is called with the shard that the fact belongs to, or with the global lock, and must not call the API.
// Facts of different shards may come at the same time from several threads; those of one stream come one by one. A task
// is known by its stream and its sequence number: its address may change until it has started. A task that a model
// keeps stays where it is.
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
    // Again whenever it blocks again.
    virtual void blocked(const Moment &, const Stream &, const Task &, const Causes &) REQUIRES(engine_lock) {}
    // On which thread, by the kernel's number; a task that needs no time starts where it is submitted or woken.
    virtual void started(const Moment &, const Stream &, const Task &, std::uint32_t /*thread*/) REQUIRES(engine_lock) {
    }
    virtual void ended(const Moment &, const Stream &, const Task &, std::uint32_t /*thread*/) REQUIRES(engine_lock) {}
    // Instead of ended.
    virtual void dropped(const Moment &, const Stream &, const Task &, aclError /*reason*/) REQUIRES(engine_lock) {}
    // A model executes one of its tasks as another task.
    virtual void replayed(const Moment &, const Stream &, const Task & /*kept*/, const Task & /*replay*/)
        REQUIRES(engine_lock) {}
    // A task that a graph keeps was changed: it has other parameters, and other accesses, from now on.
    virtual void changed(const Moment &, const Stream &, const Task & /*former*/, const Task & /*now*/,
                         const Submission &) REQUIRES(engine_lock) {}

    // --- kOrder ----------------------------------------------------------------------------------------------------
    // At the call, before the task is submitted: the object that the record or wait at that point is for.
    virtual void records(const Moment &, Point /*task*/, const SyncObject &) REQUIRES(engine_lock) {}
    virtual void waits(const Moment &, Point /*task*/, const SyncObject &, const WaitBinding &) REQUIRES(engine_lock) {}
    virtual void ordered(const Moment &, const Edge &) REQUIRES(engine_lock) {}
    // The thread knows that the task, and what is before it, is done.
    virtual void host_learned(const Moment &, std::uint32_t /*thread*/, Point, HostSync) REQUIRES(engine_lock) {}
    // A query answered that the task is not done yet.
    virtual void host_polled(const Moment &, std::uint32_t /*thread*/, Point) REQUIRES(engine_lock) {}

    // --- kMemory ---------------------------------------------------------------------------------------------------
    virtual void allocated(const Moment &, const Allocation &) REQUIRES(engine_lock) {}
    virtual void freed(const Moment &, const void * /*address*/) REQUIRES(engine_lock) {}
    // With a device, or a pool.
    virtual void freed_all(const Moment &, std::uintptr_t /*begin*/, std::uint64_t /*size*/) REQUIRES(engine_lock) {}
    // A stream is to free the memory: freed for the calls that follow, while tasks before still work with it. The
    // number identifies the free that the stream comes to, or never will.
    virtual void free_submitted(const Moment &, const void * /*address*/, std::uint64_t /*number*/)
        REQUIRES(engine_lock) {}
    // With the point of the task that frees; none if the memory goes with its model.
    virtual void free_reached(const Moment &, std::uint64_t /*number*/, Point) REQUIRES(engine_lock) {}
    virtual void free_dropped(const Moment &, std::uint64_t /*number*/) REQUIRES(engine_lock) {}
    // An allocation of Pages::InStream, with the point of the task from which on the stream may use the memory.
    virtual void allocation_reached(const Moment &, std::uint64_t /*number*/, Point) REQUIRES(engine_lock) {}
    // Mistakes of the program that the call itself does not report.
    // A stream is to free memory that is not live.
    virtual void freed_nothing(const Moment &, const void * /*address*/) REQUIRES(engine_lock) {}
    // It was not unregistered before.
    // The present call uses memory of another process, which has freed it or ended.
    virtual void used_orphan(const Moment &, const Access &) REQUIRES(engine_lock) {}
    virtual void freed_registered(const Moment &, const void * /*address*/) REQUIRES(engine_lock) {}
    // A call of the thread works on memory until it is done with it, at the latest when it ends, or submits a task that
    // takes the memory over.
    virtual void call_accesses(const Moment &, const Access &) REQUIRES(engine_lock) {}
    virtual void call_done_with_memory(const Moment &) REQUIRES(engine_lock) {}
    // A task that starts has read in memory what it works on; false: there is nothing, and the task fails.
    virtual void accessed(const Moment &, const Stream &, const Task &, const Access &, bool /*is_there*/)
        REQUIRES(engine_lock) {}

    // --- kCalls ----------------------------------------------------------------------------------------------------
    // Calls nest: callbacks make them.
    virtual void call_began(const Moment &, const CallSite &) REQUIRES(engine_lock) {}
    virtual void call_ended(const Moment &, const CallSite &) REQUIRES(engine_lock) {}

    // What is known of an address that a call fails with, to be put behind the text of the failure.
    virtual void explain(const void * /*address*/, std::string & /*text*/) const REQUIRES(engine_lock) {}
};

// The observers of one engine, in the order in which they were added. Changed with the global lock.
class Observers {
  public:
    explicit Observers(const Clock &clock) : clock_(clock) {}
    bool any() const REQUIRES(engine_lock) { return unlikely(wanted_ != 0); }
    // Does one of them want one of these facts?
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
    // May be asked without the lock.
    static bool want_accesses() { return wants_accesses_.load(std::memory_order_relaxed); }
    Moment moment() const { return Moment(clock_); }
    // tell<kTasks>(&Observer::ended, stream, task, thread): to those that want such facts.
    template <std::uint32_t kFacts, class... Parameters, class... Arguments>
    void tell(void (Observer::*fact)(const Moment &, Parameters...), const Arguments &...arguments) const
        REQUIRES(engine_lock) {
        if (want(kFacts)) {
            tell_at<kFacts>(moment(), fact, arguments...);
        }
    }
    // The same for facts of one step, which have one time.
    template <std::uint32_t kFacts, class... Parameters, class... Arguments>
    void tell_at(const Moment &moment, void (Observer::*fact)(const Moment &, Parameters...),
                 const Arguments &...arguments) const REQUIRES(engine_lock) {
        for (Observer *observer : list_) {
            if ((observer->wanted_facts & kFacts) != 0) {
                (observer->*fact)(moment, arguments...);
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
        g_wanted_places.store((wanted_ & kAllPlaces) != 0 ? WantedPlaces::All
                              : (wanted_ & kPlaces) != 0  ? WantedPlaces::OfMemory
                                                          : WantedPlaces::None,
                              std::memory_order_relaxed);
    }

    static inline std::atomic<bool> wants_accesses_{false};
    const Clock &clock_;
    std::vector<Observer *> list_ GUARDED_BY(engine_lock);
    std::uint32_t wanted_ GUARDED_BY(engine_lock) = 0;
};

}  // namespace aclsim
