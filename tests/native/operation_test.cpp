// SPDX-License-Identifier: Apache-2.0
// Operations of companion libraries: tasks whose work is done elsewhere, by threads or by another process.
#include <dirent.h>
#include <pthread.h>

#include <cstring>
#include <memory>
#include <thread>

#include "operation_kit.h"
#include "stall_reports.h"

namespace {

std::size_t count_threads() {
    std::size_t count = 0;
    DIR *const tasks = opendir("/proc/self/task");
    while (const dirent *entry = readdir(tasks)) {
        count += entry->d_name[0] != '.' ? 1 : 0;
    }
    closedir(tasks);
    return count;
}

void an_end_lets_the_stream_go_on_before_it_returns() {
    const aclrtStream stream = new_stream();
    Companion companion;
    companion.submit(stream);
    CHECK(companion.begins() == 1);  // the stream was idle
    CHECK(!is_complete(stream) && companion.releases == 0);
    companion.end();
    CHECK(is_complete(stream) && companion.is_released());
    CHECK_CODE(ACL_ERROR_RT_INVALID_HANDLE, aclsimEndOperation(companion.await_begin(), ACL_SUCCESS, nullptr));
    CHECK(contains(recent_text(), "no operation"));
    CHECK_CODE(ACL_ERROR_RT_INVALID_HANDLE, aclsimEndOperation(0, ACL_SUCCESS, nullptr));
    CHECK_CODE(ACL_ERROR_RT_INVALID_HANDLE, aclsimEndOperation(UINT64_MAX, ACL_SUCCESS, nullptr));
    CHECK(companion.cancelled().empty());
    CHECK_OK(aclrtDestroyStream(stream));
}

void it_may_end_while_it_begins() {
    const aclrtStream stream = new_stream();
    for (int i = 0; i < 3; ++i) {
        Companion once(end_at_once);
        once.submit(stream);
        CHECK(once.begins() == 1);
        CHECK(is_complete(stream) && once.is_released());
    }
    CHECK_OK(aclrtDestroyStream(stream));
}

// The stack does not grow with their number.
void many_may_end_while_they_begin() {
    constexpr int kMany = 1500;
    static aclrtNotify notify = nullptr;
    static aclrtStream other = nullptr;
    const aclrtStream stream = new_stream();
    other = new_stream();
    CHECK_OK(aclrtCreateNotify(&notify, 0));
    Companion companion(end_at_once);
    CHECK_OK(aclrtWaitAndResetNotify(notify, stream, 0));
    for (int i = 0; i < kMany; ++i) {
        companion.submit(stream);
    }
    CHECK(companion.begins() == 0);
    pthread_attr_t attributes;
    CHECK(pthread_attr_init(&attributes) == 0 && pthread_attr_setstacksize(&attributes, 256 << 10) == 0);
    pthread_t thread{};
    const auto record = [](void *) -> void * {
        CHECK_OK(aclrtSetDevice(0));
        CHECK_OK(aclrtRecordNotify(notify, other));
        return nullptr;
    };
    CHECK(pthread_create(&thread, &attributes, record, nullptr) == 0);
    CHECK(pthread_join(thread, nullptr) == 0 && pthread_attr_destroy(&attributes) == 0);
    CHECK(is_complete(stream) && companion.begins() == kMany && companion.is_released(kMany));
    CHECK_OK(aclrtDestroyNotify(notify));
    CHECK_OK(aclrtDestroyStream(other));
    CHECK_OK(aclrtDestroyStream(stream));
}

// Another thread ends the execution, and synchronizes, while the function that begins it has not returned: the
// operation is not released before.
void it_may_end_on_another_thread_before_begin_returns() {
    const aclrtStream stream = new_stream();
    Companion companion([&](std::uint64_t execution) {
        std::thread([execution, stream] {
            CHECK_OK(aclrtSetDevice(0));
            end_at_once(execution);
            CHECK_OK(aclrtSynchronizeStream(stream));
            CHECK_OK(aclrtResetDevice(0));
        }).join();
    });
    companion.submit(stream);
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK(companion.is_released());
    CHECK_OK(aclrtDestroyStream(stream));
}

// Tasks before and after the operation keep their order.
void the_task_has_its_place_in_the_stream() {
    const aclrtStream stream = new_stream();
    LatchedCallback before;
    LatchedCallback behind;
    behind.released.open();
    Companion companion;
    CHECK_OK(aclrtLaunchHostFunc(stream, LatchedCallback::run, &before));
    companion.submit(stream);
    CHECK_OK(aclrtLaunchHostFunc(stream, LatchedCallback::run, &behind));
    CHECK(before.entered.opens());
    CHECK(companion.begins() == 0);
    before.released.open();
    const std::uint64_t execution = companion.await_begin();
    CHECK(!behind.entered.is_open());
    std::thread([execution] { end_at_once(execution); }).join();  // a thread without a device
    CHECK(behind.entered.opens());
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK(companion.is_released());
    CHECK_OK(aclrtDestroyStream(stream));
}

void operations_of_a_stream_begin_in_order() {
    constexpr std::size_t kOperations = 100;
    const aclrtStream stream = new_stream();
    std::mutex mutex;
    std::vector<std::size_t> order;
    std::vector<std::unique_ptr<Companion>> companions;
    for (std::size_t i = 0; i < kOperations; ++i) {
        companions.push_back(std::make_unique<Companion>([&, i](std::uint64_t execution) {
            {
                const std::lock_guard<std::mutex> guard(mutex);
                order.push_back(i);
            }
            if (i % 3 == 0) {
                end_at_once(execution);
            } else {
                std::thread(end_at_once, execution).detach();
            }
        }));
        companions.back()->submit(stream);
    }
    CHECK_OK(aclrtSynchronizeStream(stream));
    for (std::size_t i = 0; i < kOperations; ++i) {
        CHECK(order.at(i) == i);
    }
    CHECK_OK(aclrtDestroyStream(stream));
}

void waiting_streams_need_no_threads() {
    constexpr std::size_t kStreams = 200;
    std::vector<aclrtStream> streams;
    std::vector<std::unique_ptr<Companion>> companions;
    {
        const aclrtStream stream = new_stream();
        Companion first(end_at_once);
        first.submit(stream);  // starts the threads of the library
        CHECK_OK(aclrtDestroyStream(stream));
    }
    const std::size_t threads = count_threads();
    for (std::size_t i = 0; i < kStreams; ++i) {
        streams.push_back(new_stream());
        companions.push_back(std::make_unique<Companion>());
        companions.back()->submit(streams.back());
    }
    CHECK(count_threads() <= threads);  // one of an earlier test may just end
    for (std::size_t i = kStreams; i-- > 0;) {
        CHECK(!is_complete(streams[i]));
        companions[i]->end();
        CHECK(is_complete(streams[i]));
    }
    for (const aclrtStream stream : streams) {
        CHECK_OK(aclrtDestroyStream(stream));
    }
}

// The blocked operation is cancelled, the queued one never begins, and the stream is usable afterwards.
void an_abort_cancels() {
    const aclrtStream stream = new_stream();
    Companion blocked;
    Companion queued;
    blocked.submit(stream);
    queued.submit(stream);
    CHECK_OK(aclrtStreamAbort(stream));
    CHECK(blocked.cancelled() == std::vector<std::uint64_t>{blocked.await_begin()});
    CHECK(queued.begins() == 0 && queued.cancelled().empty());
    CHECK(blocked.is_released() && queued.is_released());
    CHECK_CODE(ACL_ERROR_RT_INVALID_HANDLE, aclsimEndOperation(blocked.await_begin(), ACL_SUCCESS, nullptr));
    CHECK_OK(aclrtSynchronizeStream(stream));
    Companion again(end_at_once);
    again.submit(stream);
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK_OK(aclrtDestroyStream(stream));
}

// An abort during the function that begins the execution waits for it. The execution is cancelled afterwards.
void an_abort_waits_for_begin() {
    const aclrtStream stream = new_stream();
    Latch entered, released;
    std::atomic<bool> has_begun{false};
    Companion companion(
        [&](std::uint64_t) {
            entered.open();
            released.wait();
            has_begun = true;
        },
        [&](std::uint64_t) { CHECK(has_begun); });
    auto submission = begin([&] {
        CHECK_OK(aclrtSetDevice(0));
        companion.submit(stream);
        CHECK_OK(aclrtResetDevice(0));
    });
    CHECK(entered.opens());
    auto abort = begin([&] {
        CHECK_OK(aclrtSetDevice(0));
        CHECK_OK(aclrtStreamAbort(stream));
        CHECK(companion.cancelled().size() == 1);
        CHECK_OK(aclrtResetDevice(0));
    });
    CHECK(abort.wait_for(std::chrono::milliseconds(20)) == std::future_status::timeout);
    CHECK(companion.cancelled().empty() && companion.releases == 0);
    released.open();
    CHECK(returns(abort) && returns(submission));
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK(companion.is_released());
    CHECK_OK(aclrtDestroyStream(stream));
}

void it_may_abort_its_own_stream() {
    const aclrtStream stream = new_stream();
    Companion companion([&](std::uint64_t) { CHECK_OK(aclrtStreamAbort(stream)); });
    companion.submit(stream);
    CHECK(companion.cancelled().size() == 1 && companion.is_released());
    CHECK_OK(aclrtDestroyStream(stream));
}

// Threads submit, end and abort at the same time: each operation is released once, and each execution that has begun
// has ended or was cancelled when the abort has returned.
void aborts_and_ends_race() {
    constexpr int kRounds = 200;
    const aclrtStream stream = new_stream();
    for (int round = 0; round < kRounds; ++round) {
        std::atomic<int> open{0};
        std::atomic<std::uint64_t> present{0};
        Companion companion(
            [&](std::uint64_t execution) {
                ++open;
                present = execution;
            },
            [&](std::uint64_t) { --open; });
        auto submission = begin([&] {
            CHECK_OK(aclrtSetDevice(0));
            companion.submit(stream);
            CHECK_OK(aclrtResetDevice(0));
        });
        auto end = begin([&] {
            for (int tries = 0; tries < 50; ++tries) {
                if (present != 0 && aclsimEndOperation(present, ACL_SUCCESS, nullptr) == ACL_SUCCESS) {
                    --open;
                    return;
                }
            }
        });
        CHECK_OK(aclrtStreamAbort(stream));
        CHECK(returns(submission) && returns(end));
        CHECK_OK(aclrtStreamAbort(stream));
        CHECK(open == 0);
        CHECK_OK(aclrtSynchronizeStream(stream));
        CHECK(companion.is_released());
    }
    CHECK_OK(aclrtDestroyStream(stream));
}

void a_forced_destruction_cancels() {
    const aclrtStream stream = new_stream();
    Companion blocked, queued;
    blocked.submit(stream);
    queued.submit(stream);
    CHECK_OK(aclrtDestroyStreamForce(stream));
    CHECK(blocked.cancelled().size() == 1 && blocked.is_released());
    CHECK(queued.begins() == 0 && queued.is_released());
}

void a_forced_reset_cancels() {
    CHECK_OK(aclrtSetDevice(1));
    aclrtStream stream = nullptr;
    CHECK_OK(aclrtCreateStream(&stream));
    Companion blocked, queued, on_default;
    blocked.submit(stream);
    queued.submit(stream);
    on_default.submit(nullptr);
    CHECK_OK(aclrtResetDeviceForce(1));
    CHECK(blocked.cancelled().size() == 1 && blocked.is_released());
    CHECK(on_default.cancelled().size() == 1 && on_default.is_released());
    CHECK(queued.begins() == 0 && queued.is_released());
    CHECK_OK(aclrtSetDevice(0));
}

void an_abort_of_the_device_cancels() {
    CHECK_OK(aclrtSetDevice(1));
    aclrtStream stream = nullptr;
    CHECK_OK(aclrtCreateStream(&stream));
    Companion blocked, queued;
    blocked.submit(stream);
    queued.submit(stream);
    CHECK_OK(aclrtDeviceTaskAbort(1, 0));
    CHECK(blocked.cancelled().size() == 1 && queued.begins() == 0);
    CHECK(blocked.is_released() && queued.is_released());
    CHECK_OK(aclrtResetDeviceForce(1));
    CHECK_OK(aclrtSetDevice(0));
}

void the_operation_may_fail() {
    const aclrtStream stream = new_stream();
    Companion companion, silent;
    companion.submit(stream);
    companion.end(ACL_ERROR_RT_SOCKET_CLOSE, "rank 2 has ended");
    CHECK_CODE(ACL_ERROR_RT_SOCKET_CLOSE, aclrtSynchronizeStream(stream));
    CHECK(contains(recent_text(), "rank 2 has ended"));
    silent.submit(stream);
    silent.end(ACL_ERROR_RT_AICORE_EXCEPTION);
    CHECK_CODE(ACL_ERROR_RT_AICORE_EXCEPTION, aclrtSynchronizeStream(stream));
    const std::string text = recent_text();
    CHECK(contains(text, kName) && !contains(text, "rank 2"));
    Companion again(end_at_once);
    again.submit(stream);
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK_OK(aclrtDestroyStream(stream));
}

void a_fault_on_demand_reaches_the_operation() {
    const aclrtStream stream = new_stream();
    Companion companion;
    CHECK_OK(aclsimFailTask(stream, 1, ACL_ERROR_RT_AICORE_TIMEOUT));
    companion.submit(stream);
    CHECK_CODE(ACL_ERROR_RT_AICORE_TIMEOUT, aclrtSynchronizeStream(stream));
    CHECK(contains(recent_text(), kName));
    CHECK(companion.begins() == 0 && companion.cancelled().empty() && companion.is_released());
    CHECK_OK(aclsimClearFaults());
    CHECK_OK(aclrtDestroyStream(stream));
}

void a_failing_call_submits_nothing() {
    const aclrtStream stream = new_stream();
    Companion companion;
    const aclsimOperation operation = companion.operation();
    CHECK_OK(aclsimFailCall("aclsimSubmitOperation", 1, ACL_ERROR_RT_INTERNAL_ERROR));
    CHECK_CODE(ACL_ERROR_RT_INTERNAL_ERROR, aclsimSubmitOperation(stream, &operation));
    CHECK_OK(aclsimClearFaults());
    CHECK(is_complete(stream) && companion.begins() == 0 && companion.releases == 0);
    CHECK_OK(aclrtDestroyStream(stream));
}

void wrong_arguments_submit_nothing() {
    const aclrtStream stream = new_stream();
    Companion companion;  // none of its functions is called
    const aclsimOperation good = companion.operation();
    CHECK_CODE(ACL_ERROR_INVALID_PARAM, aclsimSubmitOperation(stream, nullptr));
    aclsimOperation bad = good;
    bad.name = nullptr;
    CHECK_CODE(ACL_ERROR_INVALID_PARAM, aclsimSubmitOperation(stream, &bad));
    CHECK(contains(recent_text(), "name"));
    bad = good;
    bad.begin = nullptr;
    CHECK_CODE(ACL_ERROR_INVALID_PARAM, aclsimSubmitOperation(stream, &bad));
    CHECK(contains(recent_text(), "begin"));
    bad = good;
    bad.accessCount = 1;
    CHECK_CODE(ACL_ERROR_INVALID_PARAM, aclsimSubmitOperation(stream, &bad));
    CHECK(contains(recent_text(), "accesses"));
    void *memory = nullptr;
    CHECK_OK(aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_NORMAL_ONLY));
    aclsimAccess access = bytes(memory, 64, static_cast<aclsimAccessMode>(9), "sendBuf");
    bad.accesses = &access;
    CHECK_CODE(ACL_ERROR_INVALID_PARAM, aclsimSubmitOperation(stream, &bad));
    access = bytes(memory, 64, ACLSIM_ACCESS_READ, "sendBuf");
    access.rank = 17;
    CHECK_CODE(ACL_ERROR_INVALID_PARAM, aclsimSubmitOperation(stream, &bad));
    access.rank = 1;
    CHECK_CODE(ACL_ERROR_INVALID_PARAM, aclsimSubmitOperation(stream, &bad));  // no shape
    access = bytes(memory, 1 << 30, ACLSIM_ACCESS_READ, "sendBuf");
    CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID, aclsimSubmitOperation(stream, &bad));
    CHECK(contains(recent_text(), "sendBuf"));
    CHECK(is_complete(stream) && companion.begins() == 0 && companion.releases == 0);
    CHECK_OK(aclrtFree(memory));
    CHECK_OK(aclrtDestroyStream(stream));
    CHECK(aclsimSubmitOperation(stream, &good) != ACL_SUCCESS);
}

void memory_that_is_freed_before_makes_it_fail() {
    const aclrtStream stream = new_stream();
    LatchedCallback before;
    void *memory = nullptr;
    CHECK_OK(aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_NORMAL_ONLY));
    const aclsimAccess access = bytes(memory, 64, ACLSIM_ACCESS_READ, "sendBuf");
    Companion companion;
    aclsimOperation operation = companion.operation();
    operation.accesses = &access;
    operation.accessCount = 1;
    CHECK_OK(aclrtLaunchHostFunc(stream, LatchedCallback::run, &before));
    companion.submit(stream, operation);
    CHECK(before.entered.opens());
    CHECK_OK(aclrtFree(memory));
    before.released.open();
    CHECK_CODE(ACL_ERROR_RT_AICORE_EXCEPTION, aclrtSynchronizeStream(stream));
    const std::string text = recent_text();
    CHECK(contains(text, kName) && contains(text, "not live memory"));
    CHECK(companion.begins() == 0 && companion.cancelled().empty() && companion.is_released());
    CHECK_OK(aclrtDestroyStream(stream));
}

// Only begin and the name are needed.
void functions_may_be_missing() {
    const aclrtStream stream = new_stream();
    aclsimOperation operation{};
    operation.name = kName;
    static std::atomic<std::uint64_t> begun;
    operation.begin = [](void *, std::uint64_t execution) { begun = execution; };
    CHECK_OK(aclsimSubmitOperation(stream, &operation));
    end_at_once(begun);
    CHECK(is_complete(stream));
    CHECK_OK(aclsimSubmitOperation(stream, &operation));
    CHECK_OK(aclrtStreamAbort(stream));
    CHECK_CODE(ACL_ERROR_RT_INVALID_HANDLE, aclsimEndOperation(begun, ACL_SUCCESS, nullptr));
    CHECK_OK(aclrtDestroyStream(stream));
}

// The structures may change after the call.
void structures_are_copied() {
    const aclrtStream stream = new_stream();
    Companion companion;
    char name[] = "first";
    aclsimOperation operation = companion.operation();
    operation.name = name;
    companion.submit(stream, operation);
    std::strcpy(name, "other");
    operation = {};
    companion.end(ACL_ERROR_RT_AICORE_EXCEPTION);
    CHECK_CODE(ACL_ERROR_RT_AICORE_EXCEPTION, aclrtSynchronizeStream(stream));
    CHECK(contains(recent_text(), "first"));
    CHECK_OK(aclrtDestroyStream(stream));
}

// The execution ends only after the explanation has been read.
void a_long_wait_is_explained() {
    StallReports reports;
    const aclrtStream stream = new_stream();
    Companion companion;
    companion.submit(stream);
    std::string text;
    std::thread rank([&] {
        text = reports.wait_for("waits for rank 2");
        companion.end();
    });
    CHECK_OK(aclrtSynchronizeStream(stream));
    rank.join();
    reports.end_capture();
    CHECK(contains(text, std::string(kName) + ", execution " + std::to_string(companion.await_begin())));
    CHECK(!contains(text, "deadlock"));
    CHECK_OK(aclrtDestroyStream(stream));
}

}  // namespace

int main() {
    setenv("ASCEND_RT_SIM_STALL_MS", "50", 1);
    const Watchdog watchdog("operation_test", 3 * kLongEnough);
    CHECK_OK(aclInit(nullptr));
    CHECK_OK(aclrtSetDevice(0));
    an_end_lets_the_stream_go_on_before_it_returns();
    it_may_end_while_it_begins();
    many_may_end_while_they_begin();
    it_may_end_on_another_thread_before_begin_returns();
    the_task_has_its_place_in_the_stream();
    operations_of_a_stream_begin_in_order();
    waiting_streams_need_no_threads();
    an_abort_cancels();
    an_abort_waits_for_begin();
    it_may_abort_its_own_stream();
    aborts_and_ends_race();
    a_forced_destruction_cancels();
    a_forced_reset_cancels();
    an_abort_of_the_device_cancels();
    the_operation_may_fail();
    a_fault_on_demand_reaches_the_operation();
    a_failing_call_submits_nothing();
    wrong_arguments_submit_nothing();
    memory_that_is_freed_before_makes_it_fail();
    functions_may_be_missing();
    structures_are_copied();
    a_long_wait_is_explained();
    CHECK_OK(aclrtResetDevice(0));
    CHECK_OK(aclFinalize());
    return 0;
}
