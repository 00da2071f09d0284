// SPDX-License-Identifier: Apache-2.0
// Marks and ranges of the program for its profiles: stamps, ranges with tensors, steps, numbers of texts (profiling.md
// sections 5 to 7).
#include "observe/marks.h"

#include <cstring>

#include "api/model.h"
#include "api/op_info.h"
#include "tasks/trace.h"

using namespace aclsim;

namespace {

// Code of the marks that is in no table of errors (profiling.md section 5 [obs]).
constexpr aclError kNotTaken = -1;
constexpr std::size_t kLongestMessage = 126;
constexpr std::size_t kLongestMark = 155;
constexpr std::uint64_t kNoNumber = UINT64_MAX;

void require_collection(const Simulator &sim) REQUIRES(engine_lock) {
    if (!sim.marks.is_on()) {
        fail_unremembered(kNotTaken, "no profile with ACL_PROF_MSPROFTX is being taken");
    }
}

Stamp &require_stamp(Simulator &sim, void *stamp) REQUIRES(engine_lock) {
    auto *const found = sim.core.registry().find<Stamp>(stamp);
    if (found == nullptr) {
        fail_unremembered(kNotTaken, "%p is not a live stamp of aclprofCreateStamp", stamp);
    }
    return *found;
}

ContextStream *find_stream(Simulator &sim, aclrtStream stream) REQUIRES(engine_lock) {
    if (stream == nullptr) {
        Context *const context = current_context(sim);
        return context == nullptr ? nullptr : context->default_stream.get();
    }
    return sim.core.registry().find<ContextStream>(stream);
}

// Fails with the code if the stream does not exist or does not belong to the current context.
ContextStream &require_marked(Simulator &sim, aclrtStream stream, aclError code) REQUIRES(engine_lock) {
    ContextStream *const found = find_stream(sim, stream);
    if (found == nullptr || &context_of(*found) != current_context(sim)) {
        fail_unremembered(code, "the stream does not exist, or belongs to another context");
    }
    return found->is_redirected ? redirect(*found) : *found;
}

void submit_mark(Simulator &sim, Lock &lock, ContextStream &stream, MarkTask mark) REQUIRES(engine_lock) {
    const Ref<ContextStream> kept(stream);
    sim.core.admit(lock, *kept);
    sim.core.submit(*kept, std::move(mark));
}

}  // namespace

void *aclprofCreateStamp() {
    void *handle = nullptr;
    entry(Function::aclprofCreateStamp, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require_collection(sim);
        const Stamp *const stamp = sim.marks.create_stamp();
        if (stamp == nullptr) {
            fail_unremembered(kNotTaken, "there are %zu stamps already", Marks::kMostStamps);
        }
        handle = stamp->handle();
    });
    return handle;
}

void aclprofDestroyStamp(void *stamp) {
    entry(Function::aclprofDestroyStamp,
          [&](Simulator &sim, Lock &) REQUIRES(engine_lock) { sim.marks.destroy(require_stamp(sim, stamp)); });
}

aclError aclprofSetStampTraceMessage(void *stamp, const char *msg, uint32_t msgLen) {
    return entry(Function::aclprofSetStampTraceMessage, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        Stamp &found = require_stamp(sim, stamp);
        if (msg == nullptr || msgLen > kLongestMessage) {
            fail_unremembered(kNotTaken, "msg is NULL, or longer than %zu bytes", kLongestMessage);
        }
        found.message.assign(msg, strnlen(msg, msgLen));
    });
}

aclError aclprofMark(void *stamp) {
    return entry(Function::aclprofMark, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require_collection(sim);
        sim.marks.mark(require_stamp(sim, stamp));
    });
}

aclError aclprofMarkEx(const char *msg, size_t msgLen, aclrtStream stream) {
    return entry(Function::aclprofMarkEx, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require_collection(sim);
        if (msg == nullptr || stream == nullptr || msgLen == 0 || msgLen > kLongestMark ||
            strnlen(msg, msgLen + 1) != msgLen) {
            fail_unremembered(kNotTaken, "msg or stream is NULL, or msgLen is not the length, from 1 to %zu",
                              kLongestMark);
        }
        submit_mark(sim, lock, require_marked(sim, stream, kNotTaken), MarkTask(std::string(msg, msgLen)));
    });
}

aclError aclprofPush(void *stamp) {
    return entry(Function::aclprofPush, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(stamp, "stamp");
        require_collection(sim);
        sim.marks.push(require_stamp(sim, stamp));
    });
}

aclError aclprofPop() {
    return entry(Function::aclprofPop, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require_collection(sim);
        if (!sim.marks.pop()) {
            fail_unremembered(kNotTaken, "the thread has no range of aclprofPush open");
        }
    });
}

aclError aclprofRangeStart(void *stamp, uint32_t *rangeId) {
    return entry(Function::aclprofRangeStart, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(stamp, "stamp");
        require(rangeId, "rangeId");
        require_collection(sim);
        Stamp &found = require_stamp(sim, stamp);
        sim.marks.start_range(found);
        *rangeId = found.id;
    });
}

aclError aclprofRangeStop(uint32_t rangeId) {
    return entry(Function::aclprofRangeStop, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require_collection(sim);
        if (!sim.marks.stop_range(rangeId)) {
            fail_unremembered(kNotTaken, "there is no range %u of aclprofRangeStart", rangeId);
        }
    });
}

aclprofStepInfo *aclprofCreateStepInfo() {
    void *handle = nullptr;
    entry(Function::aclprofCreateStepInfo,
          [&](Simulator &sim, Lock &) REQUIRES(engine_lock) { handle = sim.marks.create_step().handle(); });
    return static_cast<aclprofStepInfo *>(handle);
}

void aclprofDestroyStepInfo(aclprofStepInfo *stepinfo) {
    entry(Function::aclprofDestroyStepInfo, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        if (auto *const found = sim.core.registry().find<StepInfo>(stepinfo)) {
            sim.core.registry().remove(*found);
        }
    });
}

// A stream that does not exist is noticed only while a profile is being taken (profiling.md section 6 [obs]).
aclError aclprofGetStepTimestamp(aclprofStepInfo *stepInfo, aclprofStepTag tag, aclrtStream stream) {
    return entry(Function::aclprofGetStepTimestamp, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        auto *const step = sim.core.registry().find<StepInfo>(stepInfo);
        if (step == nullptr) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "stepInfo is not live");
        }
        const bool is_end = tag != ACL_STEP_START;
        bool &is_set = is_end ? step->has_end : step->has_start;
        if (is_set && (tag == ACL_STEP_START || tag == ACL_STEP_END)) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "the %s of step %llu was marked already",
                              is_end ? "end" : "start", static_cast<unsigned long long>(step->number));
        }
        is_set = true;
        if (sim.profiler.is_observing()) {
            submit_mark(sim, lock, require_marked(sim, stream, ACL_ERROR_GE_FAILURE), MarkTask(step->number, is_end));
        }
    });
}

uint64_t aclprofStr2Id(const char *message) {
    std::uint64_t number = kNoNumber;
    entry(Function::aclprofStr2Id, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(message, "message");
        if (*message == '\0') {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "message is empty");
        }
        number = sim.marks.number_of(message);
    });
    return number;
}

aclError aclprofRangePushEx(aclprofEventAttributes *attr) {
    return entry(Function::aclprofRangePushEx, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(attr, "attr");
        if (attr->messageType != ACL_PROF_MESSAGE_TYPE_TENSOR_INFO) {
            fail_unremembered(kNotTaken, "there is no type %u of messages", attr->messageType);
        }
        sim.marks.push_tensors(attr->message.tensorInfo);
    });
}

// Information of an operator that is being captured goes to its task, as that of aclrtCacheLastTaskOpInfo does.
aclError aclprofRangePop() {
    return entry(Function::aclprofRangePop, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        const Marks::Tensors &range = Marks::own_tensors();
        if (!range.was_pushed || !range.info) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "aclprofRangePushEx was not called, or without tensorInfo");
        }
        const ContextStream *const stream = find_stream(sim, range.info->stream);
        if (stream == nullptr) {
            fail_unremembered(kNotTaken, "the stream of the range does not exist");
        }
        if (!caches_op_info(*stream)) {
            sim.marks.note_tensors(range);
            return;
        }
        const std::string text = sim.marks.describe(range);
        try {
            cache_op_info(sim, text.data(), text.size());
        } catch (const Failure &) {
            throw Failure{kNotTaken, false};
        }
    });
}
