// SPDX-License-Identifier: Apache-2.0
// Race check of a program on the vendor's library: derives from the program's calls what the simulator knows as facts.
//
// The end of a task is not seen, and is not needed: the detector orders tasks by the calls that submit them. Only a
// wait without a record, and a host function that has not run, keep their task open. Order that cannot be
// known is assumed, so that races may be missed, but none is invented.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "abi/acl.h"
#include "condition.h"
#include "races/detector.h"
#include "streams.h"
#include "support/findings.h"
#include "support/text.h"

namespace aclsim::wrapped {

struct EventState {
    std::optional<Point> record;    // the newest
    std::unique_ptr<Latch> manual;  // of an event with manual reset
    bool is_unseen = false;         // graphs or other processes may record it
    std::uint32_t flags = 0;        // of aclrtCreateEventExWithFlag
};

using Declared = std::optional<std::vector<Access>>;

class Check {
  public:
    static bool is_on();  // findings have a directory
    static Check &get();  // created at the first call of the process, never destroyed
    static bool exists();
    std::mutex mutex;  // guards all that follows
    bool is_over() const { return is_over_; }
    void give_up();  // without reports about what follows
    void write_counts() { reports_.write_counts(); }
    void finish();  // completes the findings

    // --- tasks ------------------------------------------------------------------------------------------------------
    // Adds a task of the calling thread. Returns no task if a graph or a model keeps it instead.
    Point add_task(aclrtStream stream, std::vector<races::Operand> operands = {}, std::uint64_t batch = 0);
    Point add_open_task(aclrtStream stream, Condition *condition = nullptr, std::vector<races::Operand> operands = {});
    void end_task(Point task);
    void withdraw(Point task);  // an open one, whose call was refused
    // Adds the execution of a graph or a model, which may access any memory and wait for anything.
    void add_execution(aclrtStream stream);
    void note_execution();  // for which the host has waited
    // Adds a copy whose addresses are in memory of the device.
    void add_unseen_copy(aclrtStream stream) { unseen_copies_ += add_task(stream).stream == 0 ? 0 : 1; }
    std::uint64_t new_batch() { return ++batches_; }
    // Accesses that the thread has declared for its next launch.
    void declare(std::vector<Access> accesses);
    Declared take_declared();
    // Adds the launch of a kernel.
    void add_launch(aclrtStream stream, aclrtFuncHandle function, const Declared &declared);

    void bind_to_model(aclrtStream stream, bool is_bound) { streams_.of(stream).is_kept = is_bound; }
    void begin_captures() { has_captures_ = true; }

    // --- order ------------------------------------------------------------------------------------------------------
    void create_event(aclrtEvent event, EventState state);
    void destroy_event(aclrtEvent event);
    void record_event(aclrtEvent event, aclrtStream stream, bool is_external);
    void wait_for_event(aclrtEvent event, aclrtStream stream, bool is_external);
    void reset_event(aclrtEvent event, aclrtStream stream);
    Points records_of(aclrtEvent event);
    // Queries of events with these flags are those of a library; 0: of none.
    void ask_quietly_about(std::uint32_t flags) { quiet_flags_ = flags; }

    template <class Kind>
    Kind &condition(const void *object);
    void destroy_condition(const void *object);
    bool is_kept(aclrtStream stream);
    // Tasks wait for a condition; record() returns the waits that a task satisfies.
    void wait_for(Condition &condition, aclrtStream stream, Wait wait, std::vector<races::Operand> operands = {});
    template <class Record>
    void record_in(Condition &condition, aclrtStream stream, Record record, std::vector<races::Operand> operands = {});
    Calls &calls() { return calls_; }
    // Words in memory, of 8 bytes.
    Latch &word(void *address);
    std::uint64_t unseen() const { return launches_ + graphs_; }

    // The streams of the tasks were aborted: their records may have been dropped.
    void note_abort(const Points &newest);
    // The host learns that the tasks are over, from a query or a wait, or for the purposes of a library.
    void learn(const Points &tasks, races::Learned how = races::Learned::OfTask);
    races::Learned how_query_is_made(aclrtEvent event = nullptr) const;
    Points newest_of(aclrtStream stream);
    Points newest_of_device(std::optional<std::uint32_t> device);  // without one, of the current device
    void end_stream(aclrtStream stream);
    void end_context(aclrtContext context);
    void end_device(std::uint32_t device);

    // --- memory -----------------------------------------------------------------------------------------------------
    void allocate(const void *address, std::uint64_t size, races::BlockKind kind);
    void free(const void *address);
    void share(const void *address) { shared_.insert(as_integer(address)); }  // with other processes
    void share_mapped() { shares_mapped_ = true; }                            // any memory that is mapped
    void allocate_in_stream(const void *address, std::uint64_t size, aclrtStream stream);
    void free_in_stream(const void *address, aclrtStream stream);
    std::vector<races::Operand> operands_of(const std::vector<Access> &accesses, bool is_of_value = false);
    // The same for memory of a device. Counts accesses to memory that no call seen has allocated.
    std::vector<races::Operand> operands_on_device(const std::vector<Access> &accesses);
    // The host accesses memory in the present call, or in the host function that the thread runs.
    void access(const std::vector<Access> &accesses);
    // Adds a copy, after which the host goes on only when it is done if it uses pageable memory.
    void add_copy(const std::vector<Access> &accesses, aclrtMemcpyKind kind, aclrtStream stream);

    // An allocator above the library has a part of the memory for another owner, or a name for it.
    void give_out(const void *address, std::uint64_t size);
    void forget_uses(const void *address, std::uint64_t size);
    void name_part(const void *address, const char *name);

    // Returns the host function for the runtime to keep in a graph, and the data.
    const std::pair<void (*)(void *), void *> &keep(void (*function)(void *), void *data) {
        return *kept_functions_.insert({function, data}).first;
    }

    races::Detector &detector() { return detector_; }
    races::Caller caller() const;

  private:
    class Findings final : public races::Output {
      public:
        std::uint64_t number() override { return next_finding(); }
        void write(const std::string &json) override { write_finding(json); }
    };
    Check();
    races::PlaceId place();
    StreamState *running(aclrtStream stream);  // nullptr if the stream's tasks are kept
    bool is_captured(aclrtStream stream) const;
    Point submit(StreamState &stream, std::vector<races::Operand> operands, std::uint64_t batch);
    void order(Point before, Point after, Edge::Choice choice = Edge::Choice::Sole, Ordering why = Ordering::Event);
    void order_after_all(Point task);
    Points newest_of_all();
    void bind(const std::vector<Bound> &bound);
    void reach(Point task);  // it is over, and all that came before it
    void abandon(const Condition &condition);
    bool may_be_shared(const void *address);
    void forget_words(std::uintptr_t begin, std::uint64_t size);
    void forget_words(const std::vector<races::Operand> &operands);
    void end_streams(const std::vector<StreamState *> &streams);

    Findings output_;
    races::Places places_;
    races::Reports reports_;
    races::Detector detector_;
    bool is_over_ = false;
    bool has_captures_ = false;
    std::uint32_t quiet_flags_ = 0;
    Streams streams_;
    Calls calls_;
    std::unordered_map<aclrtEvent, EventState> events_;
    std::unordered_map<const void *, std::unique_ptr<Condition>> conditions_;
    std::map<std::uintptr_t, std::unique_ptr<Latch>> words_;
    std::map<std::uintptr_t, std::pair<std::uint64_t, Point>> freed_;  // memory of pools: its size, and the free
    std::set<std::uintptr_t> shared_;
    bool shares_mapped_ = false;
    std::uint64_t batches_ = 0;
    std::string kernel_;          // name of the kernel that the present call launches
    std::uint64_t launches_ = 0;  // without declared accesses
    std::uint64_t graphs_ = 0;    // executions
    std::uint64_t unseen_copies_ = 0;
    std::uint64_t unknown_ = 0;  // accesses to memory of a device that no call seen has allocated
    bool graphs_wait_ = false;   // for what is outside of them
    Notify executions_{calls_};  // condition that an execution waits for then
    // Host functions of graphs, which run with each execution.
    std::set<std::pair<void (*)(void *), void *>> kept_functions_;
};

template <class Kind>
Kind &Check::condition(const void *object) {
    std::unique_ptr<Condition> &known = conditions_[object];
    if (known == nullptr) {
        known = std::make_unique<Kind>(calls_);
    }
    return static_cast<Kind &>(*known);
}

template <class Record>
void Check::record_in(Condition &condition, aclrtStream stream, Record record, std::vector<races::Operand> operands) {
    const Point task = add_task(stream, std::move(operands));
    if (task.stream == 0) {
        condition.is_unseen = true;
    } else {
        bind(record(task));
    }
}

void end_of_process();

// Task whose host function the calling thread runs.
inline thread_local Point t_running;
// True if the thread runs a host function of a graph, whose place in the order is unseen.
inline thread_local bool t_runs_unseen = false;
// True if the thread asks for the purposes of a library.
inline thread_local bool t_asks_quietly = false;

}  // namespace aclsim::wrapped
