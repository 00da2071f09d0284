// SPDX-License-Identifier: Apache-2.0
// Conditions that tasks set and wait for: notifies, counting notifies, words in memory, events with manual reset.
//
// Calls are taken in an order in which they can run: a wait is bound to the records that satisfy it, and stays open
// until then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "engine/call_order.h"
#include "engine/facts.h"

namespace aclsim::wrapped {

using Points = std::vector<Point>;

struct Wait {
    Point task;
    std::function<bool(std::uint64_t)> accepts = [](std::uint64_t) { return true; };  // values that satisfy it
    bool clears = false;                                                              // sets a counting notify to 0
};

// Tasks that satisfy a wait: all of them come before it, or any of them may have satisfied it.
struct Match {
    Points records;
    bool is_any = false;
};

struct Bound {
    Point wait;
    Match match;
};

// Calls for all conditions, and waits that these have satisfied.
struct Calls {
    CallOrder order;
    std::vector<Bound> bound;
};

class Condition {
  public:
    explicit Condition(Calls &calls) : calls_(calls) {}
    virtual ~Condition() { calls_.order.forget(this); }
    Condition(const Condition &) = delete;
    Condition &operator=(const Condition &) = delete;

    // Returns the waits that are satisfied now, of any condition.
    std::vector<Bound> add(Wait wait);
    void withdraw(Point wait);  // which something else has satisfied
    const std::deque<Wait> &open() const { return open_; }
    virtual bool has_record_of(std::uint64_t stream) const = 0;
    bool has_open_call_of(std::uint64_t stream) const { return calls_.order.has_open(this, stream); }

    // Something may satisfy waits that no call of this process names: tasks of graphs, or another process; or an abort
    // may have dropped records. Waits then stay open until the host learns that their task is over.
    bool is_unseen = false;

  protected:
    // Takes the record as soon as it can run. Returns the waits that are satisfied now, of any condition.
    std::vector<Bound> take(Point task, std::function<void()> record);
    virtual std::optional<Match> match(const Wait &wait) = 0;

  private:
    bool settle(Point wait);

    Calls &calls_;
    std::deque<Wait> open_;  // in the order of calls
};

// Keeps its values until they are replaced: a word in memory, or an event with manual reset, whose only value is 1.
class Latch final : public Condition {
  public:
    Latch(Calls &calls, bool takes_first) : Condition(calls), takes_first_(takes_first) {}
    // `unseen` counts the pieces of work that may have changed the value unseen.
    std::vector<Bound> record(Point task, std::uint64_t value, std::uint64_t unseen);
    void reset() { records_.clear(); }
    bool has_record_of(std::uint64_t stream) const override;
    void note_unseen(std::uint64_t unseen) { unseen_ = unseen; }

  private:
    static constexpr std::size_t kMost = 1024;  // older values are forgotten
    struct Record {
        Point task;
        std::uint64_t value;
        std::uint64_t unseen;
    };
    std::optional<Match> match(const Wait &wait) override;

    const bool takes_first_;  // the first record in the order of calls satisfies a wait, whichever is done first
    std::deque<Record> records_;
    std::uint64_t unseen_ = 0;
};

// Each record satisfies one wait. Of those that were called before it, that of any stream may do so.
class Notify final : public Condition {
  public:
    using Condition::Condition;
    std::vector<Bound> record(Point task);
    void reset() { records_.clear(); }
    bool has_record_of(std::uint64_t stream) const override;

  private:
    std::optional<Match> match(const Wait &wait) override;
    std::deque<Point> records_;
};

// A wait comes after the records that have changed the number since it was set or cleared, up to the one from which on
// it was accepted.
class Counter final : public Condition {
  public:
    using Condition::Condition;
    std::vector<Bound> record(Point task, aclrtCntNotifyRecordMode mode, std::uint32_t value);
    void reset();
    bool has_record_of(std::uint64_t stream) const override;

  private:
    std::optional<Match> match(const Wait &wait) override;
    void change(Point task, aclrtCntNotifyRecordMode mode, std::uint32_t value);

    static constexpr std::size_t kMost = 1024;  // older records are forgotten
    struct Change {
        Point record;
        std::uint32_t value;
    };
    std::uint32_t value_ = 0;
    std::deque<Change> changes_;
};

}  // namespace aclsim::wrapped
