// Every choice of order and moment: which of several streams comes next, and whether a task may start at all.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/facts.h"
#include "engine/lock.h"

namespace aclsim {

class HostWait;
class Stream;

constexpr std::size_t kPriorities = 8;  // 0 is the highest (events_streams_sync.md section 3)

// The streams whose head waits for a thread of one executor: first in, first out within each priority.
class ReadyQueue {
  public:
    void push(Stream &stream) REQUIRES(engine_lock);
    void remove(Stream &stream) REQUIRES(engine_lock);
    Stream *front() const REQUIRES(engine_lock);  // of the highest priority that has one
    std::vector<Stream *> all() const REQUIRES(engine_lock);
    // May be read without the engine lock, by threads that look for work before they sleep.
    std::size_t size() const { return size_.load(std::memory_order_acquire); }

  private:
    struct List {
        Stream *head = nullptr;
        Stream *tail = nullptr;
    };
    std::array<List, kPriorities> lists_ GUARDED_BY(engine_lock);
    std::atomic<std::size_t> size_{0};
};

// The streams to be moved forward, each at most once. To add one needs no memory: what completes a task cannot fail.
class RunnableList {
  public:
    bool empty() const REQUIRES(engine_lock) { return first_ == nullptr; }
    void push(Stream &stream) REQUIRES(engine_lock);
    Stream &pop() REQUIRES(engine_lock);
    void remove(Stream &stream) REQUIRES(engine_lock);
    std::vector<Stream *> all() const REQUIRES(engine_lock);

  private:
    static Stream *behind(const Stream &stream) REQUIRES(engine_lock);

    Stream *first_ GUARDED_BY(engine_lock) = nullptr;
    Stream *last_ GUARDED_BY(engine_lock) = nullptr;
};

// What is to be chosen.
enum class Choice : std::uint8_t {
    Ready,     // the stream that a free thread serves
    Waiter,    // the stream that looks first at what several wait for
    Runnable,  // the stream that moves forward next
    Helper,    // the stream whose head a waiting host thread runs
    Ended,     // the stream whose head has run and completes next
    Expired,   // the stream whose time limit is dealt with first
};

// Called with the engine lock held. Candidates are in the order in which the eager scheduler takes them, and never
// none.
class Scheduler {
  public:
    virtual ~Scheduler() = default;
    // Always the first one, and every task as soon as it can start? Then the engine need not ask.
    bool takes_first() const { return takes_first_; }
    virtual Stream &choose(Choice choice, const std::vector<Stream *> &candidates) REQUIRES(engine_lock) = 0;
    // May this stream start its head now? If not, the stream is held until Core::hold(false).
    virtual bool may_start(const Stream &) REQUIRES(engine_lock) { return true; }
    // The heads of these streams have run. May one of them complete now? If not, they are asked about again when
    // another one has run, and at Core::hold(false).
    virtual bool may_end(const std::vector<Stream *> &) REQUIRES(engine_lock) { return true; }
    // A thread of the program begins to wait, and goes on.
    virtual void host_waits(const HostWait &) REQUIRES(engine_lock) {}
    virtual void host_goes_on(const HostWait &) REQUIRES(engine_lock) {}
    // A thread, by the kernel's number, was told that a task is not done. If it asks until that is done, the scheduler
    // must let it come so far: Core::start_held().
    virtual void host_polled(std::uint32_t /*thread*/, const Point & /*task*/) REQUIRES(engine_lock) {}

    // The choices so far, to be written down or compared with another run.
    struct Decision {
        Choice choice;
        std::uint32_t candidates;  // how many there were
        std::uint32_t chosen;      // the place of the chosen one among them

        bool operator==(const Decision &other) const {
            return choice == other.choice && candidates == other.candidates && chosen == other.chosen;
        }
    };
    const std::vector<Decision> &decisions() const REQUIRES(engine_lock) { return decisions_; }
    // A choice that is kept among them.
    Stream &pick(Choice choice, const std::vector<Stream *> &candidates) REQUIRES(engine_lock) {
        Stream &chosen = choose(choice, candidates);
        const auto place = std::find(candidates.begin(), candidates.end(), &chosen) - candidates.begin();
        decisions_.push_back(
            {choice, static_cast<std::uint32_t>(candidates.size()), static_cast<std::uint32_t>(place)});
        return chosen;
    }

  protected:
    explicit Scheduler(bool takes_first) : takes_first_(takes_first) {}

  private:
    const bool takes_first_;
    std::vector<Decision> decisions_ GUARDED_BY(engine_lock);  // none of one that takes the first
};

// The default: whatever can start starts at once; by priority, then by age.
class EagerScheduler final : public Scheduler {
  public:
    EagerScheduler() : Scheduler(/*takes_first=*/true) {}
    Stream &choose(Choice, const std::vector<Stream *> &candidates) override REQUIRES(engine_lock) {
        return *candidates.front();
    }
};

inline Scheduler &eager_scheduler() {
    static auto *const scheduler = new EagerScheduler();
    return *scheduler;
}

}  // namespace aclsim
