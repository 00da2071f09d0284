// SPDX-License-Identifier: Apache-2.0
// Stress test of the C API with many threads: ordering, re-recorded events, destruction while work is pending, host
// functions, hold, and handles that other threads destroy. Run without sanitizers, and under the thread, address and
// undefined behaviour sanitizers.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "concurrent.h"

namespace {

template <class T>
T *device_memory(std::size_t count) {
    void *memory = nullptr;
    CHECK_OK(aclrtMalloc(&memory, count * sizeof(T), ACL_MEM_MALLOC_HUGE_FIRST));
    return static_cast<T *>(memory);
}

// A value travels through a ring of streams, one copy per hop, ordered by one event per stream that is recorded again
// in each round. A wait that is bound to the wrong record makes a wrong value arrive.
void value_travels_through_a_ring() {
    constexpr int kStreams = 8;
    constexpr int kRounds = 200;
    in_threads([](int) {
        std::array<aclrtStream, kStreams> streams{};
        std::array<aclrtEvent, kStreams> events{};
        auto *cells = device_memory<std::uint64_t>(kStreams);
        std::generate(streams.begin(), streams.end(), [] { return new_stream(); });
        std::generate(events.begin(), events.end(), [] { return new_event(); });
        for (std::uint64_t round = 1; round <= kRounds; ++round) {
            CHECK_OK(aclrtMemcpyAsync(&cells[0], 8, &round, 8, ACL_MEMCPY_HOST_TO_DEVICE, streams[0]));
            for (int i = 0; i + 1 < kStreams; ++i) {
                CHECK_OK(aclrtRecordEvent(events[i], streams[i]));
                CHECK_OK(aclrtStreamWaitEvent(streams[i + 1], events[i]));
                CHECK_OK(aclrtMemcpyAsync(&cells[i + 1], 8, &cells[i], 8, ACL_MEMCPY_DEVICE_TO_DEVICE, streams[i + 1]));
            }
            // The next round overwrites cell 0, which stream 1 may still read.
            CHECK_OK(aclrtRecordEvent(events[kStreams - 1], streams[kStreams - 1]));
            CHECK_OK(aclrtStreamWaitEvent(streams[0], events[kStreams - 1]));
            std::uint64_t arrived = 0;
            CHECK_OK(aclrtMemcpyAsync(&arrived, 8, &cells[kStreams - 1], 8, ACL_MEMCPY_DEVICE_TO_HOST,
                                      streams[kStreams - 1]));
            CHECK(arrived == round);
        }
        for (int i = 0; i < kStreams; ++i) {
            CHECK_OK(aclrtDestroyEvent(events[i]));
            CHECK_OK(aclrtDestroyStream(streams[i]));
        }
        CHECK_OK(aclrtFree(cells));
    });
}

// Random operations on shared streams and events while other threads destroy and create them: every code is an expected
// one, and no call crashes or hangs.
void handles_are_shared_and_destroyed() {
    constexpr int kObjects = 16;
    constexpr int kSteps = 3000;
    static std::array<std::atomic<aclrtStream>, kObjects> streams;
    static std::array<std::atomic<aclrtEvent>, kObjects> events;
    for (int i = 0; i < kObjects; ++i) {
        streams[i] = new_stream();
        events[i] = new_event(i % 2 == 0 ? ACL_EVENT_SYNC : ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE);
    }
    // Every copy has a different destination, because copies on different streams are not ordered.
    static std::uint64_t *memory = device_memory<std::uint64_t>(kThreads * kSteps + 1);
    in_threads([](int thread) {
        const auto expected = [](aclError code) {
            return code == ACL_SUCCESS || code == ACL_ERROR_RT_INVALID_HANDLE || code == ACL_ERROR_RT_STREAM_ABORT ||
                   code == ACL_ERROR_RT_STREAM_SYNC_TIMEOUT || code == ACL_ERROR_RT_EVENT_SYNC_TIMEOUT ||
                   code == ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID || code == ACL_ERROR_RT_INTERNAL_ERROR;
        };
        std::mt19937 random(static_cast<unsigned>(thread));
        for (int step = 0; step < kSteps; ++step) {
            const std::size_t i = random() % kObjects;
            const std::size_t j = random() % kObjects;
            aclrtEventRecordedStatus status{};
            float ms = 0;
            switch (random() % 12) {
                case 0:
                    CHECK(expected(aclrtDestroyEvent(events[i].exchange(new_event()))));
                    break;
                case 1:
                    CHECK(expected(aclrtDestroyStreamForce(streams[i].exchange(new_stream()))));
                    break;
                case 2:
                    CHECK(expected(aclrtSynchronizeEventWithTimeout(events[i], 1)));
                    break;
                case 3:
                    CHECK(expected(aclrtSynchronizeStreamWithTimeout(streams[i], 1)));
                    break;
                case 4:
                    CHECK(expected(aclrtQueryEventStatus(events[i], &status)));
                    break;
                case 5:
                    CHECK(expected(aclrtEventElapsedTime(&ms, events[i], events[j])));
                    break;
                case 6:
                    CHECK(expected(aclrtStreamAbort(streams[i])));
                    break;
                case 7:
                case 8:
                    CHECK(expected(aclrtMemcpyAsync(&memory[thread * kSteps + step + 1], 8, memory, 8,
                                                    ACL_MEMCPY_DEVICE_TO_DEVICE, streams[i])));
                    break;
                case 9:
                    CHECK(expected(aclrtStreamWaitEvent(streams[i], events[j])));
                    break;
                default:
                    CHECK(expected(aclrtRecordEvent(events[j], streams[i])));
                    break;
            }
        }
    });
    for (int i = 0; i < kObjects; ++i) {
        CHECK_OK(aclrtDestroyEvent(events[i]));
        CHECK_OK(aclrtDestroyStreamForce(streams[i]));
    }
    CHECK_OK(aclrtFree(memory));
}

// Host functions of all streams of a context run one at a time, in the order of each stream.
void host_functions_keep_their_order() {
    constexpr int kCalls = 500;
    struct Counter {
        int value = 0;
        int expected_next = 0;
    };
    static int running = 0;  // not atomic, so that the sanitizer detects concurrent host functions
    struct Call {
        Counter *counter;
        int number;
    };
    static std::array<std::vector<Call>, kThreads> calls;
    static std::array<Counter, kThreads> counters;
    in_threads([](int thread) {
        aclrtStream stream = new_stream();
        for (int i = 0; i < kCalls; ++i) {
            calls[thread].push_back({&counters[thread], i});
        }
        for (Call &call : calls[thread]) {
            CHECK_OK(aclrtLaunchHostFunc(
                stream,
                [](void *argument) {
                    const Call &made = *static_cast<Call *>(argument);
                    CHECK(++running == 1);
                    CHECK(made.counter->expected_next++ == made.number);
                    ++made.counter->value;
                    --running;
                },
                &call));
        }
        CHECK_OK(aclrtSynchronizeStream(stream));
        CHECK(counters[thread].value == kCalls);
        CHECK_OK(aclrtDestroyStream(stream));
    });
}

// No task starts while the devices are held; afterwards all submitted tasks run.
void hold_pauses_every_stream() {
    aclrtStream stream = new_stream();
    aclrtEvent event = new_event();
    auto *cell = device_memory<std::uint64_t>(1);
    CHECK_OK(aclrtMemset(cell, 8, 0, 8));
    for (int round = 0; round < 50; ++round) {
        CHECK(aclsimHold(1) == 0);
        CHECK_OK(aclrtMemsetAsync(cell, 8, round + 1, 8, stream));
        CHECK_OK(aclrtRecordEvent(event, stream));
        aclrtEventRecordedStatus status{};
        CHECK_OK(aclrtQueryEventStatus(event, &status));
        CHECK(status == ACL_EVENT_RECORDED_STATUS_NOT_READY);
        CHECK_CODE(ACL_ERROR_RT_EVENT_SYNC_TIMEOUT, aclrtSynchronizeEventWithTimeout(event, 1));
        std::thread release([] { CHECK(aclsimHold(0) == 0); });
        CHECK_OK(aclrtSynchronizeEvent(event));
        release.join();
        std::uint64_t value = 0;
        CHECK_OK(aclrtMemcpy(&value, 8, cell, 8, ACL_MEMCPY_DEVICE_TO_HOST));
        CHECK(value == 0x0101010101010101ULL * static_cast<unsigned>(round + 1));
    }
    CHECK_OK(aclrtDestroyEvent(event));
    CHECK_OK(aclrtDestroyStream(stream));
    CHECK_OK(aclrtFree(cell));
}

// A stream that is aborted while it is held and then used again must be resumed once, not twice.
void abort_while_held_leaves_no_trace() {
    aclrtStream stream = new_stream();
    auto *cells = device_memory<std::uint64_t>(2);
    for (int round = 0; round < 50; ++round) {
        CHECK(aclsimHold(1) == 0);
        for (int i = 0; i < 3; ++i) {
            CHECK_OK(aclrtMemcpyAsync(&cells[0], 8, &cells[1], 8, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
            CHECK_OK(aclrtStreamAbort(stream));
        }
        CHECK_OK(aclrtMemcpyAsync(&cells[0], 8, &cells[1], 8, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
        CHECK(aclsimHold(0) == 0);
        CHECK_OK(aclrtSynchronizeStream(stream));
    }
    CHECK_OK(aclrtDestroyStream(stream));
    CHECK_OK(aclrtFree(cells));
}

// Tasks of a persistent stream are kept, not executed, so a full queue is an error and does not make the call wait.
void full_persistent_queue_is_an_error() {
    aclrtStream stream = nullptr;
    CHECK_OK(aclrtCreateStreamWithConfig(&stream, 0, ACL_STREAM_PERSISTENT));
    aclrtEvent event = new_event();
    aclError code = ACL_SUCCESS;
    for (int i = 0; i < 10000 && code == ACL_SUCCESS; ++i) {
        code = aclrtRecordEvent(event, stream);
    }
    CHECK(code == ACL_ERROR_RT_STREAM_TASK_FULL);
    CHECK_OK(aclrtDestroyEvent(event));
    CHECK_OK(aclrtDestroyStream(stream));
}

// A submission to a full queue waits for a place, and the queue is bounded.
void full_queue_blocks_the_submitter() {
    constexpr int kTasks = 6000;  // about three times the queue of any product
    aclrtStream stream = new_stream();
    auto *cell = device_memory<std::uint64_t>(2);
    CHECK(aclsimHold(1) == 0);
    std::atomic<int> submitted{0};
    std::thread submitter([&] {
        CHECK_OK(aclrtSetDevice(0));
        for (int i = 0; i < kTasks; ++i) {
            CHECK_OK(aclrtMemcpyAsync(&cell[0], 8, &cell[1], 8, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
            submitted.fetch_add(1);
        }
        CHECK_OK(aclrtResetDevice(0));
    });
    while (submitted.load() < 1000) {
        std::this_thread::yield();
    }
    aclrtStreamStatus status{};
    CHECK_OK(aclrtStreamQuery(stream, &status));
    CHECK(status == ACL_STREAM_STATUS_NOT_READY);
    CHECK(submitted.load() < kTasks);
    CHECK(aclsimHold(0) == 0);
    submitter.join();
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK_OK(aclrtDestroyStream(stream));
    CHECK_OK(aclrtFree(cell));
}

// An interrupted call submits nothing. The check is called on the waiting thread.
void an_interrupted_submitter_gives_up() {
    static thread_local int asked = 0;
    constexpr int kTimes = 3;  // calls of the check until the interruption
    CHECK_OK(aclsimSetInterruptCheck([] { return static_cast<std::int32_t>(++asked == kTimes); }));
    aclrtStream stream = new_stream();
    auto *cell = device_memory<std::uint64_t>(2);
    CHECK(aclsimHold(1) == 0);
    int submitted = 0;
    aclError code = ACL_SUCCESS;
    while (code == ACL_SUCCESS) {
        code = aclrtMemcpyAsync(&cell[0], 8, &cell[1], 8, ACL_MEMCPY_DEVICE_TO_DEVICE, stream);
        submitted += code == ACL_SUCCESS ? 1 : 0;
    }
    CHECK(code == ACL_ERROR_RT_STREAM_TASK_FULL);
    CHECK(asked == kTimes);
    CHECK(submitted > 1000);
    CHECK(aclsimHold(0) == 0);
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK_OK(aclsimSetInterruptCheck(nullptr));
    CHECK_OK(aclrtMemcpyAsync(&cell[0], 8, &cell[1], 8, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK_OK(aclrtDestroyStream(stream));
    CHECK_OK(aclrtFree(cell));
}

// A subscribed thread runs blocking callbacks inside aclrtProcessReport; the stream continues after them.
void subscribed_thread_runs_callbacks() {
    static std::atomic<int> calls{0};
    aclrtStream stream = new_stream();
    std::atomic<bool> stop{false};
    std::atomic<std::uint64_t> id{0};
    std::thread reporter([&] {
        CHECK_OK(aclrtSetDevice(0));
        id = static_cast<std::uint64_t>(pthread_self());
        while (!stop.load()) {
            const aclError code = aclrtProcessReport(10);
            CHECK(code == ACL_SUCCESS || code == ACL_ERROR_RT_REPORT_TIMEOUT || code == ACL_ERROR_RT_THREAD_SUBSCRIBE);
        }
        CHECK_OK(aclrtResetDevice(0));
    });
    while (id.load() == 0) {
        std::this_thread::yield();
    }
    CHECK_OK(aclrtSubscribeReport(id, stream));
    for (int i = 1; i <= 50; ++i) {
        CHECK_OK(aclrtLaunchCallback([](void *) { ++calls; }, nullptr, ACL_CALLBACK_BLOCK, stream));
        CHECK_OK(aclrtSynchronizeStream(stream));
        CHECK(calls.load() == i);
    }
    CHECK_OK(aclrtUnSubscribeReport(id, stream));
    stop = true;
    reporter.join();
    CHECK_OK(aclrtDestroyStream(stream));
}

// One thread aborts the device again and again while others create streams and contexts, submit, wait and destroy.
// State callbacks that call the API run meanwhile, twice for every stream.
void device_is_aborted_while_it_works() {
    constexpr int kSteps = 200;
    static std::atomic<int> created{0};
    static std::atomic<int> destroyed{0};
    static std::atomic<int> working{kThreads - 1};
    static aclrtEvent never = nullptr;
    CHECK_OK(aclrtCreateEventWithFlag(&never, ACL_EVENT_SYNC));
    const auto count = [](aclrtStream stream, aclrtStreamState state, void *) {
        std::int32_t id = -1;
        CHECK_OK(aclrtStreamGetId(stream, &id));
        ++(state == ACL_RT_STREAM_STATE_CREATE_POST ? created : destroyed);
    };
    CHECK_OK(aclrtRegStreamStateCallback("count", count, nullptr));
    in_threads([](int thread) {
        const auto expected = [](aclError code) {
            return code == ACL_SUCCESS || code == ACL_ERROR_RT_DEVICE_TASK_ABORT;
        };
        if (thread == 0) {
            const auto look = [](std::int32_t, aclrtDeviceTaskAbortStage, std::uint32_t, void *) -> std::int32_t {
                CHECK_CODE(ACL_ERROR_RT_DEVICE_TASK_ABORT, aclrtSynchronizeStream(nullptr));
                return 0;
            };
            while (working.load() > 0) {
                CHECK_OK(aclrtSetDeviceTaskAbortCallback("look", look, nullptr));
                CHECK_OK(aclrtDeviceTaskAbort(0, 0));
                CHECK_OK(aclrtSetDeviceTaskAbortCallback("look", nullptr, nullptr));
            }
            return;
        }
        auto *cells = device_memory<std::uint64_t>(2);
        for (int step = 0; step < kSteps; ++step) {
            aclrtContext context = nullptr;
            if (step % 4 == 0) {
                CHECK_OK(aclrtCreateContext(&context, 0));
            }
            aclrtStream stream = new_stream();
            CHECK(expected(aclrtMemcpyAsync(&cells[0], 8, &cells[1], 8, ACL_MEMCPY_DEVICE_TO_DEVICE,
                                            step % 2 ? stream : nullptr)));
            CHECK(expected(aclrtStreamWaitEvent(stream, never)));
            CHECK(expected(aclrtMemcpyAsync(&cells[0], 8, &cells[1], 8, ACL_MEMCPY_DEVICE_TO_DEVICE, stream)));
            CHECK(expected(aclrtSynchronizeStream(stream)));
            CHECK(expected(aclrtSynchronizeDevice()));
            CHECK_OK(step % 3 == 0 ? aclrtDestroyStreamForce(stream) : aclrtDestroyStream(stream));
            if (context != nullptr) {
                CHECK_OK(aclrtDestroyContext(context));
                CHECK_OK(aclrtSetDevice(0));
                CHECK_OK(aclrtResetDevice(0));
            }
        }
        CHECK_OK(aclrtFree(cells));
        --working;
    });
    CHECK_OK(aclrtRegStreamStateCallback("count", nullptr, nullptr));
    CHECK(created.load() == destroyed.load());
    CHECK(created.load() == (kThreads - 1) * (kSteps + kSteps / 4));
    CHECK_OK(aclrtDestroyEvent(never));
}

// A wait with a time limit fails on the waiting stream, and the failure is reported once.
void timed_wait_fails_at_the_next_synchronization() {
    aclrtStream stream = new_stream();
    aclrtEvent never = nullptr;
    CHECK_OK(aclrtCreateEventWithFlag(&never, ACL_EVENT_SYNC));
    CHECK_OK(aclrtStreamWaitEventWithTimeout(stream, never, 1));
    CHECK_CODE(ACL_ERROR_RT_TASK_TIMEOUT, aclrtSynchronizeStream(stream));
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK_OK(aclrtDestroyEvent(never));
    CHECK_OK(aclrtDestroyStream(stream));
}

}  // namespace

int main() {
    CHECK_OK(aclInit(nullptr));
    CHECK_OK(aclrtSetDevice(0));
    value_travels_through_a_ring();
    handles_are_shared_and_destroyed();
    host_functions_keep_their_order();
    hold_pauses_every_stream();
    abort_while_held_leaves_no_trace();
    full_persistent_queue_is_an_error();
    full_queue_blocks_the_submitter();
    an_interrupted_submitter_gives_up();
    subscribed_thread_runs_callbacks();
    timed_wait_fails_at_the_next_synchronization();
    device_is_aborted_while_it_works();
    CHECK_OK(aclrtResetDevice(0));
    CHECK_OK(aclFinalize());
    std::puts("native stress: all passed");
    return 0;
}
