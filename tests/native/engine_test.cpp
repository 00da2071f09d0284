// The engine's own parts: what observers are told, the order of ready streams, handles, and how the cost of a task
// depends on nothing but itself.
#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "engine/core.h"
#include "tasks/event.h"

using aclsim::Engine;
using aclsim::Lock;
using aclsim::Observer;
using aclsim::Stream;
using aclsim::Task;
using aclsim::TaskKind;

namespace {

class Recorder final : public Observer {
  public:
    void submitted(const Stream &stream, const Task &task) override { note("submit", stream, task); }
    void started(const Stream &stream, const Task &task) override { note("start", stream, task); }
    void ended(const Stream &stream, const Task &task) override { note("end", stream, task); }
    void edge(const Stream &recorded, const Stream &waited, const aclsim::Event &) override {
        lines.push_back("edge " + std::to_string(recorded.id) + "->" + std::to_string(waited.id));
    }
    std::vector<std::string> lines;

  private:
    void note(const char *what, const Stream &stream, const Task &task) {
        lines.push_back(std::string(what) + " " + std::to_string(stream.id) + "." + std::to_string(task.sequence));
    }
};

void observe(Observer *observer) {
    Lock lock = Engine::get().acquire();
    Engine::get().set_observer(observer);
}

aclrtStream new_stream(std::uint32_t priority = 0) {
    aclrtStream stream = nullptr;
    CHECK_OK(aclrtCreateStreamWithConfig(&stream, priority, 0));
    return stream;
}

aclrtEvent new_event() {
    aclrtEvent event = nullptr;
    CHECK_OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
    return event;
}

std::string id_of(aclrtStream stream) {
    std::int32_t id = 0;
    CHECK_OK(aclrtStreamGetId(stream, &id));
    return std::to_string(id);
}

void observers_see_every_step_and_edge() {
    aclrtStream a = new_stream();
    aclrtStream b = new_stream();
    aclrtEvent event = new_event();
    const std::string x = id_of(a);
    const std::string y = id_of(b);
    Recorder recorder;
    observe(&recorder);
    CHECK(aclsimHold(1) == 0);
    CHECK_OK(aclrtRecordEvent(event, a));
    CHECK_OK(aclrtStreamWaitEvent(b, event));
    CHECK(aclsimHold(0) == 0);
    CHECK_OK(aclrtSynchronizeStream(b));
    CHECK_OK(aclrtRecordEvent(event, a));      // at once
    CHECK_OK(aclrtStreamWaitEvent(b, event));  // no task, but an edge all the same
    observe(nullptr);
    const std::vector<std::string> expected = {
        "submit " + x + ".1",   "submit " + y + ".1", "start " + x + ".1",    "end " + x + ".1",
        "edge " + x + "->" + y, "start " + y + ".1",  "end " + y + ".1",      "submit " + x + ".2",
        "start " + x + ".2",    "end " + x + ".2",    "edge " + x + "->" + y,
    };
    // The wait's own start and its edge may come in either order.
    auto sorted = [](std::vector<std::string> lines) {
        std::sort(lines.begin(), lines.end());
        return lines;
    };
    CHECK(sorted(recorder.lines) == sorted(expected));
    CHECK_OK(aclrtDestroyEvent(event));
    CHECK_OK(aclrtDestroyStream(a));
    CHECK_OK(aclrtDestroyStream(b));
}

void ready_streams_are_served_by_priority_then_age() {
    aclrtStream handles[] = {new_stream(5), new_stream(0), new_stream(5), new_stream(0)};
    {
        Engine &engine = Engine::get();
        Lock lock = engine.acquire();
        aclsim::ReadyQueue ready;
        for (aclrtStream handle : handles) {
            ready.push(*engine.registry().find<Stream>(handle));
        }
        CHECK(ready.size() == 4);
        for (const int expected : {1, 3, 0, 2}) {
            Stream &next = engine.scheduler().next(ready);
            CHECK(next.handle() == handles[expected]);
            ready.remove(next);
        }
        CHECK(ready.size() == 0);
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

// A chain of waits through all streams, queued while nothing may start: releasing it must not recurse.
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
    observers_see_every_step_and_edge();
    ready_streams_are_served_by_priority_then_age();
    a_destroyed_handle_is_never_another_object();
    a_long_chain_is_released_without_recursion();
    CHECK_OK(aclrtResetDevice(0));
    std::puts("native engine: all passed");
    return 0;
}
