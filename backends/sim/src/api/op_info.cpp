// SPDX-License-Identifier: Apache-2.0
// Operator information that the user attaches to the task last submitted by the calling thread (graphs_kernels.md part
// D).
#include "api/op_info.h"

#include <algorithm>

#include "api/model.h"
#include "engine/thread.h"
#include "tasks/capture.h"
#include "tasks/graph.h"

using namespace aclsim;

namespace {

constexpr std::size_t kLargestInfo = 65536;
constexpr std::size_t kKeptExtendInfo = 4096;

[[noreturn]] void fail_without_task(const char *what) {
    fail(ACL_ERROR_RT_INTERNAL_ERROR, "the calling thread's last task %s", what);
}

// Returns the stream of the last task; it must belong to the current context.
ContextStream &require_last_stream(Simulator &sim) REQUIRES(engine_lock) {
    const Context &context = require_context(sim);
    ContextStream *stream = sim.core.registry().find<ContextStream>(last_task().stream);
    if (stream == nullptr) {
        fail_without_task("does not exist, or its stream is gone");
    }
    if (&context_of(*stream) != &context) {
        fail_of_other_context(ACL_ERROR_RT_STREAM_CONTEXT, "the calling thread's last task", context_of(*stream),
                              &context);
    }
    return *stream;
}

ModelTask &require_last_task(const ContextStream &stream) REQUIRES(engine_lock) {
    Model *const model = model_of(stream);
    const auto index = model == nullptr ? std::nullopt : model->find_index(stream, last_task().sequence);
    if (!index) {
        fail_without_task("is in no model");
    }
    return model->named_task(stream, *index);
}

}  // namespace

namespace aclsim {

bool caches_op_info(const ContextStream &stream) {
    const Capture *const capture = capture_of(stream);
    return capture != nullptr && capture->graph->caches_op_info;
}

void cache_op_info(Simulator &sim, const void *information, std::size_t size) {
    const ContextStream &stream = require_last_stream(sim);
    const Graph *const graph = stream.keeper == nullptr ? nullptr : model_of(stream)->as_graph();
    if (graph == nullptr || !graph->caches_op_info) {  // graphs cache it only during their capture
        fail_without_task("is in no graph that is being captured with ACL_STREAM_ATTR_CACHE_OP_INFO");
    }
    const auto *bytes = static_cast<const unsigned char *>(information);
    require_last_task(stream).op_info.assign(bytes, bytes + size);
}

}  // namespace aclsim

aclError aclrtCacheLastTaskOpInfo(const void *const infoPtr, const size_t infoSize) {
    return entry(Function::aclrtCacheLastTaskOpInfo, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(infoPtr, "infoPtr");
        if (infoSize == 0) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "infoSize is 0");
        }
        require_supported();
        if (infoSize > kLargestInfo) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "%zu bytes are more than %zu", infoSize, kLargestInfo);
        }
        cache_op_info(sim, infoPtr, infoSize);
    });
}

aclError aclrtCacheLastTaskExtendInfo(const char *const extendInfoPtr, const size_t infoSize) {
    return entry(Function::aclrtCacheLastTaskExtendInfo, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require_pointer(extendInfoPtr, "extendInfoPtr");
        if (infoSize == 0) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "infoSize is 0");
        }
        require_supported();
        require_last_task(require_last_stream(sim))
            .extend_info.assign(extendInfoPtr, std::min(infoSize, kKeptExtendInfo));
    });
}
