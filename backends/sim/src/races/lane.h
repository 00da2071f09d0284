// SPDX-License-Identifier: Apache-2.0
// Lanes of the race check and the actions in them, until their order is known.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "races/blocks.h"
#include "races/lane_clock.h"
#include "races/use.h"

namespace aclsim::races {

struct Lane;

// Order that an edge brings to its task: all up to that task, and what its stream knew there.
struct Before {
    std::uint64_t stream;  // 0: calls of the host up to that number
    std::uint64_t sequence;
    PlaceId wait;             // place of the call that waits; 0: the edge belongs to the task itself
    bool is_implied = false;  // by executions of a model, or memory of a pool: no call waits
    // Tasks that may have satisfied one wait: only order that every choice of them brings which is enough is certain.
    // 0: no other could.
    std::uint64_t group = 0;
    bool is_fallback = false;  // counts if the other members of the group are not enough
    bool is_certain = false;   // ran before the wait in this run
    std::uint64_t weight = 1;  // number that the task adds,
    std::uint64_t needed = 1;  // and the sum that is enough
};

// Wait that brings no order, and the reason.
struct VainWait {
    PlaceId wait = 0;  // 0: there is none
    const char *reason = nullptr;
};

// Call that launched the model to which a task belongs. Numbers, because its stream may end before the task is taken.
struct Launch {
    PlaceId place = 0;  // 0: none did
    std::uint32_t stream = 0;
    std::uint32_t device = 0;
    std::uint64_t task = 0;  // position in the stream, as reports count it
};

// Members of an action that own no memory.
struct ActionFields {
    enum class Kind : std::uint8_t { Task, HostAccess, HostForgets, HostLearns, HostGives, HostTakes, StreamEnds };

    Kind kind = Kind::Task;
    bool is_over = true;  // false: a task that has neither ended nor been dropped
    bool is_dropped = false;
    bool is_quiet = false;       // HostLearns: only frees come after the task
    bool is_use = false;         // HostLearns: the host needs the end of the task
    bool is_wait = false;        // Task: of a call that waits,
    bool has_value = false;      // and that a value write has satisfied
    std::uint64_t number = 0;    // in the order of calls
    std::uint64_t time = 0;      // of the call; 0: before this process shared anything
    std::uint64_t sequence = 0;  // of a task, in its stream,
    std::uint64_t shown = 0;     // and as reports count it
    std::uint64_t batch = 0;
    Lane *lane = nullptr;    // lane of the stream, or of the host thread
    Lane *caller = nullptr;  // host thread that submitted the task,
    Step caller_step = 0;    // and its newest step then
    Point launch{};          // task that executes the model to which this task belongs
    Launch launched{};
    std::uint64_t kept = 0;  // number of the kept task that this one repeats, in the order of calls; 0: none
    PlaceId place = 0;
    const void *key = nullptr;  // HostGives and HostTakes: key of the order
    VainWait vain;
};

// Knowledge that was handed over, once the action that gives it has been taken.
struct Gift {
    bool is_known = false;
    ClockRef known{};
};

// One action: a task of a stream, or a call by which the host accesses memory or learns of a task.
struct Action : ActionFields {
    ClockRef known;  // knowledge of the caller
    std::vector<Operand> operands;
    std::vector<Before> after;
    // HostGives: the one it gives; HostLearns: those of early waits, see Lane::gifts; a task: those, and the ones that
    // its host function took.
    std::vector<std::shared_ptr<Gift>> gifts;

    bool is_task() const { return kind == Kind::Task; }
    // Becomes as new, but keeps the memory of its lists.
    void clear() {
        static_cast<ActionFields &>(*this) = {};
        known = {};
        operands.clear();
        after.clear();
        gifts.clear();
    }
};

// Newest order that a lane has gained over another one, and the calls that brought it.
struct Source {
    Step step = 0;
    PlaceId wait = 0;
    PlaceId record = 0;
};

struct Lane {
    LaneId id = 0;
    bool is_host = false;
    std::uint64_t serial = 0;  // serial number of the stream
    std::uint32_t number = 0;  // number of the stream, as the program knows it; of a host thread, the n-th that calls
    std::uint32_t device = 0;
    Step base = 0;  // the step of task n is base + n

    // Known before the newest action. The newest calling thread is kept apart, because each task has another step of
    // it.
    ClockRef known = clock_zero();
    const Lane *caller = nullptr;
    Step caller_step = 0;
    std::uint64_t newest = 0;       // sequence number of the newest ordered task,
    std::uint64_t newest_over = 0;  // and of the newest one that has ended
    // Waits without a task, because their record was complete. Reports count them like tasks: otherwise the numbers of
    // tasks would depend on the schedule.
    std::uint64_t waits_without_task = 0;
    std::uint64_t batch = 0;
    std::uint64_t batch_begin = 0;

    // Earlier values of `known`, each from a step on.
    struct Change {
        Step from;
        ClockRef known;
    };
    std::deque<Change> history;
    // Calls of the newest tasks, by which they are named if another lane waits for them.
    struct Call {
        std::uint64_t sequence;
        PlaceId place;
        const Lane *caller;
        Step caller_step;
    };
    std::deque<Call> calls;
    // Newest waits of a host thread, and what it knew after each.
    struct HostWait {
        PlaceId place;
        ClockRef known;
    };
    std::deque<HostWait> host_waits;
    std::unordered_map<LaneId, Source> sources;
    // Waits behind the newest task that does not wait, and whether they brought nothing new. They count with the next
    // such task: one that needs no task is known to the check only then.
    std::vector<std::pair<PlaceId, bool>> uncounted;
    VainWait vain;                                     // newest wait, if it brought no order
    VainWait early_vain;                               // the same for the next task
    std::unordered_map<std::uint64_t, PlaceId> waits;  // open waits, by sequence number
    std::deque<std::uint64_t> published;               // records for which other processes may wait, in their order

    std::deque<std::unique_ptr<Action>> parked;  // seen, but something before them is not ordered yet
    std::deque<Action *> open;                   // all that are not ordered
    std::vector<Before> early;                   // order of the next task,
    std::vector<std::shared_ptr<Gift>> gifts;    // and what the threads knew that have brought it

    // Returns whether the next task follows the newest one, and nothing else.
    bool is_plain() const {
        return open.empty() && early.empty() && gifts.empty() && published.empty() && uncounted.empty() &&
               early_vain.wait == 0 && batch == 0;
    }
    Step step_of(std::uint64_t sequence) const { return base + sequence; }
    ClockRef known_at(Step step) const;
    // Returns whether all that is known was known at that step.
    bool has_learned_by(Step step) const { return history.empty() || history.back().from <= step; }
    // Calls of tasks are forgotten after a while: a later one takes their place then, so that order of the host may be
    // assumed that is not there, but none is overlooked.
    std::uint64_t oldest_known_call(std::uint64_t sequence) const {
        return calls.empty() ? sequence : std::max(sequence, calls.front().sequence);
    }
    const Call *call_of(std::uint64_t sequence) const;
    void set_known(Step from, ClockRef now);
    void note_host_wait(PlaceId place);
    void add_early(const Before &before);
    Action *find_open(std::uint64_t sequence) const;
    void close(const Action &action);  // which is open
};

}  // namespace aclsim::races
