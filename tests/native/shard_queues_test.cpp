// SPDX-License-Identifier: Apache-2.0
// Shards and tasks that wait in queues or need a thread: devices do not wait for each other's work, and tasks that
// concern two devices behave as with one lock.
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "api/simulator.h"
#include "check.h"
#include "cpu_binary.h"
#include "device_kit.h"
#include "latch.h"

using aclsim::Lock;
using aclsim::Simulator;

namespace {

constexpr std::size_t kBytes = 64 << 10;  // more than a call moves itself
constexpr std::size_t kFew = 4096;        // moved by the call itself if the stream is idle

using Kit = MemoryKit<kBytes>;

void count(void *counter) { ++*static_cast<std::atomic<std::uint64_t> *>(counter); }

// Kernel that increments the counter to which its arguments point.
aclError count_block(const aclsimKernelBlock *block, void *) {
    void *counter = nullptr;
    std::memcpy(&counter, block->arguments, sizeof counter);
    count(counter);
    return ACL_SUCCESS;
}

aclError refuse_block(const aclsimKernelBlock *, void *) { return ACL_ERROR_RT_AICORE_EXCEPTION; }

void register_kernel(const char *name, aclError (*function)(const aclsimKernelBlock *, void *)) {
    const aclsimKernel kernel{function, nullptr, nullptr, 0, 0};
    CHECK_OK(aclsimRegisterKernel(name, &kernel));
}

class Kernels {
  public:
    Kernels() {
        binary_ = load_cpu_binary();
        register_kernel(kNames[0], count_block);
        register_kernel(kNames[1], refuse_block);
        for (std::int32_t device = 0; device < kBusyDevices; ++device) {
            CHECK_OK(aclrtSetDevice(device));
            functions_ = load();
        }
    }
    std::array<aclrtFuncHandle, 2> load() const {  // on the current device
        std::array<aclrtFuncHandle, 2> functions{};
        for (std::size_t i = 0; i < kNames.size(); ++i) {
            CHECK_OK(aclrtRegisterCpuFunc(binary_, kNames[i], kNames[i], &functions[i]));
        }
        return functions;
    }
    ~Kernels() {
        CHECK_OK(aclrtBinaryUnLoad(binary_));
        for (const char *name : kNames) {
            CHECK_OK(aclsimUnregisterKernel(name));
        }
    }
    Kernels(const Kernels &) = delete;
    Kernels &operator=(const Kernels &) = delete;
    aclError launch(aclrtStream stream, std::atomic<std::uint64_t> &counter, std::uint32_t blocks = 1) const {
        void *arguments = &counter;
        return aclrtLaunchKernelWithHostArgs(functions_[0], blocks, stream, nullptr, &arguments, sizeof arguments,
                                             nullptr, 0);
    }
    aclError launch_failing(aclrtStream stream) const {
        void *arguments = nullptr;
        return aclrtLaunchKernelWithHostArgs(functions_[1], 1, stream, nullptr, &arguments, sizeof arguments, nullptr,
                                             0);
    }

    aclError launch_in_memory(aclrtStream stream, const void *arguments) const {
        return aclrtLaunchKernel(functions_[0], 1, arguments, sizeof(void *), stream);
    }

  private:
    static constexpr std::array<const char *, 2> kNames{"count", "refuse"};
    aclrtBinHandle binary_ = nullptr;
    std::array<aclrtFuncHandle, 2> functions_{};
};

std::unique_ptr<Kernels> g_kernels;
std::atomic<std::uint64_t> *g_reported = nullptr;  // failures reported to the program

// Submits every kind of task that concerns only its device. Four of the tasks count, and others set both halves of the
// memory to the value.
void enqueue_work(const Kit &own, aclrtStream stream, std::atomic<std::uint64_t> &counter, int value) {
    CHECK_OK(aclrtLaunchHostFunc(stream, count, &counter));
    CHECK_OK(aclrtMemsetAsync(own.memory, kBytes, value, kBytes, stream));
    CHECK_OK(aclrtMemcpyAsync(own.upper_half(), kBytes, own.memory, kBytes, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
    CHECK_OK(g_kernels->launch(stream, counter));
    CHECK_OK(aclrtRecordEvent(own.event, stream));
    CHECK_OK(aclrtLaunchHostFunc(stream, count, &counter));
    CHECK_OK(aclrtMemsetAsync(own.memory, kFew, value, kFew, stream));
    CHECK_OK(g_kernels->launch(stream, counter));
}

void check_work(const Kit &own, const std::atomic<std::uint64_t> &counter, std::uint64_t expected, int value) {
    CHECK(counter == expected);
    const auto *bytes = static_cast<const unsigned char *>(own.memory);
    for (const std::size_t at : {std::size_t{0}, kFew, kBytes - 1, kBytes, 2 * kBytes - 1}) {
        CHECK(bytes[at] == value);
    }
}

bool is_done(aclrtStream stream) {
    aclrtStreamStatus status = ACL_STREAM_STATUS_NOT_READY;
    CHECK_OK(aclrtStreamQuery(stream, &status));
    return status == ACL_STREAM_STATUS_COMPLETE;
}

// --- one device ------------------------------------------------------------------------------------------------------

// Starts the threads of the device before the test, and polls during it: a thread that begins takes the global lock for
// a moment, and so does a thread of the program that sleeps.
void queued_work_does_not_wait_for_another_device() {
    const Pair other(0);
    const Kit own(1);
    const Pair behind(1);
    const Pair opener(1);
    const GateEvent gate;
    std::atomic<std::uint64_t> counter{0};
    enqueue_work(own, own.stream, counter, 1);
    CHECK_OK(aclrtSynchronizeStream(own.stream));
    check_work(own, counter, 4, 1);
    Latch set;
    Latch ready;
    auto all = begin([&] {
        CHECK_OK(aclrtSetDevice(1));
        set.open();
        CHECK(ready.opens());
        gate.close(own.stream);
        enqueue_work(own, own.stream, counter, 2);
        CHECK_OK(aclrtStreamWaitEvent(behind.stream, own.event));
        CHECK_OK(aclrtLaunchHostFunc(behind.stream, count, &counter));
        CHECK(!is_done(own.stream) && !is_done(behind.stream) && counter == 4);
        gate.open(opener.stream);
        while (!is_done(own.stream) || !is_done(behind.stream)) {
            std::this_thread::yield();
        }
        return true;
    });
    CHECK(set.opens());
    {
        const Lock taken = Simulator::get().core.acquire_shard_of(other.stream);
        CHECK(!taken.is_global());
        ready.open();
        CHECK(returns(all));
    }
    CHECK(all.get());
    check_work(own, counter, 9, 2);
}

// --- two devices -----------------------------------------------------------------------------------------------------

// The wait of the other device's stream is over, and the task behind it is done, when the call returns.
void a_queued_record_wakes_a_stream_of_another_device() {
    const Kit waiting(1);
    const Pair recording(0);
    const Pair opener(0);
    const GateEvent gate;
    gate.close(recording.stream);
    CHECK_OK(aclrtRecordEvent(recording.event, recording.stream));
    CHECK_OK(aclrtSetDevice(1));
    CHECK_OK(aclrtStreamWaitEvent(waiting.stream, recording.event));
    CHECK_OK(aclrtMemsetAsync(waiting.memory, kFew, 5, kFew, waiting.stream));
    CHECK(!is_done(waiting.stream));
    CHECK_OK(aclrtSetDevice(0));
    gate.open(opener.stream);
    CHECK(is_done(waiting.stream) && static_cast<const unsigned char *>(waiting.memory)[kFew - 1] == 5);
}

// Tests a wait that is the head of its stream before the awaited record is done, and one that becomes it afterwards.
void a_wait_for_another_device_may_come_late() {
    for (const bool is_late : {false, true}) {
        const Pair waiting(1);
        const GateEvent here;
        const Pair opener(1);
        const Pair recording(0);
        const GateEvent there;
        const Pair far_opener(0);
        there.close(recording.stream);
        CHECK_OK(aclrtRecordEvent(recording.event, recording.stream));
        CHECK_OK(aclrtSetDevice(1));
        here.close(waiting.stream);
        CHECK_OK(aclrtStreamWaitEvent(waiting.stream, recording.event));
        CHECK_OK(aclrtRecordEvent(waiting.event, waiting.stream));
        const auto open_here = [&] {
            CHECK_OK(aclrtSetDevice(1));
            here.open(opener.stream);
        };
        const auto open_there = [&] {
            CHECK_OK(aclrtSetDevice(0));
            there.open(far_opener.stream);
        };
        is_late ? open_there() : open_here();
        CHECK(!is_done(waiting.stream));
        is_late ? open_here() : open_there();
        CHECK_OK(aclrtSetDevice(1));
        CHECK(is_done(waiting.stream));
        CHECK_OK(aclrtSynchronizeEvent(waiting.event));
    }
}

// The timer is shared by all devices. The thread that ends the wait disarms it.
void a_wait_with_a_time_limit_may_be_queued(const Kit &own) {
    const GateEvent gate;
    const Pair opener(own.device);
    const Pair recording(own.device);
    gate.close(recording.stream);
    CHECK_OK(aclrtRecordEvent(recording.event, recording.stream));
    gate.close(own.stream);
    CHECK_OK(aclrtStreamWaitEventWithTimeout(own.stream, recording.event, 1000));
    CHECK_OK(aclrtRecordEvent(own.event, own.stream));
    gate.open(opener.stream);
    CHECK_OK(aclrtSynchronizeStreamWithTimeout(own.stream, 10000));
    CHECK_OK(aclrtSynchronizeStream(recording.stream));
}

// --- the same on two devices at once ---------------------------------------------------------------------------------

// The thread sanitizer detects accesses beyond the shard that is held.

void work_of_a_device(const Kit &own) {
    std::atomic<std::uint64_t> counter{0};
    enqueue_work(own, own.stream, counter, 3);
    enqueue_work(own, own.stream, counter, 4);
    CHECK_OK(aclrtSynchronizeStream(own.stream));
    check_work(own, counter, 8, 4);
}

// Streams of one device wait for each other, and the host waits for the last one.
void streams_in_a_row(const Kit &own) {
    std::atomic<std::uint64_t> counter{0};
    const Pair second(own.device);
    const Pair third(own.device);
    const GateEvent gate;
    gate.close(own.stream);
    enqueue_work(own, own.stream, counter, 5);
    CHECK_OK(aclrtStreamWaitEvent(second.stream, own.event));
    CHECK_OK(g_kernels->launch(second.stream, counter, 5));
    CHECK_OK(aclrtRecordEvent(second.event, second.stream));
    CHECK_OK(aclrtStreamWaitEvent(third.stream, second.event));
    CHECK_OK(aclrtRecordEvent(third.event, third.stream));
    const Pair opener(own.device);
    gate.open(opener.stream);
    CHECK_OK(aclrtSynchronizeEvent(third.event));
    CHECK_OK(aclrtSynchronizeStream(own.stream));
    check_work(own, counter, 9, 5);
}

// The next synchronization of the stream reports the failure of the kernel.
void a_kernel_that_fails(const Kit &own) {
    std::atomic<std::uint64_t> counter{0};
    CHECK_OK(g_kernels->launch_failing(own.stream));
    CHECK_OK(g_kernels->launch(own.stream, counter));
    CHECK_CODE(ACL_ERROR_RT_AICORE_EXCEPTION, aclrtSynchronizeStream(own.stream));
    CHECK(counter == 1);
}

// The arguments of the kernel are freed memory, so it fails in the call that submits it. The reports of failures are
// shared by all devices.
void a_kernel_that_cannot_start(const Kit &own) {
    void *freed = nullptr;
    CHECK_OK(aclrtMalloc(&freed, kFew, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK_OK(aclrtFree(freed));
    CHECK_OK(g_kernels->launch_in_memory(own.stream, freed));
    CHECK_CODE(ACL_ERROR_RT_AICORE_EXCEPTION, aclrtSynchronizeStream(own.stream));
}

// Aborts with the global lock while workers of both devices run tasks.
void an_abort_of_work(const Kit &own) {
    std::atomic<std::uint64_t> counter{0};
    enqueue_work(own, own.stream, counter, 6);
    CHECK_OK(aclrtStreamAbort(own.stream));
    CHECK(counter <= 4);
    CHECK_OK(aclrtSynchronizeStream(own.stream));
}

// Streams of each device record events of both devices and wait for them, in queues that are held back.
void records_of_each_other() {
    const Kit kits[] = {Kit(0), Kit(1)};
    on_two_devices<Kit>([&kits](const Kit &own) {
        const Kit &near = kits[own.device];
        const Kit &far = kits[1 - own.device];
        std::atomic<std::uint64_t> counter{0};
        aclrtEvent kept = nullptr;
        CHECK_OK(aclrtCreateEventWithFlag(&kept, ACL_EVENT_SYNC));
        const Pair opener(own.device);
        const GateEvent gate;
        gate.close(own.stream);
        CHECK_OK(aclrtRecordEvent(far.event, own.stream));
        CHECK_OK(aclrtRecordEvent(near.event, own.stream));
        CHECK_OK(aclrtRecordEvent(kept, own.stream));
        CHECK_OK(aclrtLaunchHostFunc(own.stream, count, &counter));
        CHECK_OK(aclrtStreamWaitEvent(opener.stream, kept));
        CHECK_OK(aclrtDestroyEvent(kept));
        CHECK_OK(aclrtRecordEvent(near.event, near.stream));
        const Pair third(own.device);
        gate.open(third.stream);
        CHECK_OK(aclrtStreamWaitEvent(own.stream, far.event));
        CHECK_OK(aclrtSynchronizeStream(opener.stream));
        CHECK_OK(aclrtSynchronizeStream(own.stream));
        CHECK(counter == 1);
    });
}

// The last launch of a replaced kernel releases it exactly once, regardless of its device.
void kernels_may_go_while_they_run() {
    struct Code {
        std::atomic<int> releases{0};
        static void release(void *self) { ++static_cast<Code *>(self)->releases; }
    };
    Code code;
    std::atomic<bool> is_over{false};
    int registrations = 0;
    std::thread registrar([&] {
        CHECK_OK(aclrtSetDevice(2));
        while (!is_over) {
            const aclsimKernel kernel{count_block, &code, Code::release, 0, 0};
            CHECK_OK(aclsimRegisterKernel("count", &kernel));
            ++registrations;
        }
    });
    on_two_devices<Kit>(work_of_a_device);
    is_over = true;
    registrar.join();
    register_kernel("count", count_block);
    while (code.releases < registrations) {  // a worker may still be releasing the last one
        std::this_thread::yield();
    }
    CHECK(code.releases == registrations);
}

// --- everything at once ----------------------------------------------------------------------------------------------

// Submits work of one device, and waits for events of others. Every host function and every kernel runs once.
void work(Crowd<Kit> &crowd, std::int32_t device) {
    CHECK_OK(aclrtSetDevice(device));
    const Kit own(device);
    std::atomic<std::uint64_t> counter{0};
    std::uint64_t expected = 0;
    std::mt19937 random(static_cast<unsigned>(device));
    const Pair &shared = *crowd.kits[static_cast<std::size_t>(device)];
    for (int round = 0; round < 300; ++round) {
        enqueue_work(own, own.stream, counter, round & 0x7f);
        expected += 4;
        CHECK_OK(aclrtStreamWaitEvent(shared.stream, own.event));
        CHECK_OK(aclrtRecordEvent(shared.event, shared.stream));
        const Pair &any = *crowd.kits[random() % crowd.kits.size()];
        CHECK_OK(aclrtStreamWaitEvent(own.stream, any.event));
        if (random() % 8 == 0) {
            CHECK_OK(aclrtSynchronizeStream(own.stream));
            check_work(own, counter, expected, round & 0x7f);
        }
        if (random() % 64 == 0) {
            CHECK_OK(aclrtSynchronizeDevice());
        }
    }
    CHECK_OK(aclrtSynchronizeStream(own.stream));
    CHECK(counter == expected);
}

// Makes calls that take the global lock, and calls that make all others take it for a while.
void disturb(Crowd<Kit> &crowd) {
    const std::int32_t own = kBusyDevices;
    std::atomic<std::uint64_t> counter{0};
    while (!crowd.is_over) {
        CHECK_OK(aclrtSetDevice(own));
        {
            const Kit kit(own);
            g_kernels->load();
            enqueue_work(kit, kit.stream, counter, 1);
            CHECK_OK(aclrtStreamWaitEvent(kit.stream, crowd.kits[0]->event));
            CHECK_OK(aclsimHold(1));
            enqueue_work(kit, kit.stream, counter, 2);
            CHECK_OK(aclsimHold(0));
            CHECK_OK(aclrtStreamAbort(kit.stream));
        }
        CHECK_OK(aclrtResetDeviceForce(own));
    }
}

struct Gates {
    Latch entered, released;
};

aclError pass_gates(const aclsimKernelBlock *, void *data) {
    auto *gates = static_cast<Gates *>(data);
    gates->entered.open();
    gates->released.wait();
    return ACL_SUCCESS;
}

// The only worker is inside another kernel: the thread that waits runs this one.
void a_limited_wait_runs_a_brief_kernel() {
    constexpr std::int32_t kLimitMs = 60000;
    CHECK_OK(aclrtSetDevice(0));
    Gates gates;
    const aclsimKernel brief{count_block, nullptr, nullptr, 0, 1};
    const aclsimKernel held{pass_gates, &gates, nullptr, 0, 0};
    CHECK_OK(aclsimRegisterKernel("brief", &brief));
    CHECK_OK(aclsimRegisterKernel("held", &held));
    const aclrtBinHandle binary = load_cpu_binary();
    std::array<aclrtFuncHandle, 2> functions{};
    CHECK_OK(aclrtRegisterCpuFunc(binary, "brief", "brief", &functions[0]));
    CHECK_OK(aclrtRegisterCpuFunc(binary, "held", "held", &functions[1]));
    std::atomic<std::uint64_t> counter{0};
    void *arguments = &counter;
    const auto launch = [&](aclrtFuncHandle function, aclrtStream stream) {
        CHECK_OK(aclrtLaunchKernelWithHostArgs(function, 1, stream, nullptr, &arguments, sizeof arguments, nullptr, 0));
    };
    aclrtStream busy = nullptr;
    aclrtStream stream = nullptr;
    CHECK_OK(aclrtCreateStream(&busy));
    CHECK_OK(aclrtCreateStream(&stream));
    launch(functions[1], busy);
    gates.entered.wait();
    launch(functions[0], stream);
    CHECK_OK(aclrtSynchronizeStreamWithTimeout(stream, kLimitMs));
    CHECK(counter == 1);
    gates.released.open();
    CHECK_OK(aclrtSynchronizeStream(busy));
    CHECK_OK(aclrtDestroyStream(busy));
    CHECK_OK(aclrtDestroyStream(stream));
    CHECK_OK(aclrtBinaryUnLoad(binary));
    CHECK_OK(aclsimUnregisterKernel("brief"));
    CHECK_OK(aclsimUnregisterKernel("held"));
}

}  // namespace

int main() {
    setenv("ASCEND_RT_SIM_WORKERS", "1", 1);  // prevents the start of further workers during a test
    const Watchdog watchdog("shard_queues_test", std::chrono::seconds(200));
    g_kernels = std::make_unique<Kernels>();
    queued_work_does_not_wait_for_another_device();
    a_queued_record_wakes_a_stream_of_another_device();
    a_wait_for_another_device_may_come_late();
    on_two_devices<Kit>(a_wait_with_a_time_limit_may_be_queued);
    on_two_devices<Kit>(work_of_a_device);
    on_two_devices<Kit>(streams_in_a_row);
    on_two_devices<Kit>(a_kernel_that_fails);
    std::atomic<std::uint64_t> reported{0};
    g_reported = &reported;
    CHECK_OK(aclrtSetExceptionInfoCallback([](aclrtExceptionInfo *) { ++*g_reported; }));
    on_two_devices<Kit>(a_kernel_that_cannot_start);
    CHECK_OK(aclrtSetExceptionInfoCallback(nullptr));
    CHECK(reported == 1000);
    on_two_devices<Kit>(an_abort_of_work);
    records_of_each_other();
    kernels_may_go_while_they_run();
    a_limited_wait_runs_a_brief_kernel();
    on_busy_devices<Kit>(work, disturb);
    CHECK_OK(aclrtSetDevice(0));
    g_kernels.reset();
}
