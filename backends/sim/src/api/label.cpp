// SPDX-License-Identifier: Apache-2.0
// Labels, jumps to them, and switches between the streams of a model (events_streams_sync.md sections 3 and 7).
#include "tasks/label.h"

#include <vector>

#include "api/entry.h"
#include "memory/extent.h"
#include "memory/memory.h"
#include "tasks/model.h"

using namespace aclsim;

namespace {

constexpr std::int32_t kHighestCondition = ACL_RT_LESS_OR_EQUAL;
constexpr std::int32_t kHighestCompareType = ACL_RT_SWITCH_INT64;

Label &require_label(Simulator &sim, aclrtLabel label) REQUIRES(engine_lock) {
    require(label, "label");
    return require_handle<Label>(sim, label, "label");
}

// Returns the model to which the stream is bound.
Model &require_model_of(const Stream &stream) REQUIRES(engine_lock) {
    Model *model = model_of(stream);
    if (model == nullptr) {
        fail(ACL_ERROR_RT_STREAM_MODEL, "stream %u is not bound to a model", stream.id);
    }
    return *model;
}

}  // namespace

aclError aclrtCreateLabel(aclrtLabel *label) {
    return entry(Function::aclrtCreateLabel, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(label, "label");
        require_current_device(sim);
        *label = sim.labels.create(require_context(sim))->handle();
    });
}

aclError aclrtDestroyLabel(aclrtLabel label) {
    return entry(Function::aclrtDestroyLabel, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        Label &found = require_label(sim, label);
        const Context &current = require_context(sim);
        if (&found.context != &current) {
            fail_of_other_context(ACL_ERROR_RT_LABEL_CONTEXT, "the label", found.context, &current);
        }
        sim.labels.remove(found);
    });
}

aclError aclrtCreateLabelList(aclrtLabel *labels, size_t num, aclrtLabelList *labelList) {
    return entry(Function::aclrtCreateLabelList, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(labels, "labels");
        require(labelList, "labelList");
        if (num == 0 || num > kLabels) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "%zu labels are not 1 to %zu", num, kLabels);
        }
        require_context(sim);
        auto list = make_ref<LabelList>();
        for (std::size_t i = 0; i < num; ++i) {
            const Ref<Label> label(sim.core.registry().find<Label>(labels[i]));
            if (!label) {
                fail(ACL_ERROR_RT_INVALID_HANDLE, "element %zu is not a live label", i);
            }
            if (label->is_in_list) {
                fail(ACL_ERROR_RT_INTERNAL_ERROR, "element %zu is in a list already", i);
            }
            list->labels.push_back(label);
            label->is_in_list = true;  // reset by the destructor of the list, even if a later element fails
        }
        sim.core.registry().add(list);
        *labelList = list->handle();
    });
}

aclError aclrtDestroyLabelList(aclrtLabelList labelList) {
    return entry(Function::aclrtDestroyLabelList, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(labelList, "labelList");
        sim.core.registry().remove(require_handle<LabelList>(sim, labelList, "list of labels"));
    });
}

aclError aclrtSetLabel(aclrtLabel label, aclrtStream stream) {
    return entry(Function::aclrtSetLabel, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require(label, "label");
        require(stream, "stream");
        Label &found = require_label(sim, label);
        ContextStream &on = require_own_stream(sim, stream);
        if (&found.context != &context_of(on)) {
            fail_of_other_context(ACL_ERROR_RT_LABEL_CONTEXT, "the label", found.context, &context_of(on));
        }
        Model &model = require_model_of(on);
        if (!found.is_in_list || found.stream) {
            fail(ACL_ERROR_RT_INTERNAL_ERROR, "the label is %s", found.stream ? "set already" : "in no list yet");
        }
        model.submit_label(lock, on, found);
    });
}

aclError aclrtSwitchLabelByIndex(void *ptr, uint32_t, aclrtLabelList labelList, aclrtStream stream) {
    return entry(Function::aclrtSwitchLabelByIndex, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require(ptr, "ptr");
        require(labelList, "labelList");
        require(stream, "stream");
        const Ref<LabelList> list(require_handle<LabelList>(sim, labelList, "list of labels"));
        ContextStream &on = require_own_stream(sim, stream);
        Model &model = require_model_of(on);
        require_live_on_device(sim.memory, ptr, sizeof(std::uint32_t), AccessMode::Read, "ptr");
        sim.core.admit(lock, on);
        sim.core.submit(on, JumpTask(model, ptr, list));
    });
}

aclError aclrtSwitchStream(void *leftValue, aclrtCondition cond, void *rightValue, aclrtCompareDataType dataType,
                           aclrtStream trueStream, aclrtStream falseStream, aclrtStream stream) {
    return entry(Function::aclrtSwitchStream, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require(leftValue, "leftValue");
        require(rightValue, "rightValue");
        require(trueStream, "trueStream");
        require(stream, "stream");
        if (falseStream != nullptr) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "falseStream must be NULL");
        }
        require_supported();
        if (cond < 0 || cond > kHighestCondition || dataType < 0 || dataType > kHighestCompareType) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "there is no condition %d or no data type %d", static_cast<int>(cond),
                 static_cast<int>(dataType));
        }
        const Stream &other = require_handle<ContextStream>(sim, trueStream, "stream");
        ContextStream &on = require_own_stream(sim, stream);
        Model &model = require_model_of(on);
        if (other.keeper != on.keeper) {
            fail(ACL_ERROR_RT_STREAM_MODEL, "stream %u is not bound to the model of stream %u", other.id, on.id);
        }
        const Comparison comparison{leftValue, cond, rightValue, dataType};
        require_live_on_device(sim.memory, leftValue, comparison.size(), AccessMode::Read, "leftValue");
        require_live_on_device(sim.memory, rightValue, comparison.size(), AccessMode::Read, "rightValue");
        sim.core.admit(lock, on);
        sim.core.submit(on, SwitchTask(model, comparison, other));
    });
}
