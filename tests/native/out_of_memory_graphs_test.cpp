// SPDX-License-Identifier: Apache-2.0
// Captures, graphs, models, kernels and labels on a host without memory.
#include <filesystem>
#include <fstream>

#include "cpu_binary.h"
#include "device_object.h"
#include "out_of_memory.h"

namespace {

aclmdlRI g_graph = nullptr;
std::string g_operators;  // file that describes kernels for AI CPUs
aclrtFuncHandle g_function = nullptr;
aclmdlRICondHandle g_condition = nullptr;
aclmdlRI g_branches[2] = {};
aclrtTaskGrp g_group = nullptr;
aclrtEvent g_external[2] = {};
aclmdlRI g_recording = nullptr;  // records them

constexpr auto kRelaxed = ACL_MODEL_RI_CAPTURE_MODE_RELAXED;

void begin_capture() { CHECK_OK(aclmdlRICaptureBegin(g_other, kRelaxed)); }
void end_capture() {
    aclmdlRI graph = nullptr;
    CHECK_OK(aclmdlRICaptureEnd(g_other, &graph));
    CHECK_OK(aclmdlRIDestroy(graph));
}
aclmdlRI captured_graph() {
    aclmdlRI graph = nullptr;
    CHECK_OK(aclmdlRICaptureGetInfo(g_other, nullptr, &graph));
    return graph;
}
aclError create_condition() {
    return aclmdlRICondHandleCreate(captured_graph(), 0, ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT, &g_condition);
}
aclError add_branches() {
    aclmdlRICondTaskParams params{};
    params.handle = g_condition;
    params.type = ACL_MODEL_RI_COND_TYPE_IF;
    params.size = 2;
    params.modelRIArray = g_branches;
    return aclmdlRIAddCondTask(params, g_other, 0);
}
void capture_branches() {
    for (aclmdlRI branch : g_branches) {
        CHECK_OK(aclmdlRICaptureToModelRIBegin(g_busy, branch, kRelaxed));
        CHECK_OK(aclmdlRICaptureEnd(g_busy, nullptr));
    }
}
aclError launch(aclrtFuncHandle function, aclrtStream stream, std::uint32_t blocks) {
    std::uint64_t argument = 0;
    return aclrtLaunchKernelWithHostArgs(function, blocks, stream, nullptr, &argument, sizeof argument, nullptr, 0);
}
aclError launch_kernel() { return launch(g_function, g_other, 1); }

// --- groups of kernels -------------------------------------------------------------------------------------------

constexpr std::uint32_t kGroup = 2;
aclmdlRITask g_kernels[kGroup] = {};

void capture_group() {
    begin_capture();
    CHECK_OK(aclmdlRICaptureTaskGrpBegin(g_other));
    for (std::uint32_t i = 0; i < kGroup; ++i) {
        CHECK_OK(launch_kernel());
    }
    CHECK_OK(aclmdlRICaptureTaskGrpEnd(g_other, &g_group));
    CHECK_OK(aclmdlRICaptureEnd(g_other, &g_made));
    std::uint32_t count = 1;
    aclrtStream stream = nullptr;
    CHECK_OK(aclmdlRIGetStreams(g_made, &stream, &count));
    count = kGroup;
    CHECK_OK(aclmdlRIGetTasksByStream(stream, g_kernels, &count));
}
aclmdlRITaskParams params_of(std::uint32_t number) {
    aclmdlRITaskParams params{};
    CHECK_OK(aclmdlRITaskGetParams(g_kernels[number], &params));
    return params;
}
void update_group(aclrtStream stream) {
    capture_group();
    CHECK_OK(aclmdlRICaptureTaskUpdateBegin(stream, g_group));
    for (std::uint32_t i = 0; i < kGroup; ++i) {
        CHECK_OK(launch(g_function, stream, 2 + i));
    }
}
void check_updated() {
    for (std::uint32_t i = 0; i < kGroup; ++i) {
        CHECK(params_of(i).kernelTaskParams.numBlocks == 2 + i);
    }
    CHECK_OK(aclmdlRIDestroy(g_made));
}
aclError set_params() {
    static char information[] = "an operator";
    std::uint64_t argument = 0;
    aclmdlRITaskParams params = params_of(0);
    params.taskGrp = nullptr;
    params.opInfoPtr = information;
    params.opInfoSize = sizeof information;
    params.kernelTaskParams.args = &argument;
    params.kernelTaskParams.argsSize = sizeof argument;
    params.kernelTaskParams.isHostArgs = 1;
    params.kernelTaskParams.numBlocks = 3;
    return aclmdlRITaskSetParams(g_kernels[0], &params);
}

// --- code of kernels -----------------------------------------------------------------------------------------------

constexpr const char *kReplaced = "replaced";
aclrtFuncHandle g_replaced = nullptr;
std::atomic<int> g_ran{0};  // newest function that ran in place of the kernel

template <int kNumber>
aclError register_kernel() {
    const auto runs = [](const aclsimKernelBlock *, void *) -> aclError {
        g_ran = kNumber;
        return ACL_SUCCESS;
    };
    const aclsimKernel kernel{runs, nullptr, nullptr, 0, 0};
    return aclsimRegisterKernel(kReplaced, &kernel);
}
void check_runs(int number) {
    g_ran = 0;
    CHECK_OK(launch(g_replaced, g_other, 1));
    CHECK_OK(aclrtSynchronizeStream(g_other));
    CHECK(g_ran == number);
}

std::vector<unsigned char> g_object;
aclrtBinary g_description = nullptr;
template <std::size_t kBytes>
void describe_binary() {
    g_object = device_object("on_device", kBytes);
    g_description = aclrtCreateBinary(g_object.data(), g_object.size());
    CHECK(g_description != nullptr);
}
aclError load_binary() { return aclrtBinaryLoad(g_description, &g_made); }
void unload_binary() {
    CHECK_OK(aclrtBinaryUnLoad(g_made));
    CHECK_OK(aclrtDestroyBinary(g_description));
}

// --- labels --------------------------------------------------------------------------------------------------------

aclmdlRI g_model = nullptr;
aclrtStream g_bound = nullptr;
aclrtLabel g_label = nullptr;
aclrtLabelList g_labels = nullptr;

void build_with_label() {
    CHECK_OK(aclmdlRIBuildBegin(&g_model, 0));
    CHECK_OK(aclrtCreateStreamWithConfig(&g_bound, 0, ACL_STREAM_PERSISTENT));
    CHECK_OK(aclmdlRIBindStream(g_model, g_bound, 0));
    CHECK_OK(aclrtCreateLabel(&g_label));
    CHECK_OK(aclrtCreateLabelList(&g_label, 1, &g_labels));
}
void destroy_with_label() {
    CHECK_OK(aclmdlRIDestroy(g_model));
    CHECK_OK(aclrtDestroyStream(g_bound));
    CHECK_OK(aclrtDestroyLabelList(g_labels));
    CHECK_OK(aclrtDestroyLabel(g_label));
}

// --- events that a graph records outside it ------------------------------------------------------------------------

aclError record_externally(aclrtEvent event) {
    return aclrtRecordEventWithFlag(event, g_other, ACL_EVENT_RECORD_EXTERNAL);
}
// Checks that no record of a graph that was not executed is waited for.
void synchronize_external_events() {
    for (aclrtEvent event : g_external) {
        CHECK(aclrtSynchronizeEventWithTimeout(event, kLongest_ms) != ACL_ERROR_RT_EVENT_SYNC_TIMEOUT);
    }
}

aclError load_described_kernels() {
    aclrtBinaryLoadOption option{};
    option.type = ACL_RT_BINARY_LOAD_OPT_CPU_KERNEL_MODE;
    aclrtBinaryLoadOptions options{&option, 1};
    return aclrtBinaryLoadFromFile(g_operators.c_str(), &options, &g_made);
}
const Case kCases[] = {
    {"aclmdlRIGetTasksByStream",
     [] {
         CHECK_OK(aclmdlRICaptureBegin(g_other, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
         CHECK_OK(aclrtMemsetAsync(g_memory, 4096, 1, 4096, g_other));
         CHECK_OK(aclmdlRICaptureEnd(g_other, &g_made));
     },
     [] {
         std::uint32_t count = 2;
         aclrtStream streams[2] = {};
         aclmdlRITask tasks[2] = {};
         aclError code = aclmdlRIGetStreams(g_made, streams, &count);
         if (code == ACL_SUCCESS) {
             count = 2;
             code = aclmdlRIGetTasksByStream(streams[0], tasks, &count);
         }
         CHECK_OK(aclmdlRIDestroy(g_made));
         return code;
     },
     no_preparation},
    {"capture",
     [] {
         aclmdlRI left = nullptr;
         (void)aclmdlRICaptureEnd(g_other, &left);  // from a failed attempt
         if (left != nullptr) {
             (void)aclmdlRIDestroy(left);
         }
     },
     [] {
         aclmdlRI graph = nullptr;
         const aclError code = first_failure({
             [] { return aclmdlRICaptureBegin(g_other, ACL_MODEL_RI_CAPTURE_MODE_RELAXED); },
             [] { return aclrtLaunchHostFunc(g_other, nothing, nullptr); },
             [] { return aclrtMemsetAsync(g_memory, 4096, 1, 4096, g_other); },
             [] { return aclrtRecordEvent(g_event, g_other); },
             [] { return aclrtStreamWaitEvent(g_other, g_event); },
         });
         const aclError end = aclmdlRICaptureEnd(g_other, &graph);
         const aclError destroyed = graph == nullptr ? ACL_SUCCESS : aclmdlRIDestroy(graph);
         if (destroyed != ACL_SUCCESS) {
             CHECK_OK(aclmdlRIDestroy(graph));
         }
         return code != ACL_SUCCESS ? code : end != ACL_SUCCESS ? end : destroyed;
     },
     no_preparation},
    {"aclmdlRIExecuteAsync", no_preparation, [] { return aclmdlRIExecuteAsync(g_graph, g_other); }, no_preparation},
    {"aclmdlRIExecuteAsync, busy", hold, [] { return aclmdlRIExecuteAsync(g_graph, g_busy); }, release},
    {"aclrtDestroyStreamForce, executing",
     [] {
         CHECK_OK(aclrtCreateStream(&g_made));
         CHECK_OK(aclmdlRIExecuteAsync(g_graph, g_made));
     },
     [] { return aclrtDestroyStreamForce(g_made); }, no_preparation, true},
    {"aclmdlRIBuildBegin", [] { CHECK_OK(aclrtCreateContext(&g_made, 0)); },  // its first model
     [] {
         aclmdlRI model = nullptr;
         return aclmdlRIBuildBegin(&model, 0);
     },
     [] {
         CHECK_OK(aclrtDestroyContext(g_made));
         CHECK_OK(aclrtSetCurrentContext(g_context));
     },
     false, true},
    {"aclmdlRICaptureTaskGrpEnd",
     [] {
         begin_capture();
         CHECK_OK(aclmdlRICaptureTaskGrpBegin(g_other));
         CHECK_OK(launch_kernel());
         CHECK_OK(launch_kernel());
     },
     [] { return aclmdlRICaptureTaskGrpEnd(g_other, &g_made); }, end_capture, false, true},
    {"aclmdlRICondHandleCreate", begin_capture, create_condition, end_capture, false, true},
    {"aclmdlRIAddCondTask",
     [] {
         begin_capture();
         CHECK_OK(create_condition());
     },
     add_branches,
     [] {
         capture_branches();
         end_capture();
     },
     false, true},
    {"aclrtBinaryLoadFromFile", no_preparation, load_described_kernels, [] { CHECK_OK(aclrtBinaryUnLoad(g_made)); },
     false, true},
    {"aclrtRegisterCpuFunc", [] { g_made = load_cpu_binary(); },
     [] {
         aclrtFuncHandle function = nullptr;
         return aclrtRegisterCpuFunc(g_made, "a function with a long name", "a kernel with a long name", &function);
     },
     [] { CHECK_OK(aclrtBinaryUnLoad(g_made)); }, false, true},
    {"aclrtKernelArgsInitByUserMem",
     [] {
         g_made = load_cpu_binary();
         CHECK_OK(aclrtRegisterCpuFunc(g_made, "f", "f", &g_condition));
     },
     [] {
         static unsigned char list[256];
         const aclError code = aclrtKernelArgsInitByUserMem(g_condition, list, g_host, 64);
         const aclError unloaded = aclrtBinaryUnLoad(g_made);
         if (unloaded != ACL_SUCCESS) {
             CHECK_OK(aclrtBinaryUnLoad(g_made));
         }
         return code != ACL_SUCCESS ? code : unloaded;
     },
     no_preparation},
    {"aclrtCreateLabelList", [] { CHECK_OK(aclrtCreateLabel(&g_condition)); },
     [] { return aclrtCreateLabelList(&g_condition, 1, &g_made); },
     [] {
         CHECK_OK(aclrtDestroyLabelList(g_made));
         CHECK_OK(aclrtDestroyLabel(g_condition));
     },
     false, true},
    {"aclmdlRICaptureTaskGrpBegin", begin_capture, [] { return aclmdlRICaptureTaskGrpBegin(g_other); },
     [] {
         CHECK_OK(launch_kernel());
         CHECK_OK(aclmdlRICaptureTaskGrpEnd(g_other, &g_group));
         end_capture();
     },
     false, true},
    {"aclmdlRICaptureTaskUpdateBegin", capture_group, [] { return aclmdlRICaptureTaskUpdateBegin(g_other, g_group); },
     [] {
         CHECK(aclmdlRICaptureTaskUpdateEnd(g_other) != ACL_SUCCESS);  // no kernel was launched
         CHECK_OK(aclmdlRIDestroy(g_made));
     },
     false, true},
    {"aclmdlRICaptureTaskUpdateEnd", [] { update_group(g_other); },
     [] { return aclmdlRICaptureTaskUpdateEnd(g_other); }, check_updated, false, true},
    {"aclmdlRICaptureTaskUpdateEnd, busy",
     [] {
         hold();
         update_group(g_busy);
     },
     [] { return aclmdlRICaptureTaskUpdateEnd(g_busy); },
     [] {
         release();
         check_updated();
     },
     false, true},
    {"aclmdlRITaskSetParams", capture_group, set_params,
     [] {
         CHECK_OK(aclmdlRIUpdate(g_made));
         CHECK(params_of(0).kernelTaskParams.numBlocks == 3);
         CHECK_OK(aclmdlRIDestroy(g_made));
     },
     false, true},
    {"aclmdlRITaskDisable",
     [] {
         capture_group();
         CHECK_OK(set_params());
     },
     [] {
         const aclError code = aclmdlRITaskDisable(g_kernels[0]);
         CHECK(code == ACL_SUCCESS || params_of(0).opInfoSize > 0);
         return code;
     },
     [] {
         CHECK_OK(aclmdlRIUpdate(g_made));
         CHECK(params_of(0).opInfoSize == 0);
         CHECK_OK(aclmdlRIDestroy(g_made));
     },
     false, true},
    {"aclsimRegisterKernel", [] { CHECK_OK(register_kernel<1>()); },
     [] {
         const aclError code = register_kernel<2>();
         if (code != ACL_SUCCESS) {
             check_runs(1);
         }
         return code;
     },
     [] {
         check_runs(2);
         CHECK_OK(aclsimUnregisterKernel(kReplaced));
     },
     false, true},
    {"aclrtBinaryLoad", describe_binary<64>, load_binary, unload_binary, false, true},
    {"aclrtBinaryLoad, large", describe_binary<(1 << 20)>, load_binary, unload_binary, false, true},
    {"aclrtSetLabel", build_with_label, [] { return aclrtSetLabel(g_label, g_bound); }, destroy_with_label, false,
     true},
    {"aclrtRecordEventWithFlag, external", begin_capture, [] { return record_externally(g_external[0]); }, end_capture,
     false, true},
    {"aclmdlRIExecuteAsync, external", no_preparation,
     [] {
         const aclError code = aclmdlRIExecuteAsync(g_recording, g_other);
         (void)aclrtSynchronizeStreamWithTimeout(g_other, kLongest_ms);
         synchronize_external_events();
         return code;
     },
     no_preparation},
};

// A stream that cannot join a capture for lack of memory has no hidden stream there.
void a_stream_that_cannot_join_a_capture_leaves_nothing() {
    const std::size_t before = count_handles<aclsim::Stream>();
    bool has_failed = true;
    for (long n = 0; has_failed; ++n) {
        begin_capture();
        CHECK_OK(aclrtRecordEvent(g_event, g_other));
        Shortage shortage(n, /*on_any_thread=*/false);
        (void)aclrtStreamWaitEvent(g_busy, g_event);
        has_failed = shortage.end();
        aclmdlRICaptureStatus status{};
        CHECK_OK(aclmdlRICaptureGetInfo(g_busy, &status, nullptr));
        const bool has_joined = status == ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE;
        CHECK(count_handles<aclsim::Stream>() == before + (has_joined ? 2 : 1));
        aclmdlRI graph = nullptr;
        CHECK((aclmdlRICaptureEnd(g_other, &graph) == ACL_SUCCESS) == !has_joined);  // the origin does not wait
        if (graph != nullptr) {
            CHECK_OK(aclmdlRIDestroy(graph));
        }
    }
    CHECK(count_handles<aclsim::Stream>() == before);
}

// A label that could not be created does not count.
void all_labels_can_be_created() {
    std::vector<aclrtLabel> labels(aclsim::kLabels);
    Shortage shortage(0, /*on_any_thread=*/false);
    CHECK(aclrtCreateLabel(labels.data()) != ACL_SUCCESS);
    CHECK(shortage.end());
    for (aclrtLabel &label : labels) {
        CHECK_OK(aclrtCreateLabel(&label));
    }
    for (aclrtLabel label : labels) {
        CHECK_OK(aclrtDestroyLabel(label));
    }
}

// A kernel of a group that gets no place in its hidden stream, nor another stream, can be launched again.
void a_group_keeps_its_kernels() {
    const std::uint32_t most = aclsim::config().product->queue_depth;
    bool has_failed = true;
    for (long n = 0; has_failed; ++n) {
        std::size_t launched = 0;
        begin_capture();
        CHECK_OK(aclmdlRICaptureTaskGrpBegin(g_other));
        for (; launched + 3 <= most; ++launched) {
            CHECK_OK(launch_kernel());
        }
        Shortage shortage(n, /*on_any_thread=*/false);
        launched += launch_kernel() == ACL_SUCCESS ? 1 : 0;
        has_failed = shortage.end();
        CHECK_OK(launch_kernel());
        CHECK_OK(aclmdlRICaptureTaskGrpEnd(g_other, &g_group));
        {
            aclsim::Core &core = aclsim::Simulator::get().core;
            const aclsim::Lock lock = core.acquire();
            CHECK(core.registry().find<aclsim::TaskGroup>(g_group)->size() == launched + 1);
        }
        end_capture();
    }
}

// A device without room for a binary, and a call that fails on demand, have given everything back.
void a_device_without_room_keeps_no_binary() {
    describe_binary<(1 << 20)>();
    const Room before = room();
    const auto fails = [&](aclError code, const char *text) {
        CHECK(aclrtBinaryLoad(g_description, &g_made) == code);
        CHECK(std::strstr(aclGetRecentErrMsg(), text) != nullptr);
        CHECK(count_all_handles() == before.handles);
    };
    CHECK_OK(aclsimLimitResource(0, ACLSIM_RESOURCE_MEMORY, 0));
    fails(ACL_ERROR_RT_MEMORY_ALLOCATION, "device 0 has no room for a kernel binary");
    CHECK_OK(aclsimLimitResource(0, ACLSIM_RESOURCE_MEMORY, UINT64_MAX));
    CHECK(free_memory() == before.memory);
    CHECK_OK(aclsimFailCall("aclrtBinaryLoad", 1, ACL_ERROR_RT_DRV_INTERNAL_ERROR));
    fails(ACL_ERROR_RT_DRV_INTERNAL_ERROR, "fault injection");
    CHECK_OK(aclsimClearFaults());
    CHECK_OK(load_binary());
    unload_binary();
}

const Test kTests[] = {
    {"group", a_group_keeps_its_kernels},
    {"no room", a_device_without_room_keeps_no_binary},
    {"join", a_stream_that_cannot_join_a_capture_leaves_nothing},
    {"labels", all_labels_can_be_created},
};

void set_up_graphs() {
    CHECK_OK(aclmdlRICaptureBegin(g_busy, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    CHECK_OK(aclrtLaunchHostFunc(g_busy, nothing, nullptr));
    CHECK_OK(aclrtMemsetAsync(g_memory, 4096, 1, 4096, g_busy));
    CHECK_OK(aclmdlRICaptureEnd(g_busy, &g_graph));
    const aclsimKernel kernel{[](const aclsimKernelBlock *, void *) { return ACL_SUCCESS; }, nullptr, nullptr, 0, 0};
    CHECK_OK(aclsimRegisterKernel("kernel", &kernel));
    const aclrtBinHandle binary = load_cpu_binary();
    CHECK_OK(aclrtRegisterCpuFunc(binary, "kernel", "kernel", &g_function));
    CHECK_OK(aclrtRegisterCpuFunc(binary, kReplaced, kReplaced, &g_replaced));
    begin_capture();
    for (aclrtEvent &event : g_external) {
        event = new_event();
        CHECK_OK(record_externally(event));
    }
    CHECK_OK(aclmdlRICaptureEnd(g_other, &g_recording));
    std::ofstream(g_operators) << R"({"first": {"opInfo": {"functionName": "a"}}, "second": {}})";
}

}  // namespace

int main(int count, char **arguments) {
    const Watchdog watchdog("out_of_memory_graphs", std::chrono::seconds(200));
    char directory[] = "/tmp/ascend_rt_no_memory_XXXXXX";
    CHECK(mkdtemp(directory) != nullptr);
    g_operators = std::string(directory) + "/operators.json";
    set_up();
    set_up_graphs();
    survive(kCases, kTests, count, arguments);
    std::filesystem::remove_all(directory);
    tear_down();
    return 0;
}
