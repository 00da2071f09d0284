// SPDX-License-Identifier: Apache-2.0
// Functions of the program that throw or end their thread: the task or the call fails with a code and a text, and the
// stream continues. Also the signals of threads that run such functions.
#include <dirent.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "concurrent.h"
#include "cpu_binary.h"
#include "latch.h"

namespace {

void throw_an_error(void *) { throw std::runtime_error("thrown by the program"); }
void throw_a_number(void *) { throw 5; }
void end_the_thread(void *) { pthread_exit(nullptr); }
void set(void *flag) { static_cast<Latch *>(flag)->open(); }

void check_text(const char *part) {
    const char *text = aclGetRecentErrMsg();
    CHECK(text != nullptr);
    if (std::strstr(text, part) == nullptr) {
        std::fprintf(stderr, "\"%s\" is not in \"%s\"\n", part, text);
        std::abort();
    }
}

// Checks that the stream has failed with the text, and that it executes later tasks.
void check_goes_on(aclrtStream stream, const char *text) {
    CHECK_CODE(ACL_ERROR_RT_INTERNAL_ERROR, aclrtSynchronizeStream(stream));
    check_text(text);
    void *memory = nullptr;
    CHECK_OK(aclrtMalloc(&memory, 1 << 20, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK_OK(aclrtMemsetAsync(memory, 1 << 20, 1, 1 << 20, stream));
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK_OK(aclrtFree(memory));
}

void a_host_function_fails_its_task(aclrtHostFunc function, const char *text) {
    const aclrtStream stream = new_stream();
    Latch ran;
    CHECK_OK(aclrtLaunchHostFunc(stream, function, nullptr));
    check_goes_on(stream, text);
    CHECK_OK(aclrtLaunchHostFunc(stream, set, &ran));
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK(ran.is_open());
    CHECK_OK(aclrtDestroyStream(stream));
}

aclrtStream new_subscribed_stream() {
    const aclrtStream stream = new_stream();
    CHECK_OK(aclrtSubscribeReport(pthread_self(), stream));
    return stream;
}

void a_callback_that_blocks_fails_its_task() {
    const aclrtStream stream = new_subscribed_stream();
    CHECK_OK(aclrtLaunchCallback(throw_an_error, nullptr, ACL_CALLBACK_BLOCK, stream));
    CHECK_OK(aclrtProcessReport(-1));
    check_goes_on(stream, "thrown by the program");
    CHECK_OK(aclrtUnSubscribeReport(pthread_self(), stream));
    CHECK_OK(aclrtDestroyStream(stream));
}

void a_callback_that_ends_its_thread_fails_its_task() {
    aclrtStream stream = nullptr;
    std::thread([&] {
        CHECK_OK(aclrtSetDevice(0));
        stream = new_subscribed_stream();
        CHECK_OK(aclrtLaunchCallback(end_the_thread, nullptr, ACL_CALLBACK_BLOCK, stream));
        (void)aclrtProcessReport(-1);
        CHECK(!"the thread has ended");
    }).join();
    check_goes_on(stream, "ended its thread");
    CHECK_OK(aclrtDestroyStreamForce(stream));
    CHECK_OK(aclrtResetDevice(0));
}

void a_callback_that_does_not_block_fails_the_call() {
    const aclrtStream stream = new_subscribed_stream();
    CHECK_OK(aclrtLaunchCallback(throw_a_number, nullptr, ACL_CALLBACK_NO_BLOCK, stream));
    CHECK_CODE(ACL_ERROR_RT_INTERNAL_ERROR, aclrtProcessReport(-1));
    check_text("aclrtProcessReport: a callback threw an exception");
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK_OK(aclrtUnSubscribeReport(pthread_self(), stream));
    CHECK_OK(aclrtDestroyStream(stream));
}

aclError end_the_thread_in_the_last_block(const aclsimKernelBlock *block, void *) {
    if (block->index + 1 == block->count) {
        pthread_exit(nullptr);
    }
    return ACL_SUCCESS;
}

// Blocks run on workers and on the thread that waits for the kernel. The last block may end either kind of thread.
void a_kernel_that_ends_its_thread_fails_its_task() {
    const aclrtBinHandle binary = load_cpu_binary();
    aclrtFuncHandle function = nullptr;
    CHECK_OK(aclrtRegisterCpuFunc(binary, "ends", "ends", &function));
    const aclsimKernel kernel{end_the_thread_in_the_last_block, nullptr, nullptr, 0, 0};
    CHECK_OK(aclsimRegisterKernel("ends", &kernel));
    for (int i = 0; i < 20; ++i) {
        const aclrtStream stream = new_stream();
        std::thread([&] {
            CHECK_OK(aclrtSetDevice(0));
            const int argument = 0;
            CHECK_OK(aclrtLaunchKernelWithHostArgs(function, i % 2 == 0 ? 1 : 8, stream, nullptr,
                                                   const_cast<int *>(&argument), sizeof argument, nullptr, 0));
            (void)aclrtSynchronizeStream(stream);
        }).join();
        (void)aclrtSynchronizeStream(stream);  // fails unless the thread above got the failure
        CHECK_OK(aclrtSynchronizeStream(stream));
        CHECK_OK(aclrtDestroyStream(stream));
        CHECK_OK(aclrtResetDevice(0));
    }
    CHECK_OK(aclsimUnregisterKernel("ends"));
    CHECK_OK(aclrtBinaryUnLoad(binary));
}

void a_callback_of_a_state_fails_the_call() {
    CHECK_OK(aclrtRegStreamStateCallback(
        "throws", [](aclrtStream, aclrtStreamState, void *) { throw_an_error(nullptr); }, nullptr));
    aclrtStream stream = nullptr;
    CHECK_CODE(ACL_ERROR_RT_INTERNAL_ERROR, aclrtCreateStream(&stream));
    check_text("a state callback threw an exception: thrown by the program");
    CHECK_OK(aclrtRegStreamStateCallback("throws", nullptr, nullptr));
}

void register_callback_that_throws_at(aclrtStreamState *state) {
    const auto throws = [](aclrtStream, aclrtStreamState at, void *wanted) {
        if (at == *static_cast<aclrtStreamState *>(wanted)) {
            throw_an_error(nullptr);
        }
    };
    CHECK_OK(aclrtRegStreamStateCallback("throws", throws, state));
}

void a_stream_outlives_a_callback_that_fails_its_destruction() {
    aclrtStreamState state = ACL_RT_STREAM_STATE_DESTROY_PRE;
    const aclrtStream stream = new_stream();
    register_callback_that_throws_at(&state);
    CHECK_CODE(ACL_ERROR_RT_INTERNAL_ERROR, aclrtDestroyStream(stream));
    check_text("a state callback threw an exception: thrown by the program");
    CHECK_OK(aclrtRegStreamStateCallback("throws", nullptr, nullptr));
    CHECK_OK(aclrtRecordEvent(new_event(), stream));
    CHECK_OK(aclrtDestroyStream(stream));
}

std::uint32_t available_streams() {
    std::uint32_t available = 0;
    CHECK_OK(aclrtDeviceTaskAbort(0, 1000));  // fails if the device still has a destroyed context
    CHECK_OK(aclrtGetStreamAvailableNum(&available));
    return available;
}

void a_context_goes_whatever_its_callbacks_do() {
    aclrtContext primary = nullptr, context = nullptr;
    CHECK_OK(aclrtGetCurrentContext(&primary));
    const std::uint32_t before = available_streams();
    CHECK_OK(aclrtCreateContext(&context, 0));
    new_stream();
    aclrtStreamState state = ACL_RT_STREAM_STATE_DESTROY_PRE;
    register_callback_that_throws_at(&state);
    CHECK_CODE(ACL_ERROR_RT_INTERNAL_ERROR, aclrtDestroyContext(context));
    check_text("a state callback threw an exception: thrown by the program");
    CHECK_OK(aclrtRegStreamStateCallback("throws", nullptr, nullptr));
    CHECK_OK(aclrtSetCurrentContext(primary));
    CHECK(available_streams() == before);
}

void register_callback_that_ends_the_thread_at_a_destruction() {
    const auto ends = [](aclrtStream, aclrtStreamState at, void *) {
        if (at == ACL_RT_STREAM_STATE_DESTROY_PRE) {
            end_the_thread(nullptr);
        }
    };
    CHECK_OK(aclrtRegStreamStateCallback("ends", ends, nullptr));
}

void a_context_goes_although_its_callback_ends_the_thread() {
    const std::uint32_t before = available_streams();
    std::thread([] {
        aclrtContext context = nullptr;
        CHECK_OK(aclrtCreateContext(&context, 0));
        for (int i = 0; i < 3; ++i) {
            new_stream();
        }
        register_callback_that_ends_the_thread_at_a_destruction();
        (void)aclrtDestroyContext(context);
        CHECK(false);
    }).join();
    CHECK_OK(aclrtRegStreamStateCallback("ends", nullptr, nullptr));
    CHECK(available_streams() == before);
}

void a_device_is_reset_whatever_its_callbacks_do() {
    constexpr std::int32_t device = 1;
    for (const auto reset : {aclrtResetDevice, aclrtResetDeviceForce}) {
        CHECK_OK(aclrtSetDevice(device));
        new_stream();
        aclrtStreamState state = ACL_RT_STREAM_STATE_DESTROY_PRE;
        register_callback_that_throws_at(&state);
        CHECK_CODE(ACL_ERROR_RT_INTERNAL_ERROR, reset(device));
        CHECK_OK(aclrtRegStreamStateCallback("throws", nullptr, nullptr));
        aclrtContext context = nullptr;
        CHECK(aclrtGetCurrentContext(&context) != ACL_SUCCESS);
        CHECK(reset(device) != ACL_SUCCESS);
        std::thread([reset] {
            CHECK_OK(aclrtSetDevice(device));
            new_stream();
            register_callback_that_ends_the_thread_at_a_destruction();
            (void)reset(device);
            CHECK(false);
        }).join();
        CHECK_OK(aclrtRegStreamStateCallback("ends", nullptr, nullptr));
        CHECK_OK(aclrtSetDevice(device));
        CHECK_OK(aclrtSynchronizeStream(new_stream()));
        CHECK_OK(reset(device));
    }
    CHECK_OK(aclrtSetDevice(0));
}

void a_callback_of_a_graphs_end_fails_the_call() {
    const aclrtStream stream = new_stream();
    aclmdlRI graph = nullptr;
    CHECK_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    CHECK_OK(aclmdlRICaptureEnd(stream, &graph));
    CHECK_OK(aclmdlRIDestroyRegisterCallback(graph, throw_an_error, nullptr));
    CHECK_CODE(ACL_ERROR_RT_INTERNAL_ERROR, aclmdlRIDestroy(graph));
    check_text("thrown by the program");
    CHECK(aclmdlRIDestroy(graph) != ACL_SUCCESS);
    CHECK_OK(aclrtDestroyStream(stream));
}

// The handles of the graph are removed only once: handles created meanwhile stay valid.
void a_callback_of_a_graphs_end_may_destroy_the_context() {
    static aclrtContext primary = nullptr, context = nullptr;
    static std::vector<aclmdlRI> made;
    const auto make_models = [] {
        for (int i = 0; i < 8; ++i) {
            made.emplace_back();
            CHECK_OK(aclmdlRIBuildBegin(&made.back(), 0));
        }
    };
    CHECK_OK(aclrtGetCurrentContext(&primary));
    CHECK_OK(aclrtCreateContext(&context, 0));
    const aclrtStream stream = new_stream();
    CHECK_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    for (int i = 0; i < 4; ++i) {
        aclrtTaskGrp group = nullptr;
        CHECK_OK(aclmdlRICaptureTaskGrpBegin(stream));
        CHECK_OK(aclmdlRICaptureTaskGrpEnd(stream, &group));
    }
    aclmdlRI graph = nullptr;
    CHECK_OK(aclmdlRICaptureEnd(stream, &graph));
    static void (*make)() = make_models;
    const auto destroys = [](void *) {
        CHECK_OK(aclrtSetCurrentContext(primary));
        make();
        CHECK_OK(aclrtDestroyContext(context));
    };
    CHECK_OK(aclmdlRIDestroyRegisterCallback(graph, destroys, nullptr));
    CHECK_OK(aclmdlRIDestroy(graph));
    make_models();
    for (const aclmdlRI model : made) {
        std::uint32_t id = 0;
        CHECK_OK(aclmdlRIGetId(model, &id));
        CHECK_OK(aclmdlRIDestroy(model));
    }
}

// --- signals ---------------------------------------------------------------------------------------------------------

#ifdef __linux__
std::set<std::string> threads_of_process() {
    std::set<std::string> threads;
    DIR *const directory = opendir("/proc/self/task");
    while (const dirent *const found = readdir(directory)) {
        threads.insert(found->d_name);
    }
    closedir(directory);
    threads.erase(".");
    threads.erase("..");
    return threads;
}

bool blocks(const std::string &thread, int signal) {
    std::FILE *const file = std::fopen(("/proc/self/task/" + thread + "/status").c_str(), "r");
    CHECK(file != nullptr);
    char line[256];
    unsigned long long blocked = 0;
    while (std::fgets(line, sizeof line, file) != nullptr && std::sscanf(line, "SigBlk: %llx", &blocked) != 1) {
    }
    std::fclose(file);
    return (blocked >> (signal - 1) & 1) != 0;
}

// A new thread blocks every signal at first: the C library restores the mask only in the new thread.
void wait_until_unblocked(const std::string &thread, int signal) {
    while (blocks(thread, signal)) {
        std::this_thread::yield();
    }
}

// Covers the threads of host functions, workers, time limits and exception callbacks.
void threads_of_the_library_block_signals(const std::set<std::string> &threads_of_program) {
    const aclrtStream stream = new_stream();
    static LatchedCallback held;
    static Latch is_reporting, may_return;
    void *memory = nullptr;
    CHECK_OK(aclrtMalloc(&memory, 1 << 20, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK_OK(aclrtSetExceptionInfoCallback([](aclrtExceptionInfo *) {
        is_reporting.open();
        may_return.wait();
    }));
    aclrtNotify notify = nullptr;
    CHECK_OK(aclrtCreateNotify(&notify, 0));
    CHECK_OK(aclrtRecordNotify(notify, stream));
    CHECK_OK(aclrtWaitAndResetNotify(notify, stream, 1000));
    CHECK_OK(aclrtMemsetAsync(memory, 1 << 20, 1, 1 << 20, stream));
    CHECK_OK(aclrtLaunchHostFunc(stream, LatchedCallback::run, &held));
    held.entered.wait();
    CHECK_OK(aclsimFailTask(stream, 1, ACL_ERROR_RT_AICORE_EXCEPTION));
    CHECK_OK(aclrtMemsetAsync(memory, 1 << 20, 1, 1 << 20, stream));
    held.released.open();
    is_reporting.wait();
    int of_library = 0;
    for (const std::string &thread : threads_of_process()) {
        if (threads_of_program.count(thread) == 0) {
            ++of_library;
            for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGCHLD, SIGALRM, SIGUSR1, SIGPROF, SIGRTMIN, SIGRTMAX}) {
                CHECK(blocks(thread, signal));
            }
            for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) {
                wait_until_unblocked(thread, signal);
            }
        }
    }
    CHECK(of_library >= 4);
    may_return.open();
    CHECK(aclrtSynchronizeStream(stream) != ACL_SUCCESS);
    CHECK_OK(aclrtSetExceptionInfoCallback(nullptr));
    CHECK_OK(aclsimClearFaults());
    CHECK_OK(aclrtDestroyNotify(notify));
    CHECK_OK(aclrtFree(memory));
    CHECK_OK(aclrtDestroyStream(stream));
}
#endif

std::size_t g_page_size = 0;
char *g_page = nullptr;

// The signal handler of the program repairs a fault in its host function, which then continues.
void a_fault_in_a_host_function_reaches_the_handler() {
    g_page_size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    g_page = static_cast<char *>(mmap(nullptr, g_page_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    CHECK(g_page != MAP_FAILED);
    struct sigaction mending = {}, before = {};
    mending.sa_handler = [](int) { mprotect(g_page, g_page_size, PROT_READ | PROT_WRITE); };
    CHECK(sigaction(SIGSEGV, &mending, &before) == 0);
    const aclrtStream stream = new_stream();
    CHECK_OK(aclrtLaunchHostFunc(stream, [](void *) { *static_cast<volatile char *>(g_page) = 1; }, nullptr));
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK(*g_page == 1);
    CHECK(sigaction(SIGSEGV, &before, nullptr) == 0);
    CHECK_OK(aclrtDestroyStream(stream));
    munmap(g_page, g_page_size);
}

}  // namespace

int main() {
    const Watchdog watchdog("program_functions", std::chrono::seconds(120));
#ifdef __linux__
    const std::set<std::string> threads_of_program = threads_of_process();
#endif
    CHECK_OK(aclrtSetDevice(0));
#ifdef __linux__
    threads_of_the_library_block_signals(threads_of_program);
#endif
    a_fault_in_a_host_function_reaches_the_handler();
    a_host_function_fails_its_task(throw_an_error, "the function threw an exception: thrown by the program");
    a_host_function_fails_its_task(throw_a_number, "the function threw an exception");
    a_host_function_fails_its_task(end_the_thread, "the function ended its thread");
    a_callback_that_blocks_fails_its_task();
    a_callback_that_ends_its_thread_fails_its_task();
    a_callback_that_does_not_block_fails_the_call();
    a_kernel_that_ends_its_thread_fails_its_task();
    a_callback_of_a_state_fails_the_call();
    a_stream_outlives_a_callback_that_fails_its_destruction();
    a_context_goes_whatever_its_callbacks_do();
    a_context_goes_although_its_callback_ends_the_thread();
    a_device_is_reset_whatever_its_callbacks_do();
    a_callback_of_a_graphs_end_fails_the_call();
    a_callback_of_a_graphs_end_may_destroy_the_context();
    return 0;
}
