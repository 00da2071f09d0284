// SPDX-License-Identifier: Apache-2.0
// Cancellation (pthread_cancel): a call is cancelled only where it waits for work, and otherwise runs to its end. The
// state remains valid for calls of other threads.
#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>

#include "concurrent.h"
#include "cpu_binary.h"
#include "latch.h"

namespace {

// Makes the calls on a thread with a pending cancellation. Returns true if the calls returned.
bool return_when_cancelled(const std::function<void()> &calls) {
    bool have_returned = false;
    std::thread([&] {
        CHECK_OK(aclrtSetDevice(0));
        pthread_cancel(pthread_self());
        calls();
        have_returned = true;
        pthread_testcancel();
        CHECK(!"the thread was cancelled");
    }).join();
    CHECK_OK(aclrtResetDevice(0));
    return have_returned;
}

void the_release_of_memory_is_done_in_full() {
    CHECK(return_when_cancelled([] {
        for (int i = 0; i < 10; ++i) {
            void *memory = nullptr;
            CHECK_OK(aclrtMalloc(&memory, 64 << 20, ACL_MEM_MALLOC_HUGE_FIRST));
            CHECK_OK(aclrtFree(memory));
            CHECK_OK(aclrtMallocHost(&memory, 64 << 20));
            CHECK_OK(aclrtFreeHost(memory));
        }
    }));
}

void virtual_memory_is_released_in_full() {
    CHECK(return_when_cancelled([] {
        aclrtPhysicalMemProp properties{};
        properties.location.type = ACL_MEM_LOCATION_TYPE_HOST;
        properties.memAttr = ACL_MEM_HUGE;
        aclrtDrvMemHandle pages = nullptr;
        CHECK_OK(aclrtMallocPhysical(&pages, 4 << 20, &properties, 0));
        CHECK_OK(aclrtFreePhysical(pages));
    }));
}

void a_stream_with_work_is_destroyed_in_full() {
    const aclrtStream stream = new_stream();
    LatchedCallback held;
    CHECK_OK(aclrtLaunchHostFunc(stream, LatchedCallback::run, &held));
    held.entered.wait();
    std::thread opener([&] { held.released.open(); });
    CHECK(return_when_cancelled([&] { CHECK_OK(aclrtStreamAbort(stream)); }));
    opener.join();
    CHECK(return_when_cancelled([&] { CHECK_OK(aclrtDestroyStream(stream)); }));
    CHECK(aclrtDestroyStream(stream) != ACL_SUCCESS);
}

void objects_of_several_processes_are_made_and_destroyed_in_full() {
    CHECK(return_when_cancelled([] {
        aclrtNotify notify = nullptr;
        CHECK_OK(aclrtCreateNotify(&notify, 0));
        char key[65];
        CHECK_OK(aclrtNotifyGetExportKey(notify, key, sizeof key, 0));
        CHECK_OK(aclrtDestroyNotify(notify));
        const aclrtEvent event = new_event(ACL_EVENT_IPC);
        aclrtIpcEventHandle handle{};
        CHECK_OK(aclrtIpcGetEventHandle(event, &handle));
        CHECK_OK(aclrtDestroyEvent(event));
    }));
}

void a_device_is_reset_in_full() {
    CHECK(return_when_cancelled([] {
        CHECK_OK(aclrtSetDevice(1));
        void *memory = nullptr;
        CHECK_OK(aclrtMalloc(&memory, 64 << 20, ACL_MEM_MALLOC_HUGE_FIRST));
        CHECK_OK(aclrtMemset(memory, 64 << 20, 1, 64 << 20));
        CHECK_OK(aclrtResetDevice(1));
    }));
    CHECK_OK(aclrtSetDevice(1));
    CHECK_OK(aclrtResetDevice(1));
    CHECK_OK(aclrtSetDevice(0));
}

void files_are_read_and_written_in_full() {
    char path[] = "/tmp/ascend_rt-graph-XXXXXX";
    const int file = mkstemp(path);
    CHECK(file >= 0);
    const aclrtStream stream = new_stream();
    aclmdlRI graph = nullptr;
    CHECK_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    CHECK_OK(aclmdlRICaptureEnd(stream, &graph));
    CHECK(return_when_cancelled([&] { CHECK_OK(aclmdlRIDebugJsonPrint(graph, path, 0)); }));
    CHECK_OK(aclmdlRIDestroy(graph));
    CHECK_OK(aclrtDestroyStream(stream));
    CHECK(std::remove(path) == 0);
    close(file);
}

// Cancellation ends a thread that synchronizes a stream, but affects neither the stream nor others that wait for it.
void a_synchronization_is_given_up() {
    const aclrtStream stream = new_stream();
    LatchedCallback held;
    CHECK_OK(aclrtLaunchHostFunc(stream, LatchedCallback::run, &held));
    held.entered.wait();
    CHECK(!return_when_cancelled([&] { (void)aclrtSynchronizeStream(stream); }));
    CHECK(!return_when_cancelled([&] { (void)aclrtSynchronizeStreamWithTimeout(stream, 100'000); }));
    CHECK(!return_when_cancelled([&] { (void)aclrtSynchronizeDevice(); }));
    held.released.open();
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK_OK(aclrtSynchronizeDevice());
    CHECK_OK(aclrtDestroyStream(stream));
}

void a_wait_for_callbacks_is_given_up() {
    const aclrtStream stream = new_stream();
    CHECK(!return_when_cancelled([&] {
        CHECK_OK(aclrtSubscribeReport(pthread_self(), stream));
        (void)aclrtProcessReport(-1);
    }));
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK_OK(aclrtDestroyStream(stream));
}

// Runs on the thread that waits for the kernel, or on a worker, which is not cancelled.
aclError reach_a_cancellation_point(const aclsimKernelBlock *, void *) {
    pthread_testcancel();
    return ACL_SUCCESS;
}

void a_kernel_that_is_cancelled_ends() {
    const aclrtBinHandle binary = load_cpu_binary();
    aclrtFuncHandle function = nullptr;
    CHECK_OK(aclrtRegisterCpuFunc(binary, "cancelled", "cancelled", &function));
    const aclsimKernel kernel{reach_a_cancellation_point, nullptr, nullptr, 0, 0};
    CHECK_OK(aclsimRegisterKernel("cancelled", &kernel));
    for (int i = 0; i < 50; ++i) {
        const aclrtStream stream = new_stream();
        (void)return_when_cancelled([&] {
            int argument = 0;
            CHECK_OK(aclrtLaunchKernelWithHostArgs(function, i % 2 == 0 ? 1 : 8, stream, nullptr, &argument,
                                                   sizeof argument, nullptr, 0));
            (void)aclrtSynchronizeStream(stream);
        });
        const aclError code = aclrtSynchronizeStream(stream);
        CHECK(code == ACL_SUCCESS || code == ACL_ERROR_RT_AICPU_EXCEPTION);
        CHECK_OK(aclrtDestroyStream(stream));
    }
    CHECK_OK(aclsimUnregisterKernel("cancelled"));
    CHECK_OK(aclrtBinaryUnLoad(binary));
}

}  // namespace

int main() {
    const Watchdog watchdog("cancellation", std::chrono::seconds(120));
    setenv("ASCEND_RT_SIM_DEVICES", "2", 1);
    CHECK_OK(aclrtSetDevice(0));
    the_release_of_memory_is_done_in_full();
    virtual_memory_is_released_in_full();
    a_stream_with_work_is_destroyed_in_full();
    objects_of_several_processes_are_made_and_destroyed_in_full();
    a_device_is_reset_in_full();
    files_are_read_and_written_in_full();
    a_synchronization_is_given_up();
    a_wait_for_callbacks_is_given_up();
    a_kernel_that_is_cancelled_ends();
    return 0;
}
