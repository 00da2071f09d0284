// SPDX-License-Identifier: Apache-2.0
// Operations of companion libraries in graphs, and what observers of the engine see of them.
#include <set>

#include "observe.h"
#include "operation_kit.h"

namespace {

aclmdlRI capture(aclrtStream stream, Companion &companion) {
    aclmdlRI graph = nullptr;
    CHECK_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    companion.submit(stream);
    CHECK_OK(aclmdlRICaptureEnd(stream, &graph));
    CHECK(companion.begins() == 0 && companion.releases == 0);
    return graph;
}

void each_replay_begins_it_again() {
    const aclrtStream stream = new_stream();
    Companion companion;
    const aclmdlRI graph = capture(stream, companion);
    std::set<std::uint64_t> executions;
    for (std::size_t replay = 1; replay <= 4; ++replay) {
        CHECK_OK(aclmdlRIExecuteAsync(graph, stream));
        const std::uint64_t execution = companion.await_begin(replay);
        executions.insert(execution);
        CHECK(!is_complete(stream));
        end_at_once(execution);
        CHECK_OK(aclrtSynchronizeStream(stream));
        CHECK(companion.releases == 0);
    }
    CHECK(executions.size() == 4);
    CHECK_OK(aclmdlRIDestroy(graph));
    CHECK(companion.is_released());
    CHECK_OK(aclrtDestroyStream(stream));
}

// A failure in one replay does not reach the next.
void a_replay_may_fail() {
    const aclrtStream stream = new_stream();
    Companion companion;
    const aclmdlRI graph = capture(stream, companion);
    CHECK_OK(aclmdlRIExecuteAsync(graph, stream));
    CHECK_OK(aclsimEndOperation(companion.await_begin(1), ACL_ERROR_RT_AICORE_EXCEPTION, "rank 1 has ended"));
    CHECK(aclrtSynchronizeStream(stream) != ACL_SUCCESS);
    CHECK(contains(recent_text(), "rank 1 has ended"));
    CHECK_OK(aclmdlRIExecuteAsync(graph, stream));
    end_at_once(companion.await_begin(2));
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK_OK(aclmdlRIDestroy(graph));
    CHECK_OK(aclrtDestroyStream(stream));
}

void an_abort_cancels_a_replay() {
    const aclrtStream stream = new_stream();
    Companion companion;
    const aclmdlRI graph = capture(stream, companion);
    CHECK_OK(aclmdlRIExecuteAsync(graph, stream));
    const std::uint64_t execution = companion.await_begin(1);
    CHECK_OK(aclrtStreamAbort(stream));
    CHECK(companion.cancelled() == std::vector<std::uint64_t>{execution} && companion.releases == 0);
    CHECK_CODE(ACL_ERROR_RT_INVALID_HANDLE, aclsimEndOperation(execution, ACL_SUCCESS, nullptr));
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK_OK(aclmdlRIExecuteAsync(graph, stream));
    end_at_once(companion.await_begin(2));
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK_OK(aclmdlRIDestroy(graph));
    CHECK(companion.is_released());
    CHECK_OK(aclrtDestroyStream(stream));
}

void a_graph_that_never_runs_releases_it() {
    const aclrtStream stream = new_stream();
    Companion companion;
    const aclmdlRI graph = capture(stream, companion);
    CHECK_OK(aclmdlRIDestroy(graph));
    CHECK(companion.begins() == 0 && companion.cancelled().empty() && companion.is_released());
    CHECK_OK(aclrtDestroyStream(stream));
}

// Facts about operations: each begins and ends once.
struct Facts final : aclsim::Observer {
    void submitted(const aclsim::Moment &, const aclsim::Stream &, const aclsim::Task &task,
                   const aclsim::Submission &submission) override {
        if (is_operation(task)) {
            accesses = submission.accesses;
        }
    }
    void started(const aclsim::Moment &, const aclsim::Stream &, const aclsim::Task &task, std::uint32_t) override {
        if (is_operation(task)) {
            CHECK(started_count == ended_count);
            ++started_count;
        }
    }
    void ended(const aclsim::Moment &, const aclsim::Stream &stream, const aclsim::Task &task,
               std::uint32_t) override NO_THREAD_SAFETY_ANALYSIS {
        if (is_operation(task)) {
            ++ended_count;
            CHECK(started_count == ended_count);
            aclsim::TaskLabel label;
            task.details().label(stream, label);
            name = label.name;
        }
    }
    void dropped(const aclsim::Moment &, const aclsim::Stream &, const aclsim::Task &task, aclError) override {
        dropped_count += is_operation(task) ? 1 : 0;
    }
    static bool is_operation(const aclsim::Task &task) { return std::string(task.info().name) == "OPERATION"; }

    std::vector<aclsim::Access> accesses;
    std::string name;
    std::atomic<int> started_count{0};
    std::atomic<int> ended_count{0};
    std::atomic<int> dropped_count{0};
};

void observers_see_the_operation(std::uint64_t delay_us) {
    Facts facts;
    const Observing observing(facts);
    const aclrtStream stream = new_stream();
    void *memory = nullptr;
    CHECK_OK(aclrtMalloc(&memory, 128, ACL_MEM_MALLOC_NORMAL_ONLY));
    const aclsimAccess accesses[] = {bytes(memory, 64, ACLSIM_ACCESS_READ, "sendBuf"),
                                     bytes(static_cast<char *>(memory) + 64, 64, ACLSIM_ACCESS_WRITE, "recvBuf")};
    Companion companion;
    aclsimOperation operation = companion.operation();
    operation.accesses = accesses;
    operation.accessCount = std::size(accesses);
    LatchedCallback before;
    CHECK_OK(aclrtLaunchHostFunc(stream, LatchedCallback::run, &before));
    if (delay_us > 0) {
        CHECK_OK(aclsimDelayTasks(stream, delay_us));
    }
    companion.submit(stream, operation);
    CHECK(before.entered.opens());
    CHECK(facts.started_count == 0);
    CHECK(facts.accesses.size() == 2);
    CHECK(facts.accesses[0].mode == aclsim::AccessMode::Read && facts.accesses[0].address == memory &&
          facts.accesses[0].size == 64);
    CHECK(facts.accesses[1].mode == aclsim::AccessMode::Write && facts.accesses[1].size == 64);
    CHECK(facts.accesses[1].address == static_cast<char *>(memory) + 64);
    before.released.open();
    const std::uint64_t execution = companion.await_begin();
    CHECK(facts.started_count == 1 && facts.ended_count == 0);
    end_at_once(execution);
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK(facts.started_count == 1 && facts.ended_count == 1 && facts.dropped_count == 0);
    CHECK(facts.name == kName);
    CHECK_OK(aclsimClearFaults());

    Companion failing;
    CHECK_OK(aclsimFailTask(stream, 1, ACL_ERROR_RT_AICORE_TIMEOUT));
    failing.submit(stream);
    CHECK_CODE(ACL_ERROR_RT_AICORE_TIMEOUT, aclrtSynchronizeStream(stream));
    CHECK(facts.started_count == 2 && facts.ended_count == 2);
    CHECK_OK(aclsimClearFaults());

    Companion at_once(end_at_once);
    at_once.submit(stream);
    CHECK(facts.started_count == 3 && facts.ended_count == 3);

    Companion aborted;
    aborted.submit(stream);
    CHECK_OK(aclrtStreamAbort(stream));
    CHECK(facts.started_count == 4 && facts.ended_count == 3 && facts.dropped_count == 1);
    CHECK_OK(aclrtFree(memory));
    CHECK_OK(aclrtDestroyStream(stream));
}

void observers_see_each_replay() {
    Facts facts;
    const Observing observing(facts);
    const aclrtStream stream = new_stream();
    Companion companion;
    const aclmdlRI graph = capture(stream, companion);
    CHECK(facts.started_count == 0);
    for (int replay = 1; replay <= 3; ++replay) {
        CHECK_OK(aclmdlRIExecuteAsync(graph, stream));
        const std::uint64_t execution = companion.await_begin(static_cast<std::size_t>(replay));
        CHECK(facts.started_count == replay && facts.ended_count == replay - 1);
        end_at_once(execution);
        CHECK_OK(aclrtSynchronizeStream(stream));
        CHECK(facts.started_count == replay && facts.ended_count == replay);
        CHECK(facts.name == kName);
    }
    CHECK_OK(aclmdlRIDestroy(graph));
    CHECK_OK(aclrtDestroyStream(stream));
}

}  // namespace

int main() {
    const Watchdog watchdog("operation_graph_test", 3 * kLongEnough);
    CHECK_OK(aclInit(nullptr));
    CHECK_OK(aclrtSetDevice(0));
    each_replay_begins_it_again();
    a_replay_may_fail();
    an_abort_cancels_a_replay();
    a_graph_that_never_runs_releases_it();
    observers_see_the_operation(/*delay_us=*/0);
    observers_see_the_operation(/*delay_us=*/1000);
    observers_see_each_replay();
    CHECK_OK(aclrtResetDevice(0));
    CHECK_OK(aclFinalize());
    return 0;
}
