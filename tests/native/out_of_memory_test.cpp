// Host without memory: the n-th allocation of a call fails, for every n and many calls. The call must fail with a code
// and a text, or succeed without the memory; no exception may leave the library, no stream may wait for ever, and the
// same call must succeed afterwards. Repeated with allocations of all threads until the work of the call is done.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "concurrent.h"
#include "cpu_binary.h"
#include "latch.h"
#include "memory/memory.h"
#include "memory/memory_pool.h"
#include "observe.h"
#include "tasks/binary.h"
#include "tasks/conditional.h"
#include "tasks/label.h"
#include "tasks/notify.h"
#include "tasks/task_group.h"

namespace {

constexpr long kOff = -1;
std::atomic<bool> g_fails_on_any_thread{false};
std::atomic<long> g_left{kOff};   // allocations of all threads until one fails
thread_local long t_left = kOff;  // allocations of the calling thread until one fails

bool fails_now() {
    if (g_fails_on_any_thread.load(std::memory_order_relaxed)) {
        return g_left.fetch_sub(1) == 0;
    }
    return t_left >= 0 && t_left-- == 0;
}

void *allocate(std::size_t size, std::size_t alignment) {
    void *block = nullptr;
    if (fails_now() || posix_memalign(&block, alignment, size) != 0) {
        throw std::bad_alloc();
    }
    return block;
}

// Makes the n-th allocation from now on fail, counting from 0, in the calling thread or in all threads.
class Shortage {
  public:
    Shortage(long n, bool on_any_thread) : on_any_thread_(on_any_thread) {
        if (on_any_thread) {
            g_left = n;
            g_fails_on_any_thread = true;
        } else {
            t_left = n;
        }
    }
    ~Shortage() { end(); }
    Shortage(const Shortage &) = delete;
    Shortage &operator=(const Shortage &) = delete;
    // Returns true if an allocation has failed.
    bool end() {
        g_fails_on_any_thread = false;
        const long left = on_any_thread_ ? g_left.exchange(kOff) : std::exchange(t_left, kOff);
        return left < 0;
    }

  private:
    const bool on_any_thread_;
};

}  // namespace

void *operator new(std::size_t size) { return allocate(size, alignof(std::max_align_t)); }
void *operator new[](std::size_t size) { return allocate(size, alignof(std::max_align_t)); }
void *operator new(std::size_t size, std::align_val_t alignment) {
    return allocate(size, static_cast<std::size_t>(alignment));
}
// Replaces the operator of the address sanitizer, whose blocks must not be passed to std::free().
void *operator new(std::size_t size, const std::nothrow_t &) noexcept {
    try {
        return operator new(size);
    } catch (const std::bad_alloc &) {
        return nullptr;
    }
}
void operator delete(void *block) noexcept { std::free(block); }
void operator delete[](void *block) noexcept { std::free(block); }
void operator delete(void *block, std::size_t) noexcept { std::free(block); }
void operator delete[](void *block, std::size_t) noexcept { std::free(block); }
void operator delete(void *block, std::align_val_t) noexcept { std::free(block); }
void operator delete(void *block, std::size_t, std::align_val_t) noexcept { std::free(block); }

namespace {

constexpr std::int32_t kLongest_ms = 10'000;
constexpr std::size_t kSize = 4 << 20;

aclrtContext g_context = nullptr;
aclrtStream g_busy = nullptr, g_other = nullptr;
aclrtEvent g_event = nullptr;
aclrtNotify g_notify = nullptr;
aclrtMemPool g_pool = nullptr;
aclmdlRI g_graph = nullptr;
void *g_memory = nullptr, *g_host = nullptr;
LatchedCallback *g_held = nullptr;

void nothing(void *) {}

// Makes the busy stream run a task until release().
void hold() {
    g_held = new LatchedCallback;
    CHECK_OK(aclrtLaunchHostFunc(g_busy, LatchedCallback::run, g_held));
    g_held->entered.wait();
}
void release() {
    if (g_held != nullptr) {
        g_held->released.open();
        (void)aclrtSynchronizeStreamWithTimeout(g_busy, kLongest_ms);
        delete std::exchange(g_held, nullptr);
    }
}

// Makes the stream run a task that a call has to wait for, and that soon ends by itself.
void keep_busy(aclrtStream stream) {
    static std::atomic<bool> is_running;
    is_running = false;
    const auto runs = [](void *) {
        is_running = true;
        for (int i = 0; i < 200; ++i) {
            std::this_thread::yield();
        }
    };
    CHECK_OK(aclrtLaunchHostFunc(stream, runs, nullptr));
    while (!is_running) {
        std::this_thread::yield();
    }
}

// Tested call, its preparation before each attempt, and the reversal of a successful attempt.
struct Case {
    const char *name;
    std::function<void()> prepare;
    std::function<aclError()> call;
    std::function<void()> undo;
    bool is_used_up = false;   // prepare() makes what the call uses up, unless it fails
    bool is_repeated = false;  // a call that failed has changed nothing: repeated, it succeeds
};

void *g_made = nullptr;
char g_key[65];
std::string g_directory;
std::string g_operators;  // file that describes kernels for AI CPUs
aclrtFuncHandle g_function = nullptr;
aclmdlRICondHandle g_condition = nullptr;
aclmdlRI g_branches[2] = {};

// Makes the calls until one fails; returns its code.
aclError first_failure(std::initializer_list<std::function<aclError()>> calls) {
    for (const auto &call : calls) {
        if (const aclError code = call()) {
            return code;
        }
    }
    return ACL_SUCCESS;
}

void no_preparation() {}

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
aclError launch_kernel() {
    std::uint64_t argument = 0;
    return aclrtLaunchKernelWithHostArgs(g_function, 1, g_other, nullptr, &argument, sizeof argument, nullptr, 0);
}

aclError load_described_kernels() {
    aclrtBinaryLoadOption option{};
    option.type = ACL_RT_BINARY_LOAD_OPT_CPU_KERNEL_MODE;
    aclrtBinaryLoadOptions options{&option, 1};
    return aclrtBinaryLoadFromFile(g_operators.c_str(), &options, &g_made);
}

aclrtPhysicalMemProp device_memory() {
    aclrtPhysicalMemProp properties{};
    properties.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    properties.memAttr = ACL_HBM_MEM_HUGE;
    return properties;
}

const Case kCases[] = {
    {"aclrtCreateStream", no_preparation, [] { return aclrtCreateStream(&g_made); },
     [] { CHECK_OK(aclrtDestroyStream(g_made)); }},
    {"aclrtCreateEvent", no_preparation, [] { return aclrtCreateEvent(&g_made); },
     [] { CHECK_OK(aclrtDestroyEvent(g_made)); }},
    {"aclrtCreateNotify", no_preparation, [] { return aclrtCreateNotify(&g_made, 0); },
     [] { CHECK_OK(aclrtDestroyNotify(g_made)); }},
    {"aclrtCreateContext", no_preparation, [] { return aclrtCreateContext(&g_made, 0); },
     [] {
         CHECK_OK(aclrtDestroyContext(g_made));
         CHECK_OK(aclrtSetCurrentContext(g_context));
     }},
    {"aclrtSetDevice", no_preparation, [] { return aclrtSetDevice(1); },
     [] {
         CHECK_OK(aclrtResetDevice(1));
         CHECK_OK(aclrtSetCurrentContext(g_context));
     }},
    {"aclrtMalloc", no_preparation, [] { return aclrtMalloc(&g_made, kSize, ACL_MEM_MALLOC_HUGE_FIRST); },
     [] { CHECK_OK(aclrtFree(g_made)); }},
    {"aclrtMalloc, small", no_preparation, [] { return aclrtMalloc(&g_made, 4096, ACL_MEM_MALLOC_HUGE_FIRST); },
     [] { CHECK_OK(aclrtFree(g_made)); }},
    {"aclrtMallocHost", no_preparation, [] { return aclrtMallocHost(&g_made, kSize); },
     [] { CHECK_OK(aclrtFreeHost(g_made)); }},
    {"aclrtFree", [] { CHECK_OK(aclrtMalloc(&g_made, kSize, ACL_MEM_MALLOC_HUGE_FIRST)); },
     [] { return aclrtFree(g_made); }, no_preparation, true},
    {"aclrtFreeHost", [] { CHECK_OK(aclrtMallocHost(&g_made, kSize)); }, [] { return aclrtFreeHost(g_made); },
     no_preparation, true},
    {"aclrtLaunchHostFunc", hold, [] { return aclrtLaunchHostFunc(g_busy, nothing, nullptr); }, release},
    {"aclrtLaunchHostFunc, idle", no_preparation, [] { return aclrtLaunchHostFunc(g_other, nothing, nullptr); },
     no_preparation},
    {"aclrtRecordEvent", hold, [] { return aclrtRecordEvent(g_event, g_busy); }, release},
    {"aclrtStreamWaitEvent",
     [] {
         hold();
         CHECK_OK(aclrtRecordEvent(g_event, g_busy));
     },
     [] { return aclrtStreamWaitEvent(g_other, g_event); }, release},
    {"aclrtStreamWaitEventWithTimeout",
     [] {
         hold();
         CHECK_OK(aclrtRecordEvent(g_event, g_busy));
     },
     [] { return aclrtStreamWaitEventWithTimeout(g_other, g_event, 100); }, release},
    {"aclrtMemcpyAsync", no_preparation,
     [] { return aclrtMemcpyAsync(g_memory, 1 << 20, g_host, 1 << 20, ACL_MEMCPY_HOST_TO_DEVICE, g_other); },
     no_preparation},
    {"aclrtMemcpy", no_preparation,
     [] { return aclrtMemcpy(g_memory, 1 << 20, g_host, 1 << 20, ACL_MEMCPY_HOST_TO_DEVICE); }, no_preparation},
    {"aclrtMemset", no_preparation, [] { return aclrtMemset(g_memory, 1 << 20, 0, 1 << 20); }, no_preparation},
    {"aclrtMemsetAsync", hold, [] { return aclrtMemsetAsync(g_memory, 1 << 20, 0, 1 << 20, g_busy); }, release},
    {"aclrtSynchronizeStream", [] { CHECK_OK(aclrtMemsetAsync(g_memory, 1 << 20, 0, 1 << 20, g_other)); },
     [] { return aclrtSynchronizeStream(g_other); }, no_preparation},
    {"aclrtSynchronizeStreamWithTimeout", [] { CHECK_OK(aclrtMemsetAsync(g_memory, 1 << 20, 0, 1 << 20, g_other)); },
     [] { return aclrtSynchronizeStreamWithTimeout(g_other, kLongest_ms); }, no_preparation},
    {"aclrtSynchronizeDevice", [] { CHECK_OK(aclrtMemsetAsync(g_memory, 1 << 20, 0, 1 << 20, g_other)); },
     [] { return aclrtSynchronizeDevice(); }, no_preparation},
    {"aclrtSynchronizeEvent",
     [] {
         CHECK_OK(aclrtMemsetAsync(g_memory, 1 << 20, 0, 1 << 20, g_other));
         CHECK_OK(aclrtRecordEvent(g_event, g_other));
     },
     [] { return aclrtSynchronizeEvent(g_event); }, no_preparation},
    {"aclrtWaitAndResetNotify", hold, [] { return aclrtWaitAndResetNotify(g_notify, g_busy, 1000); },
     [] {
         CHECK_OK(aclrtRecordNotify(g_notify, g_other));
         release();
     }},
    {"aclrtRecordNotify", no_preparation, [] { return aclrtRecordNotify(g_notify, g_other); },
     [] { CHECK_OK(aclrtWaitAndResetNotify(g_notify, g_other, 1000)); }},
    {"aclrtDestroyStream", [] { CHECK_OK(aclrtCreateStream(&g_made)); }, [] { return aclrtDestroyStream(g_made); },
     no_preparation, true},
    {"aclrtDestroyStream, busy",
     [] {
         CHECK_OK(aclrtCreateStream(&g_made));
         keep_busy(g_made);
         CHECK_OK(aclrtRecordEvent(g_event, g_made));
         CHECK_OK(aclrtStreamWaitEvent(g_other, g_event));
     },
     [] { return aclrtDestroyStream(g_made); }, no_preparation, true},
    {"aclrtDestroyStreamForce, busy",
     [] {
         CHECK_OK(aclrtCreateStream(&g_made));
         keep_busy(g_made);
     },
     [] { return aclrtDestroyStreamForce(g_made); }, no_preparation, true},
    {"aclrtDestroyStreamForce, executing",
     [] {
         CHECK_OK(aclrtCreateStream(&g_made));
         CHECK_OK(aclmdlRIExecuteAsync(g_graph, g_made));
     },
     [] { return aclrtDestroyStreamForce(g_made); }, no_preparation, true},
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
    {"aclrtDestroyEvent", [] { CHECK_OK(aclrtCreateEvent(&g_made)); }, [] { return aclrtDestroyEvent(g_made); },
     no_preparation, true},
    {"aclrtDestroyContext",
     [] {
         CHECK_OK(aclrtCreateContext(&g_made, 0));
         CHECK_OK(aclrtSetCurrentContext(g_context));
     },
     [] { return aclrtDestroyContext(g_made); }, no_preparation, true},
    {"aclrtDestroyContext, busy",
     [] {
         CHECK_OK(aclrtCreateContext(&g_made, 0));
         const aclrtStream stream = new_stream();
         keep_busy(stream);
         CHECK_OK(aclrtMemsetAsync(g_memory, 1 << 20, 0, 1 << 20, stream));
         CHECK_OK(aclrtSetCurrentContext(g_context));
     },
     [] { return aclrtDestroyContext(g_made); }, no_preparation, true},
    {"aclrtStreamAbort", [] { CHECK_OK(aclrtMemsetAsync(g_memory, 1 << 20, 0, 1 << 20, g_other)); },
     [] { return aclrtStreamAbort(g_other); }, no_preparation},
    {"aclrtStreamAbort, busy",
     [] {
         keep_busy(g_other);
         CHECK_OK(aclrtMemsetAsync(g_memory, 1 << 20, 0, 1 << 20, g_other));
     },
     [] { return aclrtStreamAbort(g_other); }, no_preparation},
    {"aclrtDeviceTaskAbort", no_preparation, [] { return aclrtDeviceTaskAbort(0, 1000); }, no_preparation},
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
    {"pool", no_preparation,
     [] {
         const aclError code = aclrtMemPoolMallocAsync(&g_made, 1 << 20, g_pool, g_other);
         const aclError freed = code == ACL_SUCCESS ? aclrtMemPoolFreeAsync(g_made, g_other) : ACL_SUCCESS;
         if (freed != ACL_SUCCESS) {
             CHECK_OK(aclrtMemPoolFreeAsync(g_made, g_other));
         }
         return code != ACL_SUCCESS ? code : freed;
     },
     no_preparation},
    {"aclrtNotifyGetExportKey", [] { CHECK_OK(aclrtCreateNotify(&g_made, 0)); },
     [] { return aclrtNotifyGetExportKey(g_made, g_key, sizeof g_key, 0); }, no_preparation, true},
    {"aclrtIpcGetEventHandle", [] { CHECK_OK(aclrtCreateEventExWithFlag(&g_made, ACL_EVENT_IPC)); },
     [] {
         aclrtIpcEventHandle handle{};
         return first_failure({
             [&] { return aclrtIpcGetEventHandle(g_made, &handle); },
             [] { return aclrtRecordEvent(g_made, g_other); },
             [] { return aclrtStreamWaitEvent(g_other, g_made); },
         });
     },
     [] { CHECK_OK(aclrtDestroyEvent(g_made)); }, true},
    {"a task that fails",
     [] {
         CHECK_OK(aclsimClearFaults());
         CHECK_OK(aclrtSetExceptionInfoCallback([](aclrtExceptionInfo *) {}));
     },
     [] {
         const aclError code = first_failure({
             [] { return aclsimFailTask(g_other, 1, ACL_ERROR_RT_AICORE_EXCEPTION); },
             [] { return aclrtRecordEvent(g_event, g_other); },
         });
         const aclError failure = aclrtSynchronizeStream(g_other);
         CHECK(code != ACL_SUCCESS || failure != ACL_SUCCESS);
         return failure == ACL_ERROR_RT_AICORE_EXCEPTION ? ACL_SUCCESS : code;
     },
     no_preparation},
    {"profile",
     [] {
         (void)aclprofFinalize();  // ends the profile of a failed attempt
         CHECK_OK(aclprofInit(g_directory.c_str(), g_directory.size()));
     },
     [] {
         std::uint32_t device = 0;
         aclprofConfig *const config =
             aclprofCreateConfig(&device, 1, ACL_AICORE_NONE, nullptr, ACL_PROF_TASK_TIME | ACL_PROF_ACL_API);
         if (config == nullptr) {
             return static_cast<aclError>(ACL_ERROR_BAD_ALLOC);
         }
         const aclError code = first_failure({
             [=] { return aclprofStart(config); },
             [] { return aclrtMemsetAsync(g_memory, 4096, 1, 4096, g_other); },
             [] { return aclrtRecordEvent(g_event, g_other); },
             [] { return aclrtSynchronizeStream(g_other); },
             [=] { return aclprofStop(config); },
         });
         CHECK_OK(aclprofDestroyConfig(config));
         return code;
     },
     [] { CHECK_OK(aclprofFinalize()); }},
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
    {"aclrtMemPoolCreate", no_preparation,
     [] {
         aclrtMemPoolProps properties{};
         properties.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
         return aclrtMemPoolCreate(&g_made, &properties);
     },
     [] { CHECK_OK(aclrtMemPoolDestroy(g_made)); }, false, true},
    {"aclrtCreateLabelList", [] { CHECK_OK(aclrtCreateLabel(&g_condition)); },
     [] { return aclrtCreateLabelList(&g_condition, 1, &g_made); },
     [] {
         CHECK_OK(aclrtDestroyLabelList(g_made));
         CHECK_OK(aclrtDestroyLabel(g_condition));
     },
     false, true},
    {"aclrtReserveMemAddress", no_preparation, [] { return aclrtReserveMemAddress(&g_made, 2 << 20, 0, nullptr, 0); },
     [] { CHECK_OK(aclrtReleaseMemAddress(g_made)); }},
    {"aclrtMapMem", no_preparation,
     [] {
         const aclrtPhysicalMemProp properties = device_memory();
         aclrtDrvMemHandle pages = nullptr;
         void *address = nullptr;
         const aclError code = first_failure({
             [&] { return aclrtMallocPhysical(&pages, 2 << 20, &properties, 0); },
             [&] { return aclrtReserveMemAddress(&address, 2 << 20, 0, nullptr, 0); },
             [&] { return aclrtMapMem(address, 2 << 20, 0, pages, 0); },
             [&] { return aclrtUnmapMem(address); },
         });
         if (address != nullptr) {
             if (code != ACL_SUCCESS) {
                 (void)aclrtUnmapMem(address);
             }
             (void)aclrtReleaseMemAddress(address);
         }
         if (pages != nullptr) {
             (void)aclrtFreePhysical(pages);
         }
         return code;
     },
     no_preparation},
};

void check_has_text(const Case &it, long n, aclError code) {
    const char *text = aclGetRecentErrMsg();
    if (code != ACL_SUCCESS && (text == nullptr || *text == '\0')) {
        std::fprintf(stderr, "%s, allocation %ld: %d without a text\n", it.name, n, code);
        std::abort();
    }
}

void check_is_repeated(const Case &it, long n, aclError code) {
    if (code != ACL_SUCCESS) {
        std::fprintf(stderr, "%s, allocation %ld: repeated, it answers %d: %s\n", it.name, n, code,
                     aclGetRecentErrMsg());
        std::abort();
    }
}

// Checks that no stream waits for ever. Ignores the failures of tasks that had no memory.
void settle(const Case &it, long n) {
    const aclError code = aclrtSynchronizeDeviceWithTimeout(kLongest_ms);
    if (code == ACL_ERROR_RT_STREAM_SYNC_TIMEOUT) {
        std::fprintf(stderr, "%s, allocation %ld: the device is never done\n", it.name, n);
        std::abort();
    }
    (void)aclrtSynchronizeDeviceWithTimeout(kLongest_ms);
    (void)aclGetRecentErrMsg();
}

// Makes one attempt with a shortage. Returns false if no allocation failed, because there were too few.
bool try_with_shortage(const Case &it, long n, bool on_any_thread) {
    it.prepare();
    Shortage shortage(n, on_any_thread);
    aclError code = it.call();
    if (on_any_thread && g_held == nullptr) {
        (void)aclrtSynchronizeDeviceWithTimeout(kLongest_ms);
    }
    const bool has_failed = shortage.end();
    check_has_text(it, n, code);
    if (code != ACL_SUCCESS && it.is_repeated) {
        code = it.call();
        check_is_repeated(it, n, code);
    }
    if (code == ACL_SUCCESS) {
        it.undo();
    } else if (g_held != nullptr) {
        release();
    }
    settle(it, n);
    return has_failed;
}

void works_again(const Case &it) {
    it.prepare();
    CHECK_OK(it.call());
    it.undo();
    settle(it, kOff);
}

// Resources that a failed call might keep.
struct Room {
    std::uint32_t streams = 0, events = 0;
    std::size_t memory = 0;
    std::size_t handles = 0;
};

// Objects of these classes that handles name.
template <class... T>
std::size_t count_handles() {
    aclsim::Core &core = aclsim::Simulator::get().core;
    const aclsim::Lock lock = core.acquire();
    return (core.registry().all<T>().size() + ...);
}

std::size_t count_all_handles() {
    using namespace aclsim;
    return count_handles<Context, Stream, Event, Notify, Label, LabelList, Model, ModelTask, TaskGroup, Condition,
                         MemoryPool, Binary, KernelFunction>();
}

std::size_t free_memory() {
    aclsim::Simulator &sim = aclsim::Simulator::get();
    const aclsim::Lock lock = sim.core.acquire();
    return sim.memory.space().device(0).free_bytes();
}

Room room() {
    Room found;
    CHECK_OK(aclrtGetStreamAvailableNum(&found.streams));
    CHECK_OK(aclrtGetEventAvailNum(&found.events));
    found.memory = free_memory();
    found.handles = count_all_handles();
    return found;
}

void check_is_as_before(const Case &it, const Room &before) {
    const Room now = room();
    if (it.is_used_up || (now.streams == before.streams && now.events == before.events && now.memory == before.memory &&
                          now.handles == before.handles)) {
        return;
    }
    std::fprintf(stderr, "%s: before %u streams, %u events, %zu bytes, %zu handles, now %u, %u, %zu, %zu\n", it.name,
                 before.streams, before.events, before.memory, before.handles, now.streams, now.events, now.memory,
                 now.handles);
    std::abort();
}

void a_shortage_is_survived(const Case &it, bool on_any_thread) {
    constexpr long kMost = 5000;  // allocations; writing a profile makes about 1500
    works_again(it);
    const Room before = room();
    long n = 0;
    while (n < kMost && try_with_shortage(it, n, on_any_thread)) {
        ++n;
    }
    CHECK(n < kMost);
    works_again(it);
    check_is_as_before(it, before);
}

void set_up() {
    CHECK_OK(aclrtSetDevice(0));
    CHECK_OK(aclrtGetCurrentContext(&g_context));
    CHECK_OK(aclrtRegStreamStateCallback("counts", [](aclrtStream, aclrtStreamState, void *) {}, nullptr));
    g_busy = new_stream();
    g_other = new_stream();
    g_event = new_event();
    g_pool = new_pool();
    CHECK_OK(aclrtCreateNotify(&g_notify, 0));
    CHECK_OK(aclrtMalloc(&g_memory, kSize, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK_OK(aclrtMallocHost(&g_host, kSize));
    CHECK_OK(aclmdlRICaptureBegin(g_busy, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    CHECK_OK(aclrtLaunchHostFunc(g_busy, nothing, nullptr));
    CHECK_OK(aclrtMemsetAsync(g_memory, 4096, 1, 4096, g_busy));
    CHECK_OK(aclmdlRICaptureEnd(g_busy, &g_graph));
    const aclsimKernel kernel{[](const aclsimKernelBlock *, void *) { return ACL_SUCCESS; }, nullptr, nullptr, 0};
    CHECK_OK(aclsimRegisterKernel("kernel", &kernel));
    CHECK_OK(aclrtRegisterCpuFunc(load_cpu_binary(), "kernel", "kernel", &g_function));
    g_operators = g_directory + "/operators.json";
    std::ofstream(g_operators) << R"({"first": {"opInfo": {"functionName": "a"}}, "second": {}})";
}

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

class LastFirst final : public aclsim::Scheduler {
  public:
    LastFirst() : Scheduler(/*takes_first=*/false) {}
    aclsim::Stream &choose(aclsim::Choice, const std::vector<aclsim::Stream *> &candidates) override {
        return *candidates.back();
    }
};

class Group final : public aclsim::StreamGroup {
  public:
    Group() : StreamGroup(health_) {}
    void require_accepting(const aclsim::Stream &) const override {}
    void stop(aclError) override {}

  private:
    aclsim::DeviceHealth health_;
};

// What a task does when it is cancelled: it wakes those that wait for it, and the time of its end changes.
void nothing_that_cancels_a_task_needs_memory() {
    using namespace aclsim;
    static LastFirst scheduler;
    static Core &core = *new Core(host_clock(), scheduler);  // never destroyed: its threads would outlive main()
    const Lock lock = core.acquire();
    const Ref<Group> group = make_ref<Group>();
    std::vector<Ref<Stream>> streams;
    Waiters waiters;
    for (std::uint32_t id = 0; id < 3; ++id) {
        streams.push_back(make_ref_in<Stream>(0, *group, id, 0, 0));
        core.registry().add(streams.back());
    }
    core.timer().arm(*streams[0], host_clock().now() + std::chrono::hours(1));
    Shortage shortage(0, /*on_any_thread=*/false);
    core.timer().arm(*streams[0], host_clock().now() + std::chrono::hours(2));
    CHECK(!shortage.end());
    bool has_failed = true;
    for (long n = 0; has_failed; ++n) {
        for (const auto &stream : streams) {
            waiters.add(*stream);
        }
        Shortage of_wake(n, /*on_any_thread=*/false);
        waiters.wake(core);
        has_failed = of_wake.end();
        CHECK(waiters.empty());
        core.pump();
    }
    core.timer().disarm(*streams[0]);
    for (const auto &stream : streams) {
        core.registry().remove(*stream);
    }
}

// Hears of all facts, for which the engine needs memory.
class Listener final : public aclsim::Observer {};

}  // namespace

// Runs all cases, or only the one that the argument names.
int main(int count, char **arguments) {
    const Watchdog watchdog("out_of_memory", std::chrono::seconds(200));
    setenv("ASCEND_RT_SIM_DEVICES", "2", 1);
    setenv("ASCEND_RT_SIM_SOFTWARE_QUEUES", "1", 1);
    char directory[] = "/tmp/ascend_rt_no_memory_XXXXXX";
    CHECK(mkdtemp(directory) != nullptr);
    g_directory = directory;
    set_up();
    const auto is_wanted = [=](const char *name) { return count == 1 || std::strcmp(arguments[1], name) == 0; };
    const auto all_are_survived = [=] {
        for (const Case &it : kCases) {
            if (is_wanted(it.name)) {
                a_shortage_is_survived(it, /*on_any_thread=*/false);
                a_shortage_is_survived(it, /*on_any_thread=*/true);
            }
        }
    };
    all_are_survived();
    if (is_wanted("join")) {
        a_stream_that_cannot_join_a_capture_leaves_nothing();
    }
    if (is_wanted("labels")) {
        all_labels_can_be_created();
    }
    if (is_wanted("cancel")) {
        nothing_that_cancels_a_task_needs_memory();
    }
    {
        Listener listener;
        const Observing observing(listener);
        all_are_survived();
    }
    std::filesystem::remove_all(g_directory);
    CHECK_OK(aclrtResetDeviceForce(0));
    CHECK_OK(aclrtSetDevice(0));
    CHECK_OK(aclrtResetDevice(0));
    return 0;
}
