// SPDX-License-Identifier: Apache-2.0
// Queries about graphs, names of graphs for tools, and callbacks for their destruction (graphs_kernels.md sections B5
// and B6).
#include "tasks/graph.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "api/model.h"
#include "support/uncancelled.h"
#include "tasks/graph_json.h"

using namespace aclsim;

namespace {

Model &require_registering_model(Simulator &sim, aclmdlRI model) REQUIRES(engine_lock) {
    require_pointer(model, "modelRI");
    return require_root(require_model(sim, model));
}

// Copies handles to the caller's array and sets its remaining elements to NULL; without an array, returns only the
// number of handles (section B6).
void answer(const std::vector<void *> &found, void **array, std::uint32_t &count) {
    const auto number = static_cast<std::uint32_t>(found.size());
    const std::uint32_t room = array == nullptr ? number : count;
    count = std::min(room, number);
    if (array == nullptr) {
        return;
    }
    if (room < number) {
        fail(ACL_ERROR_RT_INSUFFICIENT_INPUT_ARRAY, "the array has %u elements, and there are %u", room, number);
    }
    std::copy(found.begin(), found.end(), array);
    std::fill(array + number, array + room, nullptr);
}

void write_file(const char *path, const std::string &text) {
    const Uncancelled uncancelled;
    std::FILE *file = std::fopen(path, "w");
    if (file == nullptr) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "%s cannot be written", path);
    }
    const bool is_written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
    if (std::fclose(file) != 0 || !is_written) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "%s was not written completely", path);
    }
}

}  // namespace

aclError aclmdlRIDestroyRegisterCallback(aclmdlRI modelRI, aclrtCallback func, void *userData) {
    return entry(Function::aclmdlRIDestroyRegisterCallback, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require_pointer(modelRI, "modelRI");
        require_pointer(reinterpret_cast<const void *>(func), "func");
        Model &model = require_registering_model(sim, modelRI);
        if (!model.destroy_callbacks.emplace(func, userData).second) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "the function is registered for model %u already", model.id);
        }
    });
}

aclError aclmdlRIDestroyUnregisterCallback(aclmdlRI modelRI, aclrtCallback func) {
    return entry(Function::aclmdlRIDestroyUnregisterCallback, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require_pointer(modelRI, "modelRI");
        require_pointer(reinterpret_cast<const void *>(func), "func");
        Model &model = require_registering_model(sim, modelRI);
        if (model.destroy_callbacks.erase(func) == 0) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "the function is not registered for model %u", model.id);
        }
    });
}

aclError aclsimReleaseWithGraph(aclmdlRI graph, aclsimReleaseFunction release, void *userData) {
    return entry(Function::aclsimReleaseWithGraph, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require_pointer(graph, "graph");
        require_pointer(reinterpret_cast<const void *>(release), "release");
        Model &model = require_registering_model(sim, graph);
        if (model.as_graph() == nullptr) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "model %u is not a captured graph", model.id);
        }
        model.as_graph()->releases.push_back({release, userData});
    });
}

aclError aclmdlRIGetStreams(aclmdlRI modelRI, aclrtStream *streams, uint32_t *numStreams) {
    return entry(Function::aclmdlRIGetStreams, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require_pointer(modelRI, "modelRI");
        require_pointer(numStreams, "numStreams");
        require_supported();
        require_root(require_model(sim, modelRI));
        std::vector<void *> handles;
        for (const auto &stream : require_own_model(sim, modelRI).streams()) {
            handles.push_back(stream->handle());
        }
        answer(handles, streams, *numStreams);
    });
}

aclError aclmdlRIGetTasksByStream(aclrtStream stream, aclmdlRITask *tasks, uint32_t *numTasks) {
    return entry(Function::aclmdlRIGetTasksByStream, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require_pointer(stream, "stream");
        require_pointer(numTasks, "numTasks");
        require_supported();
        const ContextStream &found = require_handle<ContextStream>(sim, stream, "stream");
        if (found.keeper == nullptr) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "stream %u is not bound to a model", found.id);
        }
        Model &model = require_own(sim, require_root(*model_of(found)));
        const std::size_t count = model.count_tasks(found);
        std::vector<void *> handles(count);
        for (std::size_t i = 0; tasks != nullptr && i < std::min<std::size_t>(count, *numTasks); ++i) {
            handles[i] = model.named_task(found, i).handle();
            tasks[i] = handles[i];  // filled even if not all of them fit, unlike streams (graphs_kernels.md section B6)
        }
        answer(handles, tasks, *numTasks);
    });
}

aclError aclmdlRIDebugPrint(aclmdlRI modelRI) {  // prints to the log of the runtime, which the simulator lacks
    return entry(Function::aclmdlRIDebugPrint, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(modelRI, "modelRI");
        require_supported();
        require_own_model(sim, modelRI);
    });
}

aclError aclmdlRIDebugJsonPrint(aclmdlRI modelRI, const char *path, uint32_t flags) {
    return entry(Function::aclmdlRIDebugJsonPrint, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require(modelRI, "modelRI");
        require(path, "path");
        require_supported();
        GraphJson json(flags == ACL_MDLRI_DEBUG_JSON_PRINT_VERBOSE);
        for (const auto &stream : require_own_model(sim, modelRI).streams()) {
            const Model &model = require_own_model(sim, modelRI);
            if (stream->keeper == &model) {  // skip a stream that another thread has unbound
                json.add(model, *stream);
            }
            let_others_in(lock);
        }
        const Unlocked unlocked(lock);
        write_file(path, json.text());
    });
}
