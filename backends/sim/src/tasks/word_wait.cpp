#include "tasks/word_wait.h"

#include <utility>

#include "engine/condition.h"
#include "engine/core.h"
#include "support/text.h"

namespace aclsim {

// Calls the program's function at the end of a wait, without holding the engine lock.
class EndOfWait final : public DeferredWork {
  public:
    EndOfWait(aclsimWaitEnd function, void *data) : function_(function), data_(data) {}
    void work() noexcept override { function_(data_, result); }

    aclError result = ACL_SUCCESS;  // result of the task

  private:
    const aclsimWaitEnd function_;
    void *const data_;
};

class WordWaitTask final : public ConditionTask, public TaskDetails {
  public:
    WordWaitTask(SharedWords &words, const aclsimWait &wait)
        : ConditionTask(words.core_, wait.timeoutSeconds, /*polls=*/true),
          words_(words),
          name_(wait.name),
          word_(wait.word),
          value_(wait.value),
          code_(wait.code),
          end_(wait.end == nullptr ? nullptr : std::make_unique<EndOfWait>(wait.end, wait.userData)) {}
    WordWaitTask(WordWaitTask &&) = default;
    WordWaitTask &operator=(WordWaitTask &&) = delete;
    ~WordWaitTask() override {
        if (end_) {  // otherwise there is no function, or the task was moved from
            end_->result = result;
            core_.defer(std::move(end_));
        }
    }
    static constexpr TaskInfo kInfo{"EXTERNAL_WAIT"};
    const TaskInfo &info() const override { return kInfo; }
    void cancel(Stream &stream) noexcept override REQUIRES(engine_lock) {
        ConditionTask::cancel(stream);
        result = result == ACL_SUCCESS ? stream.abort_reason : result;
    }
    void add_causes(Causes &causes) const override REQUIRES(engine_lock) {
        causes.list.push_back({nullptr, 0, Outside::OtherProcess});
    }
    std::string awaited() const override REQUIRES(engine_lock) {
        return name_ + ", whose word at " + text_of(const_cast<const std::uint64_t *>(word_)) + " is at " +
               std::to_string(load()) + " and must reach " + std::to_string(value_);
    }
    const TaskDetails &details() const override { return *this; }
    std::string failure_reason() const override REQUIRES(engine_lock) {
        return result == ACL_ERROR_RT_TASK_TIMEOUT ? awaited() : name_;
    }
    void label(const Stream &, TaskLabel &label) const override REQUIRES(engine_lock) { label.name = name_; }

  protected:
    bool try_pass() override REQUIRES(engine_lock) { return load() >= value_; }
    aclError outcome() const override REQUIRES(engine_lock) {
        return code_ == nullptr ? ACL_SUCCESS : __atomic_load_n(code_, __ATOMIC_RELAXED);
    }
    void leave(Stream &stream) override REQUIRES(engine_lock) {
        const auto found = words_.waiters_.find(word_);
        if (found == words_.waiters_.end()) {
            return;
        }
        found->second.remove(stream);
        if (found->second.empty()) {
            words_.waiters_.erase(found);
        }
    }
    Waiters &waiters() override REQUIRES(engine_lock) { return words_.waiters_[word_]; }

  private:
    std::uint64_t load() const { return __atomic_load_n(word_, __ATOMIC_ACQUIRE); }

    SharedWords &words_;
    std::string name_;
    const volatile std::uint64_t *word_;
    std::uint64_t value_;
    const volatile aclError *code_;
    std::unique_ptr<EndOfWait> end_;
};

void SharedWords::submit_wait(Stream &stream, const aclsimWait &wait) {
    core_.submit(stream, WordWaitTask(*this, wait));
}

void SharedWords::wake(const volatile std::uint64_t *word) {
    const auto found = waiters_.find(word);
    if (found != waiters_.end()) {
        found->second.wake(core_);
        core_.pump();
    }
}

}  // namespace aclsim
