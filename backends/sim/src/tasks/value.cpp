// SPDX-License-Identifier: Apache-2.0
#include "tasks/value.h"

#include <algorithm>
#include <iterator>

#include "engine/condition.h"
#include "engine/core.h"
#include "support/own_view.h"
#include "support/text.h"

namespace aclsim {
namespace {

// Copies and, in the simulator, the host may write device memory concurrently.
std::uint64_t load(const void *address) {
    return __atomic_load_n(own_view(static_cast<const std::uint64_t *>(address)), __ATOMIC_ACQUIRE);
}

bool is_satisfied(std::uint64_t found, std::uint64_t value, std::uint32_t flag) {
    switch (flag) {
        case ACL_STREAM_WAIT_VALUE_EQ:
            return found == value;
        case ACL_STREAM_WAIT_VALUE_AND:
            return (found & value) != 0;
        case ACL_STREAM_WAIT_VALUE_NOR:
            return ~(found | value) != 0;
        default:  // signed difference, which may wrap
            return static_cast<std::int64_t>(found - value) >= 0;
    }
}

}  // namespace

class ValueWriteTask final : public Task, public TaskDetails {
  public:
    ValueWriteTask(Values &values, void *address, std::uint64_t value) REQUIRES(engine_lock)
        : values_(values), address_(address), value_(value), call_(++values.calls_) {}
    static constexpr TaskInfo kInfo{"VALUE_WRITE"};
    const TaskInfo &info() const override { return kInfo; }
    Start start(Stream &stream) override REQUIRES(engine_lock) {
        leave(stream);
        if (values_.core_.observers().want(kOrder)) {
            Values::History &history = values_.written_[as_integer(address_)];
            const std::uint64_t former = load(address_);
            if (history.done.empty() || history.done.back().value != former) {
                history.done.clear();  // something else has replaced the value: a copy, a kernel or the host
                history.former = former;
            }
            history.done.push_back({stream.point(*this), value_, call_});
            if (history.done.size() > Values::kMostWritten) {
                history.former.reset();
                history.done.pop_front();
            }
        }
        __atomic_store_n(own_view(static_cast<std::uint64_t *>(address_)), value_, __ATOMIC_RELEASE);
        values_.waiters_.wake(values_.core_);
        return Start::Done;
    }
    void cancel(Stream &stream) noexcept override REQUIRES(engine_lock) { leave(stream); }
    void note_queued(const Stream &stream) override REQUIRES(engine_lock) {
        values_.writes_.add(stream, *this);
        if (values_.core_.observers().want(kOrder)) {
            values_.written_[as_integer(address_)].queued.push_back({stream.point(*this), value_, call_});
        }
    }
    const TaskDetails &details() const override { return *this; }
    void describe(aclmdlRITaskParams &params) const override {
        params.type = ACL_MODEL_RI_TASK_VALUE_WRITE;
        params.valueWriteTaskParams = {address_, value_};
    }

  private:
    void leave(const Stream &stream) REQUIRES(engine_lock) {
        values_.writes_.remove(stream, *this);
        if (const auto found = values_.written_.find(as_integer(address_)); found != values_.written_.end()) {
            auto &queued = found->second.queued;
            const Point own = stream.point(*this);
            const auto is_it = [&](const Values::Written &it) { return it.task == own; };
            queued.erase(std::remove_if(queued.begin(), queued.end(), is_it), queued.end());
        }
    }

    Values &values_;
    void *address_;
    std::uint64_t value_;
    std::uint64_t call_;
};

class ValueWaitTask final : public ConditionTask, public TaskDetails {
  public:
    ValueWaitTask(Values &values, const void *address, std::uint64_t value, std::uint32_t flag) REQUIRES(engine_lock)
        : ConditionTask(values.core_, /*timeout_s=*/0, /*polls=*/true),
          values_(values),
          address_(address),
          value_(value),
          flag_(flag),
          call_(++values.calls_) {}
    static constexpr TaskInfo kInfo{"VALUE_WAIT"};
    const TaskInfo &info() const override { return kInfo; }
    // A copy or the host may write the value, not only a write task.
    void add_causes(Causes &causes) const override REQUIRES(engine_lock) {
        causes.any = true;
        values_.writes_.add_causes(causes);
        causes.list.push_back({nullptr, 0, Outside::Anybody});
    }
    std::string awaited() const override {
        return "a value at " + text_of(address_) + ", where " + std::to_string(load(address_)) + " is";
    }
    const TaskDetails &details() const override { return *this; }
    void describe(aclmdlRITaskParams &params) const override {
        params.type = ACL_MODEL_RI_TASK_VALUE_WAIT;
        params.valueWaitTaskParams = {const_cast<void *>(address_), value_, flag_};
    }

  protected:
    bool try_pass() override {
        found_ = load(address_);
        return is_satisfied(found_, value_, flag_);
    }
    // A different value was written by a copy, a kernel or the host, which do not report it.
    void note_passed(const Stream &stream) override REQUIRES(engine_lock) {
        const auto written = values_.written_.find(as_integer(address_));
        if (written == values_.written_.end() || written->second.done.empty() ||
            written->second.done.back().value != found_) {
            return;
        }
        // The wait comes after the write from which on the value satisfied it: later ones were not needed.
        const Values::History &history = written->second;
        const auto satisfied = std::find_if_not(history.done.rbegin(), history.done.rend(),
                                                [&](const auto &it) { return is_satisfied(it.value, value_, flag_); });
        if (satisfied == history.done.rend() && history.former && is_satisfied(*history.former, value_, flag_)) {
            return;  // without any of them
        }
        const auto first = static_cast<std::size_t>(history.done.rend() - satisfied);
        const Point own = stream.point(*this);
        core_.note_edges(values_.candidates(history, first, value_, flag_, own, call_), {history.done[first].task},
                         {{}, own, Ordering::Value});
    }
    Waiters &waiters() override { return values_.waiters_; }

  private:
    Values &values_;
    const void *address_;
    std::uint64_t value_;
    std::uint32_t flag_;
    std::uint64_t call_;
    std::uint64_t found_ = 0;
};

std::vector<Share> Values::candidates(const History &of, std::size_t from, std::uint64_t value, std::uint32_t flag,
                                      const Point &wait, std::uint64_t call) {
    std::vector<Written> called(of.done.begin() + static_cast<std::ptrdiff_t>(from), of.done.end());
    called.insert(called.end(), of.queued.begin(), of.queued.end());
    called.erase(std::remove_if(called.begin(), called.end(),
                                [&](const Written &it) {
                                    const bool is_behind = it.task.stream == wait.stream && it.call > call;
                                    return is_behind || !is_satisfied(it.value, value, flag);
                                }),
                 called.end());
    std::stable_sort(called.begin(), called.end(),
                     [](const Written &one, const Written &other) { return one.call < other.call; });
    std::vector<Share> found;
    for (const Written &it : called) {
        const auto is_of_stream = [&](const Share &other) { return other.task.stream == it.task.stream; };
        if (it.call > call && !found.empty()) {
            break;
        }
        if (std::none_of(found.begin(), found.end(), is_of_stream)) {
            found.push_back({it.task, 1});
        }
    }
    return found;
}

void Values::memory_released(std::uintptr_t begin, std::uint64_t size) {
    written_.erase(written_.lower_bound(begin), written_.lower_bound(begin + size));
}

void Values::write(Stream &stream, void *address, std::uint64_t value) {
    core_.submit(stream, ValueWriteTask(*this, address, value));
}

void Values::wait(Stream &stream, const void *address, std::uint64_t value, std::uint32_t flag) {
    core_.submit(stream, ValueWaitTask(*this, address, value, flag));
}

std::unique_ptr<Task> Values::make_write(const aclmdlRIValueWriteTaskParams &params) {
    return std::make_unique<ValueWriteTask>(*this, params.devAddr, params.value);
}

std::unique_ptr<Task> Values::make_wait(const aclmdlRIValueWaitTaskParams &params) {
    return std::make_unique<ValueWaitTask>(*this, params.devAddr, params.value, params.flag);
}

}  // namespace aclsim
