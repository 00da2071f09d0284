#include "tasks/graph_json.h"

#include <cstdio>
#include <map>
#include <utility>

#include "machine/context.h"
#include "support/text.h"
#include "tasks/captured_event.h"

namespace aclsim {
namespace {

const char *name_of(TaskKind kind) {
    switch (kind) {
        case TaskKind::Record:
            return "EVENT_RECORD";
        case TaskKind::Wait:
            return "EVENT_WAIT";
        case TaskKind::Reset:
            return "EVENT_RESET";
        case TaskKind::Copy:
            return "MEMCPY";
        case TaskKind::Fill:
            return "MEMSET";
        case TaskKind::HostFunction:
            return "HOST_FUNC";
        case TaskKind::NotifyRecord:
            return "NOTIFY_RECORD";
        case TaskKind::NotifyWait:
            return "NOTIFY_WAIT";
        case TaskKind::ValueWrite:
            return "VALUE_WRITE";
        case TaskKind::ValueWait:
            return "VALUE_WAIT";
        case TaskKind::Reduce:
            return "REDUCE";
        case TaskKind::Trace:
            return "PROFILER_TRACE";
        case TaskKind::Cmo:
        case TaskKind::CmoBarrier:
            return "CMO";
        case TaskKind::Activate:
            return "STREAM_ACTIVE";
        case TaskKind::Conditional:
            return "CONDITIONAL";
        case TaskKind::Kernel:
            return "KERNEL";
        default:
            return "TASK";
    }
}

// Bytes from 0x80 on are of UTF-8, or become U+0080 to U+00FF.
bool is_utf8(const std::string &text) {
    for (std::size_t i = 0; i < text.size();) {
        const auto lead = static_cast<unsigned char>(text[i]);
        const std::size_t length = lead < 0x80         ? 1
                                   : lead >> 5 == 0x6  ? 2
                                   : lead >> 4 == 0xE  ? 3
                                   : lead >> 3 == 0x1E ? 4
                                                       : 0;
        if (length == 0 || i + length > text.size()) {
            return false;
        }
        for (std::size_t at = 1; at < length; ++at) {
            if ((static_cast<unsigned char>(text[i + at]) & 0xC0) != 0x80) {
                return false;
            }
        }
        i += length;
    }
    return true;
}

std::string quoted(const std::string &text) {
    const bool keeps_high = is_utf8(text);
    std::string result = "\"";
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || (byte >= 0x7F && !keeps_high)) {
            char escape[8];
            std::snprintf(escape, sizeof escape, "\\u%04x", byte);
            result += escape;
        } else {
            result += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
        }
    }
    return result + "\"";
}

struct Place {
    std::uint32_t stream;
    std::size_t index;
};

class Writer {
  public:
    Writer(Model &model, bool is_verbose) REQUIRES(engine_lock) : model_(model), is_verbose_(is_verbose) {
        for_each_task([&](const Stream &stream, std::size_t index, const Task &task) {
            if (const Signal *edge = edge_begun_by(task)) {
                begins_.insert_or_assign(edge, Place{stream.id, index});
            }
        });
    }
    std::string write() REQUIRES(engine_lock) {
        std::string events;
        for_each_task([&](const Stream &stream, std::size_t index, const Task &task) REQUIRES(engine_lock) {
            if (task.kind() != TaskKind::GraphEnd) {
                events += (events.empty() ? "\n" : ",\n") + event(stream, index, task);
            }
        });
        return "[" + events + "\n]\n";
    }

  private:
    template <class Function>
    void for_each_task(Function function) REQUIRES(engine_lock) {
        for (const auto &stream : model_.streams()) {
            std::size_t index = 0;
            model_.for_each_task(*stream, [&](const Task &task) { function(*stream, index++, task); });
        }
    }
    std::string event(const Stream &stream, std::size_t index, const Task &task) REQUIRES(engine_lock) {
        const std::string number = std::to_string(index);
        const std::string device = std::to_string(device_of(stream).user_id);
        const std::string id = std::to_string(stream.id);
        std::string args = "\"device_id\":" + device + ",\"model_id\":" + std::to_string(model_.id) +
                           ",\"stream_id\":" + id + ",\"task_id\":" + number + ",\"task_type\":\"" +
                           name_of(task.kind()) + "\"";
        const auto begin = begins_.find(edge_ended_by(task));
        if (begin != begins_.end()) {
            args +=
                ",\"after\":[" + std::to_string(begin->second.stream) + "," + std::to_string(begin->second.index) + "]";
        }
        const ModelTask *named = model_.known_task(stream, index);
        if (named != nullptr && !named->extend_info.empty()) {
            args += ",\"extend_info\":" + quoted(named->extend_info);
        }
        if (is_verbose_) {
            args += parameters(task);
        }
        return std::string("{\"name\":\"") + name_of(task.kind()) + "\",\"ph\":\"X\",\"pid\":" + device +
               ",\"tid\":" + id + ",\"ts\":" + number + ",\"dur\":1,\"args\":{" + args + "}}";
    }
    static std::string parameters(const Task &task) REQUIRES(engine_lock) {
        aclmdlRITaskParams params{};
        task.describe(params);
        switch (params.type) {
            case ACL_MODEL_RI_TASK_KERNEL:
                return ",\"blocks\":" + std::to_string(params.kernelTaskParams.numBlocks) +
                       ",\"args_size\":" + std::to_string(params.kernelTaskParams.argsSize);
            case ACL_MODEL_RI_TASK_VALUE_WRITE:
            case ACL_MODEL_RI_TASK_VALUE_WAIT:  // which begins alike
                return ",\"address\":\"" + text_of(params.valueWriteTaskParams.devAddr) +
                       "\",\"value\":" + std::to_string(params.valueWriteTaskParams.value);
            default:
                return "";
        }
    }

    Model &model_;
    const bool is_verbose_;
    std::map<const Signal *, Place> begins_;
};

}  // namespace

std::string graph_json(Model &model, bool is_verbose) { return Writer(model, is_verbose).write(); }

}  // namespace aclsim
