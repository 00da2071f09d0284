// SPDX-License-Identifier: Apache-2.0
// Chaos test of graphs. Threads share all handles to capture, change, execute and destroy graphs: streams, events,
// graphs, their tasks and groups, kernels and binaries are used while other threads end or destroy them. The library
// must not crash or hang, and must work afterwards. Usage: graph_chaos_test [SEED [STEPS]].
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <random>
#include <thread>
#include <vector>

#include "check.h"
#include "latch.h"

// Random calls may make several streams write the same memory at the same time. That race is the test's, not the
// library's.
extern "C" const char *__tsan_default_suppressions() { return "race:Transfer::move\nrace:Pattern::write\n"; }

namespace {

constexpr int kThreads = 4;
constexpr std::size_t kBytes = 4096;
constexpr std::int32_t kLimit_ms = 5;
constexpr std::uint32_t kListed = 16;

// Handles that were valid when they were stored. Any thread may have destroyed them since.
template <std::size_t count>
using Shared = std::array<std::atomic<void *>, count>;

struct Handles {
    Shared<4> streams{};
    Shared<4> events{};
    Shared<2> binaries{};
    Shared<2> functions{};
    Shared<12> graphs{};
    Shared<12> groups{};
    Shared<12> tasks{};
    Shared<12> hidden{};  // streams of graphs
    void *memory = nullptr;
};

std::atomic<std::uint64_t> g_blocks{0};
std::atomic<std::uint64_t> g_functions{0};

aclError count_block(const aclsimKernelBlock *, void *) {
    ++g_blocks;
    return ACL_SUCCESS;
}
void count_function(void *) { ++g_functions; }

void *new_binary() {
    static constexpr char kLibrary[] = "kernels\n";
    aclrtBinaryLoadOption option{};
    option.type = ACL_RT_BINARY_LOAD_OPT_CPU_KERNEL_MODE;
    option.value.cpuKernelMode = 2;
    const aclrtBinaryLoadOptions options{&option, 1};
    aclrtBinHandle binary = nullptr;
    (void)aclrtBinaryLoadFromData(kLibrary, sizeof kLibrary, &options, &binary);
    return binary;
}

// Random calls of one thread. Their results depend on the other threads, so they are ignored.
class Player {
  public:
    Player(Handles &handles, unsigned seed) : handles_(handles), random_(seed) {}
    void play(int steps) {
        for (int step = 0; step < steps; ++step) {
            (this->*pick())();
        }
    }

  private:
    using Move = void (Player::*)();
    struct Choice {
        Move move;
        std::uint32_t weight;
    };
    Move pick();

    std::size_t below(std::size_t end) { return random_() % end; }
    template <std::size_t count>
    void *any(const Shared<count> &shared) {
        return shared[below(count)];
    }
    template <std::size_t count>
    void put(Shared<count> &shared, void *handle) {
        if (handle != nullptr) {
            shared[below(count)] = handle;
        }
    }
    void *stream() { return any(handles_.streams); }
    void *event() { return any(handles_.events); }
    void *graph() { return any(handles_.graphs); }

    // --- captures ----------------------------------------------------------------------------------------------------
    void begin() { (void)aclmdlRICaptureBegin(stream(), static_cast<aclmdlRICaptureMode>(below(3))); }
    void end() {
        aclmdlRI made = nullptr;
        (void)aclmdlRICaptureEnd(stream(), &made);
        put(handles_.graphs, made);
    }
    void ask() {
        aclmdlRI found = nullptr;
        (void)aclmdlRICaptureGetInfo(stream(), nullptr, &found);
        put(handles_.graphs, found);
    }
    void begin_group() { (void)aclmdlRICaptureTaskGrpBegin(stream()); }
    void end_group() {
        aclrtTaskGrp group = nullptr;
        (void)aclmdlRICaptureTaskGrpEnd(stream(), &group);
        put(handles_.groups, group);
    }
    void add_condition() {
        aclmdlRI made[2] = {};
        aclmdlRICondTaskParams params{};
        params.type = static_cast<aclmdlRICondTaskType>(below(3));
        params.size = 1;
        params.modelRIArray = made;
        void *const on = stream();
        const auto flag = static_cast<aclmdlRICondHandleFlag>(1);
        if (aclmdlRICondHandleCreate(graph(), 0, flag, &params.handle) == ACL_SUCCESS &&
            aclmdlRIAddCondTask(params, on, 0) == ACL_SUCCESS) {
            put(handles_.graphs, made[0]);
            (void)aclmdlRICaptureToModelRIBegin(on, made[0], ACL_MODEL_RI_CAPTURE_MODE_RELAXED);
        }
    }

    // --- tasks -------------------------------------------------------------------------------------------------------
    void launch_on(void *on) {
        std::uint64_t arguments[2] = {};
        (void)aclrtLaunchKernelWithHostArgs(any(handles_.functions), 1 + static_cast<std::uint32_t>(below(3)), on,
                                            nullptr, arguments, sizeof arguments, nullptr, 0);
    }
    void launch() { launch_on(stream()); }
    void record() { (void)aclrtRecordEvent(event(), stream()); }
    void wait() { (void)aclrtStreamWaitEvent(stream(), event()); }
    void record_externally() { (void)aclrtRecordEventWithFlag(event(), stream(), ACL_EVENT_RECORD_EXTERNAL); }
    void wait_externally() { (void)aclrtStreamWaitEventWithFlag(stream(), event(), 0, ACL_EVENT_WAIT_EXTERNAL); }
    void reset() { (void)aclrtResetEvent(event(), stream()); }
    void fill() { (void)aclrtMemsetAsync(handles_.memory, kBytes, 1, kBytes, stream()); }
    void call() { (void)aclrtLaunchHostFunc(stream(), count_function, nullptr); }
    void attach() {
        char information[16] = "operator";
        (void)aclrtCacheLastTaskOpInfo(information, sizeof information);
    }

    // --- graphs ------------------------------------------------------------------------------------------------------
    void execute() { (void)aclmdlRIExecuteAsync(graph(), stream()); }
    void destroy() { (void)aclmdlRIDestroy(graph()); }
    void list_streams() {
        aclrtStream found[kListed] = {};
        std::uint32_t count = kListed;
        (void)aclmdlRIGetStreams(graph(), found, &count);
        put(handles_.hidden, found[below(kListed)]);
    }
    void list_tasks() {
        aclmdlRITask found[kListed] = {};
        std::uint32_t count = kListed;
        (void)aclmdlRIGetTasksByStream(any(handles_.hidden), found, &count);
        put(handles_.tasks, found[below(kListed)]);
    }
    void set_parameters() {
        std::uint64_t arguments[2] = {};
        void *const task = any(handles_.tasks);
        aclmdlRITaskParams params{};
        if (aclmdlRITaskGetParams(task, &params) != ACL_SUCCESS) {
            return;
        }
        if (below(2) == 0) {
            params = {};
            params.type = ACL_MODEL_RI_TASK_VALUE_WRITE;
            params.valueWriteTaskParams.devAddr = handles_.memory;
        } else if (params.type == ACL_MODEL_RI_TASK_KERNEL) {
            params.kernelTaskParams.args = arguments;
            params.kernelTaskParams.isHostArgs = 1;
            params.kernelTaskParams.argsSize = sizeof arguments;
        }
        params.taskGrp = nullptr;
        (void)aclmdlRITaskSetParams(task, &params);
    }
    void disable() { (void)aclmdlRITaskDisable(any(handles_.tasks)); }
    void update() { (void)aclmdlRIUpdate(graph()); }
    void update_group() {
        void *const on = stream();
        if (aclmdlRICaptureTaskUpdateBegin(on, any(handles_.groups)) == ACL_SUCCESS) {
            for (std::size_t i = below(3); i > 0; --i) {
                launch_on(on);
            }
            (void)aclmdlRICaptureTaskUpdateEnd(on);
        }
    }
    void print() { (void)aclmdlRIDebugJsonPrint(graph(), "/dev/null", 1); }

    // --- objects -----------------------------------------------------------------------------------------------------
    void renew() {
        void *made = nullptr;
        switch (below(4)) {
            case 0:
                (void)aclrtCreateStream(&made);
                (void)aclrtDestroyStreamForce(handles_.streams[below(4)].exchange(made));
                abort();
                break;
            case 1:
                (void)aclrtCreateEventExWithFlag(&made, ACL_EVENT_SYNC);
                (void)aclrtDestroyEvent(handles_.events[below(4)].exchange(made));
                break;
            case 2:
                (void)aclrtBinaryUnLoad(handles_.binaries[below(2)].exchange(new_binary()));
                break;
            default:
                (void)aclrtRegisterCpuFunc(any(handles_.binaries), "count", "count", &made);
                put(handles_.functions, made);
        }
    }
    void synchronize() { (void)aclrtSynchronizeStreamWithTimeout(stream(), kLimit_ms); }
    // Aborts all streams: otherwise a wait whose record was dropped would never end, and neither would the destruction
    // of a graph that waits for it.
    void abort() {
        for (const auto &stream : handles_.streams) {
            (void)aclrtStreamAbort(stream);
        }
    }

    Handles &handles_;
    std::mt19937 random_;
};

Player::Move Player::pick() {
    static constexpr Choice kChoices[] = {
        {&Player::begin, 4},
        {&Player::end, 4},
        {&Player::ask, 2},
        {&Player::begin_group, 3},
        {&Player::end_group, 3},
        {&Player::add_condition, 2},
        {&Player::launch, 8},
        {&Player::record, 6},
        {&Player::wait, 6},
        {&Player::record_externally, 1},
        {&Player::wait_externally, 1},
        {&Player::reset, 1},
        {&Player::fill, 3},
        {&Player::call, 2},
        {&Player::attach, 1},
        {&Player::execute, 8},
        {&Player::destroy, 1},
        {&Player::list_streams, 2},
        {&Player::list_tasks, 2},
        {&Player::set_parameters, 2},
        {&Player::disable, 1},
        {&Player::update, 3},
        {&Player::update_group, 3},
        {&Player::print, 1},
        {&Player::renew, 2},
        {&Player::synchronize, 2},
        {&Player::abort, 1},
    };
    std::uint32_t sum = 0;
    for (const Choice &choice : kChoices) {
        sum += choice.weight;
    }
    auto left = static_cast<std::uint32_t>(below(sum));
    const Choice *choice = std::begin(kChoices);
    for (; left >= choice->weight; ++choice) {
        left -= choice->weight;
    }
    return choice->move;
}

void chaos(unsigned seed, int steps) {
    Handles handles;
    CHECK_OK(aclrtMalloc(&handles.memory, kBytes, ACL_MEM_MALLOC_HUGE_FIRST));
    for (std::size_t i = 0; i < handles.streams.size(); ++i) {
        aclrtStream stream = nullptr;
        aclrtEvent event = nullptr;
        CHECK_OK(aclrtCreateStream(&stream));
        CHECK_OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
        handles.streams[i] = stream;
        handles.events[i] = event;
    }
    for (std::size_t i = 0; i < handles.binaries.size(); ++i) {
        aclrtFuncHandle function = nullptr;
        handles.binaries[i] = new_binary();
        CHECK_OK(aclrtRegisterCpuFunc(handles.binaries[i], "count", "count", &function));
        handles.functions[i] = function;
    }
    std::vector<std::thread> threads;
    for (unsigned thread = 0; thread < kThreads; ++thread) {
        threads.emplace_back([&handles, seed, steps, thread] {
            CHECK_OK(aclrtSetDevice(0));
            Player(handles, seed * kThreads + thread).play(steps);
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    for (void *binary : handles.binaries) {
        (void)aclrtBinaryUnLoad(binary);
    }
    CHECK_OK(aclrtResetDeviceForce(0));
}

// Executes a graph of one kernel.
void everything_works_again() {
    const std::uint64_t before = g_blocks;
    aclrtStream stream = nullptr;
    aclrtFuncHandle function = nullptr;
    aclmdlRI graph = nullptr;
    std::uint64_t argument = 0;
    void *const binary = new_binary();
    CHECK_OK(aclrtCreateStream(&stream));
    CHECK_OK(aclrtRegisterCpuFunc(binary, "count", "count", &function));
    CHECK_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    CHECK_OK(aclrtLaunchKernelWithHostArgs(function, 1, stream, nullptr, &argument, sizeof argument, nullptr, 0));
    CHECK_OK(aclmdlRICaptureEnd(stream, &graph));
    CHECK_OK(aclmdlRIExecuteAsync(graph, stream));
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK(g_blocks == before + 1);
    CHECK_OK(aclmdlRIDestroy(graph));
    CHECK_OK(aclrtBinaryUnLoad(binary));
    CHECK_OK(aclrtDestroyStream(stream));
}

}  // namespace

int main(int count, char **arguments) {
    setenv("ASCEND_RT_SIM_SOFTWARE_QUEUES", "1", 1);
    setenv("ASCEND_RT_SIM_STALL_MS", "10000", 0);  // explains a hang before the watchdog aborts
    const auto seed = static_cast<unsigned>(count > 1 ? std::atoi(arguments[1]) : 1);
    const int steps = count > 2 ? std::atoi(arguments[2]) : 3000;
    const Watchdog watchdog("graph_chaos_test", std::chrono::seconds(180));
    CHECK_OK(aclInit(nullptr));
    const aclsimKernel kernel{count_block, nullptr, nullptr, 0, 0};
    CHECK_OK(aclsimRegisterKernel("count", &kernel));
    CHECK_OK(aclrtSetDevice(0));
    chaos(seed, steps);
    CHECK_OK(aclrtSetDevice(0));
    everything_works_again();
    CHECK_OK(aclFinalize());
    return 0;
}
