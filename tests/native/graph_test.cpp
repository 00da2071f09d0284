// SPDX-License-Identifier: Apache-2.0
// Graphs that several threads capture, launch, abort and destroy at the same time.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <vector>

#include "check.h"
#include "concurrent.h"
#include "latch.h"

namespace {

constexpr int kRounds = 30;
constexpr int kLaunches = 5;
constexpr std::size_t kBytes = 4096;

void count(void *counter) { ++*static_cast<std::atomic<int> *>(counter); }

void require_one_of(aclError code, std::vector<aclError> expected) {
    CHECK(std::find(expected.begin(), expected.end(), code) != expected.end());
}

void synchronize(aclrtStream stream) { CHECK_OK(aclrtSynchronizeStream(stream)); }

// Pair of streams that fork and join in a capture, with the memory that they use.
class Fork {
  public:
    Fork() {
        CHECK_OK(aclrtMalloc(&memory_, 2 * kBytes, ACL_MEM_MALLOC_HUGE_FIRST));
        CHECK_OK(aclrtMallocHost(&result_, kBytes));
    }
    Fork(const Fork &) = delete;
    Fork &operator=(const Fork &) = delete;
    ~Fork() {
        for (aclrtStream stream : {origin, side}) {
            CHECK_OK(aclrtDestroyStream(stream));
        }
        for (aclrtEvent event : {fork_, join_}) {
            CHECK_OK(aclrtDestroyEvent(event));
        }
        CHECK_OK(aclrtFree(memory_));
        CHECK_OK(aclrtFreeHost(result_));
    }
    // Captures a graph in which the side stream fills memory and the origin copies it to the host.
    aclmdlRI capture(std::uint8_t value) {
        CHECK_OK(aclmdlRICaptureBegin(origin, ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL));
        CHECK_OK(aclrtRecordEvent(fork_, origin));
        CHECK_OK(aclrtStreamWaitEvent(side, fork_));
        CHECK_OK(aclrtMemsetAsync(memory_, kBytes, value, kBytes, side));
        CHECK_OK(aclrtLaunchHostFunc(side, count, &runs_));
        CHECK_OK(aclrtRecordEvent(join_, side));
        CHECK_OK(aclrtStreamWaitEvent(origin, join_));
        CHECK_OK(aclrtMemcpyAsync(result_, kBytes, memory_, kBytes, ACL_MEMCPY_DEVICE_TO_HOST, origin));
        CHECK_OK(aclrtLaunchHostFunc(origin, count, &runs_));
        aclmdlRI graph = nullptr;
        CHECK_OK(aclmdlRICaptureEnd(origin, &graph));
        return graph;
    }
    int runs() const { return runs_; }
    void require_result(std::uint8_t value) const {
        const auto *bytes = static_cast<const std::uint8_t *>(result_);
        CHECK(std::all_of(bytes, bytes + kBytes, [&](std::uint8_t byte) { return byte == value; }));
    }

    const aclrtStream origin = new_stream();
    const aclrtStream side = new_stream();

  private:
    const aclrtEvent fork_ = new_event();
    const aclrtEvent join_ = new_event();
    void *memory_ = nullptr;
    void *result_ = nullptr;
    std::atomic<int> runs_{0};
};

void threads_capture_launch_and_destroy_graphs_of_their_own() {
    in_threads([](int thread) {
        Fork fork;
        int runs = 0;
        for (int round = 0; round < kRounds; ++round) {
            const auto value = static_cast<std::uint8_t>(thread * kRounds + round);
            aclmdlRI graph = fork.capture(value);
            for (int i = 0; i < kLaunches; ++i) {
                CHECK_OK(aclmdlRIExecuteAsync(graph, i % 2 == 0 ? fork.origin : fork.side));
            }
            if (round % 2 == 0) {
                CHECK_OK(aclmdlRIDestroy(graph));  // launched executions continue
            }
            synchronize(fork.origin);
            synchronize(fork.side);
            fork.require_result(value);
            CHECK(fork.runs() == (runs += 2 * kLaunches));
            if (round % 2 != 0) {
                CHECK_OK(aclmdlRIDestroy(graph));
            }
        }
    });
}

void one_graph_is_launched_by_many_threads() {
    Fork fork;
    aclmdlRI graph = fork.capture(7);
    in_threads([&](int) {
        aclrtStream stream = new_stream();
        for (int i = 0; i < kRounds; ++i) {
            CHECK_OK(aclmdlRIExecuteAsync(graph, stream));
        }
        synchronize(stream);
        CHECK_OK(aclrtDestroyStream(stream));
    });
    CHECK(fork.runs() == 2 * kThreads * kRounds);
    fork.require_result(7);
    CHECK_OK(aclmdlRIDestroy(graph));
}

void launches_are_aborted_while_their_graphs_are_destroyed() {
    in_threads([](int thread) {
        Fork fork;
        aclrtStream stream = new_stream();
        const std::vector<aclError> codes = {ACL_SUCCESS, ACL_ERROR_RT_STREAM_ABORT, ACL_ERROR_RT_DEVICE_TASK_ABORT,
                                             ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED};
        for (int round = 0; round < kRounds; ++round) {
            CHECK_OK(aclmdlRICaptureBegin(fork.origin, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
            aclmdlRI graph = nullptr;
            require_one_of(aclmdlRICaptureEnd(fork.origin, &graph), codes);
            if (graph == nullptr) {  // another thread has aborted the device's tasks
                continue;
            }
            for (int i = 0; i < kLaunches; ++i) {
                require_one_of(aclmdlRIExecuteAsync(graph, stream), codes);
            }
            require_one_of(thread == 0 ? aclrtDeviceTaskAbort(0, 0) : aclrtStreamAbort(stream), codes);
            CHECK_OK(aclmdlRIDestroy(graph));
            require_one_of(aclrtSynchronizeStream(stream), codes);
        }
        CHECK_OK(aclrtDestroyStreamForce(stream));
    });
}

// Destroys the context during a capture, a launch, or both.
void contexts_are_destroyed_under_captures_and_launches() {
    for (int round = 0; round < kRounds; ++round) {
        aclrtContext context = nullptr;
        CHECK_OK(aclrtCreateContext(&context, 0));
        aclrtStream stream = new_stream();
        aclrtStream side = new_stream();
        const aclrtEvent event = new_event();
        Latch begun;
        std::thread captures([&] {
            aclError code = aclrtSetCurrentContext(context);
            while (code == ACL_SUCCESS) {
                aclmdlRI graph = nullptr;
                code = aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED);
                begun.open();
                code = code != ACL_SUCCESS ? code : aclrtRecordEvent(event, stream);
                code = code != ACL_SUCCESS ? code : aclrtStreamWaitEvent(side, event);
                code = code != ACL_SUCCESS ? code : aclrtRecordEvent(event, side);
                code = code != ACL_SUCCESS ? code : aclrtStreamWaitEvent(stream, event);
                code = code != ACL_SUCCESS ? code : aclmdlRICaptureEnd(stream, &graph);
                code = code != ACL_SUCCESS ? code : aclmdlRIExecuteAsync(graph, stream);
            }
            require_one_of(code, {ACL_ERROR_RT_INVALID_HANDLE, ACL_ERROR_RT_CONTEXT_NULL, ACL_ERROR_RT_STREAM_ABORT,
                                  ACL_ERROR_RT_CAPTURE_DEPENDENCY, ACL_ERROR_RT_STREAM_NOT_CAPTURED,
                                  ACL_ERROR_RT_NO_STREAM_RESOURCE});
        });
        begun.wait();
        CHECK_OK(aclrtDestroyContext(context));
        captures.join();
        CHECK_OK(aclrtDestroyEvent(event));
        CHECK_OK(aclrtSetDevice(0));
        CHECK_OK(aclrtResetDevice(0));
        // This call would be denied if a capture were left.
        CHECK_OK(aclrtSynchronizeDevice());
    }
}

void the_hidden_streams_of_destroyed_graphs_are_given_back() {
    std::uint32_t before = 0;
    std::uint32_t after = 0;
    Fork fork;
    CHECK_OK(aclrtGetStreamAvailableNum(&before));
    for (int round = 0; round < kRounds; ++round) {
        CHECK_OK(aclmdlRIDestroy(fork.capture(1)));
    }
    CHECK_OK(aclrtGetStreamAvailableNum(&after));
    CHECK(before == after);
}

}  // namespace

int main() {
    const Watchdog watchdog("graph_test", std::chrono::seconds(200));
    CHECK_OK(aclrtSetDevice(0));
    the_hidden_streams_of_destroyed_graphs_are_given_back();
    threads_capture_launch_and_destroy_graphs_of_their_own();
    one_graph_is_launched_by_many_threads();
    launches_are_aborted_while_their_graphs_are_destroyed();
    contexts_are_destroyed_under_captures_and_launches();
    CHECK_OK(aclrtResetDeviceForce(0));
    return 0;
}
