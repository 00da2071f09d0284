// SPDX-License-Identifier: Apache-2.0
#include "tasks/graph_json.h"

#include <utility>

#include "machine/context.h"
#include "support/json.h"
#include "support/text.h"
#include "tasks/captured_event.h"

namespace aclsim {
namespace {

std::string parameters(const aclmdlRITaskParams &params) {
    switch (params.type) {
        case ACL_MODEL_RI_TASK_KERNEL:
            return ",\"blocks\":" + std::to_string(params.kernelTaskParams.numBlocks) +
                   ",\"args_size\":" + std::to_string(params.kernelTaskParams.argsSize);
        case ACL_MODEL_RI_TASK_VALUE_WRITE:
        case ACL_MODEL_RI_TASK_VALUE_WAIT:  // same leading fields
            return ",\"address\":\"" + text_of(params.valueWriteTaskParams.devAddr) +
                   "\",\"value\":" + std::to_string(params.valueWriteTaskParams.value);
        default:
            return "";
    }
}

}  // namespace

void GraphJson::add(const Model &model, const Stream &stream) {
    Track track{device_of(stream).user_id, model.id, stream.id, {}};
    track.entries.reserve(model.count_tasks(stream));
    model.for_each_task(stream, [&](const Task &task) REQUIRES(engine_lock) {
        const std::size_t index = track.entries.size();
        const ModelTask *named = model.known_task(stream, index);
        track.entries.push_back({&task.info(), index, edge_begun_by(task), edge_ended_by(task),
                                 named == nullptr ? std::string() : named->extend_info, aclmdlRITaskParams{}});
        if (is_verbose_) {
            task.details().describe(track.entries.back().params);
        }
    });
    tracks_.push_back(std::move(track));
}

std::string GraphJson::text() const {
    const Begins known = begins();
    std::string events;
    for (const Track &track : tracks_) {
        for (const Entry &entry : track.entries) {
            if (!entry.info->has(kIsUnlisted)) {
                events += (events.empty() ? "\n" : ",\n") + event(track, entry, known);
            }
        }
    }
    return "[" + events + "\n]\n";
}

GraphJson::Begins GraphJson::begins() const {
    Begins begins;
    for (const Track &track : tracks_) {
        for (const Entry &entry : track.entries) {
            if (entry.begun != nullptr) {
                begins.insert_or_assign(entry.begun, Position{track.stream, entry.index});
            }
        }
    }
    return begins;
}

std::string GraphJson::event(const Track &track, const Entry &entry, const Begins &begins) {
    const std::string number = std::to_string(entry.index);
    const std::string device = std::to_string(track.device);
    const std::string id = std::to_string(track.stream);
    std::string args = "\"device_id\":" + device + ",\"model_id\":" + std::to_string(track.model) +
                       ",\"stream_id\":" + id + ",\"task_id\":" + number + ",\"task_type\":\"" + entry.info->name +
                       "\"";
    const auto begin = begins.find(entry.ended);
    if (begin != begins.end()) {
        args += ",\"after\":[" + std::to_string(begin->second.stream) + "," + std::to_string(begin->second.index) + "]";
    }
    if (!entry.extend_info.empty()) {
        args += ",\"extend_info\":" + quoted(entry.extend_info);
    }
    args += parameters(entry.params);
    return std::string("{\"name\":\"") + entry.info->name + "\",\"ph\":\"X\",\"pid\":" + device + ",\"tid\":" + id +
           ",\"ts\":" + number + ",\"dur\":1,\"args\":{" + args + "}}";
}

}  // namespace aclsim
