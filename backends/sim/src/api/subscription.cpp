// SPDX-License-Identifier: Apache-2.0
// Subscriptions of the operators of models, and readers of their records (profiling.md section 8).
#include <cstring>
#include <string>

#include "api/entry.h"
#include "observe/profiler.h"
#include "observe/subscriptions.h"
#include "support/thread_state.h"
#include "tasks/model.h"

using namespace aclsim;

namespace {

bool has_model(Simulator &sim, std::uint32_t id) REQUIRES(engine_lock) {
    for (const auto &model : sim.core.registry().all<Model>()) {
        if (model->id == id) {
            return true;
        }
    }
    return false;
}

void require_free_profiler(const Simulator &sim) REQUIRES(engine_lock) {
    if (sim.profiler.is_initialized()) {
        fail_unremembered(ACL_ERROR_PROF_API_CONFLICT,
                          "aclprofInit was called, which excludes subscriptions; call aclprofFinalize first");
    }
}

const SubscribeConfig &require_config(Simulator &sim, const aclprofSubscribeConfig *config) REQUIRES(engine_lock) {
    require(config, "profSubscribeConfig");
    auto *const found = sim.core.registry().find<SubscribeConfig>(const_cast<aclprofSubscribeConfig *>(config));
    if (found == nullptr) {
        fail_unremembered(ACL_ERROR_INVALID_PARAM, "%p is not a live configuration of aclprofCreateSubscribeConfig",
                          static_cast<const void *>(config));
    }
    return *found;
}

// Returns a record, from memory of any alignment. Fails with ACL_ERROR_INVALID_PARAM if one of them is damaged.
OperatorRecord require_record(const void *records, std::size_t size, std::uint32_t index) {
    require(records, "opInfo");
    if (size % sizeof(OperatorRecord) != 0 || index >= size / sizeof(OperatorRecord)) {
        fail_unremembered(ACL_ERROR_INVALID_PARAM, "%zu bytes are not whole records with a record %u", size, index);
    }
    OperatorRecord wanted{};
    for (std::size_t i = 0; i < size / sizeof(OperatorRecord); ++i) {
        OperatorRecord record;
        std::memcpy(&record, static_cast<const char *>(records) + i * sizeof record, sizeof record);
        if (record.signature != record.expected_signature()) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "record %zu is not one that a subscription wrote", i);
        }
        if (i == index) {
            wanted = record;
        }
    }
    return wanted;
}

// Runs the body of a function that reads records, without the engine lock: it checks the whole buffer. Before the first
// subscription of the process, it does nothing and succeeds (profiling.md section 8 [obs]).
template <class Body>
aclError read_entry(Function function, Body body) {
    return checked_entry(function, [&] {
        Simulator &sim = Simulator::get();
        if (sim.subscriptions.were_used()) {
            body(sim);
        }
    });
}

// Returns a number of a record; 0 if there is none.
std::uint64_t number_of(Function function, const void *records, std::size_t size, std::uint32_t index,
                        std::uint64_t (*number)(const OperatorRecord &)) {
    std::uint64_t found = 0;
    read_entry(function, [&](Simulator &) { found = number(require_record(records, size, index)); });
    return found;
}

std::string require_text(Simulator &sim, const OperatorRecord &record, OperatorNames::Part part) {
    const auto text = sim.subscriptions.names.find(record.number, part);
    if (!text) {
        fail_unremembered(ACL_ERROR_INVALID_PARAM, "the text was read already, or is too old");
    }
    return *text;
}

aclError read_length(Function function, const void *records, std::size_t size, std::uint32_t index,
                     OperatorNames::Part part, std::size_t *length) {
    return read_entry(function, [&](Simulator &sim) {
        require(length, "length");
        *length = require_text(sim, require_record(records, size, index), part).size() + 1;
    });
}

aclError read_text(Function function, const void *records, std::size_t size, std::uint32_t index,
                   OperatorNames::Part part, char *into, std::size_t room) {
    return read_entry(function, [&](Simulator &sim) {
        require(into, "text");
        const OperatorRecord record = require_record(records, size, index);
        const std::string text = require_text(sim, record, part);
        if (text.size() >= room) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "the text needs %zu bytes, and there are %zu", text.size() + 1,
                              room);
        }
        std::memcpy(into, text.c_str(), text.size() + 1);
        sim.subscriptions.names.forget(record.number, part);
    });
}

}  // namespace

aclprofSubscribeConfig *aclprofCreateSubscribeConfig(int8_t timeInfoSwitch, aclprofAicoreMetrics aicoreMetrics,
                                                     void *fd) {
    void *handle = nullptr;
    entry(Function::aclprofCreateSubscribeConfig, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(fd, "fd");
        if (timeInfoSwitch != 0 && timeInfoSwitch != 1) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "timeInfoSwitch is %d, and must be 0 or 1", timeInfoSwitch);
        }
        const auto config = make_ref<SubscribeConfig>(timeInfoSwitch == 1, static_cast<std::uint32_t>(aicoreMetrics),
                                                      static_cast<const int *>(fd));
        sim.core.registry().add(config);
        handle = config->handle();
    });
    return static_cast<aclprofSubscribeConfig *>(handle);
}

aclError aclprofDestroySubscribeConfig(const aclprofSubscribeConfig *profSubscribeConfig) {
    return entry(Function::aclprofDestroySubscribeConfig, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        sim.core.registry().remove(const_cast<SubscribeConfig &>(require_config(sim, profSubscribeConfig)));
    });
}

aclError aclprofModelSubscribe(uint32_t modelId, const aclprofSubscribeConfig *profSubscribeConfig) {
    return entry(Function::aclprofModelSubscribe, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        if (!has_model(sim, modelId)) {
            fail_unremembered(ACL_ERROR_INVALID_MODEL_ID, "there is no model %u", modelId);
        }
        const SubscribeConfig &config = require_config(sim, profSubscribeConfig);
        require_free_profiler(sim);
        if (!config.has_times && config.metrics == ACL_AICORE_NONE) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "the configuration asks neither for times nor for metrics");
        }
        if (sim.subscriptions.has(modelId)) {
            fail_unremembered(ACL_ERROR_PROF_REPEAT_SUBSCRIBE, "model %u is subscribed already", modelId);
        }
        sim.subscriptions.subscribe(modelId, config);
    });
}

// A model may be destroyed before its subscription ends.
aclError aclprofModelUnSubscribe(uint32_t modelId) {
    return entry(Function::aclprofModelUnSubscribe, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        if (!sim.subscriptions.has(modelId)) {
            fail_unremembered(ACL_ERROR_INVALID_MODEL_ID, "model %u is not subscribed", modelId);
        }
        sim.subscriptions.unsubscribe(lock, modelId);
    });
}

aclError aclprofGetOpDescSize(size_t *opDescSize) {
    return entry(Function::aclprofGetOpDescSize, [&](Simulator &, Lock &) {
        require(opDescSize, "opDescSize");
        *opDescSize = sizeof(OperatorRecord);
    });
}

aclError aclprofGetOpNum(const void *opInfo, size_t opInfoLen, uint32_t *opNumber) {
    return read_entry(Function::aclprofGetOpNum, [&](Simulator &) {
        require(opInfo, "opInfo");
        require(opNumber, "opNumber");
        const std::size_t number = opInfoLen / sizeof(OperatorRecord);
        if (opInfoLen > 0) {
            require_record(opInfo, opInfoLen, 0);
        }
        *opNumber = static_cast<std::uint32_t>(number);
    });
}

aclError aclprofGetOpTypeLen(const void *opInfo, size_t opInfoLen, uint32_t index, size_t *opTypeLen) {
    return read_length(Function::aclprofGetOpTypeLen, opInfo, opInfoLen, index, OperatorNames::kType, opTypeLen);
}

aclError aclprofGetOpType(const void *opInfo, size_t opInfoLen, uint32_t index, char *opType, size_t opTypeLen) {
    return read_text(Function::aclprofGetOpType, opInfo, opInfoLen, index, OperatorNames::kType, opType, opTypeLen);
}

aclError aclprofGetOpNameLen(const void *opInfo, size_t opInfoLen, uint32_t index, size_t *opNameLen) {
    return read_length(Function::aclprofGetOpNameLen, opInfo, opInfoLen, index, OperatorNames::kName, opNameLen);
}

aclError aclprofGetOpName(const void *opInfo, size_t opInfoLen, uint32_t index, char *opName, size_t opNameLen) {
    return read_text(Function::aclprofGetOpName, opInfo, opInfoLen, index, OperatorNames::kName, opName, opNameLen);
}

uint64_t aclprofGetOpStart(const void *opInfo, size_t opInfoLen, uint32_t index) {
    return number_of(Function::aclprofGetOpStart, opInfo, opInfoLen, index,
                     [](const OperatorRecord &it) { return it.start_us; });
}

uint64_t aclprofGetOpEnd(const void *opInfo, size_t opInfoLen, uint32_t index) {
    return number_of(Function::aclprofGetOpEnd, opInfo, opInfoLen, index,
                     [](const OperatorRecord &it) { return it.end_us; });
}

uint64_t aclprofGetOpDuration(const void *opInfo, size_t opInfoLen, uint32_t index) {
    return number_of(Function::aclprofGetOpDuration, opInfo, opInfoLen, index,
                     [](const OperatorRecord &it) { return it.duration_us; });
}

// Answers the code of a failure, as the runtime does.
size_t aclprofGetModelId(const void *opInfo, size_t opInfoLen, uint32_t index) {
    std::size_t model = 0;
    const aclError code = read_entry(Function::aclprofGetModelId,
                                     [&](Simulator &) { model = require_record(opInfo, opInfoLen, index).model; });
    return code == ACL_SUCCESS ? model : static_cast<std::size_t>(code);
}

aclprofSubscribeOpFlag aclprofGetOpFlag(const void *opInfo, size_t opInfoLen, uint32_t index) {
    std::uint32_t flag = 0;
    const aclError code = read_entry(Function::aclprofGetOpFlag,
                                     [&](Simulator &) { flag = require_record(opInfo, opInfoLen, index).flag; });
    return code == ACL_SUCCESS ? static_cast<aclprofSubscribeOpFlag>(flag) : ACL_SUBSCRIBE_NONE;
}

// Returns the thread, the only attribute, which records with ACL_SUBSCRIBE_OP_THREAD have; the simulator writes none.
const char *aclprofGetOpAttriValue(const void *opInfo, size_t opInfoLen, uint32_t index,
                                   aclprofSubscribeOpAttri attri) {
    struct Value {
        std::string text;
    };
    const char *value = nullptr;
    read_entry(Function::aclprofGetOpAttriValue, [&](Simulator &) {
        const OperatorRecord record = require_record(opInfo, opInfoLen, index);
        if (attri != ACL_SUBSCRIBE_ATTRI_THREADID || record.flag != ACL_SUBSCRIBE_OP_THREAD) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "the record does not have attribute %d",
                              static_cast<int>(attri));
        }
        std::string &text = ThreadState<Value>::get().text;
        text = std::to_string(record.thread);
        value = text.c_str();
    });
    return value;
}
