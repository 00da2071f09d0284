// SPDX-License-Identifier: Apache-2.0
// Host without memory: the n-th allocation of a call fails, for every n and many calls. The call must fail with a code
// and a text, or succeed without the memory; no exception may leave the library, no stream may wait forever, and the
// same call must succeed afterwards. Repeated with allocations of all threads until the work of the call is done.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "concurrent.h"
#include "latch.h"
#include "memory/memory.h"
#include "memory/memory_pool.h"
#include "observe.h"
#include "shortage.h"
#include "tasks/binary.h"
#include "tasks/conditional.h"
#include "tasks/label.h"
#include "tasks/notify.h"
#include "tasks/task_group.h"

constexpr std::int32_t kLongest_ms = 10'000;
constexpr std::size_t kSize = 4 << 20;

inline aclrtContext g_context = nullptr;
inline aclrtStream g_busy = nullptr, g_other = nullptr;
inline aclrtEvent g_event = nullptr;
inline void *g_memory = nullptr, *g_host = nullptr;
inline LatchedCallback *g_held = nullptr;

inline void nothing(void *) {}

// Makes the busy stream run a task until release().
inline void hold() {
    g_held = new LatchedCallback;
    CHECK_OK(aclrtLaunchHostFunc(g_busy, LatchedCallback::run, g_held));
    g_held->entered.wait();
}
inline void release() {
    if (g_held != nullptr) {
        g_held->released.open();
        (void)aclrtSynchronizeStreamWithTimeout(g_busy, kLongest_ms);
        delete std::exchange(g_held, nullptr);
    }
}

// Makes the stream run a task that a call has to wait for, and that soon ends by itself.
inline void keep_busy(aclrtStream stream) {
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

inline void *g_made = nullptr;

// Makes the calls until one fails; returns its code.
inline aclError first_failure(std::initializer_list<std::function<aclError()>> calls) {
    for (const auto &call : calls) {
        if (const aclError code = call()) {
            return code;
        }
    }
    return ACL_SUCCESS;
}

inline void no_preparation() {}

inline void check_has_text(const Case &it, long n, aclError code) {
    const char *text = aclGetRecentErrMsg();
    if (code != ACL_SUCCESS && (text == nullptr || *text == '\0')) {
        std::fprintf(stderr, "%s, allocation %ld: %d without a text\n", it.name, n, code);
        std::abort();
    }
}

inline void check_is_repeated(const Case &it, long n, aclError code) {
    if (code != ACL_SUCCESS) {
        std::fprintf(stderr, "%s, allocation %ld: repeated, it answers %d: %s\n", it.name, n, code,
                     aclGetRecentErrMsg());
        std::abort();
    }
}

// Checks that no stream waits forever. Ignores the failures of tasks that had no memory.
inline void settle(const Case &it, long n) {
    const aclError code = aclrtSynchronizeDeviceWithTimeout(kLongest_ms);
    if (code == ACL_ERROR_RT_STREAM_SYNC_TIMEOUT) {
        std::fprintf(stderr, "%s, allocation %ld: the device is never done\n", it.name, n);
        std::abort();
    }
    (void)aclrtSynchronizeDeviceWithTimeout(kLongest_ms);
    (void)aclGetRecentErrMsg();
}

// Makes one attempt with a shortage. Returns false if no allocation failed, because there were too few.
inline bool try_with_shortage(const Case &it, long n, bool on_any_thread) {
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

inline void works_again(const Case &it) {
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

inline std::size_t count_all_handles() {
    using namespace aclsim;
    return count_handles<Context, Stream, Event, Notify, Label, LabelList, Model, ModelTask, TaskGroup, Condition,
                         MemoryPool, Binary, KernelFunction>();
}

inline std::size_t free_memory() {
    aclsim::Simulator &sim = aclsim::Simulator::get();
    const aclsim::Lock lock = sim.core.acquire();
    return sim.memory.space().device(0).free_bytes();
}

inline Room room() {
    Room found;
    CHECK_OK(aclrtGetStreamAvailableNum(&found.streams));
    CHECK_OK(aclrtGetEventAvailNum(&found.events));
    found.memory = free_memory();
    found.handles = count_all_handles();
    return found;
}

inline void check_is_as_before(const Case &it, const Room &before) {
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

inline void a_shortage_is_survived(const Case &it, bool on_any_thread) {
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

inline void set_up() {
    setenv("ASCEND_RT_SIM_DEVICES", "2", 1);
    setenv("ASCEND_RT_SIM_SOFTWARE_QUEUES", "1", 1);
    CHECK_OK(aclrtSetDevice(0));
    CHECK_OK(aclrtGetCurrentContext(&g_context));
    CHECK_OK(aclrtRegStreamStateCallback("counts", [](aclrtStream, aclrtStreamState, void *) {}, nullptr));
    g_busy = new_stream();
    g_other = new_stream();
    g_event = new_event();
    CHECK_OK(aclrtMalloc(&g_memory, kSize, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK_OK(aclrtMallocHost(&g_host, kSize));
}

inline void tear_down() {
    CHECK_OK(aclrtResetDeviceForce(0));
    CHECK_OK(aclrtSetDevice(0));
    CHECK_OK(aclrtResetDevice(0));
}

// Hears of all facts, for which the engine needs memory.
class Listener final : public aclsim::Observer {};

struct Test {
    const char *name;
    void (*run)();
};

// Runs all cases, without observers and with one, and the tests; or only those that the argument of the program names.
template <std::size_t kCount, std::size_t kTests>
void survive(const Case (&cases)[kCount], const Test (&tests)[kTests], int count, char **arguments) {
    const auto is_wanted = [=](const char *name) { return count == 1 || std::strcmp(arguments[1], name) == 0; };
    const auto all_are_survived = [&] {
        for (const Case &it : cases) {
            if (is_wanted(it.name)) {
                a_shortage_is_survived(it, /*on_any_thread=*/false);
                a_shortage_is_survived(it, /*on_any_thread=*/true);
            }
        }
    };
    all_are_survived();
    for (const Test &test : tests) {
        if (is_wanted(test.name)) {
            test.run();
        }
    }
    Listener listener;
    const Observing observing(listener);
    all_are_survived();
}
