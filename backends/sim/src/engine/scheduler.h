// SPDX-License-Identifier: Apache-2.0
// All choices of order and time: the next of several streams, and the permission of a task to start.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/facts.h"
#include "engine/lock.h"
#include "support/ref.h"

namespace aclsim {

class HostWait;
class Stream;

constexpr std::size_t kPriorities = 8;  // 0 is the highest (events_streams_sync.md section 3)

// Streams whose head waits for a thread of one executor: first in, first out within each priority.
class ReadyQueue {
  public:
    void push(Stream &stream) REQUIRES(engine_lock);
    void remove(Stream &stream) REQUIRES(engine_lock);
    Stream *front() const REQUIRES(engine_lock);  // head of the highest non-empty priority
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

// Streams in the order of their addition, each at most once. Adding one allocates nothing: completing a task cannot
// fail. The link names the member of Stream that points to the next one; the last stream points to itself.
template <class Link>
class StreamList {
  public:
    bool empty() const REQUIRES(engine_lock) { return first_ == nullptr; }
    // Returns false if the stream is already in a list with this link.
    bool push(Stream &stream) REQUIRES(engine_lock);
    Stream &pop() REQUIRES(engine_lock);
    // Returns false if the stream is not in the list.
    bool remove(Stream &stream) REQUIRES(engine_lock);
    std::vector<Stream *> all() const REQUIRES(engine_lock);

  private:
    static Stream *behind(Stream &stream) REQUIRES(engine_lock);

    Stream *first_ GUARDED_BY(engine_lock) = nullptr;
    Stream *last_ GUARDED_BY(engine_lock) = nullptr;
};

// Streams to be moved forward.
struct RunnableLink {
    static Stream *&next(Stream &stream) REQUIRES(engine_lock);
};
using RunnableList = StreamList<RunnableLink>;

// Streams whose head may not start now, kept alive by the list.
struct HeldLink {
    static Stream *&next(Stream &stream) REQUIRES(engine_lock);
};
class HeldList {
  public:
    bool empty() const REQUIRES(engine_lock) { return streams_.empty(); }
    void push(Stream &stream) REQUIRES(engine_lock);
    Ref<Stream> pop() REQUIRES(engine_lock);
    void remove(Stream &stream) REQUIRES(engine_lock);

  private:
    StreamList<HeldLink> streams_;
};

// Kinds of choices.
enum class Choice : std::uint8_t {
    Ready,     // next stream for a free thread
    Waiter,    // first of several waiting streams to look at the awaited condition
    Runnable,  // next stream to move forward
    Helper,    // stream whose head a waiting host thread runs
    Ended,     // next stream to complete its head, which has run
    Expired,   // next stream whose time limit is handled
};

// Functions require the engine lock. Candidates are in the order in which the eager scheduler takes them; there is at
// least one.
class Scheduler {
  public:
    virtual ~Scheduler() = default;
    // Returns true if it always takes the first candidate, and starts every task as soon as possible. The engine then
    // need not ask.
    bool takes_first() const { return takes_first_; }
    virtual Stream &choose(Choice choice, const std::vector<Stream *> &candidates) REQUIRES(engine_lock) = 0;
    // Decides if this stream may start its head now. If not, the stream is held until Core::hold(false).
    virtual bool may_start(const Stream &) REQUIRES(engine_lock) { return true; }
    // Decides if one of these streams, whose heads have run, may complete its head now. If not, the engine asks again
    // when another head has run, and at Core::hold(false).
    virtual bool may_end(const std::vector<Stream *> &) REQUIRES(engine_lock) { return true; }
    // Called when a thread of the program begins to wait, and when it continues.
    virtual void host_waits(const HostWait &) REQUIRES(engine_lock) {}
    virtual void host_goes_on(const HostWait &) REQUIRES(engine_lock) {}
    // Called when a query by a thread (OS thread number) was answered with "not done". If the thread polls until the
    // task is done, the scheduler must let the task get there: Core::start_held().
    virtual void host_polled(std::uint32_t /*thread*/, const Point & /*task*/) REQUIRES(engine_lock) {}

    // Choices made so far, to be recorded or compared with another run.
    struct Decision {
        Choice choice;
        std::uint32_t candidates;  // number of candidates
        std::uint32_t chosen;      // index of the chosen candidate

        bool operator==(const Decision &other) const {
            return choice == other.choice && candidates == other.candidates && chosen == other.chosen;
        }
    };
    const std::vector<Decision> &decisions() const REQUIRES(engine_lock) { return decisions_; }
    // Makes a choice and records it.
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
    std::vector<Decision> decisions_ GUARDED_BY(engine_lock);  // empty if it takes the first
};

// Default scheduler: starts tasks as soon as possible; by priority, then by age.
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
