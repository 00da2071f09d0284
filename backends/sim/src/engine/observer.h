// The one place through which the engine tells what it does. Time lines, race detectors, the memory check, statistics
// and tests are observers; the engine does not know them, and pays the test of a flag when there is none.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/clock.h"
#include "engine/facts.h"
#include "support/expect.h"

namespace aclsim {

class Stream;
class Task;

// Every function is called with the engine lock held and must not call the API. The time is that of the engine's clock.
class Observer {
  public:
    virtual ~Observer() = default;

    // --- the life of a task ----------------------------------------------------------------------------------------
    virtual void submitted(Time, const Stream &, const Task &, const Submission &) REQUIRES(engine_lock) {}
    // Again whenever it blocks again.
    virtual void blocked(Time, const Stream &, const Task &, const Causes &) REQUIRES(engine_lock) {}
    virtual void started(Time, const Stream &, const Task &) REQUIRES(engine_lock) {}
    virtual void ended(Time, const Stream &, const Task &) REQUIRES(engine_lock) {}
    // Instead of ended.
    virtual void dropped(Time, const Stream &, const Task &, aclError /*reason*/) REQUIRES(engine_lock) {}

    // --- order -----------------------------------------------------------------------------------------------------
    // The second task, and what follows it in its stream, comes after the first one. The order inside a stream is not
    // told.
    virtual void ordered(Time, Point /*before*/, Point /*after*/, Ordering) REQUIRES(engine_lock) {}
    // The thread knows that the task, and what is before it, is done.
    virtual void host_learned(Time, std::uint32_t /*thread*/, Point, Learned) REQUIRES(engine_lock) {}

    // --- memory ----------------------------------------------------------------------------------------------------
    virtual void allocated(Time, const Allocation &) REQUIRES(engine_lock) {}
    virtual void freed(Time, const void * /*address*/) REQUIRES(engine_lock) {}
    // With a device, or a pool.
    virtual void freed_all(Time, std::uintptr_t /*begin*/, std::uint64_t /*size*/) REQUIRES(engine_lock) {}
    // A stream is to free the memory: freed for the calls that follow, while tasks before still work with it. The
    // number tells which free it is that the stream comes to, or never will.
    virtual void free_submitted(Time, const void * /*address*/, std::uint64_t /*number*/) REQUIRES(engine_lock) {}
    virtual void free_reached(Time, std::uint64_t /*number*/) REQUIRES(engine_lock) {}
    virtual void free_dropped(Time, std::uint64_t /*number*/) REQUIRES(engine_lock) {}
    virtual void allocation_reached(Time, std::uint64_t /*number*/) REQUIRES(engine_lock) {}  // of Pages::InStream
    // Mistakes of the program that the call itself does not report.
    // A stream is to free memory that is not live.
    virtual void freed_nothing(Time, const void * /*address*/) REQUIRES(engine_lock) {}
    // It was not unregistered before.
    virtual void freed_registered(Time, const void * /*address*/) REQUIRES(engine_lock) {}
    // A call of the thread works on memory until it ends, is done with it, or submits a task that takes the memory
    // over. Calls nest: callbacks make them.
    virtual void call_began(Time) REQUIRES(engine_lock) {}
    virtual void call_accesses(Time, const Access &) REQUIRES(engine_lock) {}
    virtual void call_done_with_memory(Time) REQUIRES(engine_lock) {}
    virtual void call_ended(Time) REQUIRES(engine_lock) {}
    // A task that starts has read in memory what it works on; false: there is nothing, and the task fails.
    virtual void accessed(Time, const Task &, const Access &, bool /*is_there*/) REQUIRES(engine_lock) {}
    // A model executes one of its tasks as another task.
    virtual void replayed(Time, const Task & /*kept*/, const Task & /*replay*/) REQUIRES(engine_lock) {}

    // What is known of an address that a call fails with, to be put behind the text of the failure.
    virtual void explain(const void * /*address*/, std::string & /*text*/) const REQUIRES(engine_lock) {}
};

// The observers of one engine, in the order in which they were added.
class Observers {
  public:
    explicit Observers(const Clock &clock) : clock_(clock) {}
    bool any() const REQUIRES(engine_lock) { return unlikely(!list_.empty()); }
    void add(Observer &observer) REQUIRES(engine_lock) { list_.push_back(&observer); }
    void remove(Observer &observer) REQUIRES(engine_lock) {
        list_.erase(std::remove(list_.begin(), list_.end(), &observer), list_.end());
    }
    // tell(&Observer::ended, stream, task)
    template <class... Parameters, class... Arguments>
    void tell(void (Observer::*fact)(Time, Parameters...), Arguments &&...arguments) const REQUIRES(engine_lock) {
        if (any()) {
            const Time now = clock_.now();
            for (Observer *observer : list_) {
                (observer->*fact)(now, arguments...);
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
    const Clock &clock_;
    std::vector<Observer *> list_ GUARDED_BY(engine_lock);
};

}  // namespace aclsim
