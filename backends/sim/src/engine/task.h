// A task: one entry of a stream's queue.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "abi/acl.h"
#include "engine/facts.h"
#include "engine/lock.h"
#include "support/profile.h"
#include "support/ref.h"

namespace aclsim {

class Executor;
class Stream;

// Answers to the questions that the engine and its observers ask of tasks of any type.
enum TaskTrait : std::uint32_t {
    kRunsProgram = 1U << 0,     // its work is done by code of the program, on the host
    kIsKernel = 1U << 1,        // it may run for as long as it likes, and has a time limit on a device
    kAwaitsCallback = 1U << 2,  // its stream waits for a callback that another thread is to process
    kIsBranch = 1U << 3,        // its end decides which task of its model is next
    kIsUnrepeatable = 1U << 4,  // no model can keep it: it executes one, or changes one
    kIsUnlisted = 1U << 5,      // prints of graphs leave it out
};

// Properties that all tasks of a type share: a constant in the file of the type. No list of the types exists.
struct TaskInfo {
    const char *name;                // as profiles and prints of graphs show it
    const char *running = "a task";  // the work of a thread that runs it, in words
    std::uint32_t traits = 0;        // bits of TaskTrait
    Cost cost = Cost::None;          // that a profile of a card has for it, whatever it works on

    constexpr bool has(TaskTrait trait) const { return (traits & trait) != 0; }
};

// Description of one task in profiles, beside its name.
struct TaskLabel {
    static constexpr std::uint32_t kNoModel = 0xFFFFFFFF;

    std::string name{};              // of its kernel, if it has one
    std::uint32_t model = kNoModel;  // that executes it
    std::string op_info{};           // aclrtCacheLastTaskOpInfo: bytes
    std::string extend_info{};       // aclrtCacheLastTaskExtendInfo
};

// What happens to a task that has become the head of its stream.
enum class Start : std::uint8_t {
    Done,     // it needed no waiting and no thread: it is complete
    Blocked,  // it waits for something that will wake the stream
    Run,      // a thread of its executor must run it
};

// Answers of the few tasks that have some to questions of graphs, profiles and reports of failures.
class TaskDetails {
  public:
    // The answer of aclmdlRITaskGetParams. The type stays ACL_MODEL_RI_TASK_DEFAULT if the task has no parameters.
    virtual void describe(aclmdlRITaskParams &) const REQUIRES(engine_lock) {}
    virtual void label(const Stream &, TaskLabel &) const REQUIRES(engine_lock) {}
    // Reason of a failure: in words, "" if it knows no more than the code; and of a kernel.
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
    // What a profile has a cost for. That of a record or a wait is known before start(), of others afterwards; how much
    // a kernel moves, after run().
    virtual Work work() const { return {info().cost}; }

    // Engine lock held. Called again each time the stream is woken, until it does not answer Blocked.
    virtual Start start(Stream &stream) REQUIRES(engine_lock) = 0;
    // After Start::Run, instead of run(), where nobody watches: false, unless the work takes less time than its
    // hand-over to a thread would, and is done.
    virtual bool run_at_once() REQUIRES(engine_lock) { return false; }
    // Engine lock not held; only after Start::Run.
    virtual void run() EXCLUDES(engine_lock) {}
    // Engine lock held; run() has returned.
    virtual void finish() REQUIRES(engine_lock) {}
    // Is run() over within a millisecond or so? Then a thread that waits with a time limit may call it.
    virtual bool is_brief() const { return false; }
    // Where run() is to be called; nullptr: by the workers of the stream's device. Only after Start::Run.
    virtual Executor *executor() { return nullptr; }
    // The task is the head: do its start, its end and its destruction concern nothing but what belongs to its stream's
    // shard? Then none of them fails, but for run(), and that lock is enough.
    virtual bool stays_in_shard(const Stream &) const REQUIRES(engine_lock) { return false; }
    // Engine lock held. The task leaves the queue without having completed (abort, forced destruction).
    virtual void cancel(Stream &) REQUIRES(engine_lock) {}
    // Engine lock held. The task fails instead of doing its work (fault injection).
    virtual void fail(Stream &stream) REQUIRES(engine_lock) { cancel(stream); }
    // Engine lock held. The task, which is a model's and has ended, will be started again.
    virtual void rewind() REQUIRES(engine_lock) {}
    // Engine lock held. The task, or an execution of it by its model, waits in the queue now.
    virtual void note_queued(const Stream &) REQUIRES(engine_lock) {}
    // A task that may be Blocked; nullptr: start() never answers that.
    virtual BlockingTask *as_blocking() REQUIRES(engine_lock) { return nullptr; }
    virtual const TaskDetails &details() const;

    bool has_failed() const { return result != ACL_SUCCESS || was_cut_short; }

    std::uint64_t sequence = 0;     // position in its stream, from 1
    aclError result = ACL_SUCCESS;  // set by start() or run(); a failure shows at the next synchronization
    std::uint32_t submitter = 0;    // the kernel's number of the submitting thread
    std::uint32_t runner = 0;       // and of the thread that runs it
    bool was_cut_short = false;     // run() ended early, because the stream's queue was dropped: an abort, not an end
    std::unique_ptr<Task> next;
};

class BlockingTask : public Task {
  public:
    BlockingTask *as_blocking() override REQUIRES(engine_lock) { return this; }
    // Engine lock held. The time limit that the task, which is Blocked, has set with the timer has come; true if it
    // wants to be started again.
    virtual bool expire() REQUIRES(engine_lock) { return false; }
    // The reasons why it is Blocked: as facts, and in words.
    virtual void add_causes(Causes &) const REQUIRES(engine_lock) = 0;
    virtual std::string awaited() const REQUIRES(engine_lock) = 0;
    // The streams that do its work.
    virtual std::vector<Ref<Stream>> parts() const REQUIRES(engine_lock);
};

// First in, first out, without a heap node of its own per task.
class TaskQueue {
  public:
    TaskQueue() = default;
    TaskQueue(const TaskQueue &) = delete;
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
