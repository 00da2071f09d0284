// SPDX-License-Identifier: Apache-2.0
// Shards of the engine lock: calls that concern only one device do not wait for calls of other devices, and all others
// behave as with one lock. Queued tasks are in shard_queues_test.cpp.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "api/simulator.h"
#include "check.h"
#include "device_kit.h"
#include "latch.h"
#include "observe.h"
#include "tasks/event.h"

using aclsim::ContextStream;
using aclsim::Event;
using aclsim::Lock;
using aclsim::Registry;
using aclsim::Shards;
using aclsim::Simulator;

namespace {

constexpr std::int32_t kManyDevices = 20;  // more than there are shards

constexpr std::size_t kBytes = 4096;  // the most that a call moves itself

using Kit = MemoryKit<kBytes>;

void check_shards() {
    for (std::int32_t device = 0; device < kManyDevices; ++device) {
        const Pair pair(device);
        const std::uint32_t shard = static_cast<std::uint32_t>(device) % Shards::kMost;
        CHECK(Registry::shard_of(pair.stream) == shard);
        CHECK(Registry::shard_of(pair.event) == shard);
    }
    const Pair again(3);  // a device keeps its shard
    CHECK(Registry::shard_of(again.stream) == 3);
}

// Runs in a separate process that allocates no memory: the memory of so many devices needs more addresses than the
// thread sanitizer leaves.
void every_device_has_a_shard() {
    const pid_t child = fork();
    if (child == 0) {
        setenv("ASCEND_RT_SIM_DEVICES", std::to_string(kManyDevices).c_str(), 1);
        check_shards();
        _exit(0);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

using Calls = std::vector<std::function<aclError(const Kit &)>>;

// Returns all calls that are on the hot path of a program.
Calls calls_at_rest() {
    static thread_local aclrtStreamStatus stream_status;
    static thread_local aclrtEventRecordedStatus event_status;
    return {
        [](const Kit &it) { return aclrtRecordEvent(it.event, it.stream); },
        [](const Kit &it) { return aclrtRecordEventWithFlag(it.event, it.stream, ACL_EVENT_RECORD_DEFAULT); },
        [](const Kit &it) { return aclrtStreamWaitEvent(it.stream, it.event); },
        [](const Kit &it) { return aclrtStreamWaitEventWithTimeout(it.stream, it.event, 0); },
        [](const Kit &it) { return aclrtStreamWaitEventWithFlag(it.stream, it.event, 0, ACL_EVENT_WAIT_DEFAULT); },
        [](const Kit &it) { return aclrtQueryEventStatus(it.event, &event_status); },
        [](const Kit &it) { return aclrtSynchronizeEvent(it.event); },
        [](const Kit &it) { return aclrtSynchronizeEventWithTimeout(it.event, 1000); },
        [](const Kit &it) { return aclrtStreamQuery(it.stream, &stream_status); },
        [](const Kit &it) { return aclrtSynchronizeStream(it.stream); },
        [](const Kit &it) { return aclrtSynchronizeStreamWithTimeout(it.stream, 1000); },
        [](const Kit &) {
            aclrtEvent event = nullptr;
            CHECK_OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
            return aclrtDestroyEvent(event);
        },
        [](const Kit &it) {
            aclrtEvent event = nullptr;
            CHECK_OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_CAPTURE_STREAM_PROGRESS));
            CHECK_OK(aclrtRecordEvent(event, it.stream));
            return aclrtDestroyEvent(event);
        },
        [](const Kit &it) { return aclrtMemsetAsync(it.memory, kBytes, 1, kBytes, it.stream); },
        [](const Kit &it) {
            return aclrtMemcpyAsync(it.upper_half(), kBytes, it.memory, kBytes, ACL_MEMCPY_DEVICE_TO_DEVICE, it.stream);
        },
    };
}

void calls_at_rest_do_not_wait_for_another_device() {
    const Pair other(0);
    const Kit own(1);
    const auto calls = calls_at_rest();
    Latch set;
    Latch ready;
    auto all = begin([&] {
        CHECK_OK(aclrtSetDevice(1));
        set.open();
        CHECK(ready.opens());
        for (const auto &call : calls) {
            CHECK_OK(call(own));
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
}

// An observer that receives all facts does not make the calls wait.
void observed_calls_do_not_wait_for_another_device() {
    class Counter final : public aclsim::Observer {
      public:
        void submitted(const aclsim::Moment &, const aclsim::Stream &, const aclsim::Task &,
                       const aclsim::Submission &how) override {
            ++tasks;
            accesses += how.accesses.size();
        }
        void ended(const aclsim::Moment &, const aclsim::Stream &, const aclsim::Task &, std::uint32_t) override {
            ++ends;
        }
        void call_ended(const aclsim::Moment &, const aclsim::CallSite &) override { ++calls; }
        std::atomic<std::size_t> tasks{0};
        std::atomic<std::size_t> accesses{0};
        std::atomic<std::size_t> ends{0};
        std::atomic<std::size_t> calls{0};
    };
    Counter counter;
    const Observing observing(counter);
    calls_at_rest_do_not_wait_for_another_device();
    CHECK(counter.tasks >= 5 && counter.ends == counter.tasks);
    CHECK(counter.accesses == 3 && counter.calls >= calls_at_rest().size());  // size of the fill and the copy
}

// While a pool exists, the order of streams is recorded for it, with the global lock.
void a_pool_that_is_gone_leaves_no_trace() {
    aclrtMemPoolProps properties{};
    properties.allocType = ACL_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    aclrtMemPool pool = nullptr;
    CHECK_OK(aclrtSetDevice(0));
    CHECK_OK(aclrtMemPoolCreate(&pool, &properties));
    CHECK_OK(aclrtMemPoolDestroy(pool));
    calls_at_rest_do_not_wait_for_another_device();
}

// Larger transfers need a worker.
void what_a_call_moves_itself_is_there_when_it_returns() {
    const Kit kit(1);
    const auto *bytes = static_cast<const unsigned char *>(kit.upper_half());
    aclrtStreamStatus status = ACL_STREAM_STATUS_NOT_READY;
    CHECK_OK(aclrtMemsetAsync(kit.memory, kBytes, 7, kBytes, kit.stream));
    CHECK_OK(aclrtMemcpyAsync(kit.upper_half(), kBytes, kit.memory, kBytes, ACL_MEMCPY_DEVICE_TO_DEVICE, kit.stream));
    CHECK(bytes[0] == 7 && bytes[kBytes - 1] == 7);
    CHECK_OK(aclrtStreamQuery(kit.stream, &status));
    CHECK(status == ACL_STREAM_STATUS_COMPLETE);
}

void what_waits_is_moved_by_the_call_that_releases_it() {
    const Kit kit(1);
    const Pair other(1);
    const auto *bytes = static_cast<const unsigned char *>(kit.upper_half());
    const GateEvent gate;
    gate.close(kit.stream);
    CHECK_OK(aclrtMemsetAsync(kit.memory, kBytes, 9, kBytes, kit.stream));
    CHECK_OK(aclrtMemcpyAsync(kit.upper_half(), kBytes, kit.memory, kBytes, ACL_MEMCPY_DEVICE_TO_DEVICE, kit.stream));
    CHECK(bytes[kBytes - 1] != 9);
    gate.open(other.stream);
    CHECK(bytes[0] == 9 && bytes[kBytes - 1] == 9);
}

// A shared cache line would make threads of two devices slow each other down although they share no lock.
void objects_share_no_cache_line() {
    constexpr std::uintptr_t kLine = 64;
    const Pair pairs[] = {Pair(0), Pair(1)};
    const Lock lock = Simulator::get().core.acquire();
    const Registry &registry = Simulator::get().core.registry();
    for (const Pair &pair : pairs) {
        CHECK(reinterpret_cast<std::uintptr_t>(registry.find<ContextStream>(pair.stream)) % kLine == 0);
        CHECK(reinterpret_cast<std::uintptr_t>(registry.find<Event>(pair.event)) % kLine == 0);
    }
    CHECK(sizeof(ContextStream) % kLine == 0 && sizeof(Event) % kLine == 0);
}

// Fields of an idle stream that a task uses are in one cache line: with thousands of streams, each further line would
// be missing in the caches near the processor.
void an_idle_stream_is_one_cache_line() {
    constexpr std::ptrdiff_t kLine = 64;
    const Pair pair(0);
    const Lock lock = Simulator::get().core.acquire();
    const auto &stream = *Simulator::get().core.registry().find<ContextStream>(pair.stream);
    const auto end_of = [&](const auto &field) {
        return reinterpret_cast<const char *>(&field + 1) - reinterpret_cast<const char *>(&stream);
    };
    for (const std::ptrdiff_t end :
         {end_of(stream.submitted), end_of(stream.completed), end_of(stream.synchronized), end_of(stream.flags),
          end_of(stream.aborting), end_of(stream.state), end_of(stream.executes_tasks), end_of(stream.has_sleepers),
          end_of(stream.is_destroyed), end_of(stream.is_redirected)}) {
        CHECK(end > 0 && end <= kLine);
    }
}

void a_handle_of_no_shard_is_refused() {
    const Pair pair(1);
    void *const garbage = reinterpret_cast<void *>(~0ULL);
    CHECK(aclrtRecordEvent(pair.event, garbage) == ACL_ERROR_RT_INVALID_HANDLE);
    CHECK(aclrtRecordEvent(garbage, pair.stream) == ACL_ERROR_RT_INVALID_HANDLE);
    CHECK(aclrtSynchronizeStream(garbage) == ACL_ERROR_RT_INVALID_HANDLE);
    CHECK(aclrtSynchronizeEvent(garbage) == ACL_ERROR_RT_INVALID_HANDLE);
}

// A record on an idle stream wakes a stream of another device.
void a_record_wakes_a_stream_of_another_device() {
    aclrtEvent event = nullptr;
    CHECK_OK(aclrtSetDevice(0));
    CHECK_OK(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC));  // streams can wait for it before it is recorded
    const Pair recording(0);
    const Pair waiting(1);
    CHECK_OK(aclrtStreamWaitEvent(waiting.stream, event));
    auto woken = begin([&] {
        CHECK_OK(aclrtSetDevice(1));
        return aclrtSynchronizeStream(waiting.stream);
    });
    CHECK_OK(aclrtSetDevice(0));
    CHECK_OK(aclrtRecordEvent(event, recording.stream));
    CHECK(returns(woken));
    CHECK_OK(woken.get());
    CHECK_OK(aclrtDestroyEvent(event));
}

// An event that is recorded on a stream of another device concerns two shards.
void an_event_may_be_recorded_on_several_devices() {
    const Pair first(0);
    const Pair second(1);
    for (int round = 0; round < 100; ++round) {
        CHECK_OK(aclrtSetDevice(0));
        CHECK_OK(aclrtRecordEvent(first.event, first.stream));
        CHECK_OK(aclrtSetDevice(1));
        CHECK_OK(aclrtRecordEvent(first.event, second.stream));
        CHECK_OK(aclrtStreamWaitEvent(second.stream, first.event));
        CHECK_OK(aclrtSynchronizeEvent(first.event));
    }
}

// --- state that belongs to no shard, on two devices at once ----------------------------------------------------------

// The thread sanitizer detects races between two such calls that hold only their shards.

// A record of a default event may need another signal, which is memory.
void a_record_may_need_memory(const Kit &own) {
    std::array<aclrtEvent, 32> events{};
    for (aclrtEvent &event : events) {
        CHECK_OK(aclrtCreateEvent(&event));
    }
    for (const aclrtEvent event : events) {
        CHECK_OK(aclrtRecordEvent(event, own.stream));
    }
    for (const aclrtEvent event : events) {
        CHECK_OK(aclrtDestroyEvent(event));
    }
}

// Some events need only a slot of the shard, others need further memory. They are more than the device has slots for at
// first.
void events_come_and_go(const Kit &own) {
    constexpr std::array<std::uint32_t, 3> kFlags = {ACL_EVENT_SYNC, ACL_EVENT_TIME_LINE, ACL_EVENT_IPC};
    std::array<aclrtEvent, 150> events{};
    for (std::size_t i = 0; i < events.size(); ++i) {
        CHECK_OK(aclrtCreateEventExWithFlag(&events[i], i % 50 == 0 ? kFlags[i / 50] : ACL_EVENT_SYNC));
        CHECK_OK(aclrtRecordEvent(events[i], own.stream));
    }
    for (const aclrtEvent event : events) {
        CHECK_OK(aclrtDestroyEvent(event));
    }
}

// The number of live events only grows, so that slots are added again and again for both devices. Each event must get a
// different slot.
void ever_more_events_come() {
    std::array<std::vector<aclrtEvent>, 2> events;
    on_two_devices<Kit>([&events](const Kit &own) {
        for (int i = 0; i < 20; ++i) {
            aclrtEvent event = nullptr;
            CHECK_OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
            events[static_cast<std::size_t>(own.device)].push_back(event);
        }
    });
    for (const auto &of_device : events) {
        for (const aclrtEvent event : of_device) {
            CHECK_OK(aclrtDestroyEvent(event));
        }
    }
}

// The task of the record has the last reference to the event.
void an_event_may_end_behind_its_record(const Kit &own) {
    const GateEvent gate;
    aclrtEvent last = nullptr;
    CHECK_OK(aclrtCreateEventExWithFlag(&last, ACL_EVENT_SYNC));
    gate.close(own.stream);
    CHECK_OK(aclrtRecordEvent(last, own.stream));
    CHECK_OK(aclrtDestroyEvent(last));
    const Pair other(own.device);
    gate.open(other.stream);
    CHECK_OK(aclrtSynchronizeStream(own.stream));
}

// An event keeps the stream of its newest record, and thereby the memory of the stream.
void a_record_may_leave_a_destroyed_stream(const Kit &own) {
    aclrtStream last = nullptr;
    CHECK_OK(aclrtCreateStream(&last));
    CHECK_OK(aclrtRecordEvent(own.event, last));
    CHECK_OK(aclrtDestroyStream(last));
    CHECK_OK(aclrtRecordEvent(own.event, own.stream));
}

// Tasks of a graph need memory, and a wait for an event adds a stream to the capture.
void a_capture_takes_what_is_recorded(const Kit &own) {
    const Pair other(own.device);
    aclmdlRI graph = nullptr;
    CHECK_OK(aclmdlRICaptureBegin(own.stream, ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL));
    CHECK_OK(aclrtRecordEvent(own.event, own.stream));
    CHECK_OK(aclrtStreamWaitEvent(other.stream, own.event));
    CHECK_OK(aclrtMemsetAsync(own.memory, kBytes, 1, kBytes, other.stream));
    CHECK_OK(aclrtRecordEvent(other.event, other.stream));
    CHECK_OK(aclrtStreamWaitEvent(own.stream, other.event));
    CHECK_OK(aclmdlRICaptureEnd(own.stream, &graph));
    CHECK_OK(aclmdlRIDestroy(graph));
}

// A stream that does not execute its tasks keeps them, which needs memory.
void a_stream_may_keep_its_tasks(const Kit &own) {
    aclrtStream keeping = nullptr;
    CHECK_OK(aclrtCreateStreamWithConfig(&keeping, 0, ACL_STREAM_PERSISTENT));
    for (int task = 0; task < 16; ++task) {
        CHECK_OK(aclrtMemsetAsync(own.memory, kBytes, 1, kBytes, keeping));
    }
    CHECK_OK(aclrtDestroyStreamForce(keeping));
}

// Waiting threads are in a list that is shared by all devices.
void a_synchronization_may_have_to_wait(const Kit &own) {
    const Pair other(own.device);
    const GateEvent gate;
    gate.close(own.stream);
    CHECK_OK(aclrtRecordEvent(own.event, own.stream));
    CHECK(aclrtSynchronizeEventWithTimeout(own.event, 1) == ACL_ERROR_RT_EVENT_SYNC_TIMEOUT);
    CHECK(aclrtSynchronizeStreamWithTimeout(own.stream, 1) == ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
    gate.open(other.stream);
    CHECK_OK(aclrtSynchronizeEvent(own.event));
}

// Synchronizations return memory of pools to the device.
void a_synchronization_may_concern_pools(const Kit &own) {
    aclrtMemPoolProps properties{};
    properties.allocType = ACL_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = {static_cast<std::uint32_t>(own.device), ACL_MEM_LOCATION_TYPE_DEVICE};
    aclrtMemPool pool = nullptr;
    CHECK_OK(aclrtMemPoolCreate(&pool, &properties));
    for (int round = 0; round < 8; ++round) {
        void *block = nullptr;
        CHECK_OK(aclrtMemPoolMallocAsync(&block, kBytes, pool, own.stream));
        CHECK_OK(aclrtMemPoolFreeAsync(block, own.stream));
        CHECK_OK(aclrtSynchronizeStream(own.stream));
    }
    CHECK_OK(aclrtMemPoolDestroy(pool));
}

// An event and a stream of different devices have two shards; so do an event and the stream of its previous record.
void a_record_may_concern_two_devices() {
    const Kit kits[] = {Kit(0), Kit(1)};
    on_two_devices<Kit>([&kits](const Kit &own) {
        const Kit &near = kits[own.device];
        const Kit &far = kits[1 - own.device];
        CHECK_OK(aclrtRecordEvent(far.event, near.stream));
        CHECK_OK(aclrtRecordEvent(near.event, near.stream));
        CHECK_OK(aclrtRecordEvent(near.event, own.stream));
        CHECK_OK(aclrtStreamWaitEvent(own.stream, far.event));
    });
}

// --- all at once -----------------------------------------------------------------------------------------------------

// Makes the calls of the hot path of one device, and waits for events of others.
void work(Crowd<Pair> &crowd, std::int32_t device) {
    CHECK_OK(aclrtSetDevice(device));
    const Kit own(device);
    std::mt19937 random(static_cast<unsigned>(device));
    const auto calls = calls_at_rest();
    for (int round = 0; round < 20000; ++round) {
        const Pair &shared = *crowd.kits[static_cast<std::size_t>(device)];
        CHECK_OK(calls[random() % calls.size()](own));
        CHECK_OK(aclrtRecordEvent(shared.event, shared.stream));
        const Pair &any = *crowd.kits[random() % crowd.kits.size()];
        CHECK_OK(aclrtStreamWaitEvent(own.stream, any.event));
        if (round % 64 == 0) {
            CHECK_OK(aclrtSynchronizeStream(own.stream));
        }
    }
    CHECK_OK(aclrtSynchronizeStream(own.stream));
}

void capture_and_launch(aclrtStream stream) {
    aclmdlRI graph = nullptr;
    CHECK_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL));
    CHECK_OK(aclmdlRICaptureEnd(stream, &graph));
    CHECK_OK(aclmdlRIExecuteAsync(graph, stream));
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK_OK(aclmdlRIDestroy(graph));
}

// Makes calls that take the global lock: creates, destroys, aborts and resets on a separate device, and waits there for
// an event of another one.
void disturb(Crowd<Pair> &crowd) {
    const std::int32_t own = kBusyDevices;
    while (!crowd.is_over) {
        CHECK_OK(aclrtSetDevice(own));
        void *memory = nullptr;
        CHECK_OK(aclrtMalloc(&memory, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
        {
            const Pair pair(own, ACL_EVENT_IPC);
            const Pair aborted(own);
            CHECK_OK(aclrtMemsetAsync(memory, 4096, 1, 4096, aborted.stream));
            CHECK_OK(aclrtRecordEvent(pair.event, aborted.stream));
            CHECK_OK(aclrtStreamWaitEvent(aborted.stream, crowd.kits[0]->event));
            CHECK_OK(aclrtStreamAbort(aborted.stream));
            capture_and_launch(pair.stream);
        }
        CHECK_OK(aclrtFree(memory));
        CHECK_OK(aclrtResetDeviceForce(own));
    }
}

}  // namespace

int main() {
    every_device_has_a_shard();  // before this process has threads
    const Watchdog watchdog("shards_test", std::chrono::seconds(200));
    calls_at_rest_do_not_wait_for_another_device();
    a_pool_that_is_gone_leaves_no_trace();
    observed_calls_do_not_wait_for_another_device();
    what_a_call_moves_itself_is_there_when_it_returns();
    what_waits_is_moved_by_the_call_that_releases_it();
    objects_share_no_cache_line();
    an_idle_stream_is_one_cache_line();
    a_handle_of_no_shard_is_refused();
    a_record_wakes_a_stream_of_another_device();
    an_event_may_be_recorded_on_several_devices();
    on_two_devices<Kit>(a_record_may_need_memory);
    on_two_devices<Kit>(events_come_and_go);
    ever_more_events_come();
    on_two_devices<Kit>(an_event_may_end_behind_its_record);
    on_two_devices<Kit>(a_record_may_leave_a_destroyed_stream);
    on_two_devices<Kit>(a_capture_takes_what_is_recorded);
    on_two_devices<Kit>(a_stream_may_keep_its_tasks);
    on_two_devices<Kit>(a_synchronization_may_have_to_wait);
    on_two_devices<Kit>(a_synchronization_may_concern_pools);
    a_record_may_concern_two_devices();
    on_busy_devices<Pair>(work, disturb);
}
