// SPDX-License-Identifier: Apache-2.0
// Race detector: puts the actions of streams and of the host into an order that does not depend on the schedule, and
// compares each access with the earlier ones to the same bytes (FastTrack, with all unordered accesses kept).
//
// Actions are taken in the order of calls. A task is taken when it is over, because only then its waits are known; a
// task that waits for one that was submitted later is put aside until that one has been taken. Whatever the schedule,
// the same program gives the same sequence, and therefore the same reports.
//
// The caller serializes all functions.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/facts.h"
#include "races/blocks.h"
#include "races/lane.h"
#include "races/places.h"
#include "races/reports.h"
#include "races/sharing.h"

namespace aclsim::races {

struct StreamName {
    std::uint64_t serial;
    std::uint32_t number;
    std::uint32_t device;
};

// Code of the program: a thread, or the task whose host function it runs.
struct Caller {
    std::uint32_t thread;
    Point task{};  // no task: the thread runs no host function
};

// Knowledge that the host gains with the end of a task.
enum class Learned : std::uint8_t {
    OfTask,
    OfTime,    // the time at which it ended
    OfStream,  // it has nothing to do: waits that needed no task are over, too
    Quietly,  // by a query for a library's purposes: only frees, and uses of memory that is given out again, come after
};

// A call that brings a task into a stream.
struct Submitted {
    Caller caller;
    PlaceId place;
    std::uint64_t batch = 0;
    bool is_call = true;  // false: a model repeats the task, on behalf of the task at `launch`
    Point launch{};
    std::uint64_t kept = 0;  // number of the model's task, in the order in which they were added
};

class Detector {
  public:
    Detector(Reports &reports, Output &output, bool separates_threads)
        : reports_(reports), sharing_(reports, output), separates_threads_(separates_threads) {}

    // --- streams and tasks ------------------------------------------------------------------------------------------
    // Names a stream before its first task.
    void name_stream(const StreamName &stream) { names_[stream.serial] = stream; }
    void submit(const StreamName &stream, std::uint64_t sequence, const Submitted &how, std::vector<Operand> operands);
    // Submits a task without accesses that is over already.
    void pass(const StreamName &stream, std::uint64_t sequence, const Submitted &how);
    // Adds accesses that became known when the task started.
    void add_operands(Point task, const std::vector<Operand> &operands);
    // Replaces the accesses of a task that a model repeats. Returns false if the task was not submitted.
    bool replace_operands(Point task, const std::vector<Operand> &operands);
    PlaceId place_of(Point task) const;         // place of the call that submitted it
    std::uint64_t number_of(Point task) const;  // number by which reports name a pending task
    // Returns true for memory that had been freed when the task was submitted, or now if that was taken.
    bool was_free(const Block &block, Point task) const;
    void end_task(Point task, bool is_dropped);
    // Takes back the newest task of a stream, which has not ended: its call was refused.
    void withdraw(Point task);
    void end_stream(std::uint64_t stream, const Caller &caller);

    // --- order ------------------------------------------------------------------------------------------------------
    // A call waits: `task` is its task or, without one, the stream's next task.
    void wait(const Caller &caller, Point task, PlaceId place, const WaitBinding &binding);
    void order(const Edge &edge);
    void learn(const Caller &caller, Point task, PlaceId place, Learned how);
    // Other processes may wait for the record that the task will be.
    void publish(Point task);
    // The host learns of a record that is a task of another process.
    void learn_of(const Caller &caller, Point task, std::uint64_t process, PlaceId place);
    void give(const Caller &caller, const void *key);
    void take(const Caller &caller, const void *key);

    // --- memory -----------------------------------------------------------------------------------------------------
    Blocks &blocks() { return blocks_; }
    const Blocks &blocks() const { return blocks_; }
    BlockRef allocate(const Caller &caller, std::uintptr_t address, std::uint64_t size, BlockKind kind, PlaceId place);
    void free(const Caller &caller, std::uintptr_t address, PlaceId place);
    // Other processes may use the block at the address.
    void share(std::uintptr_t address, SharedBlock as);
    void access(const Caller &caller, std::vector<Operand> operands, PlaceId place);
    // The same, of code of the program that was stopped at a page. If nothing has come since it was stopped at another
    // one at the same place, it goes on with that access.
    void access_page(const Caller &caller, std::vector<Operand> operands, PlaceId place);
    // A part of a block is given out by an allocator above the library.
    void give_out(std::uintptr_t address, std::uint64_t size, PlaceId place);
    // Forgets accesses that are over, as the host knows, also from quiet queries.
    void forget(const Caller &caller, std::vector<Operand> operands);

    Sharing &sharing() { return sharing_; }

    // Takes all that is over, also behind tasks that are not, as at the end of the process.
    void finish();

  private:
    struct HostWait {
        PlaceId place;
        Step step;
        std::uint32_t device;
    };
    // A wait may be bound to a record of a stream that another thread has destroyed.
    struct EndedStream {
        LaneId lane;
        Step base;
        ClockRef known;
    };
    using Owned = std::unique_ptr<Action>;

    Lane &lane_of(std::uint64_t serial);
    Lane &lane_of(const StreamName &stream);
    Lane *find_lane(std::uint64_t serial) const;
    Lane &host_lane(std::uint32_t thread);
    Owned make(Action::Kind kind, std::uint32_t thread);
    Owned make_task(Lane &lane, std::uint64_t sequence, const Submitted &how);
    Action *find_open(Point task) const;
    void enqueue(Owned action);
    void enqueue_behind(const Action &launch, Owned action);
    void discard(Action &task);

    void order_after_all(std::vector<Before> &after, PlaceId wait) const;
    std::uint64_t group_of(Point wait);
    // The following functions are in order.cpp.
    void drain();
    void see(Owned action);
    bool is_ready(const Action &action) const;
    void give_back(Owned action);
    bool is_taken_in(const Lane &lane, const Before &before) const;
    static bool is_member(const Action &action, const Before &before);
    bool comes_after(const Lane &lane, const Lane &other, std::vector<const Lane *> &seen) const;
    bool drop_later_members(Lane &lane);
    void drop_open_members(Action &action) const;
    void take_up_to(const Before &known, std::vector<const Lane *> &seen);
    void retry_parked();
    // The following functions are in actions.cpp.
    void take_action(Action &action);
    void take_task(Action &action);
    void publish_record(const Action &action);
    static Knowledge knowledge_before(const Lane &lane, const Lane &caller, const ClockRef &known_to_caller);
    static void advance(Lane &lane, const Lane::Call &call, Knowledge &&knowledge);
    void take_host_access(Action &action);
    void take_host_forgets(Action &action);
    void take_host_order(Action &action);
    void take_end_of_stream(Action &action);
    static ClockRef known_at_end(const Lane &stream);
    void join_ended(Knowledge &knowledge, const Before &before) const;
    void join(Knowledge &knowledge, Lane &lane, const Action &action, const Before &before);
    void join_enough(Knowledge &knowledge, const Lane &lane, const Action &action,
                     const std::vector<Before> &members) const;
    void join_groups(Knowledge &knowledge, Lane &lane, Action &action);
    static const Lane::Call *add_task(Knowledge &knowledge, const Lane &source, const Action &action,
                                      const Before &before);
    void apply(const Now &now, const std::vector<Operand> &operands);
    void note_use_of_wait(const Operand &operand, const Use &use);
    void note_use_by_host(LaneId lane, Step step);
    void apply(const Operand &operand, Use &use, const Now &now);

    Reports &reports_;
    Sharing sharing_;
    const bool separates_threads_;
    std::uint64_t calls_ = 0;  // number of the newest action
    struct {
        std::uint64_t number = 0;
        PlaceId place = 0;
        std::uint32_t thread = 0;
    } paged_;                   // newest access that was stopped at a page
    Point grouped_;             // newest wait whose edges are a group,
    std::uint64_t groups_ = 0;  // and the number of the group
    Blocks blocks_{calls_};
    std::deque<Owned> queue_;  // in the order of calls, not yet seen
    std::vector<Owned> spare_;
    std::unordered_map<std::uint64_t, std::unique_ptr<Lane>> streams_;  // by serial number
    std::unordered_map<std::uint64_t, StreamName> names_;               // of streams that have not ended
    mutable Lane *newest_ = nullptr;                                    // the stream that was looked for last
    std::map<std::uint32_t, std::unique_ptr<Lane>> hosts_;              // by thread; 0: all threads
    std::pair<std::uint32_t, Lane *> newest_host_{};                    // the one that was looked for last
    std::vector<Lane *> parking_;                                       // lanes with parked actions
    std::vector<std::pair<LaneId, Step>> vacant_;                       // lanes of ended streams
    std::unordered_map<std::uint64_t, EndedStream> ended_;              // the newest, by serial number
    std::deque<std::uint64_t> ended_in_order_;
    LaneId lanes_ = 0;
    struct Given {
        ClockRef known = clock_zero();  // sum of all that were given, as far as those actions have been taken
        std::shared_ptr<Gift> newest = {};
        Point giver{};                         // task whose host function gave the newest; none: the host
        std::shared_ptr<Gift> of_others = {};  // the newest of another stream than the giver's
    };
    std::unordered_map<const void *, Given> given_;
    ClockRef quiet_ = clock_zero();
    std::unordered_map<LaneId, HostWait> host_waits_;  // newest wait of the host for each stream
    std::vector<Conflict> conflicts_;
};

}  // namespace aclsim::races
