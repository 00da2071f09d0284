// SPDX-License-Identifier: Apache-2.0
// Kernels that several threads load, register, launch and unload at the same time.
#include <array>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "check.h"
#include "concurrent.h"
#include "cpu_binary.h"
#include "latch.h"

namespace {

constexpr int kLaunches = 200;
constexpr std::uint32_t kBlocks = 7;

class Library {
  public:
    Library() : binary_(load_cpu_binary()) {}
    ~Library() {
        if (binary_ != nullptr) {
            unload();
        }
    }
    Library(const Library &) = delete;
    Library &operator=(const Library &) = delete;
    void unload() {
        CHECK_OK(aclrtBinaryUnLoad(binary_));
        binary_ = nullptr;
    }
    aclrtFuncHandle function(const char *name) const {
        aclrtFuncHandle function = nullptr;
        CHECK_OK(aclrtRegisterCpuFunc(binary_, name, name, &function));
        return function;
    }

  private:
    aclrtBinHandle binary_ = nullptr;
};

// Data of a registered kernel: counts its blocks and its releases. A release must not come before the last block ends.
struct Counter {
    std::atomic<std::uint64_t> blocks{0};
    std::atomic<int> running{0};
    std::atomic<int> released{0};
    aclError answer = ACL_SUCCESS;
};

aclError count_block(const aclsimKernelBlock *block, void *data) {
    auto *counter = static_cast<Counter *>(data);
    ++counter->running;
    CHECK(counter->released == 0);
    CHECK(block->index < block->count);
    CHECK(block->argumentsSize == sizeof(std::uint64_t));
    std::uint64_t step = 0;
    std::memcpy(&step, block->arguments, sizeof step);
    counter->blocks += step;
    --counter->running;
    return counter->answer;
}

void note_release(void *data) {
    auto *counter = static_cast<Counter *>(data);
    CHECK(counter->running == 0);
    ++counter->released;
}

void register_counter(const char *name, Counter &counter, std::size_t workspace = 0) {
    const aclsimKernel kernel{count_block, &counter, note_release, workspace, 0};
    CHECK_OK(aclsimRegisterKernel(name, &kernel));
}

aclError launch(aclrtFuncHandle function, aclrtStream stream, std::uint64_t step = 1) {
    return aclrtLaunchKernelWithHostArgs(function, kBlocks, stream, nullptr, &step, sizeof step, nullptr, 0);
}

void launches_of_many_threads_run_every_block() {
    const Library library;
    const aclrtFuncHandle function = library.function("count");
    Counter counter;
    register_counter("count", counter, 256);
    in_threads([&](int thread) {
        const aclrtStream stream = new_stream();
        for (int i = 0; i < kLaunches; ++i) {
            CHECK_OK(launch(function, stream, static_cast<std::uint64_t>(thread)));
        }
        CHECK_OK(aclrtSynchronizeStream(stream));
        CHECK_OK(aclrtDestroyStream(stream));
    });
    CHECK(counter.blocks == kBlocks * kLaunches * (kThreads * (kThreads - 1) / 2));
    CHECK_OK(aclsimUnregisterKernel("count"));
    CHECK(counter.released == 1);
}

void each_thread_has_a_list_of_its_own_until_it_ends() {
    const Library library;
    const aclrtFuncHandle function = library.function("count");
    Counter counter;
    register_counter("count", counter);
    std::array<aclrtArgsHandle, kThreads> lists{};
    aclrtArgsHandle *lists_begin = lists.data();
    in_threads([=](int thread) {
        const aclrtStream stream = new_stream();
        for (std::uint64_t i = 0; i < kLaunches; ++i) {
            aclrtParamHandle parameter = nullptr;
            std::uint64_t value = 0;
            CHECK_OK(aclrtKernelArgsInit(function, &lists_begin[thread]));
            CHECK_OK(aclrtKernelArgsAppend(lists_begin[thread], &value, sizeof value, &parameter));
            CHECK_OK(aclrtKernelArgsParaUpdate(lists_begin[thread], parameter, &i, sizeof i));
            CHECK_OK(aclrtKernelArgsFinalize(lists_begin[thread]));
            CHECK_OK(aclrtLaunchKernelWithConfig(function, 1, stream, nullptr, lists_begin[thread], nullptr));
        }
        CHECK_OK(aclrtSynchronizeStream(stream));
        CHECK_OK(aclrtDestroyStream(stream));
    });
    CHECK(counter.blocks == kThreads * (kLaunches * (kLaunches - 1) / 2));
    for (const aclrtArgsHandle list : lists) {
        CHECK_CODE(ACL_ERROR_RT_INVALID_HANDLE, aclrtKernelArgsFinalize(list));
    }
    CHECK_OK(aclsimUnregisterKernel("count"));
}

// A launch uses the function that is registered at the time of the call.
void functions_are_replaced_while_launches_run() {
    const Library library;
    const aclrtFuncHandle function = library.function("count");
    std::vector<Counter> counters(kLaunches);
    register_counter("count", counters[0]);
    std::thread launcher([&] {
        CHECK_OK(aclrtSetDevice(0));
        const aclrtStream stream = new_stream();
        for (int i = 0; i < kLaunches; ++i) {
            CHECK_OK(launch(function, stream));
        }
        CHECK_OK(aclrtSynchronizeStream(stream));
        CHECK_OK(aclrtDestroyStream(stream));
        CHECK_OK(aclrtResetDevice(0));
    });
    for (int i = 1; i < kLaunches; ++i) {
        register_counter("count", counters[i]);
    }
    launcher.join();
    CHECK_OK(aclsimUnregisterKernel("count"));
    std::uint64_t blocks = 0;
    for (const Counter &counter : counters) {
        CHECK(counter.released == 1);
        blocks += counter.blocks;
    }
    CHECK(blocks == std::uint64_t{kBlocks} * kLaunches);
}

void binaries_are_unloaded_while_others_launch() {
    Counter counter;
    register_counter("count", counter);
    for (int round = 0; round < 20; ++round) {
        Library library;
        const aclrtFuncHandle function = library.function("count");
        std::atomic<std::uint64_t> accepted{0};
        Latch first;
        std::thread launcher([&] {
            CHECK_OK(aclrtSetDevice(0));
            const aclrtStream stream = new_stream();
            aclError code = ACL_SUCCESS;
            while ((code = launch(function, stream)) == ACL_SUCCESS) {
                ++accepted;
                first.open();
            }
            CHECK(code == ACL_ERROR_RT_INVALID_HANDLE);
            CHECK_OK(aclrtSynchronizeStream(stream));
            CHECK_OK(aclrtDestroyStream(stream));
            CHECK_OK(aclrtResetDevice(0));
        });
        first.wait();
        library.unload();
        launcher.join();
        CHECK(counter.blocks.exchange(0) == accepted * kBlocks);
    }
    CHECK_OK(aclsimUnregisterKernel("count"));
}

// An update replaces kernels that an execution has not reached yet, and waits for a running one.
void a_group_is_updated_beside_executions_of_its_graph() {
    constexpr int kMembers = 5;
    const Library library;
    const aclrtFuncHandle function = library.function("count");
    Counter counter;
    register_counter("count", counter, 64);
    const auto launch_members = [&](aclrtStream stream) {
        for (int i = 0; i < kMembers; ++i) {
            CHECK_OK(launch(function, stream));
        }
    };
    const aclrtStream updating = new_stream();
    aclrtTaskGrp group = nullptr;
    aclmdlRI graph = nullptr;
    const auto graph_of = [](aclrtStream stream) {
        aclmdlRI found = nullptr;
        CHECK_OK(aclsimGetGraph(stream, &found));
        return found;
    };
    CHECK(graph_of(updating) == nullptr);
    CHECK_OK(aclmdlRICaptureBegin(updating, ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL));
    const aclmdlRI captured = graph_of(updating);
    CHECK_OK(aclmdlRICaptureTaskGrpBegin(updating));
    launch_members(updating);
    CHECK_OK(aclmdlRICaptureTaskGrpEnd(updating, &group));
    CHECK_OK(aclmdlRICaptureEnd(updating, &graph));
    CHECK(captured == graph && graph_of(updating) == nullptr);
    std::thread executor([&] {
        CHECK_OK(aclrtSetDevice(0));
        const aclrtStream stream = new_stream();
        for (int i = 0; i < kLaunches; ++i) {
            CHECK_OK(aclmdlRIExecuteAsync(graph, stream));
        }
        CHECK_OK(aclrtSynchronizeStream(stream));
        CHECK_OK(aclrtDestroyStream(stream));
        CHECK_OK(aclrtResetDevice(0));
    });
    for (int i = 0; i < kLaunches; ++i) {
        CHECK_OK(aclmdlRICaptureTaskUpdateBegin(updating, group));
        CHECK(graph_of(updating) == graph);
        launch_members(updating);
        CHECK_OK(aclmdlRICaptureTaskUpdateEnd(updating));
    }
    CHECK_OK(aclrtSynchronizeStream(updating));
    executor.join();
    CHECK(counter.blocks == std::uint64_t{kBlocks} * kLaunches * kMembers);
    CHECK_OK(aclmdlRIDestroy(graph));
    CHECK_OK(aclrtDestroyStream(updating));
    CHECK_OK(aclsimUnregisterKernel("count"));
}

// Failures of several blocks at the same time count as one failure of the task.
void a_failure_ends_the_launch_once() {
    const Library library;
    const aclrtFuncHandle function = library.function("fail");
    Counter counter;
    counter.answer = ACL_ERROR_RT_AICPU_TIMEOUT;
    register_counter("fail", counter);
    in_threads([&](int) {
        const aclrtStream stream = new_stream();
        for (int i = 0; i < kLaunches; ++i) {
            CHECK_OK(launch(function, stream));
            CHECK_CODE(ACL_ERROR_RT_AICPU_TIMEOUT, aclrtSynchronizeStream(stream));
            CHECK_OK(aclrtSynchronizeStream(stream));
        }
        CHECK_OK(aclrtDestroyStream(stream));
    });
    CHECK_OK(aclsimUnregisterKernel("fail"));
}

struct HeldKernel {
    Latch entered;
    Latch released;
    std::atomic<std::uint32_t> begun{0};
};

aclError run_held(const aclsimKernelBlock *, void *data) {
    auto *held = static_cast<HeldKernel *>(data);
    ++held->begun;
    held->entered.open();
    held->released.wait();
    return ACL_SUCCESS;
}

// Blocks that have begun continue; no more blocks begin.
void an_abort_ends_a_launch_between_two_blocks() {
    constexpr std::uint32_t kMany = 60000;
    const Library library;
    const aclrtFuncHandle function = library.function("held");
    HeldKernel held;
    const aclsimKernel kernel{run_held, &held, nullptr, 0, 0};
    CHECK_OK(aclsimRegisterKernel("held", &kernel));
    const aclrtStream stream = new_stream();
    std::uint64_t argument = 0;
    CHECK_OK(aclrtLaunchKernelWithHostArgs(function, kMany, stream, nullptr, &argument, sizeof argument, nullptr, 0));
    held.entered.wait();
    std::thread opener([&] {
        CHECK_OK(aclrtSetDevice(0));
        // The abort drops the queue before it waits for the running task. Submissions fail from then on.
        while (launch(function, stream) == ACL_SUCCESS) {
        }
        held.released.open();
        CHECK_OK(aclrtResetDevice(0));
    });
    static_cast<void>(aclrtStreamAbort(stream));
    opener.join();
    CHECK(held.begun < kMany);
    CHECK_OK(aclrtDestroyStream(stream));
    CHECK_OK(aclsimUnregisterKernel("held"));
}

}  // namespace

int main() {
    CHECK_OK(aclInit(nullptr));
    CHECK_OK(aclrtSetDevice(0));
    launches_of_many_threads_run_every_block();
    each_thread_has_a_list_of_its_own_until_it_ends();
    functions_are_replaced_while_launches_run();
    binaries_are_unloaded_while_others_launch();
    a_group_is_updated_beside_executions_of_its_graph();
    a_failure_ends_the_launch_once();
    an_abort_ends_a_launch_between_two_blocks();
    CHECK_OK(aclrtResetDevice(0));
    CHECK_OK(aclFinalize());
    return 0;
}
