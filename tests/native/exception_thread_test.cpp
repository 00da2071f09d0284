// SPDX-License-Identifier: Apache-2.0
// Threads that run exception callbacks: a synchronizing thread, the thread whose call made the task fail, or a thread
// of the simulator, but no others. The report of a failure never waits for a later call.
#include <atomic>
#include <mutex>
#include <set>
#include <thread>

#include "concurrent.h"
#include "latch.h"

namespace {

constexpr aclError kFailure = ACL_ERROR_RT_AICORE_EXCEPTION;

std::mutex g_mutex;
std::set<std::thread::id> g_threads;  // threads that have run the callback
std::atomic<int> g_reported{0};
LatchedCallback *g_first = nullptr;  // latch of the first callback
Latch *g_second = nullptr;

void note_thread(aclrtExceptionInfo *) {
    {
        const std::lock_guard<std::mutex> lock(g_mutex);
        g_threads.insert(std::this_thread::get_id());
    }
    if (++g_reported == 1) {
        LatchedCallback::run(g_first);
    } else {
        g_second->open();
    }
}

bool has_run(std::thread::id thread) {
    const std::lock_guard<std::mutex> lock(g_mutex);
    return g_threads.count(thread) != 0;
}

// Submits a task that fails after a delay, on a thread of the simulator.
void fail_later(aclrtStream stream) {
    std::uint8_t unused = 0;
    CHECK_OK(aclsimDelayTasks(stream, 1000));
    CHECK_OK(aclsimFailTask(stream, 1, kFailure));
    CHECK_OK(aclrtProfTrace(&unused, 1, stream));
    CHECK_OK(aclsimClearFaults());
}

// A second task fails while the first callback runs on a thread of the simulator. A thread that only queries streams
// runs no callback, and observes the end of the task when the callback for it has returned.
void a_thread_that_queries_runs_no_callback() {
    LatchedCallback first;
    Latch second;
    g_first = &first;
    g_second = &second;
    CHECK_OK(aclrtSetExceptionInfoCallback(note_thread));
    const aclrtStream streams[] = {new_stream(), new_stream()};
    aclrtContext context = nullptr;
    CHECK_OK(aclrtGetCurrentContext(&context));
    fail_later(streams[0]);
    CHECK(first.entered.opens());
    fail_later(streams[1]);
    std::atomic<int> queries{0};
    auto querying = begin([&] {
        CHECK_OK(aclrtSetCurrentContext(context));
        aclrtStreamStatus status = ACL_STREAM_STATUS_NOT_READY;
        while (status != ACL_STREAM_STATUS_COMPLETE) {
            CHECK_OK(aclrtStreamQuery(streams[1], &status));
            ++queries;
        }
        CHECK(g_reported == 2);
        CHECK_OK(aclrtSetDevice(1));
        const aclrtStream other = new_stream();
        CHECK_OK(aclrtStreamQuery(other, &status));
        CHECK_OK(aclrtDestroyStream(other));
        CHECK_OK(aclrtResetDevice(1));
        return std::this_thread::get_id();
    });
    while (queries < 1000) {
        std::this_thread::yield();
    }
    CHECK(g_reported == 1);
    first.released.open();
    CHECK(second.opens());
    CHECK(returns(querying));
    CHECK(!has_run(querying.get()));
    CHECK(!has_run(std::this_thread::get_id()));
    for (const aclrtStream stream : streams) {
        CHECK_CODE(kFailure, aclrtSynchronizeStream(stream));
        CHECK_OK(aclrtDestroyStream(stream));
    }
    CHECK_OK(aclrtSetExceptionInfoCallback(nullptr));
}

Latch *g_reported_once = nullptr;
void note_failure(aclrtExceptionInfo *) { g_reported_once->open(); }

// The first copy of the batch fails immediately, inside the call. The second copy is rejected, so the call fails too.
void a_call_that_fails_reports_what_failed_in_it() {
    constexpr std::size_t kBytes = 64;
    void *memory = nullptr;
    void *host = nullptr;
    CHECK_OK(aclrtMalloc(&memory, 2 * kBytes, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK_OK(aclrtMallocHost(&host, 2 * kBytes));
    Latch reported;
    g_reported_once = &reported;
    CHECK_OK(aclrtSetExceptionInfoCallback(note_failure));
    const aclrtStream stream = new_stream();
    CHECK_OK(aclsimFailTask(stream, 1, kFailure));
    void *destinations[] = {memory, memory};
    void *sources[] = {host, host};
    std::size_t limits[] = {kBytes, kBytes};
    std::size_t sizes[] = {kBytes, 0};
    aclrtMemcpyBatchAttr attributes[] = {
        {{0, ACL_MEM_LOCATION_TYPE_DEVICE}, {0, ACL_MEM_LOCATION_TYPE_HOST}, {}},
    };
    std::size_t indexes[] = {0};
    std::size_t failed = 0;
    CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID,
               aclrtMemcpyBatchAsync(destinations, limits, sources, sizes, 2, attributes, indexes, 1, &failed, stream));
    CHECK(failed == 1);
    CHECK(reported.opens());
    CHECK_CODE(kFailure, aclrtSynchronizeStream(stream));
    CHECK_OK(aclsimClearFaults());
    CHECK_OK(aclrtSetExceptionInfoCallback(nullptr));
    CHECK_OK(aclrtDestroyStream(stream));
    CHECK_OK(aclrtFree(memory));
    CHECK_OK(aclrtFreeHost(host));
}

}  // namespace

int main() {
    CHECK_OK(aclInit(nullptr));
    CHECK_OK(aclrtSetDevice(0));
    a_thread_that_queries_runs_no_callback();
    a_call_that_fails_reports_what_failed_in_it();
    CHECK_OK(aclrtResetDevice(0));
    CHECK_OK(aclFinalize());
    return 0;
}
