// SPDX-License-Identifier: Apache-2.0
// Facts about order, each compared with the actual order: the record before a wait, the tasks that changed a number
// before another task stopped waiting for it, the knowledge of the host, and the binding of a wait; and accesses of
// tasks.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "concurrent.h"
#include "cpu_binary.h"
#include "host_waits.h"
#include "latch.h"
#include "observe.h"

using namespace aclsim;

namespace {

using Name = std::pair<std::uint64_t, std::uint64_t>;  // stream and sequence number of a task

Name name_of(const Point &point) { return {point.stream, point.sequence}; }

class Facts final : public Observer {
  public:
    void stream_created(const Moment &, const Stream &stream) override { streams.push_back(stream.serial); }
    void stream_destroyed(const Moment &, const Stream &stream) override {
        streams.erase(std::remove(streams.begin(), streams.end(), stream.serial), streams.end());
    }
    void submitted(const Moment &, const Stream &stream, const Task &task, const Submission &how) override {
        tasks.push_back({name_of(stream.point(task)), how.batch, how.are_accesses_known, how.accesses});
    }
    void started(const Moment &, const Stream &stream, const Task &task, std::uint32_t thread) override {
        runners[name_of(stream.point(task))] = thread;
    }
    void ended(const Moment &, const Stream &stream, const Task &task, std::uint32_t thread) override {
        CHECK(runners.at(name_of(stream.point(task))) == thread);
    }
    void changed(const Moment &, const Stream &, const Task &, const Task &, const Submission &how) override {
        changes.push_back(how.accesses);
    }
    void records(const Moment &, Point task, const SyncObject &object) override {
        recorded.emplace_back(name_of(task), object.handle);
    }
    void waits(const Moment &, Point, const SyncObject &object, const WaitBinding &binding) override {
        waited.emplace_back(object.handle, binding);
    }
    void ordered(const Moment &, const Edge &edge) override { edges.push_back(edge); }
    void host_learned(const Moment &, std::uint32_t, Point, HostSync how) override { ++learned[how]; }
    void host_polled(const Moment &, std::uint32_t, Point task) override { polled.push_back(name_of(task)); }
    void free_reached(const Moment &, std::uint64_t, Point task) override { freed_at = name_of(task); }
    void allocation_reached(const Moment &, std::uint64_t, Point task) override { allocated_at = name_of(task); }
    void call_began(const Moment &, const CallSite &site) override {
        calls.emplace_back(site.function, site.place == nullptr ? CallPlace() : *site.place);
        caller = site.thread;
    }

    // Returns the tasks with an edge to the given one.
    std::vector<Name> before(const Name &after) const {
        std::vector<Name> found;
        for (const Edge &edge : edges) {
            if (name_of(edge.after) == after) {
                found.push_back(name_of(edge.before));
            }
        }
        return found;
    }
    Name newest() const { return tasks.back().name; }

    struct Submitted {
        Name name;
        std::uint64_t batch;
        bool are_accesses_known;
        std::vector<Access> accesses;
    };
    std::vector<std::uint64_t> streams;
    std::vector<Submitted> tasks;
    std::map<Name, std::uint32_t> runners;
    std::vector<std::vector<Access>> changes;
    std::vector<std::pair<Name, const void *>> recorded;
    std::vector<std::pair<const void *, WaitBinding>> waited;
    std::vector<Edge> edges;
    std::map<HostSync, int> learned;
    std::vector<Name> polled;
    Name freed_at;
    Name allocated_at;
    std::vector<std::pair<std::string, CallPlace>> calls;
    std::uint32_t caller = 0;
};

// Streams and an observer for one test.
struct Bench {
    Facts facts;
    aclrtStream a = new_stream();
    aclrtStream b = new_stream();
    aclrtStream c = new_stream();
    Observing observing{facts};

    // Returns the task that the call submits.
    Name task(const std::function<aclError()> &submit) {
        CHECK_OK(submit());
        return facts.newest();
    }
    void synchronize() {
        for (aclrtStream stream : {a, b, c}) {
            CHECK_OK(aclrtSynchronizeStream(stream));
        }
    }
};

aclrtEvent manual_event() {
    aclrtEvent event = nullptr;
    CHECK_OK(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC));
    return event;
}

void *device_memory(std::size_t size = 4096) {
    void *memory = nullptr;
    CHECK_OK(aclrtMalloc(&memory, size, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK_OK(aclrtMemset(memory, size, 0, size));
    return memory;
}

void *pinned_memory(std::size_t size = 4096) {
    void *memory = nullptr;
    CHECK_OK(aclrtMallocHost(&memory, size));
    return memory;
}

// --- waits and what they came after ----------------------------------------------------------------------------------

void a_manual_reset_event_orders_by_its_first_record() {
    Bench it;
    const aclrtEvent event = manual_event();
    for (int round = 0; round < 2; ++round) {
        const Name first = it.task([&] { return aclrtRecordEvent(event, it.a); });
        it.task([&] { return aclrtRecordEvent(event, it.b); });
        const Name wait = it.task([&] { return aclrtStreamWaitEvent(it.c, event); });
        CHECK((it.facts.before(wait) == std::vector<Name>{first}));
        it.synchronize();
        CHECK_OK(aclrtResetEvent(event, it.c));
        it.synchronize();
    }
}

void a_notify_orders_by_the_records_that_may_have_set_it() {
    Bench it;
    aclrtNotify notify = nullptr;
    CHECK_OK(aclrtCreateNotify(&notify, 0));
    for (int round = 0; round < 2; ++round) {
        const Name first = it.task([&] { return aclrtRecordNotify(notify, it.a); });
        const Name second = it.task([&] { return aclrtRecordNotify(notify, it.b); });
        it.task([&] { return aclrtRecordNotify(notify, it.a); });
        const Name wait = it.task([&] { return aclrtWaitAndResetNotify(notify, it.c, 0); });
        CHECK((it.facts.before(wait) == std::vector<Name>{first, second}));
        CHECK(it.facts.edges.back().choice == Edge::Choice::Other);
        CHECK(it.facts.edges[it.facts.edges.size() - 2].choice == Edge::Choice::Taken);
    }
    const Name sole = it.task([&] { return aclrtRecordNotify(notify, it.b); });
    const Name wait = it.task([&] { return aclrtWaitAndResetNotify(notify, it.c, 0); });
    CHECK((it.facts.before(wait) == std::vector<Name>{sole}));
    CHECK(it.facts.edges.back().choice == Edge::Choice::Sole);
}

void a_counting_notify_orders_by_all_contributors() {
    Bench it;
    aclrtCntNotify notify = nullptr;
    CHECK_OK(aclrtCntNotifyCreate(&notify, 0));
    aclrtCntNotifyRecordInfo add{};
    add.mode = ACL_RT_CNT_NOTIFY_RECORD_ADD_MODE;
    add.value = 1;
    aclrtCntNotifyWaitInfo until{};
    until.mode = ACL_RT_CNT_NOTIFY_WAIT_BIGGER_OR_EQUAL_MODE;
    until.value = 2;
    until.isClear = 1;
    for (int round = 0; round < 2; ++round) {  // the wait clears the number and its contributors
        const Name wait = it.task([&] { return aclrtCntNotifyWaitWithTimeout(notify, it.c, &until); });
        const Name first = it.task([&] { return aclrtCntNotifyRecord(notify, it.a, &add); });
        const Name second = it.task([&] { return aclrtCntNotifyRecord(notify, it.b, &add); });
        CHECK((it.facts.before(wait) == std::vector<Name>{first, second}));
    }
}

void a_counting_notify_orders_by_the_records_that_may_be_enough() {
    Bench it;
    aclrtCntNotify notify = nullptr;
    CHECK_OK(aclrtCntNotifyCreate(&notify, 0));
    aclrtCntNotifyRecordInfo add{ACL_RT_CNT_NOTIFY_RECORD_ADD_MODE, 1};
    const auto record = [&](aclrtStream stream) {
        return it.task([&] { return aclrtCntNotifyRecord(notify, stream, &add); });
    };
    const Name first = record(it.a);
    const Name second = record(it.a);
    const Name third = record(it.b);
    const auto edges_of_wait = [&](std::uint32_t number) {
        aclrtCntNotifyWaitInfo until{};
        until.mode = ACL_RT_CNT_NOTIFY_WAIT_BIGGER_OR_EQUAL_MODE;
        until.value = number;
        it.facts.edges.clear();
        it.task([&] { return aclrtCntNotifyWaitWithTimeout(notify, it.c, &until); });
        std::vector<std::pair<Name, std::uint64_t>> found;
        for (const Edge &edge : it.facts.edges) {
            CHECK((edge.choice == Edge::Choice::Sole) == (number == 3));
            CHECK(edge.choice == Edge::Choice::Sole || edge.needed == number);
            found.emplace_back(name_of(edge.before), edge.weight);
        }
        return found;
    };
    using Edges = std::vector<std::pair<Name, std::uint64_t>>;
    CHECK(edges_of_wait(0).empty());
    CHECK((edges_of_wait(1) == Edges{{first, 1}, {third, 1}}));
    CHECK((edges_of_wait(2) == Edges{{first, 1}, {second, 1}, {third, 1}}));
    CHECK((edges_of_wait(3) == Edges{{second, 1}, {third, 1}}));  // one for each stream
}

void a_value_orders_by_the_write_that_satisfied_the_wait() {
    Bench it;
    void *const value = device_memory();
    auto *const nine = static_cast<std::uint64_t *>(pinned_memory());
    *nine = 9;
    const auto wait = [&](std::uint64_t least) {
        return it.task([&] { return aclrtValueWait(value, least, ACL_STREAM_WAIT_VALUE_GEQ, it.c); });
    };
    const Name write = it.task([&] { return aclrtValueWrite(value, 5, 0, it.a); });
    CHECK((it.facts.before(wait(5)) == std::vector<Name>{write}));
    CHECK_OK(aclrtMemcpyAsync(value, 8, nine, 8, ACL_MEMCPY_HOST_TO_DEVICE, it.b));
    it.synchronize();
    CHECK(it.facts.before(wait(9)).empty());  // written by a copy, which reports no edge

    const Name last = it.task([&] { return aclrtValueWrite(value, 10, 0, it.a); });
    CHECK(it.facts.before(wait(9)).empty());  // the value before was sufficient
    CHECK((it.facts.before(wait(10)) == std::vector<Name>{last}));
    it.synchronize();
    CHECK_OK(aclrtFree(value));
    void *const again = device_memory();  // at the same address, where the host writes the value itself
    CHECK(again == value);
    std::memcpy(again, nine, sizeof *nine);
    CHECK(it.facts.before(wait(9)).empty());
    it.synchronize();
}

// --- bindings of waits -----------------------------------------------------------------------------------------------

void the_call_of_a_wait_says_what_it_is_bound_to() {
    using State = WaitBinding::State;
    Bench it;
    const aclrtEvent never = new_event();
    const aclrtEvent event = new_event();
    const aclrtEvent manual = manual_event();
    CHECK_OK(aclrtStreamWaitEvent(it.c, never));
    const WaitBinding unordered = it.facts.waited.back().second;
    CHECK(unordered.state == State::NeverRecorded && !unordered.has_task && it.facts.edges.empty());

    LatchedCallback held;
    CHECK_OK(aclrtLaunchHostFunc(it.a, LatchedCallback::run, &held));
    const Name first = it.task([&] { return aclrtRecordEvent(event, it.a); });
    CHECK((it.facts.recorded.back() == std::pair<Name, const void *>{first, event}));
    const Name wait = it.task([&] { return aclrtStreamWaitEvent(it.c, event); });
    CHECK(it.facts.waited.back().first == event);
    const WaitBinding bound = it.facts.waited.back().second;
    CHECK(bound.state == State::Record && bound.has_task && name_of(bound.record) == first);
    it.task([&] { return aclrtRecordEvent(event, it.b); });  // a later record has no effect
    aclrtEventRecordedStatus status{};
    aclrtStreamStatus stream_status{};
    CHECK_OK(aclrtStreamQuery(it.a, &stream_status));
    CHECK(stream_status == ACL_STREAM_STATUS_NOT_READY && it.facts.polled.back() == first);
    held.released.open();
    it.synchronize();
    CHECK((it.facts.before(wait) == std::vector<Name>{first}));
    CHECK_OK(aclrtQueryEventStatus(event, &status));
    CHECK(status == ACL_EVENT_RECORDED_STATUS_COMPLETE && it.facts.polled.size() == 1);

    CHECK_OK(aclrtRecordEvent(manual, it.a));
    CHECK_OK(aclrtStreamWaitEvent(it.c, manual));
    CHECK(it.facts.waited.back().second.state == State::Any);
    it.synchronize();
}

void a_query_of_an_event_that_is_not_complete_is_reported() {
    Bench it;
    LatchedCallback held;
    const aclrtEvent event = new_event();
    CHECK_OK(aclrtLaunchHostFunc(it.a, LatchedCallback::run, &held));
    const Name record = it.task([&] { return aclrtRecordEvent(event, it.a); });
    aclrtEventRecordedStatus status{};
    CHECK_OK(aclrtQueryEventStatus(event, &status));
    CHECK(status == ACL_EVENT_RECORDED_STATUS_NOT_READY);
    CHECK((it.facts.polled == std::vector<Name>{record}));
    held.released.open();
    it.synchronize();
}

// The first aclrtQueryEvent of a complete record answers "not ready" if CAPTURE_STREAM_PROGRESS is the only flag.
void a_query_that_lags_is_reported_as_it_is_answered() {
    Bench it;
    aclrtEvent event = nullptr;
    CHECK_OK(aclrtCreateEventWithFlag(&event, ACL_EVENT_CAPTURE_STREAM_PROGRESS));
    aclrtEventStatus status{};
    for (std::size_t round = 1; round <= 2; ++round) {  // a new record is news again
        const Name record = it.task([&] { return aclrtRecordEvent(event, it.a); });
        it.synchronize();
        const int learned = it.facts.learned[HostSync::Queried];
        CHECK_OK(aclrtQueryEvent(event, &status));
        CHECK(status == ACL_EVENT_STATUS_NOT_READY);
        CHECK(it.facts.learned[HostSync::Queried] == learned);
        CHECK(it.facts.polled.size() == round && it.facts.polled.back() == record);
        CHECK_OK(aclrtQueryEvent(event, &status));
        CHECK(status == ACL_EVENT_STATUS_COMPLETE);
        CHECK(it.facts.learned[HostSync::Queried] == learned + 1);
        CHECK(it.facts.polled.size() == round);
    }
    CHECK_OK(aclrtDestroyEvent(event));
}

void a_wait_that_the_product_ignores_is_reported() {
    CHECK_OK(aclrtSetDevice(1));
    const aclrtStream foreign = new_stream();
    CHECK_OK(aclrtSetDevice(0));
    Bench it;
    const aclrtEvent event = new_event();
    CHECK_OK(aclrtRecordEvent(event, it.a));
    CHECK_OK(aclrtSetDevice(1));
    CHECK_OK(aclrtStreamWaitEvent(foreign, event));
    CHECK(it.facts.waited.back().second.state == WaitBinding::State::Ignored);
    CHECK(it.facts.edges.empty());
    CHECK_OK(aclrtSetDevice(0));
}

void a_wait_for_room_is_no_synchronization() {
    Bench it;
    void *const memory = device_memory();
    LatchedCallback held;
    CHECK_OK(aclrtLaunchHostFunc(it.a, LatchedCallback::run, &held));
    std::thread opener([&] {
        await_waiters(1);
        held.released.open();
    });
    for (std::uint32_t i = 0; i < 2 * config().product->queue_depth; ++i) {
        CHECK_OK(aclrtMemsetAsync(memory, 64, 1, 64, it.a));
    }
    opener.join();
    CHECK(it.facts.learned[HostSync::Synchronized] == 0 && it.facts.learned[HostSync::QueueRoom] > 0);
    it.synchronize();
}

// --- records of another process --------------------------------------------------------------------------------------

void records_of_another_process_are_reported() {
    int to_child[2];
    int to_parent[2];
    CHECK(pipe(to_child) == 0 && pipe(to_parent) == 0);
    char key[65] = "";
    const pid_t child = fork();  // before the first use of the library
    if (child == 0) {
        CHECK(read(to_child[0], key, 65) == 65);
        CHECK_OK(aclrtSetDevice(0));
        aclrtNotify notify = nullptr;
        CHECK_OK(aclrtNotifyImportByKey(&notify, key, 0));
        const aclrtStream stream = new_stream();
        CHECK_OK(aclrtRecordNotify(notify, stream));
        CHECK_OK(aclrtSynchronizeStream(stream));
        CHECK(write(to_parent[1], "x", 1) == 1);
        _exit(0);
    }
    CHECK_OK(aclrtSetDevice(0));
    Bench it;
    aclrtNotify notify = nullptr;
    CHECK_OK(aclrtCreateNotify(&notify, 0));
    CHECK_OK(aclrtNotifyGetExportKey(notify, key, sizeof key, ACL_RT_NOTIFY_EXPORT_FLAG_DISABLE_PID_VALIDATION));
    CHECK(write(to_child[1], key, 65) == 65);
    char done = 0;
    CHECK(read(to_parent[0], &done, 1) == 1);
    CHECK_OK(aclrtWaitAndResetNotify(notify, it.c, 0));
    it.synchronize();
    CHECK(it.facts.edges.size() == 1 && it.facts.edges[0].process != 0 && it.facts.edges[0].before.sequence == 1);
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

// --- accesses --------------------------------------------------------------------------------------------------------

void parts_of_a_batch_are_one_batch() {
    Bench it;
    auto *const device = static_cast<char *>(device_memory());
    auto *const host = static_cast<char *>(pinned_memory());
    void *to[] = {device, device + 512};
    void *from[] = {host, host + 512};
    std::size_t sizes[] = {64, 64};
    std::size_t first[] = {0};
    std::size_t failed = 0;
    aclrtMemcpyBatchAttr attribute{};
    attribute.dstLoc = {0, ACL_MEM_LOCATION_TYPE_DEVICE};
    attribute.srcLoc = {0, ACL_MEM_LOCATION_TYPE_HOST};
    for (int i = 0; i < 2; ++i) {
        CHECK_OK(aclrtMemcpyBatchAsync(to, sizes, from, sizes, 2, &attribute, first, 1, &failed, it.a));
    }
    CHECK_OK(aclrtMemcpyAsync(device, 64, host, 64, ACL_MEMCPY_HOST_TO_DEVICE, it.a));
    const auto &tasks = it.facts.tasks;
    CHECK(tasks.size() == 5 && tasks[0].batch != 0 && tasks[0].batch == tasks[1].batch);
    CHECK(tasks[2].batch == tasks[3].batch && tasks[2].batch != tasks[0].batch && tasks[4].batch == 0);
    CHECK(tasks[1].accesses.size() == 2 && tasks[1].accesses[0].address == device + 512);
    it.synchronize();
}

aclError touch(const aclsimKernelBlock *, void *) { return ACL_SUCCESS; }

void a_kernel_accesses_what_is_declared() {
    Bench it;
    auto *const memory = static_cast<char *>(device_memory(1 << 16));
    const aclrtBinHandle binary = load_cpu_binary();
    aclrtFuncHandle function = nullptr;
    CHECK_OK(aclrtRegisterCpuFunc(binary, "touch", "touch", &function));
    const aclsimKernel kernel{touch, nullptr, nullptr, 0, 0};
    CHECK_OK(aclsimRegisterKernel("touch", &kernel));
    std::uint64_t argument = 0;
    const auto launch = [&]() -> const Facts::Submitted & {
        CHECK_OK(aclrtLaunchKernelWithHostArgs(function, 1, it.a, nullptr, &argument, sizeof argument, nullptr, 0));
        return it.facts.tasks.back();
    };
    CHECK(!launch().are_accesses_known && launch().accesses.empty());  // accesses are never guessed

    CHECK(aclsimWantsAccesses() == 1);
    const std::int64_t matrix[] = {4, 8};
    const std::int64_t padded[] = {256, 4};
    const std::int64_t transposed[] = {4, 32};
    const std::int64_t backwards[] = {-32, 4};
    const std::int64_t none[] = {0, 8};
    const aclsimAccess operands[] = {
        {memory, ACLSIM_ACCESS_READ, 4, 2, matrix, nullptr, "dense"},
        {memory + 4096, ACLSIM_ACCESS_WRITE, 4, 2, matrix, padded, "padded"},
        {memory + 8192, ACLSIM_ACCESS_READ_WRITE, 4, 2, matrix, transposed, "transposed"},
        {memory + 12288, ACLSIM_ACCESS_READ, 4, 2, matrix, backwards, "backwards"},
        {memory, ACLSIM_ACCESS_READ, 4, 2, none, nullptr, "empty"},
        {memory + 16384, ACLSIM_ACCESS_READ, 8, 0, nullptr, nullptr, "scalar"},
    };
    CHECK_OK(aclsimDeclareAccesses(operands, 6));
    const Facts::Submitted declared = launch();
    CHECK(declared.are_accesses_known && declared.accesses.size() == 5);
    const auto &found = declared.accesses;
    CHECK(found[0].address == memory && found[0].size == 128 && found[0].layout.is_whole());
    CHECK(found[1].mode == AccessMode::Write && found[1].size == 3 * 256 + 32 && found[1].layout.width == 32);
    CHECK((found[1].layout.count == 1 && found[1].layout.repetitions[0] == Repetition{4, 256}));
    CHECK(found[2].mode == AccessMode::ReadWrite && found[2].layout.width == 16);
    CHECK((found[2].layout.repetitions[0] == Repetition{8, 32} && found[2].size == 7 * 32 + 16));
    CHECK(found[3].address == memory + 12288 - 96 && found[3].size == 128 && found[3].layout.is_whole());
    CHECK(found[4].size == 8 && std::string(found[4].name) == "scalar");
    CHECK(!launch().are_accesses_known);  // the declaration was for one launch only
    CHECK_OK(aclsimDeclareAccesses(operands, 6));
    CHECK(aclrtLaunchKernelWithHostArgs(function, 0, it.a, nullptr, &argument, sizeof argument, nullptr, 0) != 0);
    CHECK(!launch().are_accesses_known);  // a launch that fails uses up the declaration

    const aclsimAccess bad[] = {{memory, static_cast<aclsimAccessMode>(9), 4, 0, nullptr, nullptr, nullptr}};
    CHECK_CODE(ACL_ERROR_INVALID_PARAM, aclsimDeclareAccesses(bad, 1));
    const aclsimAccess shapeless[] = {{memory, ACLSIM_ACCESS_READ, 4, 2, nullptr, nullptr, nullptr}};
    CHECK_CODE(ACL_ERROR_INVALID_PARAM, aclsimDeclareAccesses(shapeless, 1));
    CHECK_CODE(ACL_ERROR_INVALID_PARAM, aclsimDeclareAccesses(nullptr, 1));
    CHECK_OK(aclrtLaunchHostFunc(it.a, [](void *) {}, nullptr));
    CHECK(!it.facts.tasks.back().are_accesses_known);
    it.synchronize();
}

void a_changed_task_of_a_graph_has_new_accesses() {
    Bench it;
    auto *const memory = static_cast<char *>(device_memory());
    aclmdlRI graph = nullptr;
    CHECK_OK(aclmdlRICaptureBegin(it.a, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    CHECK_OK(aclrtValueWrite(memory, 1, 0, it.a));
    CHECK_OK(aclmdlRICaptureEnd(it.a, &graph));
    aclrtStream streams[1] = {};
    std::uint32_t count = 1;
    CHECK_OK(aclmdlRIGetStreams(graph, streams, &count));
    aclmdlRITask tasks[1] = {};
    count = 1;
    CHECK_OK(aclmdlRIGetTasksByStream(streams[0], tasks, &count));
    aclmdlRITaskParams params{};
    params.type = ACL_MODEL_RI_TASK_VALUE_WRITE;
    params.valueWriteTaskParams = {memory + 64, 2};
    CHECK_OK(aclmdlRITaskSetParams(tasks[0], &params));
    CHECK(it.facts.changes.size() == 1 && it.facts.changes[0].size() == 1);
    const Access &now = it.facts.changes[0][0];
    CHECK(now.address == memory + 64 && now.size == 8 && now.mode == AccessMode::Write);
    CHECK_OK(aclmdlRIUpdate(graph));
    CHECK_OK(aclmdlRIDestroy(graph));
}

void frees_and_allocations_are_reached_at_points() {
    Bench it;
    const aclrtMemPool pool = new_pool();
    void *memory = nullptr;
    CHECK_OK(aclrtMemPoolMallocAsync(&memory, 4096, pool, it.a));
    CHECK(it.facts.allocated_at == it.facts.newest());
    CHECK_OK(aclrtMemPoolFreeAsync(memory, it.a));
    CHECK(it.facts.freed_at == it.facts.newest());
    it.synchronize();
}

// --- streams, threads and calls --------------------------------------------------------------------------------------

void streams_come_and_go() {
    Bench it;
    const std::size_t before = it.facts.streams.size();
    const aclrtStream stream = new_stream();
    CHECK(it.facts.streams.size() == before + 1);
    CHECK_OK(aclrtDestroyStream(stream));
    CHECK(it.facts.streams.size() == before);
}

void calls_have_a_function_and_a_place() {
    Bench it;
    it.facts.calls.clear();
    CHECK_OK(aclrtRecordEvent(new_event(), it.a));
    CHECK(it.facts.calls.back().first == "aclrtRecordEvent" && it.facts.caller == thread_number());
    const CallPlace &place = it.facts.calls.back().second;
    CHECK(place.kind == CallPlace::Kind::Native && place.count >= 1);
    CHECK(name_of(place).find("order_facts") != std::string::npos);
}

// --- products --------------------------------------------------------------------------------------------------------

template <class Test>
void in_child(const char *variable, const char *value, Test test) {
    const pid_t child = fork();
    if (child == 0) {
        setenv(variable, value, 1);
        test();
        _exit(0);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

void on_device(void (*test)()) {
    CHECK_OK(aclrtSetDevice(0));
    test();
    CHECK_OK(aclrtResetDevice(0));
}

}  // namespace

int main() {
    setenv("ASCEND_RT_SIM_DEVICES", "2", 1);
    // Each test runs in a separate process, before this process uses the library.
    in_child("ASCEND_RT_SIM_PRODUCT", "910B", records_of_another_process_are_reported);
    in_child("ASCEND_RT_SIM_PRODUCT", "950", [] { on_device(a_counting_notify_orders_by_all_contributors); });
    in_child("ASCEND_RT_SIM_PRODUCT", "950",
             [] { on_device(a_counting_notify_orders_by_the_records_that_may_be_enough); });
    in_child("ASCEND_RT_SIM_PRODUCT", "310P", [] { on_device(a_wait_that_the_product_ignores_is_reported); });
    in_child("ASCEND_RT_SIM_SOFTWARE_QUEUES", "1", [] { on_device(a_changed_task_of_a_graph_has_new_accesses); });
    const Watchdog watchdog("order_facts", kLongEnough * 6);  // starts a thread, so no fork may follow
    CHECK_OK(aclrtSetDevice(0));
    for (void (*const test)() : {
             a_manual_reset_event_orders_by_its_first_record,
             a_notify_orders_by_the_records_that_may_have_set_it,
             a_value_orders_by_the_write_that_satisfied_the_wait,
             the_call_of_a_wait_says_what_it_is_bound_to,
             a_query_of_an_event_that_is_not_complete_is_reported,
             a_query_that_lags_is_reported_as_it_is_answered,
             a_wait_for_room_is_no_synchronization,
             parts_of_a_batch_are_one_batch,
             a_kernel_accesses_what_is_declared,
             frees_and_allocations_are_reached_at_points,
             streams_come_and_go,
             calls_have_a_function_and_a_place,
         }) {
        test();
    }
    CHECK_OK(aclrtResetDevice(0));
    std::puts("native order_facts: all passed");
    return 0;
}
