// SPDX-License-Identifier: Apache-2.0
// Chaos test of eight devices. Threads share all handles: streams, events, notifies, buffers, graphs and contexts are
// used while other threads destroy them or reset their devices, and another process records some of the events. The
// library must not crash or hang, and must work afterwards. Usage: chaos_test [SEED [STEPS]].
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "latch.h"

// Random calls may make several streams write the same memory at the same time. That race is the test's, not the
// library's.
extern "C" const char *__tsan_default_suppressions() { return "race:Transfer::move\nrace:Pattern::write\n"; }

namespace {

constexpr int kThreads = 8;
constexpr std::int32_t kDevices = 8;
constexpr std::size_t kBytes = 64 * 1024;
constexpr std::size_t kBurst = 12;  // upper bound of the tasks between two calls of look()
constexpr int kFlood = 2100;
constexpr std::uint64_t kDelay_us = 20;  // keeps streams busy, so that queues grow
constexpr int kLimit_ms = 5;
constexpr std::uint32_t kLimit_s = 1;

// Handles that were valid when they were stored. Any thread may have destroyed them since.
template <std::size_t count>
using Shared = std::array<std::atomic<void *>, count>;

struct Handles {
    Shared<16> streams{};
    Shared<16> events{};
    Shared<4> notifies{};
    Shared<8> buffers{};
    Shared<4> contexts{};
    Shared<4> graphs{};
    int peer = -1;  // pipe to the other process
};

// Without aborts every wait is ended by its record, so no call needs a time limit. An abort or a forced reset may drop
// the record of a wait; another abort then ends the wait.
enum class Manner : std::uint8_t { Orderly, Forceful };

void count_one(void *counter) { ++*static_cast<std::atomic<int> *>(counter); }
std::atomic<int> g_functions{0};

// Random calls of one thread. Their results depend on the other threads, so nearly all of them are ignored.
class Player {
  public:
    Player(Handles &handles, unsigned seed, Manner manner) : handles_(handles), random_(seed), manner_(manner) {}

    void play(int steps) {
        for (int step = 0; step < steps; ++step) {
            if (below(16) == 0) {
                change_surroundings();
            }
            if (below(512) == 0) {
                flood();
            }
            if (manner_ == Manner::Forceful && below(8) == 0) {
                use_force();
            }
            renew();
            if (below(8) == 0) {
                capture();
            }
            for (std::size_t i = below(kBurst); i > 0; --i) {
                submit(any(handles_.streams));
            }
            look();
        }
    }

  private:
    std::size_t below(std::size_t end) { return random_() % end; }
    template <std::size_t count>
    void *any(const Shared<count> &shared) {
        return shared[below(count)];
    }
    template <std::size_t count>
    void *replace(Shared<count> &shared, void *handle) {
        return shared[below(count)].exchange(handle);
    }
    std::int32_t device() { return static_cast<std::int32_t>(below(kDevices)); }

    // Changes the device or context of the thread.
    void change_surroundings() {
        aclrtContext context = nullptr;
        switch (below(4)) {
            case 0:
                (void)aclrtSetDevice(device());
                break;
            case 1:
                (void)aclrtResetDevice(device());
                (void)aclrtSetDevice(device());
                break;
            case 2:
                (void)aclrtCreateContext(&context, device());
                (void)aclrtDestroyContext(replace(handles_.contexts, context));
                break;
            default:
                (void)aclrtSetCurrentContext(any(handles_.contexts));
        }
    }

    // Submits more tasks than a queue holds: the call waits for a place while others may destroy the stream.
    void flood() {
        for (const auto &stream : handles_.streams) {
            void *const flooded = stream;
            void *const event = any(handles_.events);
            for (int i = 0; i < kFlood && aclrtRecordEvent(event, flooded) == ACL_SUCCESS; ++i) {
            }
        }
    }

    void use_force() {
        switch (below(4)) {
            case 0:
                (void)aclrtStreamAbort(any(handles_.streams));
                break;
            case 1:
                (void)aclrtDestroyStreamForce(any(handles_.streams));
                break;
            case 2:
                (void)aclrtDeviceTaskAbort(device(), 0);
                break;
            default:
                (void)aclrtResetDeviceForce(device());
                (void)aclrtSetDevice(device());
        }
    }

    void renew() {
        void *fresh = nullptr;
        switch (below(8)) {
            case 0:
                (void)aclrtCreateStream(&fresh);
                (void)aclrtDestroyStream(replace(handles_.streams, fresh));
                break;
            case 1:
                (void)aclrtCreateEventExWithFlag(&fresh, ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE);
                (void)aclrtDestroyEvent(replace(handles_.events, fresh));
                break;
            case 2:
                (void)aclrtCreateEvent(&fresh);
                (void)aclrtDestroyEvent(replace(handles_.events, fresh));
                break;
            case 3:
                (void)aclrtCreateNotify(&fresh, ACL_NOTIFY_DEFAULT);
                (void)aclrtDestroyNotify(replace(handles_.notifies, fresh));
                break;
            case 4:
                (void)aclrtMalloc(&fresh, kBytes, ACL_MEM_MALLOC_HUGE_FIRST);
                (void)aclrtFree(replace(handles_.buffers, fresh));
                break;
            case 5:
                (void)aclrtDestroyEvent(replace(handles_.events, shared_event()));
                break;
            default:
                break;
        }
    }

    // Creates an event that the other process records too, unless the pipe to that process is full.
    void *shared_event() {
        aclrtEvent event = nullptr;
        aclrtIpcEventHandle reported{};
        if (aclrtCreateEventExWithFlag(&event, ACL_EVENT_IPC) == ACL_SUCCESS &&
            aclrtIpcGetEventHandle(event, &reported) == ACL_SUCCESS) {
            CHECK(write(handles_.peer, &reported, sizeof reported) == sizeof reported || errno == EAGAIN);
        }
        return event;
    }

    void capture() {
        aclrtStream stream = nullptr;
        aclmdlRI graph = nullptr;
        (void)aclrtCreateStream(&stream);
        (void)aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED);
        for (std::size_t i = below(4); i > 0; --i) {
            submit(stream);
        }
        (void)aclmdlRICaptureEnd(stream, &graph);
        (void)aclmdlRIDestroy(replace(handles_.graphs, graph));
        (void)aclrtDestroyStream(stream);
    }

    void submit(void *stream) {
        void *const event = any(handles_.events);
        std::uint8_t unused = 0;
        switch (below(11)) {
            case 0:
            case 1:
                (void)aclrtRecordEvent(event, stream);
                break;
            case 2:
            case 3:
                (void)aclrtStreamWaitEvent(stream, event);
                break;
            case 4:
                (void)aclrtStreamWaitEventWithTimeout(stream, event, kLimit_s);
                break;
            case 5:
                (void)aclrtMemsetAsync(any(handles_.buffers), kBytes, 1, kBytes, stream);
                break;
            case 6:
                (void)aclrtMemcpyAsync(any(handles_.buffers), kBytes, any(handles_.buffers), kBytes,
                                       ACL_MEMCPY_DEVICE_TO_DEVICE, stream);
                break;
            case 7:
                (void)aclrtLaunchHostFunc(stream, count_one, &g_functions);
                break;
            case 8:
                (void)aclrtRecordNotify(any(handles_.notifies), stream);
                break;
            case 9:
                (void)aclmdlRIExecuteAsync(any(handles_.graphs), stream);
                break;
            default:
                (void)aclrtProfTrace(&unused, 1, stream);
        }
    }

    void look() {
        void *const stream = any(handles_.streams);
        void *const event = any(handles_.events);
        aclrtStreamStatus stream_status{};
        aclrtEventRecordedStatus event_status{};
        float ms = 0;
        switch (below(10)) {
            case 0:
                (void)aclrtStreamQuery(stream, &stream_status);
                break;
            case 1:
                (void)aclrtQueryEventStatus(event, &event_status);
                break;
            case 2:
                (void)aclrtEventElapsedTime(&ms, event, any(handles_.events));
                break;
            case 3:
                (void)aclrtSynchronizeStream(stream);
                break;
            case 4:
                (void)aclrtSynchronizeEvent(event);
                break;
            case 5:
                (void)aclrtSynchronizeDevice();
                break;
            case 6:
                (void)aclrtSynchronizeStreamWithTimeout(stream, kLimit_ms);
                break;
            case 7:
                (void)aclrtSynchronizeEventWithTimeout(event, kLimit_ms);
                break;
            case 8:
                (void)aclrtSynchronizeDeviceWithTimeout(kLimit_ms);
                break;
            default:
                (void)aclrtStreamStop(stream);
        }
    }

    Handles &handles_;
    std::mt19937 random_;
    const Manner manner_;
};

// Lets queues grow from time to time, and ends waits whose record was dropped by an abort.
void stir(const std::atomic<bool> &is_over, Manner manner) {
    while (!is_over) {
        (void)aclsimHold(1);
        std::this_thread::yield();
        (void)aclsimHold(0);
        for (std::int32_t device = 0; manner == Manner::Forceful && device < kDevices; ++device) {
            (void)aclrtDeviceTaskAbort(device, 0);
        }
        std::this_thread::yield();
    }
}

void tear_down(Handles &handles) {
    for (void *stream : handles.streams) {
        (void)aclrtDestroyStream(stream);
    }
    for (void *event : handles.events) {
        (void)aclrtDestroyEvent(event);
    }
    for (void *notify : handles.notifies) {
        (void)aclrtDestroyNotify(notify);
    }
    for (void *graph : handles.graphs) {
        (void)aclmdlRIDestroy(graph);
    }
    for (void *context : handles.contexts) {
        (void)aclrtDestroyContext(context);
    }
    for (std::int32_t device = 0; device < kDevices; ++device) {
        while (aclrtResetDevice(device) == ACL_SUCCESS) {
        }
    }
}

void chaos(unsigned seed, int steps, Manner manner, int peer) {
    Handles handles;
    handles.peer = peer;
    std::vector<std::thread> threads;
    for (unsigned thread = 0; thread < kThreads; ++thread) {
        threads.emplace_back([&handles, seed, steps, manner, thread] {
            CHECK_OK(aclrtSetDevice(static_cast<std::int32_t>(thread % kDevices)));
            Player(handles, seed * kThreads + thread, manner).play(steps);
        });
    }
    std::atomic<bool> is_over{false};
    std::thread stirrer([&] { stir(is_over, manner); });
    for (std::thread &thread : threads) {
        thread.join();
    }
    tear_down(handles);
    is_over = true;
    stirrer.join();
}

// Work of the other process, until the pipe is closed.
void use_shared_events(int pipe) {
    aclrtIpcEventHandle reported{};
    for (std::int32_t device = 0; read(pipe, &reported, sizeof reported) == sizeof reported;
         device = (device + 1) % kDevices) {
        aclrtStream stream = nullptr;
        aclrtEvent event = nullptr;
        CHECK_OK(aclrtSetDevice(device));
        CHECK_OK(aclrtCreateStream(&stream));
        if (aclrtIpcOpenEventHandle(reported, &event) == ACL_SUCCESS) {  // fails if the event has been destroyed
            (void)aclrtStreamWaitEvent(stream, event);
            (void)aclrtRecordEvent(event, stream);
            (void)aclrtSynchronizeStreamWithTimeout(stream, kLimit_ms);
            CHECK_OK(aclrtDestroyEvent(event));
        }
        CHECK_OK(aclrtDestroyStreamForce(stream));
    }
}

struct Peer {
    Peer() {
        int ends[2] = {};
        CHECK(::pipe(ends) == 0);
        process = fork();
        CHECK(process >= 0);
        if (process == 0) {
            close(ends[1]);
            use_shared_events(ends[0]);
            _exit(0);
        }
        close(ends[0]);
        pipe = ends[1];
        CHECK(fcntl(pipe, F_SETFL, O_NONBLOCK) == 0);
    }
    ~Peer() {
        close(pipe);
        int status = 0;
        CHECK(waitpid(process, &status, 0) == process && status == 0);
    }
    Peer(const Peer &) = delete;
    Peer &operator=(const Peer &) = delete;

    pid_t process = -1;
    int pipe = -1;
};

std::size_t free_memory() {
    std::size_t free_bytes = 0;
    std::size_t total_bytes = 0;
    CHECK_OK(aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total_bytes));
    return free_bytes;
}

std::size_t free_memory_at_first() {
    CHECK_OK(aclrtSetDevice(0));
    const std::size_t bytes = free_memory();
    CHECK_OK(aclrtResetDevice(0));
    return bytes;
}

void everything_is_given_back(std::size_t free_at_first) {
    CHECK_OK(aclrtSetDevice(0));
    CHECK(free_memory() == free_at_first);
    aclrtStream stream = nullptr;
    aclrtEvent event = nullptr;
    CHECK_OK(aclrtCreateStream(&stream));
    CHECK_OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
    CHECK_OK(aclrtRecordEvent(event, stream));
    CHECK_OK(aclrtSynchronizeEvent(event));
    CHECK_OK(aclrtDestroyEvent(event));
    CHECK_OK(aclrtResetDevice(0));
}

}  // namespace

int main(int count, char **arguments) {
    setenv("ASCEND_RT_SIM_DEVICES", std::to_string(kDevices).c_str(), 1);
    setenv("ASCEND_RT_SIM_STALL_MS", "10000", 0);  // explains a hang before the watchdog aborts
    const auto seed = static_cast<unsigned>(count > 1 ? std::atoi(arguments[1]) : 1);
    const int steps = count > 2 ? std::atoi(arguments[2]) : 500;
    const Peer peer;  // fork before this process has threads
    const Watchdog watchdog("chaos_test", std::chrono::seconds(180));
    CHECK_OK(aclInit(nullptr));
    const std::size_t free_at_first = free_memory_at_first();
    CHECK_OK(aclsimDelayTasks(nullptr, kDelay_us));
    for (const Manner manner : {Manner::Orderly, Manner::Forceful}) {
        chaos(seed, steps, manner, peer.pipe);
        everything_is_given_back(free_at_first);
    }
    CHECK_OK(aclFinalize());
    CHECK(g_functions > 0);
    return 0;
}
