// SPDX-License-Identifier: Apache-2.0
// aclrtRandomNumAsync (random.md).
#include "tasks/random.h"

#include <cstring>

#include "api/entry.h"
#include "memory/extent.h"
#include "memory/memory.h"

using namespace aclsim;

namespace {

constexpr std::size_t kWordSize = sizeof(std::uint64_t);  // size of the seed, the count and addresses

bool is_real(aclDataType type) { return type == ACL_FLOAT || type == ACL_FLOAT16 || type == ACL_BF16; }

bool has_second_parameter(const aclrtRandomNumTaskInfo &info) {
    return info.randomNumFuncParaInfo.funcType != ACL_RT_RANDOM_NUM_FUNC_TYPE_DROPOUT_BITMASK;
}

void require_parameter(const aclrtRandomParaInfo &parameter, std::size_t size, const char *name) {
    const bool is_address = parameter.isAddr == 1;
    if (parameter.isAddr > 1 || parameter.size == 0 || parameter.size > (is_address ? kWordSize : size)) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "%s: isAddr is %u and size %u; a value has 1 to %zu bytes, an address 1 to 8",
             name, parameter.isAddr, parameter.size, size);
    }
}

void require_value(Simulator &sim, const aclrtRandomParaInfo &parameter, std::size_t size, const char *name)
    REQUIRES(engine_lock) {
    if (parameter.isAddr != 0) {
        const auto address = static_cast<std::uintptr_t>(random_value(parameter, size));
        require_live_on_device(sim.memory, reinterpret_cast<const void *>(address), random_value_size(parameter, size),
                               AccessMode::Read, name);
    }
}

// Checks the memory that the task works on, as far as the submission knows it.
void require_operands(Simulator &sim, const aclrtRandomNumTaskInfo &info) REQUIRES(engine_lock) {
    const aclrtUniformDisInfo &parameters = info.randomNumFuncParaInfo.paramInfo.uniformDisInfo;
    const std::size_t size = random_element_size(info.dataType);
    if (info.randomParaAddr != nullptr) {
        require_live_on_device(sim.memory, info.randomParaAddr, RandomTask::kParametersSize, AccessMode::Read,
                               "randomParaAddr");
    }
    require_value(sim, parameters.min, size, "the first parameter");
    if (has_second_parameter(info)) {
        require_value(sim, parameters.max, size, "the second parameter");
    }
    require_value(sim, info.randomSeed, kWordSize, "randomSeed");
    require_value(sim, info.randomNum, kWordSize, "randomNum");
    require_live_on_device(sim.memory, info.randomCounterAddr, RandomTask::kCounterSize, AccessMode::Read,
                           "randomCounterAddr");
    if (info.randomNum.isAddr != 0) {
        require_live_on_device(sim.memory, info.randomResultAddr, 1, AccessMode::None, "randomResultAddr");
        return;
    }
    const std::uint64_t count = random_value(info.randomNum, kWordSize);
    if (count == 0) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "randomNum is 0");
    }
    require_live_on_device(sim.memory, info.randomResultAddr, random_result_size(info, count), AccessMode::Write,
                           "randomResultAddr");
}

// Writes the parameters at once, even if earlier tasks still read them there (random.md).
void write_parameters(Simulator &sim, const aclrtRandomNumTaskInfo &info) REQUIRES(engine_lock) {
    const aclrtUniformDisInfo &parameters = info.randomNumFuncParaInfo.paramInfo.uniformDisInfo;
    unsigned char block[RandomTask::kParametersSize] = {};
    std::memcpy(block, parameters.min.valueOrAddr, kWordSize);
    if (has_second_parameter(info)) {
        std::memcpy(block + kWordSize, parameters.max.valueOrAddr, kWordSize);
    }
    sim.core.note_done_with_memory();
    note_use(sim.memory, info.randomParaAddr, sizeof block, AccessMode::Write, "randomParaAddr");
    std::memcpy(info.randomParaAddr, block, sizeof block);
    sim.core.note_done_with_memory();
}

}  // namespace

aclError aclrtRandomNumAsync(const aclrtRandomNumTaskInfo *taskInfo, const aclrtStream stream, void *reserve) {
    return entry(Function::aclrtRandomNumAsync, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require(taskInfo, "taskInfo");
        if (reserve != nullptr) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "reserve must be NULL");
        }
        require_supported();
        const aclrtRandomNumTaskInfo info = *taskInfo;
        const aclrtRandomNumFuncType function = info.randomNumFuncParaInfo.funcType;
        const bool is_uniform = function == ACL_RT_RANDOM_NUM_FUNC_TYPE_UNIFORM_DIS;
        const std::size_t size = random_element_size(info.dataType);
        if (static_cast<std::uint32_t>(function) > ACL_RT_RANDOM_NUM_FUNC_TYPE_TRUNCATED_NORMAL_DIS || size == 0 ||
            !(is_uniform || is_real(info.dataType))) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "there is no function %d, or it has no data type %d",
                 static_cast<int>(function), static_cast<int>(info.dataType));
        }
        const aclrtUniformDisInfo &parameters =
            info.randomNumFuncParaInfo.paramInfo.uniformDisInfo;  // layout shared by all functions
        require_parameter(parameters.min, size, "the first parameter");
        if (has_second_parameter(info)) {
            require_parameter(parameters.max, size, "the second parameter");
        }
        require_parameter(info.randomSeed, kWordSize, "randomSeed");
        require_parameter(info.randomNum, kWordSize, "randomNum");
        ContextStream &on = require_own_stream(sim, stream);
        require_operands(sim, info);
        if (info.randomParaAddr != nullptr) {
            write_parameters(sim, info);
            require_operands(sim, info);  // check again, this time for the accesses of the task
        }
        sim.core.admit(lock, on);  // memory freed while waiting makes the task fail
        sim.core.submit(on, RandomTask(sim.memory, info));
    });
}
