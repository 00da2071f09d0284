// SPDX-License-Identifier: Apache-2.0
// Stress test of waits other than those for events, with many threads: notifies, values in memory, failures of tasks
// and their reports, delays. Run without sanitizers, and under the thread, address and undefined behaviour sanitizers.
#include <malloc.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "api/simulator.h"
#include "concurrent.h"
#include "latch.h"

using aclsim::Lock;
using aclsim::Simulator;

namespace {

constexpr int kRounds = 200;
constexpr aclError kFailure = ACL_ERROR_RT_AICORE_EXCEPTION;

// Two streams pass the turn to each other; each round needs the one before.
void notifies_pass_the_turn() {
    in_threads([](int) {
        aclrtStream streams[2] = {new_stream(), new_stream()};
        aclrtNotify turns[2] = {};
        for (aclrtNotify &turn : turns) {
            CHECK_OK(aclrtCreateNotify(&turn, 0));
        }
        for (int round = 0; round < kRounds; ++round) {
            CHECK_OK(aclrtWaitAndResetNotify(turns[0], streams[1], 0));
            CHECK_OK(aclrtRecordNotify(turns[1], streams[1]));
            CHECK_OK(aclrtRecordNotify(turns[0], streams[0]));
            CHECK_OK(aclrtWaitAndResetNotify(turns[1], streams[0], 0));
        }
        for (int i = 0; i < 2; ++i) {
            CHECK_OK(aclrtSynchronizeStream(streams[i]));
            CHECK_OK(aclrtDestroyNotify(turns[i]));
            CHECK_OK(aclrtDestroyStream(streams[i]));
        }
    });
}

// Streams of different threads wait for values that other threads write.
void values_count_up() {
    void *memory = nullptr;
    CHECK_OK(aclrtMalloc(&memory, kThreads * sizeof(std::uint64_t), ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK_OK(aclrtMemset(memory, kThreads * sizeof(std::uint64_t), 0, kThreads * sizeof(std::uint64_t)));
    auto *values = static_cast<std::uint64_t *>(memory);
    in_threads([values](int thread) {
        const aclrtStream stream = new_stream();
        std::uint64_t *mine = values + thread;
        std::uint64_t *next = values + (thread + 1) % kThreads;
        for (std::uint64_t round = 1; round <= kRounds; ++round) {
            if (thread != 0) {
                CHECK_OK(aclrtValueWait(mine, round, ACL_STREAM_WAIT_VALUE_GEQ, stream));
            }
            CHECK_OK(aclrtValueWrite(next, round, 0, stream));
            if (thread == 0) {
                CHECK_OK(aclrtValueWait(mine, round, ACL_STREAM_WAIT_VALUE_GEQ, stream));
            }
        }
        CHECK_OK(aclrtSynchronizeStream(stream));
        CHECK_OK(aclrtDestroyStream(stream));
    });
    for (int thread = 0; thread < kThreads; ++thread) {
        CHECK(values[thread] == kRounds);
    }
    CHECK_OK(aclrtFree(memory));
}

std::array<std::atomic<int>, 64> g_reported{};  // by number of the stream

void count(aclrtExceptionInfo *info) {
    CHECK(aclrtGetErrorCodeFromExceptionInfo(info) == static_cast<std::uint32_t>(kFailure));
    ++g_reported.at(aclrtGetStreamIdFromExceptionInfo(info));
}

// Tasks of each thread fail. The callback has returned when the synchronization reports the failure.
void failures_are_reported() {
    CHECK_OK(aclrtExceptionInfoCallbackRegister(count));
    in_threads([](int) {
        const aclrtStream stream = new_stream();
        std::int32_t id = 0;
        CHECK_OK(aclrtStreamGetId(stream, &id));
        const std::atomic<int> &reported = g_reported.at(static_cast<std::size_t>(id));
        const int before = reported;  // waits of earlier streams with this number
        for (int round = 0; round < kRounds; ++round) {
            CHECK_OK(aclsimFailTask(stream, 1, kFailure));
            std::uint8_t unused = 0;
            CHECK_OK(aclrtProfTrace(&unused, 1, stream));
            CHECK_CODE(kFailure, aclrtSynchronizeStream(stream));
            CHECK(reported == before + round + 1);
            CHECK_OK(aclrtSynchronizeStream(stream));
        }
        CHECK_OK(aclrtDestroyStream(stream));
    });
    CHECK_OK(aclrtExceptionInfoCallbackUnregister(count));
    CHECK_OK(aclsimClearFaults());
}

bool does_a_thread_wait() {
    const Lock lock = Simulator::get().core.acquire();
    return !Simulator::get().core.host_waits().empty();
}

// A task fails on an idle stream while the synchronization of the device waits for another stream. Either this
// synchronization or the next one reports the failure, but not both.
void a_failure_beside_a_wait_is_reported_once() {
    CHECK_OK(aclrtSynchronizeDevice());  // consumes failures of earlier tests
    const aclrtStream idle = new_stream();
    const aclrtStream busy = new_stream();
    aclrtEvent gate = nullptr;
    CHECK_OK(aclrtCreateEventWithFlag(&gate, ACL_EVENT_SYNC));
    CHECK_OK(aclrtStreamWaitEvent(busy, gate));
    auto synchronization = begin([] {
        CHECK_OK(aclrtSetDevice(0));
        const aclError code = aclrtSynchronizeDevice();
        CHECK_OK(aclrtResetDevice(0));
        return code;
    });
    while (!does_a_thread_wait()) {
        std::this_thread::yield();
    }
    std::uint8_t unused = 0;
    CHECK_OK(aclsimFailTask(idle, 1, kFailure));
    CHECK_OK(aclrtProfTrace(&unused, 1, idle));
    CHECK_OK(aclsimClearFaults());
    CHECK_OK(aclrtRecordEvent(gate, idle));
    CHECK(returns(synchronization));
    const aclError first = synchronization.get();
    const aclError second = aclrtSynchronizeDevice();
    CHECK((first == kFailure && second == ACL_SUCCESS) || (first == ACL_SUCCESS && second == kFailure));
    CHECK_OK(aclrtSynchronizeDevice());
    CHECK_OK(aclrtDestroyEvent(gate));
    CHECK_OK(aclrtDestroyStream(busy));
    CHECK_OK(aclrtDestroyStream(idle));
}

// Delayed tasks keep their order, and a stream may be aborted while its head is delayed.
void delays_keep_the_order() {
    in_threads([](int thread) {
        const aclrtStream stream = new_stream();
        std::uint8_t unused = 0;
        CHECK_OK(aclsimDelayTasks(stream, 100));
        for (int i = 0; i < 20; ++i) {
            CHECK_OK(aclrtProfTrace(&unused, 1, stream));
        }
        if (thread % 2 == 0) {
            CHECK_OK(aclrtSynchronizeStream(stream));
        } else {
            CHECK_OK(aclrtStreamAbort(stream));
        }
        CHECK_OK(aclrtDestroyStream(stream));
    });
    CHECK_OK(aclsimClearFaults());
}

// A limit that was not reached keeps no memory, neither after a wait that ended in time nor after one that was aborted.
// (Memory is not counted under the address sanitizer.)
void limits_are_forgotten() {
    constexpr int kWaits = 2000;
    constexpr std::uint32_t kHour_s = 3600;
    constexpr std::size_t kSlack = 16 * 1024;  // bytes; less than one limit per wait would take
    aclrtEvent gate = nullptr;
    CHECK_OK(aclrtCreateEventWithFlag(&gate, ACL_EVENT_SYNC));
    const aclrtStream stream = new_stream();
    const aclrtStream opener = new_stream();
    const auto wait_and_end = [&](int i) {
        CHECK_OK(aclrtStreamWaitEventWithTimeout(stream, gate, kHour_s));
        if (i % 2 == 0) {
            CHECK_OK(aclrtStreamAbort(stream));
            return;
        }
        CHECK_OK(aclrtRecordEvent(gate, opener));
        CHECK_OK(aclrtResetEvent(gate, opener));
    };
    wait_and_end(0);
    wait_and_end(1);
    const std::size_t before = mallinfo2().uordblks;
    for (int i = 0; i < kWaits; ++i) {
        wait_and_end(i);
    }
    CHECK(mallinfo2().uordblks <= before + kSlack);
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK_OK(aclrtDestroyEvent(gate));
    CHECK_OK(aclrtDestroyStream(stream));
    CHECK_OK(aclrtDestroyStream(opener));
}

}  // namespace

int main() {
    CHECK_OK(aclInit(nullptr));
    CHECK_OK(aclrtSetDevice(0));
    notifies_pass_the_turn();
    values_count_up();
    failures_are_reported();
    a_failure_beside_a_wait_is_reported_once();
    delays_keep_the_order();
    limits_are_forgotten();
    CHECK_OK(aclrtResetDevice(0));
    CHECK_OK(aclFinalize());
    return 0;
}
