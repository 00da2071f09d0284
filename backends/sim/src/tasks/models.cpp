// SPDX-License-Identifier: Apache-2.0
// Creation and destruction of models.
#include <algorithm>
#include <new>
#include <utility>

#include "engine/core.h"
#include "engine/sliced_work.h"
#include "support/error.h"
#include "support/program_call.h"
#include "tasks/capture.h"
#include "tasks/graph.h"
#include "tasks/leaving_names.h"
#include "tasks/model.h"

namespace aclsim {
namespace {

// Models of a context that is gone.
class LeavingModels final : public SlicedWork {
  public:
    LeavingModels(Core &core, std::vector<Ref<Model>> models) : SlicedWork(core), models_(std::move(models)) {}
    bool do_slice() override REQUIRES(engine_lock) {
        for (std::size_t done = 0; !models_.empty(); models_.pop_back()) {
            if (is_enough(done)) {
                return true;
            }
            done += models_.back()->count_tasks() + 1;
        }
        return false;
    }

  private:
    std::vector<Ref<Model>> models_;
};

}  // namespace

Models::Models(Machine &machine) : machine_(machine), core_(machine.core) { machine.add(*this); }

void Models::add(const Ref<Model> &model) {
    core_.registry().add_with(model, [&]() REQUIRES(engine_lock) { models_[&model->context].push_back(model); });
}

Ref<Model> Models::create(Context &context) {
    auto model = make_ref<Model>(core_, context, created_++);
    add(model);
    return model;
}

Ref<Graph> Models::create_graph(Context &context) {
    auto graph = make_ref<Graph>(machine_, context, created_++);
    add(graph);
    return graph;
}

Ref<Graph> Models::create_sub_graph(Graph &parent) {
    auto graph = make_ref<Graph>(machine_, parent.context, created_++);
    graph->is_sub_graph = true;
    core_.registry().add_with(graph, [&]() REQUIRES(engine_lock) { parent.sub_graphs.push_back(graph); });
    return graph;
}

void Models::forget_sub_graphs(Graph &parent, std::size_t first) {
    auto &graphs = parent.sub_graphs;
    for (; graphs.size() > first; graphs.pop_back()) {
        core_.registry().remove(*graphs.back());
    }
}

void Models::destroy(Lock &lock, Model &model) {
    const Ref<Model> keep(model);
    core_.registry().remove(model);
    LeavingNames leaving(core_);
    model.close_handles(leaving);
    do_in_slices(core_, std::move(leaving));
    const auto callbacks = std::exchange(model.destroy_callbacks, {});
    struct End {
        Models &models;
        Model &model;
        ~End() REQUIRES(engine_lock) {
            models.erase(model);
            model.retire();
        }
    };
    const End end{*this, model};  // also if a callback does not return
    if (!callbacks.empty()) {
        const Unlocked unlocked(lock);
        for (const auto &callback : callbacks) {
            call_or_fail("a callback of the graph's destruction", [&] {
                const KeptText text;
                callback.first(callback.second);
            });
        }
    }
}

void Models::forget(Model &model) {
    const Ref<Model> keep(model);
    core_.registry().remove(model);
    erase(model);
}

void Models::erase(const Model &model) {
    const auto found = models_.find(&model.context);  // a callback may have destroyed the context
    if (found != models_.end()) {
        auto &models = found->second;
        models.erase(std::remove(models.begin(), models.end(), &model), models.end());
    }
}

void Models::context_closes(Context &context) {
    while (Capture *capture = machine_.capture_modes.first_in(context)) {
        capture->end();
    }
    const auto found = models_.find(&context);  // without insertion, because closing a context must not need memory
    if (found == models_.end()) {
        return;
    }
    LeavingNames leaving(core_);
    for (const auto &model : found->second) {
        if (core_.registry().find<Model>(model->handle()) == nullptr) {
            continue;  // its destruction has closed the handles, and is calling a callback
        }
        core_.registry().remove(*model);
        model->close_handles(leaving);
    }
    do_in_slices(core_, std::move(leaving));
}

void Models::context_closed(Context &context) {
    const auto found = models_.find(&context);
    if (found != models_.end()) {
        LeavingModels leaving(core_, std::move(found->second));
        models_.erase(found);
        do_in_slices(core_, std::move(leaving));
    }
}

}  // namespace aclsim
