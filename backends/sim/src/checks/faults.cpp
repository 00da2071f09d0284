#include "checks/faults.h"

#include <algorithm>
#include <cstring>
#include <sstream>

#include "engine/core.h"
#include "machine/context.h"
#include "support/error.h"

namespace aclsim {

std::atomic<bool> Faults::concerns_calls_{false};

bool StreamFilter::matches(const Stream &stream) const {
    return (handle == nullptr || handle == stream.handle()) && (id < 0 || id == static_cast<std::int64_t>(stream.id));
}

namespace {

constexpr std::chrono::hours kLongestDelay{1};

void require_failure(aclError code) {
    if (code == ACL_SUCCESS) {
        reject(ACL_ERROR_INVALID_PARAM, "code 0 would be no failure");
    }
}

}  // namespace

void Faults::fail_call(const std::string &function, std::uint64_t nth, aclError code) {
    require_failure(code);
    if (aclsimIsSimulated(function.c_str()) == 0) {
        reject(ACL_ERROR_INVALID_PARAM, "%s is no simulated function", function.c_str());
    }
    calls_.push_back({function, {nth, code}});
    concerns_calls_ = true;
}

void Faults::fail_task(const StreamFilter &streams, std::uint64_t nth, aclError code) {
    require_failure(code);
    tasks_.push_back({streams, {nth, code}});
}

void Faults::delay_tasks(Engine &engine, const StreamFilter &streams, std::chrono::microseconds delay) {
    if (delay > kLongestDelay) {
        reject(ACL_ERROR_INVALID_PARAM, "a delay is at most an hour");
    }
    engine.timer().start();
    delays_.push_back({streams, delay});
}

void Faults::clear() {
    *this = Faults();
    concerns_calls_ = false;
}

void Faults::check_call(const char *function) {
    for (CallRule &rule : calls_) {
        if (rule.function == function && rule.turn.comes()) {
            fail(rule.turn.code, "call %llu fails as the fault injection demands",
                 static_cast<unsigned long long>(rule.turn.seen));
        }
    }
}

void Faults::prepare(const Stream &stream, Task &task) {
    for (TaskRule &rule : tasks_) {
        if (rule.streams.matches(stream) && rule.turn.comes()) {
            task.injected_failure = rule.turn.code;
        }
    }
    for (const DelayRule &rule : delays_) {
        if (rule.streams.matches(stream)) {
            task.delay = rule.delay;  // the newest rule counts
        }
    }
}

void lose_device(Engine &engine, Device &device, aclError code) {
    require_failure(code);
    device.lost = code;
    engine.exceptions().report_device(device, code);
    for (Context *context : device.contexts) {
        context->failure = code;
        for (const auto &stream : context->streams) {
            engine.drop_queue(*stream, code);  // what runs already ends by itself
        }
    }
    engine.pump();  // streams of other devices may have waited
}

void limit_resource(Engine &engine, Device &device, aclsimResource resource, std::uint64_t limit) {
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
            engine.memory().device(device.physical_id).set_limit(limit);
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

bool apply_limit(Engine &engine, const std::string &name, std::uint64_t limit) {
    for (const ResourceName &known : kResources) {
        if (name == known.name) {
            for (const auto &device : engine.devices()) {
                limit_resource(engine, *device, known.resource, limit);
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

// One of call:FUNCTION:N=CODE, task:STREAM:N=CODE, delay:STREAM=MICROSECONDS, limit:RESOURCE=N, lose:DEVICE=CODE.
bool apply_one(Engine &engine, const std::string &entry) {
    const std::size_t equals = entry.find('=');
    std::uint64_t value = 0;
    if (equals == std::string::npos || !parse_number(entry.substr(equals + 1), value)) {
        return false;
    }
    const std::vector<std::string> parts = split(entry.substr(0, equals), ':');
    const std::string &kind = parts[0];
    if (value > INT32_MAX && (kind == "call" || kind == "task" || kind == "lose")) {
        return false;
    }
    const auto code = static_cast<aclError>(value);
    StreamFilter streams;
    std::uint64_t number = 0;
    if (parts.size() == 3 && parse_number(parts[2], number)) {
        if (kind == "call") {
            engine.faults().fail_call(parts[1], number, code);
            return true;
        }
        if (kind == "task" && parse_stream(parts[1], streams)) {
            engine.faults().fail_task(streams, number, code);
            return true;
        }
    }
    if (parts.size() != 2) {
        return false;
    }
    if (kind == "delay" && parse_stream(parts[1], streams)) {
        engine.faults().delay_tasks(engine, streams, std::chrono::microseconds(value));
        return true;
    }
    if (kind == "lose" && parse_number(parts[1], number) && number < engine.devices().size()) {
        lose_device(engine, *engine.devices()[number], code);
        return true;
    }
    return kind == "limit" && apply_limit(engine, parts[1], value);
}

}  // namespace

std::string apply_faults(Engine &engine, const std::string &text) {
    const KeptCall kept;
    begin_call("ASCEND_RT_SIM_FAULTS");
    try {
        for (const std::string &entry : split(text, ';')) {
            if (!entry.empty() && !apply_one(engine, entry)) {
                reject(ACL_ERROR_INVALID_PARAM,
                       "not all is one of call:FUNCTION:N=CODE, task:STREAM:N=CODE, delay:STREAM=MICROSECONDS, "
                       "limit:streams|events|notifies|memory=N, lose:DEVICE=CODE");
            }
        }
    } catch (const Failure &) {
        return take_recent_text() + (": " + text);
    }
    return "";
}

}  // namespace aclsim
