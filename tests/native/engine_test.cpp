// SPDX-License-Identifier: Apache-2.0
// Parts of the engine: facts reported to observers, order of ready streams, handles, number of threads, and release of
// long chains of waits.
#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "concurrent.h"
#include "latch.h"
#include "observe.h"

using aclsim::Lock;
using aclsim::Observer;
using aclsim::Point;
using aclsim::Simulator;
using aclsim::Stream;
using aclsim::Task;
using aclsim::Time;

namespace {

// Records the facts as text. Streams are named "a", "b", ... in the order of their first appearance.
class Recorder final : public Observer {
  public:
    void submitted(const aclsim::Moment &, const Stream &stream, const Task &task,
                   const aclsim::Submission &how) override {
        note("submit", stream.point(task), std::string(" by ") + how.origin.call);
    }
    void blocked(const aclsim::Moment &, const Stream &stream, const Task &task,
                 const aclsim::Causes &causes) override {
        std::string text = causes.any ? " for any of" : " for all of";
        for (const aclsim::Cause &cause : causes.list) {
            text += " " + (cause.stream == nullptr ? std::string("outside")
                                                   : name_of(Point{cause.stream->serial, cause.sequence}));
        }
        note("block", stream.point(task), text);
    }
    void started(const aclsim::Moment &, const Stream &stream, const Task &task, std::uint32_t) override {
        note("start", stream.point(task));
    }
    void ended(const aclsim::Moment &, const Stream &stream, const Task &task, std::uint32_t) override {
        note("end", stream.point(task));
    }
    void dropped(const aclsim::Moment &, const Stream &stream, const Task &task, aclError) override {
        note("drop", stream.point(task));
    }
    void ordered(const aclsim::Moment &, const aclsim::Edge &edge) override {
        lines.push_back("order " + name_of(edge.before) + " " + name_of(edge.after));
    }
    void host_learned(const aclsim::Moment &, std::uint32_t, Point point, aclsim::HostSync) override {
        note("learn", point);
    }
    std::vector<std::string> lines;

  private:
    void note(const char *what, const Point &point, const std::string &more = "") {
        lines.push_back(what + (" " + name_of(point)) + more);
    }
    std::string name_of(const Point &point) {
        const auto found = std::find(streams_.begin(), streams_.end(), point.stream);
        const auto index = found - streams_.begin();
        if (found == streams_.end()) {
            streams_.push_back(point.stream);
        }
        return std::string(1, static_cast<char>('a' + index)) + std::to_string(point.sequence);
    }
    std::vector<std::uint64_t> streams_;
};

void observers_see_every_step_and_edge() {
    aclrtStream a = new_stream();
    aclrtStream b = new_stream();
    aclrtEvent event = new_event();
    Recorder recorder;
    {
        const Observing observing(recorder);
        CHECK(aclsimHold(1) == 0);
        CHECK_OK(aclrtRecordEvent(event, a));
        CHECK_OK(aclrtStreamWaitEvent(b, event));
        CHECK(aclsimHold(0) == 0);
        CHECK_OK(aclrtSynchronizeStream(b));
        CHECK_OK(aclrtRecordEvent(event, a));      // ends at once
        CHECK_OK(aclrtStreamWaitEvent(b, event));  // creates no task, but an edge to the next one
    }
    const std::vector<std::string> expected = {
        "submit a1 by aclrtRecordEvent",
        "submit b1 by aclrtStreamWaitEvent",
        "start a1",
        "end a1",
        "order a1 b1",
        "start b1",
        "end b1",
        "learn b1",
        "submit a2 by aclrtRecordEvent",
        "start a2",
        "end a2",
        "order a2 b2",
    };
    CHECK(recorder.lines == expected);
    CHECK_OK(aclrtDestroyEvent(event));
    CHECK_OK(aclrtDestroyStream(a));
    CHECK_OK(aclrtDestroyStream(b));
}

// A synchronization of the device reports knowledge of all its streams, including those that are already done.
void observers_see_what_a_synchronization_of_the_device_finds_done() {
    aclrtStream stream = new_stream();
    aclrtEvent event = new_event();
    Recorder recorder;
    CHECK_OK(aclrtRecordEvent(event, stream));
    {
        const Observing observing(recorder);
        CHECK_OK(aclrtRecordEvent(event, stream));
        recorder.lines.clear();
        CHECK_OK(aclrtSynchronizeDevice());
    }
    CHECK(std::find(recorder.lines.begin(), recorder.lines.end(), "learn a2") != recorder.lines.end());
    CHECK_OK(aclrtDestroyEvent(event));
    CHECK_OK(aclrtDestroyStream(stream));
}

// A wait is bound to its record: a later record of the same event is neither its cause nor ordered before it.
void a_wait_is_reported_with_the_record_that_it_is_for() {
    aclrtStream a = new_stream();
    aclrtStream b = new_stream();
    aclrtEvent earlier = new_event();
    aclrtEvent event = new_event();
    CHECK_OK(aclrtRecordEvent(earlier, b));  // task b1, before the observed ones
    CHECK(aclsimHold(1) == 0);
    Recorder recorder;
    {
        const Observing observing(recorder);
        CHECK_OK(aclrtRecordEvent(earlier, a));
        CHECK_OK(aclrtRecordEvent(event, a));
        CHECK_OK(aclrtStreamWaitEvent(b, event));
        CHECK_OK(aclrtRecordEvent(event, b));
        CHECK(aclsimHold(0) == 0);
        CHECK_OK(aclrtSynchronizeStream(b));
    }
    const auto has = [&](const std::string &line) {
        return std::find(recorder.lines.begin(), recorder.lines.end(), line) != recorder.lines.end();
    };
    CHECK(has("order a2 b2") && !has("order b3 b2"));
    for (aclrtEvent it : {earlier, event}) {
        CHECK_OK(aclrtDestroyEvent(it));
    }
    CHECK_OK(aclrtDestroyStream(a));
    CHECK_OK(aclrtDestroyStream(b));
}

// The task before the launch is ordered before the first replays, an activation before the replays that it starts, and
// all of these before the end of the launch.
void models_are_reported_with_their_orders() {
    constexpr std::uint32_t kActivated = 0x7FFFFFFF;
    aclrtStream stream = new_stream();
    aclrtStream head = nullptr;
    aclrtStream activated = nullptr;
    aclmdlRI model = nullptr;
    std::uint8_t unused = 0;
    CHECK_OK(aclrtCreateStreamWithConfig(&head, 0, ACL_STREAM_PERSISTENT));
    CHECK_OK(aclrtCreateStreamWithConfig(&activated, 0, ACL_STREAM_PERSISTENT));
    CHECK_OK(aclmdlRIBuildBegin(&model, 0));
    CHECK_OK(aclmdlRIBindStream(model, head, 0));
    CHECK_OK(aclmdlRIBindStream(model, activated, kActivated));
    CHECK_OK(aclrtProfTrace(&unused, 1, head));
    CHECK_OK(aclrtActiveStream(activated, head));
    CHECK_OK(aclrtProfTrace(&unused, 1, activated));
    CHECK_OK(aclmdlRIEndTask(model, activated));
    CHECK_OK(aclmdlRIBuildEnd(model, nullptr));
    Recorder recorder;
    {
        const Observing observing(recorder);
        CHECK_OK(aclrtProfTrace(&unused, 1, stream));  // a1
        CHECK_OK(aclmdlRIExecuteAsync(model, stream));
        CHECK_OK(aclrtSynchronizeStream(stream));
    }
    std::vector<std::string> orders;
    for (const std::string &line : recorder.lines) {
        if (line.rfind("order", 0) == 0) {
            orders.push_back(line);
        }
    }
    // b3 and b4 are replays of the head stream, c2 is the replay of the activated stream, and a2 is the launch.
    const std::vector<std::string> expected = {"order a1 b3", "order b4 c2", "order b4 a2", "order c2 a2"};
    CHECK(orders == expected);
    CHECK_OK(aclmdlRIDestroy(model));
    for (aclrtStream it : {stream, head, activated}) {
        CHECK_OK(aclrtDestroyStream(it));
    }
}

class Origins final : public Observer {
  public:
    void submitted(const aclsim::Moment &, const Stream &, const Task &, const aclsim::Submission &how) override {
        list.push_back(how.origin);
    }
    bool are_all(std::uint32_t thread, const std::string &call, bool is_calling) const {
        const auto as_expected = [&](const aclsim::Origin &it) {
            return it.thread == thread && it.call == call && it.is_calling == is_calling;
        };
        return !list.empty() && std::all_of(list.begin(), list.end(), as_expected);
    }
    std::vector<aclsim::Origin> list;
};

// Tasks of a model that cannot start yet are queued later by another thread. Their origin is still the call that
// launched the model.
void replays_are_reported_with_the_launch_as_their_origin() {
    aclrtStream stream = new_stream();
    aclrtStream bound = nullptr;
    aclmdlRI model = nullptr;
    std::uint8_t unused = 0;
    CHECK_OK(aclrtCreateStreamWithConfig(&bound, 0, ACL_STREAM_PERSISTENT));
    CHECK_OK(aclmdlRIBuildBegin(&model, 0));
    CHECK_OK(aclmdlRIBindStream(model, bound, 0));
    CHECK_OK(aclrtProfTrace(&unused, 1, bound));
    CHECK_OK(aclmdlRIEndTask(model, bound));
    CHECK_OK(aclmdlRIBuildEnd(model, nullptr));
    std::uint32_t launcher = 0;
    Origins launched;
    Origins executed;
    CHECK(aclsimHold(1) == 0);
    std::thread([&] {
        CHECK_OK(aclrtSetDevice(0));
        CHECK_OK(aclmdlRIExecuteAsync(model, stream));
        launcher = aclsim::thread_number();
    }).join();
    {
        const Observing observing(launched);
        CHECK(aclsimHold(0) == 0);
        CHECK_OK(aclrtSynchronizeStream(stream));
    }
    CHECK(launched.are_all(launcher, "aclmdlRIExecuteAsync", /*is_calling=*/false));
    {
        const Observing observing(executed);
        CHECK_OK(aclmdlRIExecute(model, -1));
    }
    CHECK(executed.are_all(aclsim::thread_number(), "aclmdlRIExecute", /*is_calling=*/true));
    CHECK_OK(aclmdlRIDestroy(model));
    for (aclrtStream it : {stream, bound}) {
        CHECK_OK(aclrtDestroyStream(it));
    }
}

void queries_are_reported() {
    aclrtStream stream = new_stream();
    aclrtEvent event = new_event();
    Recorder recorder;
    {
        const Observing observing(recorder);
        CHECK(aclsimHold(1) == 0);
        CHECK_OK(aclrtRecordEvent(event, stream));
        aclrtStreamStatus status{};
        aclrtEventRecordedStatus recorded{};
        CHECK_OK(aclrtStreamQuery(stream, &status));
        CHECK_OK(aclrtQueryEventStatus(event, &recorded));
        CHECK(std::find(recorder.lines.begin(), recorder.lines.end(), "learn a1") == recorder.lines.end());
        CHECK(aclsimHold(0) == 0);
        CHECK_OK(aclrtStreamQuery(stream, &status));
        CHECK_OK(aclrtQueryEventStatus(event, &recorded));
    }
    CHECK(std::count(recorder.lines.begin(), recorder.lines.end(), "learn a1") == 2);
    CHECK_OK(aclrtDestroyEvent(event));
    CHECK_OK(aclrtDestroyStream(stream));
}

void ready_streams_are_served_by_priority_then_age() {
    aclrtStream handles[] = {new_stream(5), new_stream(0), new_stream(5), new_stream(0)};
    {
        aclsim::Core &core = Simulator::get().core;
        const Lock lock = core.acquire();
        aclsim::ReadyQueue ready;
        for (aclrtStream handle : handles) {
            ready.push(*core.registry().find<Stream>(handle));
        }
        CHECK(ready.size() == 4);
        CHECK(ready.all().front() == ready.front());
        for (const int expected : {1, 3, 0, 2}) {
            Stream &next = *ready.front();
            CHECK(next.handle() == handles[expected]);
            ready.remove(next);
        }
        CHECK(ready.size() == 0 && ready.front() == nullptr);
    }
    for (aclrtStream handle : handles) {
        CHECK_OK(aclrtDestroyStream(handle));
    }
}

void a_destroyed_handle_is_never_another_object() {
    std::vector<aclrtEvent> old;
    for (int i = 0; i < 1000; ++i) {
        old.push_back(new_event());
        CHECK_OK(aclrtDestroyEvent(old.back()));
    }
    std::vector<aclrtEvent> live;
    for (int i = 0; i < 1000; ++i) {
        live.push_back(new_event());
    }
    for (aclrtEvent event : old) {
        CHECK_CODE(ACL_ERROR_RT_INVALID_HANDLE, aclrtDestroyEvent(event));
    }
    for (aclrtEvent event : live) {
        CHECK_OK(aclrtDestroyEvent(event));
    }
}

class EndOf final : public Observer {
  public:
    explicit EndOf(std::uint64_t sequence) : sequence_(sequence) {}
    void ended(const aclsim::Moment &, const Stream &, const Task &task, std::uint32_t) override {
        if (task.sequence == sequence_) {
            over.open();
        }
    }
    Latch over;

  private:
    const std::uint64_t sequence_;
};

std::uint32_t own_threads() {
    aclsim::Core &core = Simulator::get().core;
    const Lock lock = core.acquire();
    return core.own_threads();
}

// The thread that ends a task runs the next one of the stream too, without waking another thread.
void tasks_of_one_stream_need_one_thread() {
    constexpr std::uint64_t kTasks = 50;
    constexpr std::size_t kSize = 4 << 20;  // bytes; the fill is long enough for another thread to start
    aclrtStream stream = new_stream();
    void *memory = nullptr;
    CHECK_OK(aclrtMalloc(&memory, kSize, ACL_MEM_MALLOC_HUGE_FIRST));
    const std::uint32_t before = own_threads();
    EndOf last(kTasks);
    {
        const Observing observing(last);
        CHECK(aclsimHold(1) == 0);
        for (std::uint64_t i = 0; i < kTasks; ++i) {
            CHECK_OK(aclrtMemsetAsync(memory, kSize, 1, kSize, stream));
        }
        CHECK(aclsimHold(0) == 0);
        CHECK(last.over.opens());  // not a synchronization, which would help
    }
    CHECK(own_threads() == before + 1);
    CHECK_OK(aclrtFree(memory));
    CHECK_OK(aclrtDestroyStream(stream));
}

// Queues a chain of waits through all streams while no task may start. The release of the chain must not recurse.
void a_long_chain_is_released_without_recursion() {
    constexpr int kStreams = 1000;
    constexpr int kRounds = 20;
    std::vector<aclrtStream> streams;
    std::vector<aclrtEvent> events;
    for (int i = 0; i < kStreams; ++i) {
        streams.push_back(new_stream());
        events.push_back(new_event());
    }
    CHECK(aclsimHold(1) == 0);
    for (int round = 0; round < kRounds; ++round) {
        for (int i = 0; i < kStreams; ++i) {
            CHECK_OK(aclrtStreamWaitEvent(streams[i], events[(i + kStreams - 1) % kStreams]));
            CHECK_OK(aclrtRecordEvent(events[i], streams[i]));
        }
    }
    CHECK(aclsimHold(0) == 0);
    CHECK_OK(aclrtSynchronizeStreamWithTimeout(streams.back(), 60000));
    for (int i = 0; i < kStreams; ++i) {
        CHECK_OK(aclrtDestroyEvent(events[i]));
        CHECK_OK(aclrtDestroyStream(streams[i]));
    }
}

}  // namespace

int main() {
    CHECK_OK(aclrtSetDevice(0));
    tasks_of_one_stream_need_one_thread();  // runs first, because other tests start threads
    observers_see_every_step_and_edge();
    observers_see_what_a_synchronization_of_the_device_finds_done();
    a_wait_is_reported_with_the_record_that_it_is_for();
    models_are_reported_with_their_orders();
    replays_are_reported_with_the_launch_as_their_origin();
    queries_are_reported();
    ready_streams_are_served_by_priority_then_age();
    a_destroyed_handle_is_never_another_object();
    a_long_chain_is_released_without_recursion();
    CHECK_OK(aclrtResetDevice(0));
    std::puts("native engine: all passed");
    return 0;
}
