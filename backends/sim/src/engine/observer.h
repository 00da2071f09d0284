// The one place through which the engine tells what it does. Time lines, race detectors, the memory check, statistics
// and tests are observers; the engine does not know them, and pays the test of a flag when there is none.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/clock.h"
#include "engine/facts.h"

namespace aclsim {

class Stream;
class Task;

// Every function is called with the engine lock held and must not call the API. The time is that of the engine's clock.
class Observer {
  public:
    virtual ~Observer() = default;

    // --- the life of a task ----------------------------------------------------------------------------------------
    virtual void submitted(Time, const Stream &, const Task &, const Submission &) {}
    virtual void blocked(Time, const Stream &, const Task &, const Causes &) {}  // again whenever it blocks again
    virtual void started(Time, const Stream &, const Task &) {}
    virtual void ended(Time, const Stream &, const Task &) {}
    virtual void dropped(Time, const Stream &, const Task &, aclError /*reason*/) {}  // instead of ended

    // --- order -----------------------------------------------------------------------------------------------------
    // The second task, and what follows it in its stream, comes after the first one. The order inside a stream is not
    // told.
    virtual void ordered(Time, Point /*before*/, Point /*after*/, Ordering) {}
    // The thread knows that the task, and what is before it, is done.
    virtual void host_learned(Time, std::uint32_t /*thread*/, Point, Learned) {}

    // --- memory ----------------------------------------------------------------------------------------------------
    virtual void allocated(Time, const Allocation &) {}
    virtual void freed(Time, const void * /*address*/) {}
    virtual void freed_all(Time, std::uintptr_t /*begin*/, std::uint64_t /*size*/) {}  // with a device, or a pool
    // A stream is to free the memory: freed for the calls that follow, while tasks before still work with it. The
    // number tells which free it is that the stream comes to, or never will.
    virtual void free_submitted(Time, const void * /*address*/, std::uint64_t /*number*/) {}
    virtual void free_reached(Time, std::uint64_t /*number*/) {}
    virtual void free_dropped(Time, std::uint64_t /*number*/) {}
    virtual void allocation_reached(Time, std::uint64_t /*number*/) {}  // of Pages::InStream
    // Mistakes of the program that the call itself does not report.
    virtual void freed_nothing(Time, const void * /*address*/) {}     // a stream is to free memory that is not live
    virtual void freed_registered(Time, const void * /*address*/) {}  // it was not unregistered before
    // A call of the thread works on memory until it ends, is done with it, or submits a task that takes the memory
    // over. Calls nest: callbacks make them.
    virtual void call_began(Time) {}
    virtual void call_accesses(Time, const Access &) {}
    virtual void call_done_with_memory(Time) {}
    virtual void call_ended(Time) {}
    // A task that starts has read in memory what it works on; false: there is nothing, and the task fails.
    virtual void accessed(Time, const Task &, const Access &, bool /*is_there*/) {}
    // A model executes one of its tasks as another task.
    virtual void replayed(Time, const Task & /*kept*/, const Task & /*replay*/) {}

    // What is known of an address that a call fails with, to be put behind the text of the failure.
    virtual void explain(const void * /*address*/, std::string & /*text*/) const {}
};

// The observers of one engine, in the order in which they were added.
class Observers {
  public:
    explicit Observers(const Clock &clock) : clock_(clock) {}
    bool any() const { return !list_.empty(); }
    void add(Observer &observer) { list_.push_back(&observer); }
    void remove(Observer &observer) { list_.erase(std::remove(list_.begin(), list_.end(), &observer), list_.end()); }
    // tell(&Observer::ended, stream, task)
    template <class... Parameters, class... Arguments>
    void tell(void (Observer::*fact)(Time, Parameters...), Arguments &&...arguments) const {
        if (any()) {
            const Time now = clock_.now();
            for (Observer *observer : list_) {
                (observer->*fact)(now, arguments...);
            }
        }
    }
    std::string explain(const void *address) const {
        std::string text;
        for (const Observer *observer : list_) {
            observer->explain(address, text);
        }
        return text;
    }

  private:
    const Clock &clock_;
    std::vector<Observer *> list_;
};

}  // namespace aclsim
