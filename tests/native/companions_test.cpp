// SPDX-License-Identifier: Apache-2.0
// Companion libraries above the runtime: content of descriptors and sets of attributes, handles of no live object, and
// unsupported functions.
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "acl/acl.h"
#include "check.h"
#include "hccl/hccl.h"
#include "profiling.h"

namespace {

constexpr std::int64_t kDims[] = {2, 3, 4};

void a_descriptor_keeps_what_it_is_made_of() {
    std::int64_t dims[] = {2, 3, 4};
    aclTensorDesc *desc = aclCreateTensorDesc(ACL_FLOAT16, 3, dims, ACL_FORMAT_NCHW);
    CHECK(desc != nullptr);
    dims[0] = 99;  // the descriptor has a copy
    CHECK(aclGetTensorDescType(desc) == ACL_FLOAT16);
    CHECK(aclGetTensorDescFormat(desc) == ACL_FORMAT_NCHW);
    CHECK(aclGetTensorDescNumDims(desc) == 3);
    CHECK(aclGetTensorDescElementCount(desc) == 24);
    CHECK(aclGetTensorDescSize(desc) == 48);
    CHECK(aclGetTensorDescDim(desc, 0) == 2);
    std::int64_t dim = 0;
    CHECK_OK(aclGetTensorDescDimV2(desc, 2, &dim));
    CHECK(dim == 4);
    CHECK_CODE(ACL_ERROR_INVALID_PARAM, aclGetTensorDescDimV2(desc, 3, &dim));
    CHECK_CODE(ACL_ERROR_INVALID_PARAM, aclGetTensorDescDimV2(desc, 0, nullptr));
    CHECK(aclGetTensorDescDim(desc, 3) == -1);
    CHECK(aclGetTensorDescByIndex(desc, 0) == desc);
    CHECK(aclGetTensorDescByIndex(desc, 1) == nullptr);
    aclDestroyTensorDesc(desc);
}

// aclSetTensorShape and aclSetTensorFormat set the layout in memory; the getters return the original shape and format.
void the_shape_in_memory_is_another() {
    const std::int64_t in_memory[] = {7};
    aclTensorDesc *desc = aclCreateTensorDesc(ACL_FLOAT, 3, kDims, ACL_FORMAT_ND);
    CHECK_OK(aclSetTensorShape(desc, 1, in_memory));
    CHECK_OK(aclSetTensorFormat(desc, ACL_FORMAT_FRACTAL_NZ));
    CHECK(aclGetTensorDescNumDims(desc) == 3);
    CHECK(aclGetTensorDescFormat(desc) == ACL_FORMAT_ND);
    CHECK_OK(aclSetTensorOriginShape(desc, 1, in_memory));
    CHECK_OK(aclSetTensorOriginFormat(desc, ACL_FORMAT_NCHW));
    CHECK(aclGetTensorDescNumDims(desc) == 1);
    CHECK(aclGetTensorDescFormat(desc) == ACL_FORMAT_NCHW);
    CHECK_CODE(ACL_ERROR_INVALID_PARAM, aclSetTensorShape(desc, 1, nullptr));
    CHECK_CODE(ACL_ERROR_INVALID_PARAM, aclSetTensorShape(desc, -1, in_memory));
    CHECK_OK(aclSetTensorFormat(nullptr, ACL_FORMAT_ND));  // succeeds, as in the vendor's library
    aclDestroyTensorDesc(desc);
}

void dimensions_that_are_not_known() {
    const std::int64_t one_unknown[] = {2, -1};
    const std::int64_t no_rank[] = {-2};
    const std::int64_t too_many[] = {INT64_MAX, INT64_MAX};
    const std::int64_t none[] = {0, 5};
    struct {
        const std::int64_t *dims;
        int count;
        std::size_t rank, elements;
    } const cases[] = {
        {one_unknown, 2, 2, 0}, {no_rank, 1, static_cast<std::size_t>(ACL_UNKNOWN_RANK), 0},
        {too_many, 2, 2, 0},    {none, 2, 2, 0},
        {nullptr, 0, 0, 1},
    };
    for (const auto &each : cases) {
        aclTensorDesc *desc = aclCreateTensorDesc(ACL_INT32, each.count, each.dims, ACL_FORMAT_ND);
        CHECK(aclGetTensorDescNumDims(desc) == each.rank);
        CHECK(aclGetTensorDescElementCount(desc) == each.elements);
        CHECK(aclGetTensorDescSize(desc) == 4 * each.elements);
        aclDestroyTensorDesc(desc);
    }
}

void ranges_names_and_constants() {
    aclTensorDesc *desc = aclCreateTensorDesc(ACL_INT64, 3, kDims, ACL_FORMAT_ND);
    aclTensorRange ranges[] = {{1, 2}, {3, 4}};
    CHECK_OK(aclSetTensorShapeRange(desc, 2, ranges));
    std::int64_t range[2] = {};
    CHECK_OK(aclGetTensorDescDimRange(desc, 1, 2, range));
    CHECK(range[0] == 3 && range[1] == 4);
    CHECK_CODE(ACL_ERROR_INVALID_PARAM, aclGetTensorDescDimRange(desc, 2, 2, range));
    CHECK_CODE(ACL_ERROR_INVALID_PARAM, aclGetTensorDescDimRange(desc, 0, 1, range));
    CHECK_OK(aclSetTensorValueRange(desc, 1, ranges));
    CHECK(std::strcmp(aclGetTensorDescName(desc), "") == 0);
    {
        const std::string name = "x";
        aclSetTensorDescName(desc, name.c_str());
    }
    CHECK(std::strcmp(aclGetTensorDescName(desc), "x") == 0);
    aclSetTensorDescName(desc, nullptr);
    CHECK(std::strcmp(aclGetTensorDescName(desc), "") == 0);
    CHECK_OK(aclSetTensorPlaceMent(desc, ACL_MEMTYPE_HOST));
    {
        std::vector<char> constant(64, 'c');
        CHECK_OK(aclSetTensorConst(desc, constant.data(), constant.size()));
        CHECK_CODE(ACL_ERROR_INVALID_PARAM, aclSetTensorConst(desc, constant.data(), 0));
    }
    CHECK_CODE(ACL_ERROR_INVALID_PARAM, aclSetTensorDynamicInput(desc, nullptr));
    aclDestroyTensorDesc(desc);
}

void what_is_no_descriptor() {
    CHECK(aclCreateTensorDesc(ACL_FLOAT, -1, kDims, ACL_FORMAT_ND) == nullptr);
    CHECK(recent_text() == "aclCreateTensorDesc: numDims is -1");
    CHECK(aclCreateTensorDesc(ACL_FLOAT, 1, nullptr, ACL_FORMAT_ND) == nullptr);
    CHECK(aclGetTensorDescType(nullptr) == ACL_DT_UNDEFINED);
    CHECK(aclGetTensorDescFormat(nullptr) == ACL_FORMAT_UNDEFINED);
    CHECK(aclGetTensorDescNumDims(nullptr) == 0);
    CHECK(std::strcmp(aclGetTensorDescName(nullptr), "") == 0);
    aclDestroyTensorDesc(nullptr);
    aclTensorDesc *desc = aclCreateTensorDesc(ACL_FLOAT, 3, kDims, ACL_FORMAT_ND);
    aclDestroyTensorDesc(desc);
    CHECK_CODE(ACL_ERROR_INVALID_PARAM, aclSetTensorPlaceMent(desc, ACL_MEMTYPE_HOST));
    CHECK(aclGetTensorDescElementCount(desc) == 0);
    CHECK(recent_text().find("is not a live tensor descriptor") != std::string::npos);
    aclDestroyTensorDesc(desc);  // only sets the error text
    CHECK(recent_text().find("aclDestroyTensorDesc: ") == 0);
}

void attributes() {
    aclopAttr *attr = aclopCreateAttr();
    CHECK(attr != nullptr);
    const std::uint8_t bools[] = {1, 0};
    const std::int64_t ints[] = {1, 2, 3};
    const float floats[] = {0.5F};
    const aclDataType types[] = {ACL_FLOAT, ACL_INT8};
    const char *strings[] = {"a", "b"};
    const char *missing[] = {"a", nullptr};
    const std::int64_t *lists[] = {ints, ints + 1};
    const int lengths[] = {3, 2};
    CHECK_OK(aclopSetAttrBool(attr, "bool", 2));
    CHECK_OK(aclopSetAttrInt(attr, "int", -1));
    CHECK_OK(aclopSetAttrFloat(attr, "float", 0.5F));
    CHECK_OK(aclopSetAttrString(attr, "string", "text"));
    CHECK_OK(aclopSetAttrDataType(attr, "type", ACL_BF16));
    CHECK_OK(aclopSetAttrListBool(attr, "bools", 2, bools));
    CHECK_OK(aclopSetAttrListInt(attr, "ints", 3, ints));
    CHECK_OK(aclopSetAttrListFloat(attr, "floats", 1, floats));
    CHECK_OK(aclopSetAttrListDataType(attr, "types", 2, types));
    CHECK_OK(aclopSetAttrListString(attr, "strings", 2, strings));
    CHECK_OK(aclopSetAttrListListInt(attr, "lists", 2, lengths, lists));
    CHECK_OK(aclopSetAttrListInt(attr, "none", 0, nullptr));
    CHECK_OK(aclopSetAttrInt(attr, "string", 1));  // another type under the same name
    CHECK_CODE(ACL_ERROR_INVALID_PARAM, aclopSetAttrInt(attr, nullptr, 1));
    CHECK_CODE(ACL_ERROR_INVALID_PARAM, aclopSetAttrInt(nullptr, "int", 1));
    CHECK_CODE(ACL_ERROR_INVALID_PARAM, aclopSetAttrString(attr, "string", nullptr));
    CHECK_CODE(ACL_ERROR_INVALID_PARAM, aclopSetAttrListInt(attr, "ints", 1, nullptr));
    CHECK_CODE(ACL_ERROR_INVALID_PARAM, aclopSetAttrListString(attr, "strings", 2, missing));
    CHECK_CODE(ACL_ERROR_INVALID_PARAM, aclopSetAttrListString(attr, "strings", -1, strings));
    CHECK_CODE(ACL_ERROR_INVALID_PARAM, aclopSetAttrListListInt(attr, "lists", 2, nullptr, lists));
    aclopDestroyAttr(attr);
    aclopDestroyAttr(nullptr);
    CHECK_CODE(ACL_ERROR_INVALID_PARAM, aclopSetAttrBool(attr, "bool", 1));
}

void compile_options() {
    char value[256] = {};
    CHECK(aclGetCompileoptSize(ACL_OP_JIT_COMPILE) == sizeof value);
    CHECK_OK(aclGetCompileopt(ACL_OP_JIT_COMPILE, value, sizeof value));
    CHECK(std::string(value) == "disable");  // value of the default product
    CHECK_OK(aclSetCompileopt(ACL_OP_JIT_COMPILE, "enable"));
    CHECK_OK(aclGetCompileopt(ACL_OP_JIT_COMPILE, value, sizeof value));
    CHECK(std::string(value) == "disable");  // value of the product, regardless of the setting
    CHECK_OK(aclSetCompileopt(ACL_OP_DEBUG_OPTION, "oom"));
    CHECK(aclGetCompileoptSize(ACL_OP_DEBUG_OPTION) == 4);
    CHECK_CODE(ACL_ERROR_FAILURE, aclGetCompileopt(ACL_OP_DEBUG_OPTION, value, 3));
    CHECK_OK(aclGetCompileopt(ACL_OP_DEBUG_OPTION, value, 4));
    CHECK(std::string(value) == "oom");
    CHECK_CODE(ACL_ERROR_API_NOT_SUPPORT, aclGetCompileopt(ACL_PRECISION_MODE, value, sizeof value));
    CHECK_CODE(ACL_ERROR_FEATURE_UNSUPPORTED, aclSetCompileopt(ACL_AUTO_TUNE_MODE, "GA"));
    CHECK_CODE(ACL_ERROR_INTERNAL_ERROR, aclSetCompileopt(static_cast<aclCompileOpt>(17), "x"));
    CHECK_CODE(ACL_ERROR_INVALID_PARAM, aclSetCompileopt(ACL_ALLOW_HF32, nullptr));
    CHECK_OK(aclopSetCompileFlag(ACL_OP_COMPILE_FUZZ));
    CHECK_CODE(ACL_ERROR_INVALID_PARAM, aclopSetCompileFlag(static_cast<aclOpCompileFlag>(2)));
}

void an_operator_is_refused_by_its_name() {
    const aclTensorDesc *inputs[] = {aclCreateTensorDesc(ACL_FLOAT, 3, kDims, ACL_FORMAT_ND),
                                     aclCreateTensorDesc(ACL_INT64, 0, nullptr, ACL_FORMAT_ND)};
    const auto run = [&](const char *type) {
        return aclopCompileAndExecute(type, 2, inputs, nullptr, 0, nullptr, nullptr, nullptr, ACL_ENGINE_SYS,
                                      ACL_COMPILE_SYS, nullptr, nullptr);
    };
    CHECK_CODE(ACL_ERROR_API_NOT_SUPPORT, run("Add"));
    run("Add");
    CHECK(recent_text() ==
          "aclopCompileAndExecute: the simulator has no operators of CANN: Add(float[2, 3, 4], int64[])");
    CHECK_CODE(ACL_ERROR_INVALID_PARAM, run(nullptr));
    for (const aclTensorDesc *input : inputs) {
        aclDestroyTensorDesc(input);
    }
    CHECK_CODE(ACL_ERROR_INVALID_PARAM, run("Add"));  // the descriptors have been destroyed
    CHECK(aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL) == ACL_SUCCESS);
}

void what_else_is_refused() {
    CHECK(MsprofReportApi(0, nullptr) == ACL_ERROR_API_NOT_SUPPORT);
    CHECK(HcclCommSuspend(nullptr) == HCCL_E_NOT_SUPPORT);
    CHECK(recent_text() == "HcclCommSuspend: the simulator's communicators have no such function");
    CHECK(HcclCommResume(nullptr) == HCCL_E_NOT_SUPPORT);
    CHECK(recent_text() == "HcclCommResume: the simulator's communicators have no such function");
    CHECK(HcclCommRegister(nullptr, nullptr, 1, nullptr, 0) == HCCL_E_NOT_SUPPORT);
    CHECK(HcclCommSetMemoryRange(nullptr, nullptr, 1, 1, 0) == HCCL_E_NOT_SUPPORT);
    CHECK(aclCreateGraphDumpOpt() == nullptr);
}

void numbers_for_profiles() {
    CHECK(MsprofGetHashId("abc", 3) == MsprofGetHashId("abcd", 3));
    CHECK(MsprofGetHashId("abc", 3) != MsprofGetHashId("abd", 3));
    const auto earlier = MsprofSysCycleTime();
    CHECK(earlier <= MsprofSysCycleTime());
}

void options_of_collective_communication() {
    HcclConfigValue value = {1};
    CHECK(HcclSetConfig(HCCL_DETERMINISTIC, value) == HCCL_SUCCESS);
    value.value = 0;
    CHECK(HcclGetConfig(HCCL_DETERMINISTIC, &value) == HCCL_SUCCESS);
    CHECK(value.value == 1);
    CHECK(HcclGetConfig(HCCL_DETERMINISTIC, nullptr) == HCCL_E_PTR);
    CHECK(HcclSetConfig(HCCL_CONFIG_RESERVED, value) == HCCL_E_PARA);
    for (const std::int32_t wrong : {-1, 3, 77}) {
        CHECK(HcclSetConfig(HCCL_DETERMINISTIC, {wrong}) == HCCL_E_PARA);
        CHECK(recent_text() == "HcclSetConfig: HCCL_DETERMINISTIC is 0, 1 or 2, not " + std::to_string(wrong));
    }
    CHECK(HcclGetConfig(HCCL_DETERMINISTIC, &value) == HCCL_SUCCESS);
    CHECK(value.value == 1);
    CHECK(HcclSetConfig(HCCL_DETERMINISTIC, {2}) == HCCL_SUCCESS);
    CHECK(HcclSetConfig(HCCL_DETERMINISTIC, {0}) == HCCL_SUCCESS);
}

// Communicators have separate tests: collectives_test.cpp.
void settings_of_communicators() {
    HcclCommConfig config;
    HcclCommConfigInit(&config);
    CHECK(config.hcclExecTimeOut == -1 && config.hcclCommName[0] == '\0' &&
          HcclGetCommConfigCapability() == HCCL_COMM_CONFIG_RESERVED);
    CHECK(HcclAllReduce(nullptr, nullptr, 1, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, nullptr, nullptr) == HCCL_E_PTR);
    CHECK(recent_text() == "HcclAllReduce: comm is NULL");
    CHECK(HcclGetErrorString(HCCL_E_NOT_SUPPORT) == std::string("HCCL_E_NOT_SUPPORT"));
    CHECK(HcclGetErrorString(static_cast<HcclResult>(-1)) == std::string("an unknown code"));
}

void threads_have_their_own_objects() {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([i] {
            for (int round = 0; round < 500; ++round) {
                const std::int64_t dims[] = {i + 1};
                aclTensorDesc *desc = aclCreateTensorDesc(ACL_INT8, 1, dims, ACL_FORMAT_ND);
                aclopAttr *attr = aclopCreateAttr();
                CHECK_OK(aclopSetAttrInt(attr, "round", round));
                CHECK(aclGetTensorDescSize(desc) == static_cast<std::size_t>(i + 1));
                aclopDestroyAttr(attr);
                aclDestroyTensorDesc(desc);
            }
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
}

}  // namespace

int main() {
    a_descriptor_keeps_what_it_is_made_of();
    the_shape_in_memory_is_another();
    dimensions_that_are_not_known();
    ranges_names_and_constants();
    what_is_no_descriptor();
    attributes();
    compile_options();
    an_operator_is_refused_by_its_name();
    what_else_is_refused();
    numbers_for_profiles();
    options_of_collective_communication();
    settings_of_communicators();
    threads_have_their_own_objects();
    return 0;
}
