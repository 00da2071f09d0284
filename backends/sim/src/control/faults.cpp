// SPDX-License-Identifier: Apache-2.0
#include "control/faults.h"

#include <algorithm>
#include <cstring>
#include <sstream>

#include "machine/machine.h"
#include "memory/memory.h"
#include "support/error.h"

namespace aclsim {

std::atomic<bool> Faults::concerns_calls_{false};

bool StreamFilter::matches(const Stream &stream) const {
    return (handle == nullptr || handle == stream.handle()) && (id < 0 || id == static_cast<std::int64_t>(stream.id));
}

namespace {

constexpr std::chrono::hours kLongestDelay{1};

void require_short(std::chrono::microseconds delay) {
    if (delay > kLongestDelay) {
        fail_unremembered(ACL_ERROR_INVALID_PARAM, "a delay is at most an hour");
    }
}

// Task that matches a rule: starts later, or fails instead of doing its work.
class FaultyTask final : public BlockingTask {
  public:
    FaultyTask(Core &core, std::unique_ptr<Task> task, std::chrono::microseconds delay, aclError failure)
        : core_(core), task_(std::move(task)), delay_(delay), failure_(failure) {
        sequence = task_->sequence;
        submitter = task_->submitter;
    }
    const TaskInfo &info() const override { return task_->info(); }
    Work work() const override { return task_->work(); }

    Start start(Stream &stream) override REQUIRES(engine_lock) {
        if (delay_.count() > 0 && !has_waited_) {
            if (!core_.timer().is_armed(stream)) {
                core_.timer().arm(stream, core_.clock().now() + delay_);
            }
            return Start::Blocked;
        }
        if (failure_ != ACL_SUCCESS) {
            if (info().has(kNotesBegin)) {
                core_.note_begun(stream, *this);
            }
            task_->result = result = failure_;
            task_->fail(stream);
            return Start::Done;
        }
        const Start start = task_->start(stream);
        result = task_->result;
        return start;
    }
    void run() override { task_->run(); }
    void finish() override REQUIRES(engine_lock) {
        task_->finish();
        result = task_->result;
        was_cut_short = task_->was_cut_short;
    }
    Executor *executor() override { return task_->executor(); }
    void cancel(Stream &stream) noexcept override REQUIRES(engine_lock) { task_->cancel(stream); }
    void rewind() override REQUIRES(engine_lock) {
        has_waited_ = false;
        task_->rewind();
    }
    void note_queued(const Stream &stream) override REQUIRES(engine_lock) {
        task_->sequence = sequence;
        task_->note_queued(stream);
    }
    // Returns this task during the delay, because the wrapped task has not been started.
    BlockingTask *as_blocking() override REQUIRES(engine_lock) { return is_delayed() ? this : task_->as_blocking(); }
    bool expire() override REQUIRES(engine_lock) { return has_waited_ = true; }
    void add_causes(Causes &causes) const override REQUIRES(engine_lock) {
        causes.list.push_back({nullptr, 0, Outside::Clock});
    }
    std::string awaited() const override REQUIRES(engine_lock) { return "the end of a delay by aclsimDelayTasks"; }
    const TaskDetails &details() const override { return task_->details(); }

  private:
    bool is_delayed() const { return delay_.count() > 0 && !has_waited_; }

    Core &core_;
    std::unique_ptr<Task> task_;
    const std::chrono::microseconds delay_;
    const aclError failure_;
    bool has_waited_ = false;
};

void require_failure(aclError code) {
    if (code == ACL_SUCCESS) {
        fail_unremembered(ACL_ERROR_INVALID_PARAM, "code 0 is not a failure");
    }
}

}  // namespace

void Faults::fail_call(const std::string &function, std::uint64_t nth, aclError code) {
    require_failure(code);
    const Function found = find_function(function.c_str());
    if (!is_simulated(found)) {
        fail_unremembered(ACL_ERROR_INVALID_PARAM, "%s is not a simulated function%s", function.c_str(),
                          suggest_function(function).c_str());
    }
    calls_.push_back({found, {nth, code}});
    concerns_calls_ = true;
}

void Faults::fail_task(const StreamFilter &streams, std::uint64_t nth, aclError code) {
    require_failure(code);
    tasks_.push_back({streams, {nth, code}});
    core_.set_filter(this);
}

void Faults::delay_tasks(const StreamFilter &streams, std::chrono::microseconds delay) {
    require_short(delay);
    core_.timer().start();
    delays_.push_back({streams, delay});
    core_.set_filter(this);
}

void Faults::clear() {
    calls_.clear();
    tasks_.clear();
    delays_.clear();
    concerns_calls_ = false;
    core_.set_filter(nullptr);
}

void Faults::check_call(Function function) {
    for (CallRule &rule : calls_) {
        if (rule.function == function && rule.turn.comes()) {
            fail(rule.turn.code, "call %llu fails by fault injection", static_cast<unsigned long long>(rule.turn.seen));
        }
    }
}

void Faults::filter(const Stream &stream, std::unique_ptr<Task> &task) {
    aclError failure = ACL_SUCCESS;
    for (TaskRule &rule : tasks_) {
        failure = rule.streams.matches(stream) && rule.turn.comes() ? rule.turn.code : failure;
    }
    std::chrono::microseconds delay{0};
    for (const DelayRule &rule : delays_) {
        delay = rule.streams.matches(stream) ? rule.delay : delay;  // the newest matching rule applies
    }
    if (failure != ACL_SUCCESS || delay.count() > 0) {
        task = std::make_unique<FaultyTask>(core_, std::move(task), delay, failure);
    }
}

void lose_device(Machine &machine, Device &device, aclError code) {
    require_failure(code);
    device.lost = code;
    machine.exceptions.report_device(device, code);
    for (Context *context : device.contexts) {
        context->failure = code;
        for (const auto &stream : context->streams) {
            machine.core.drop_queue(*stream, code);  // does not wait for running tasks
        }
    }
    machine.core.pump();  // streams of other devices may have waited for these
}

void poison_device(Device &device, aclError code) {
    require_failure(code);
    device.poisoned = code;
}

void take_down_device(Machine &machine, Device &device, std::chrono::microseconds block) {
    require_short(block);
    lose_device(machine, device, ACL_ERROR_RT_SOCKET_CLOSE);
    device.down = block;
}

void limit_resource(Memory &memory, Device &device, aclsimResource resource, std::uint64_t limit) {
    const auto number = static_cast<std::uint32_t>(std::min<std::uint64_t>(limit, UINT32_MAX));
    switch (resource) {
        case ACLSIM_RESOURCE_STREAMS:
            device.stream_ids.set_limit(number);
            break;
        case ACLSIM_RESOURCE_EVENTS:
            device.event_ids.set_limit(number);
            break;
        case ACLSIM_RESOURCE_NOTIFIES:
            device.notify_ids.set_limit(number);
            break;
        case ACLSIM_RESOURCE_MEMORY:
            memory.space().device(device.physical_id).set_limit(limit);
            break;
        default:
            fail(ACL_ERROR_RT_PARAM_INVALID, "there is no resource %d", static_cast<int>(resource));
    }
}

// --- ASCEND_RT_SIM_FAULTS --------------------------------------------------------------------------------------------

namespace {

std::vector<std::string> split(const std::string &text, char separator) {
    std::vector<std::string> parts;
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, separator);) {
        parts.push_back(part);
    }
    return parts;
}

bool parse_number(const std::string &text, std::uint64_t &number) {
    if (text.empty() || text.size() > 18 || text.find_first_not_of("0123456789") != std::string::npos) {
        return false;
    }
    number = std::stoull(text);
    return true;
}

struct ResourceName {
    const char *name;
    aclsimResource resource;
};
constexpr ResourceName kResources[] = {
    {"streams", ACLSIM_RESOURCE_STREAMS},
    {"events", ACLSIM_RESOURCE_EVENTS},
    {"notifies", ACLSIM_RESOURCE_NOTIFIES},
    {"memory", ACLSIM_RESOURCE_MEMORY},
};

bool apply_limit(Memory &memory, const std::string &name, std::uint64_t limit) REQUIRES(engine_lock) {
    for (const ResourceName &known : kResources) {
        if (name == known.name) {
            for (const auto &device : memory.machine.devices) {
                limit_resource(memory, *device, known.resource, limit);
            }
            return true;
        }
    }
    return false;
}

bool parse_stream(const std::string &text, StreamFilter &streams) {
    std::uint64_t id = 0;
    if (text != "*" && !parse_number(text, id)) {
        return false;
    }
    streams.id = text == "*" ? -1 : static_cast<std::int64_t>(id);
    return true;
}

// Applies one entry: call:FUNCTION:N=CODE, task:STREAM:N=CODE, delay:STREAM=MICROSECONDS, limit:RESOURCE=N,
// lose:DEVICE=CODE, poison:DEVICE=CODE or down:DEVICE=MICROSECONDS. Returns false if the entry has none of these forms.
bool apply_one(Faults &faults, Memory &memory, const std::string &entry) REQUIRES(engine_lock) {
    const std::size_t equals = entry.find('=');
    std::uint64_t value = 0;
    if (equals == std::string::npos || !parse_number(entry.substr(equals + 1), value)) {
        return false;
    }
    const std::vector<std::string> parts = split(entry.substr(0, equals), ':');
    const std::string kind = parts.empty() ? "" : parts[0];
    if (value > INT32_MAX && kind != "delay" && kind != "limit" && kind != "down") {
        return false;
    }
    const auto code = static_cast<aclError>(value);
    StreamFilter streams;
    std::uint64_t number = 0;
    if (parts.size() == 3 && parse_number(parts[2], number)) {
        if (kind == "call") {
            faults.fail_call(parts[1], number, code);
            return true;
        }
        if (kind == "task" && parse_stream(parts[1], streams)) {
            faults.fail_task(streams, number, code);
            return true;
        }
    }
    if (parts.size() != 2) {
        return false;
    }
    if (kind == "delay" && parse_stream(parts[1], streams)) {
        faults.delay_tasks(streams, std::chrono::microseconds(value));
        return true;
    }
    if (kind == "lose" || kind == "poison" || kind == "down") {
        if (!parse_number(parts[1], number) || number >= memory.machine.devices.size()) {
            return false;
        }
        Device &device = *memory.machine.devices[number];
        if (kind == "lose") {
            lose_device(memory.machine, device, code);
        } else if (kind == "poison") {
            poison_device(device, code);
        } else {
            take_down_device(memory.machine, device, std::chrono::microseconds(value));
        }
        return true;
    }
    return kind == "limit" && apply_limit(memory, parts[1], value);
}

}  // namespace

std::string apply_faults(Faults &faults, Memory &memory, const std::string &text) {
    const CurrentCall call("ASCEND_RT_SIM_FAULTS");
    try {
        for (const std::string &entry : split(text, ';')) {
            if (!entry.empty() && !apply_one(faults, memory, entry)) {
                fail_unremembered(
                    ACL_ERROR_INVALID_PARAM,
                    "an entry is not one of call:FUNCTION:N=CODE, task:STREAM:N=CODE, delay:STREAM=MICROSECONDS, "
                    "limit:streams|events|notifies|memory=N, lose:DEVICE=CODE, poison:DEVICE=CODE, "
                    "down:DEVICE=MICROSECONDS");
            }
        }
    } catch (const Failure &) {
        return take_recent_text() + (": " + text);
    }
    return "";
}

}  // namespace aclsim
