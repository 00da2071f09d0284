// SPDX-License-Identifier: Apache-2.0
// A task: one entry of a stream's queue.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "abi/acl.h"
#include "engine/facts.h"
#include "engine/lock.h"
#include "support/profile.h"
#include "support/ref.h"

namespace aclsim {

class Executor;
class Stream;

// Traits that the engine and its observers query for tasks of any type.
enum TaskTrait : std::uint32_t {
    kRunsProgram = 1U << 0,     // its work is done by program code on the host
    kIsKernel = 1U << 1,        // may run indefinitely, and has a time limit on a device
    kAwaitsCallback = 1U << 2,  // its stream waits for a callback that another thread processes
    kIsBranch = 1U << 3,        // its end selects the next task of its model
    kIsUnrepeatable = 1U << 4,  // cannot be kept by a model: it executes or changes a model
    kIsUnlisted = 1U << 5,      // omitted from prints of graphs
    kIsMark = 1U << 6,          // only marks a point of its stream for profiles
    kNotesBegin = 1U << 7,      // reports its begin itself, and ends later: its work is done outside the engine
    kEndsAtOnce = 1U << 8,      // where its stream is idle: start() ends it, needs no memory, and reports nothing
};

// Properties common to all tasks of one type. Each type defines them as a constant in its own file, so that a new
// type needs no entry in a central list.
struct TaskInfo {
    const char *name;                // shown in profiles and prints of graphs
    const char *running = "a task";  // activity of a thread that runs it, in words
    std::uint32_t traits = 0;        // bits of TaskTrait
    Cost cost = Cost::None;          // cost category in a card's profile, regardless of the operands

    constexpr bool has(TaskTrait trait) const { return (traits & trait) != 0; }
};

// Description of one task in profiles, in addition to its name.
struct TaskLabel {
    static constexpr std::uint32_t kNoModel = 0xFFFFFFFF;

    std::string name{};              // name of its kernel, if any
    std::uint32_t model = kNoModel;  // model that executes it
    std::string op_info{};           // from aclrtCacheLastTaskOpInfo: bytes
    std::string extend_info{};       // from aclrtCacheLastTaskExtendInfo
    std::uint64_t step = 0;          // of aclprofGetStepTimestamp; 0: none
    bool ends_step = false;
};

// Outcome of starting a task that has become the head of its stream.
enum class Start : std::uint8_t {
    Done,     // complete: needed neither waiting nor a thread
    Blocked,  // waits for an event that will wake the stream
    Run,      // must be run by a thread of its executor
};

// Additional answers of a few tasks, for graphs, profiles and failure reports.
class TaskDetails {
  public:
    // Answers aclmdlRITaskGetParams. The type stays ACL_MODEL_RI_TASK_DEFAULT if the task has no parameters.
    virtual void describe(aclmdlRITaskParams &) const REQUIRES(engine_lock) {}
    virtual void label(const Stream &, TaskLabel &) const REQUIRES(engine_lock) {}
    // Describe a failure: the reason in words, "" if nothing beyond the code is known; and details of a kernel.
    virtual std::string failure_reason() const REQUIRES(engine_lock) { return {}; }
    virtual FailedKernel failed_kernel() const REQUIRES(engine_lock) { return {}; }

  protected:
    ~TaskDetails() = default;
};

class BlockingTask;

class Task {
  public:
    Task() = default;
    Task(Task &&) = default;  // from the submitter's stack to the queue
    Task &operator=(Task &&) = delete;
    virtual ~Task() = default;
    static void *operator new(std::size_t size) REQUIRES(engine_lock);
    static void operator delete(void *block, std::size_t size) REQUIRES(engine_lock);

    virtual const TaskInfo &info() const = 0;
    // Work to which a profile assigns a cost. Known before start() for a record or a wait, afterwards for other tasks;
    // the amount of data moved by a kernel is known after run().
    virtual Work work() const { return {info().cost}; }

    // Requires the engine lock. Called again each time the stream is woken, until the result is not Blocked.
    virtual Start start(Stream &stream) REQUIRES(engine_lock) = 0;
    // Alternative to run() after Start::Run, tried only while tasks are neither held back nor delayed. Returns true if
    // it has done the work; returns false if the work takes longer than its hand-over to a thread.
    virtual bool run_at_once() REQUIRES(engine_lock) { return false; }
    // Call without holding the engine lock, only after Start::Run.
    virtual void run() EXCLUDES(engine_lock) {}
    // Requires the engine lock; called after run() has returned.
    virtual void finish() REQUIRES(engine_lock) {}
    // Returns true if run() takes a millisecond or so at most, or the program allows it: a thread that waits with a
    // time limit may then call it.
    virtual bool is_brief() const { return false; }
    // Executor that must call run(); nullptr: the workers of the stream's device. Called only after Start::Run.
    virtual Executor *executor() { return nullptr; }
    // Returns true if the task, now the head, concerns only state of its stream's shard when it starts, ends and is
    // destroyed. None of these steps may fail then, except run(), and the shard is sufficient.
    virtual bool stays_in_shard(const Stream &) const REQUIRES(engine_lock) { return false; }
    // Requires the engine lock. Called when the task leaves the queue without having completed (abort, forced
    // destruction). Allocates nothing: the rest of the queue has to leave as well.
    virtual void cancel(Stream &) noexcept REQUIRES(engine_lock) {}
    // Requires the engine lock. Makes the task fail instead of doing its work (fault injection).
    virtual void fail(Stream &stream) noexcept REQUIRES(engine_lock) { cancel(stream); }
    // Requires the engine lock. Prepares a model's task that has ended for another start.
    virtual void rewind() REQUIRES(engine_lock) {}
    // Requires the engine lock. Called when the task, or its execution by a model, is in the queue.
    virtual void note_queued(const Stream &) REQUIRES(engine_lock) {}
    // Returns the task as one that may be Blocked; nullptr: start() never returns Blocked.
    virtual BlockingTask *as_blocking() REQUIRES(engine_lock) { return nullptr; }
    virtual const TaskDetails &details() const;

    bool has_failed() const { return result != ACL_SUCCESS || was_cut_short; }

    std::uint64_t sequence = 0;     // position in its stream, from 1
    aclError result = ACL_SUCCESS;  // set by start() or run(); a failure is reported at the next synchronization
    std::uint32_t submitter = 0;    // OS thread number of the submitter
    std::uint32_t runner = 0;       // OS thread number of the thread that runs it
    bool was_cut_short = false;     // run() ended early because the stream's queue was dropped: an abort
    std::unique_ptr<Task> next;
};

class BlockingTask : public Task {
  public:
    BlockingTask *as_blocking() override REQUIRES(engine_lock) { return this; }
    // Requires the engine lock. Called when the time limit that the Blocked task has set with the timer has come.
    // Returns true if the task is to be started again.
    virtual bool expire() REQUIRES(engine_lock) { return false; }
    // Describe why it is Blocked: as facts, and in words.
    virtual void add_causes(Causes &) const REQUIRES(engine_lock) = 0;
    virtual std::string awaited() const REQUIRES(engine_lock) = 0;
    // Returns the streams that do its work.
    virtual std::vector<Ref<Stream>> parts() const REQUIRES(engine_lock);
};

// FIFO without a heap node per task.
class TaskQueue {
  public:
    TaskQueue() = default;
    TaskQueue(TaskQueue &&other) noexcept
        : head_(std::move(other.head_)),
          tail_(std::exchange(other.tail_, nullptr)),
          size_(std::exchange(other.size_, 0)) {}
    TaskQueue(const TaskQueue &) = delete;
    TaskQueue &operator=(TaskQueue &&other) noexcept {
        std::swap(head_, other.head_);
        std::swap(tail_, other.tail_);
        std::swap(size_, other.size_);
        return *this;
    }
    TaskQueue &operator=(const TaskQueue &) = delete;
    ~TaskQueue() {
        while (pop()) {  // one by one: destroying a long chain recursively would exhaust the stack
        }
    }
    Task *front() const { return head_.get(); }
    std::uint32_t size() const { return size_; }
    void push(std::unique_ptr<Task> task) {
        Task *added = task.get();
        (tail_ == nullptr ? head_ : tail_->next) = std::move(task);
        tail_ = added;
        ++size_;
    }
    std::unique_ptr<Task> pop() {
        std::unique_ptr<Task> task = std::move(head_);
        if (task) {
            head_ = std::move(task->next);
            tail_ = head_ ? tail_ : nullptr;
            --size_;
        }
        return task;
    }

  private:
    std::unique_ptr<Task> head_;
    Task *tail_ = nullptr;
    std::uint32_t size_ = 0;
};

}  // namespace aclsim
