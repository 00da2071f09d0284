#include "tasks/graph_json.h"

#include <map>
#include <utility>

#include "machine/context.h"
#include "support/json.h"
#include "support/text.h"
#include "tasks/captured_event.h"

namespace aclsim {
namespace {

struct GraphPosition {
    std::uint32_t stream;
    std::size_t index;
};

class Writer {
  public:
    Writer(Model &model, bool is_verbose) REQUIRES(engine_lock) : model_(model), is_verbose_(is_verbose) {
        for_each_task([&](const Stream &stream, std::size_t index, const Task &task) {
            if (const Signal *edge = edge_begun_by(task)) {
                begins_.insert_or_assign(edge, GraphPosition{stream.id, index});
            }
        });
    }
    std::string write() REQUIRES(engine_lock) {
        std::string events;
        for_each_task([&](const Stream &stream, std::size_t index, const Task &task) REQUIRES(engine_lock) {
            if (!task.info().has(kIsUnlisted)) {
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
            model_.for_each_task(*stream,
                                 [&](const Task &task) REQUIRES(engine_lock) { function(*stream, index++, task); });
        }
    }
    std::string event(const Stream &stream, std::size_t index, const Task &task) REQUIRES(engine_lock) {
        const std::string number = std::to_string(index);
        const std::string device = std::to_string(device_of(stream).user_id);
        const std::string id = std::to_string(stream.id);
        std::string args = "\"device_id\":" + device + ",\"model_id\":" + std::to_string(model_.id) +
                           ",\"stream_id\":" + id + ",\"task_id\":" + number + ",\"task_type\":\"" + task.info().name +
                           "\"";
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
        return std::string("{\"name\":\"") + task.info().name + "\",\"ph\":\"X\",\"pid\":" + device + ",\"tid\":" + id +
               ",\"ts\":" + number + ",\"dur\":1,\"args\":{" + args + "}}";
    }
    static std::string parameters(const Task &task) REQUIRES(engine_lock) {
        aclmdlRITaskParams params{};
        task.details().describe(params);
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
    std::map<const Signal *, GraphPosition> begins_;
};

}  // namespace

std::string graph_json(Model &model, bool is_verbose) { return Writer(model, is_verbose).write(); }

}  // namespace aclsim
