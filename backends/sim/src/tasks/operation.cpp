// SPDX-License-Identifier: Apache-2.0
#include "tasks/operation.h"

#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "engine/condition.h"
#include "engine/core.h"
#include "memory/memory.h"
#include "support/error.h"
#include "support/text.h"

namespace aclsim {

// Part of a task that does not move: the task itself does, from the stack of the submitting call to the queue. Shared
// with executions, whose functions are called without the lock: it is released when none of them runs any more.
struct Operation {
    Operation(Core &its_core, const aclsimOperation &given, const std::vector<Access> &accesses);
    Operation(const Operation &) = delete;
    Operation &operator=(const Operation &) = delete;
    ~Operation();

    struct Operand {
        const void *address;
        std::uint64_t size;
    };
    Core &core;
    const aclsimOperation functions;  // its pointers to the name and the accesses are those of the call, and stale
    const std::string name;
    std::vector<Operand> operands;
    std::unique_ptr<DeferredWork> release;  // made in advance: releasing allocates nothing
    bool is_submitted GUARDED_BY(engine_lock) = false;
    std::uint64_t execution GUARDED_BY(engine_lock) = 0;  // present one; 0: it has not begun
    bool has_ended GUARDED_BY(engine_lock) = false;
    aclError result GUARDED_BY(engine_lock) = ACL_SUCCESS;
    std::string text GUARDED_BY(engine_lock);  // reason of a failure
    Waiters waiters;
};

class ReleaseOperation final : public DeferredWork {
  public:
    explicit ReleaseOperation(const aclsimOperation &functions)
        : release_(functions.release), data_(functions.userData) {}
    void work() noexcept override { release_(data_); }

  private:
    void (*const release_)(void *);
    void *const data_;
};

// An execution as the companion sees it. One thread may begin it while another one cancels it.
class OperationExecution {
  public:
    OperationExecution(std::shared_ptr<const Operation> operation, std::uint64_t number)
        : operation_(std::move(operation)), number_(number) {}
    void begin() {
        {
            const std::lock_guard<std::mutex> guard(mutex_);
            if (is_withdrawn_) {
                return;
            }
            beginner_ = std::this_thread::get_id();
        }
        functions().begin(functions().userData, number_);
        const std::lock_guard<std::mutex> guard(mutex_);
        has_begun_ = true;
        begun_.notify_all();
    }
    // Keeps it from beginning. Returns false if it is too late for that.
    bool withdraw() {
        const std::lock_guard<std::mutex> guard(mutex_);
        is_withdrawn_ = beginner_ == std::thread::id();
        return is_withdrawn_;
    }
    // Waits for the function that begins it: it may use the operands, and the companion knows the execution only
    // afterwards.
    void cancel() {
        std::unique_lock<std::mutex> lock(mutex_);
        begun_.wait(lock, [&] { return has_begun_ || beginner_ == std::this_thread::get_id(); });
        lock.unlock();
        if (functions().cancel != nullptr) {
            functions().cancel(functions().userData, number_);
        }
    }

  private:
    const aclsimOperation &functions() const { return operation_->functions; }

    const std::shared_ptr<const Operation> operation_;
    const std::uint64_t number_;
    std::mutex mutex_;
    std::condition_variable begun_;
    std::thread::id beginner_;  // thread that has called begin
    bool is_withdrawn_ = false;
    bool has_begun_ = false;
};

// An operation may end in the function that begins it. Its stream goes on when that has returned: otherwise each of
// many such operations would begin inside the one before it.
class BeginOperation final : public DeferredWork {
  public:
    BeginOperation(std::shared_ptr<Operation> operation, std::shared_ptr<OperationExecution> execution,
                   std::uint64_t number)
        : operation_(std::move(operation)), execution_(std::move(execution)), number_(number) {}
    void work() noexcept override {
        outer_ = std::exchange(t_innermost_, this);
        execution_->begin();
        t_innermost_ = outer_;
    }
    bool moves_streams() const override { return true; }
    void finish() override REQUIRES(engine_lock) {
        if (operation_->has_ended && operation_->execution == number_) {
            operation_->waiters.wake(operation_->core);
        }
    }
    // Returns true inside the function that begins the execution.
    static bool is_beginning(std::uint64_t execution) {
        const BeginOperation *it = t_innermost_;
        while (it != nullptr && it->number_ != execution) {
            it = it->outer_;
        }
        return it != nullptr;
    }

  private:
    const std::shared_ptr<Operation> operation_;
    const std::shared_ptr<OperationExecution> execution_;
    const std::uint64_t number_;
    BeginOperation *outer_ = nullptr;
    static inline thread_local BeginOperation *t_innermost_ = nullptr;
};

class CancelOperation final : public DeferredWork {
  public:
    CancelOperation(Core &core, std::shared_ptr<OperationExecution> execution)
        : core_(core), execution_(std::move(execution)) {}
    void work() noexcept override { execution_->cancel(); }
    // Calls that drop tasks wait for it, and must not have to wait for functions of the program.
    bool moves_streams() const override { return true; }
    void finish() override REQUIRES(engine_lock) { core_.deferred().end_cancellation(); }

  private:
    Core &core_;
    const std::shared_ptr<OperationExecution> execution_;
};

Operation::Operation(Core &its_core, const aclsimOperation &given, const std::vector<Access> &accesses)
    : core(its_core),
      functions(given),
      name(given.name),
      release(given.release == nullptr ? nullptr : std::make_unique<ReleaseOperation>(given)) {
    for (const Access &access : accesses) {
        operands.push_back({access.address, access.size});
    }
}

Operation::~Operation() {
    if (is_submitted && release) {
        core.defer(std::move(release));
    }
}

class OperationTask final : public ConditionTask, public TaskDetails {
  public:
    OperationTask(Operations &operations, std::shared_ptr<Operation> operation)
        : ConditionTask(operations.memory_.core, /*timeout_s=*/0, /*polls=*/false),
          operations_(operations),
          operation_(std::move(operation)) {}
    OperationTask(OperationTask &&) = default;
    OperationTask &operator=(OperationTask &&) = delete;
    static constexpr TaskInfo kInfo{"OPERATION", "an operation", kNotesBegin};
    const TaskInfo &info() const override { return kInfo; }
    Start start(Stream &stream) override REQUIRES(engine_lock) {
        if (operation_->execution == 0 && !begin(stream)) {
            result = ACL_ERROR_RT_AICORE_EXCEPTION;
            return Start::Done;
        }
        return ConditionTask::start(stream);
    }
    void cancel(Stream &stream) noexcept override REQUIRES(engine_lock) {
        ConditionTask::cancel(stream);
        if (operation_->execution != 0 && !operation_->has_ended) {
            operations_.begun_.erase(operation_->execution);
            operations_.note_begun();
            if (cancel_ && !execution_->withdraw()) {
                core_.deferred().begin_cancellation();
                core_.defer(std::move(cancel_));
            }
        }
        result = result == ACL_SUCCESS ? stream.abort_reason : result;
    }
    void rewind() override REQUIRES(engine_lock) {
        ConditionTask::rewind();
        operation_->execution = 0;
        operation_->has_ended = false;
        operation_->result = ACL_SUCCESS;
        operation_->text.clear();
    }
    void add_causes(Causes &causes) const override REQUIRES(engine_lock) {
        causes.list.push_back({nullptr, 0, Outside::OtherProcess});
    }
    std::string awaited() const override REQUIRES(engine_lock) {
        char text[512] = "";
        const aclsimOperation &functions = operation_->functions;
        if (functions.describe != nullptr && operation_->execution != 0) {
            functions.describe(functions.userData, operation_->execution, text, sizeof text);
            text[sizeof text - 1] = '\0';
        }
        return *text == '\0' ? operation_->name : text;
    }
    const TaskDetails &details() const override { return *this; }
    std::string failure_reason() const override REQUIRES(engine_lock) {
        return operation_->text.empty() ? operation_->name : operation_->text;
    }
    void label(const Stream &, TaskLabel &label) const override REQUIRES(engine_lock) { label.name = operation_->name; }

  protected:
    bool try_pass() override REQUIRES(engine_lock) { return operation_->has_ended; }
    aclError outcome() const override REQUIRES(engine_lock) { return operation_->result; }
    Waiters &waiters() override REQUIRES(engine_lock) { return operation_->waiters; }

  private:
    // Returns false if an operand has been freed.
    bool begin(const Stream &stream) REQUIRES(engine_lock) {
        core_.note_begun(stream, *this);
        Memory &memory = operations_.memory_;
        for (const Operation::Operand &operand : operation_->operands) {
            if (!memory.space().is_live(operand.address, operand.size)) {
                operation_->text = "an operand of " + operation_->name + " is not live memory any more";
                return false;
            }
        }
        const std::uint64_t number = operations_.executions_ + 1;
        auto execution = std::make_shared<OperationExecution>(operation_, number);
        auto call = std::make_unique<BeginOperation>(operation_, execution, number);
        cancel_ = std::make_unique<CancelOperation>(core_, execution);
        operations_.begun_.emplace(number, operation_.get());
        operations_.note_begun();
        operations_.executions_ = operation_->execution = number;
        execution_ = std::move(execution);
        core_.defer(std::move(call));
        return true;
    }

    Operations &operations_;
    std::shared_ptr<Operation> operation_;
    std::shared_ptr<OperationExecution> execution_;  // present one
    std::unique_ptr<CancelOperation> cancel_;        // made in advance: cancelling allocates nothing
};

void Operations::note_begun() { memory_.core.spinner().note_companions(!begun_.empty()); }

void Operations::submit(Stream &stream, const aclsimOperation &operation, const std::vector<Access> &accesses) {
    const auto made = std::make_shared<Operation>(memory_.core, operation, accesses);
    memory_.core.submit(stream, OperationTask(*this, made));
    made->is_submitted = true;  // from here on it is released, and not by the caller
}

void Operations::end(std::uint64_t execution, aclError result, const char *text) {
    const auto found = begun_.find(execution);
    if (found == begun_.end()) {
        fail_unremembered(ACL_ERROR_RT_INVALID_HANDLE, "no operation with this execution is under way");
    }
    Operation &operation = *found->second;
    operation.text = text_if_memory([&] { return std::string(text == nullptr ? "" : text); });
    operation.result = result;
    operation.has_ended = true;
    begun_.erase(found);
    note_begun();
    if (!BeginOperation::is_beginning(execution)) {
        operation.waiters.wake(memory_.core);
        memory_.core.pump();
    }
}

}  // namespace aclsim
