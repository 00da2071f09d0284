// SPDX-License-Identifier: Apache-2.0
// Waits for IPC events, in one process and in two: a wait is bound to the newest record at the time of the call,
// regardless of later records.
#include <sys/wait.h>
#include <unistd.h>

#include "concurrent.h"
#include "latch.h"

namespace {

aclrtEvent new_ipc_event() {
    aclrtEvent event = nullptr;
    CHECK_OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_IPC));
    return event;
}

bool is_complete(aclrtStream stream) {
    aclrtStreamStatus status{};
    CHECK_OK(aclrtStreamQuery(stream, &status));
    return status == ACL_STREAM_STATUS_COMPLETE;
}

void destroy(std::initializer_list<aclrtStream> streams) {
    for (const aclrtStream stream : streams) {
        CHECK_OK(aclrtSynchronizeStream(stream));
        CHECK_OK(aclrtDestroyStream(stream));
    }
}

void a_later_record_releases_no_earlier_wait() {
    const aclrtStream first = new_stream();
    const aclrtStream second = new_stream();
    const aclrtStream waiting = new_stream();
    const aclrtStream late = new_stream();
    const aclrtEvent event = new_ipc_event();
    LatchedCallback held;
    CHECK_OK(aclrtLaunchHostFunc(first, LatchedCallback::run, &held));
    CHECK_OK(aclrtRecordEvent(event, first));
    CHECK_OK(aclrtStreamWaitEvent(waiting, event));
    CHECK_OK(aclrtRecordEvent(event, second));
    CHECK(is_complete(second));
    CHECK(!is_complete(waiting));
    CHECK_OK(aclrtStreamWaitEvent(late, event));  // bound to the record that is complete
    CHECK(is_complete(late));
    held.released.open();
    destroy({waiting, late, first, second});
    CHECK_OK(aclrtDestroyEvent(event));
}

// An aborted record counts as complete, but does not complete earlier ones.
void an_aborted_record_completes_no_earlier_one() {
    const aclrtStream first = new_stream();
    const aclrtStream second = new_stream();
    const aclrtStream waiting_for_first = new_stream();
    const aclrtStream waiting_for_second = new_stream();
    const aclrtEvent event = new_ipc_event();
    aclrtNotify never = nullptr;
    CHECK_OK(aclrtCreateNotify(&never, ACL_NOTIFY_DEFAULT));
    LatchedCallback held;
    CHECK_OK(aclrtLaunchHostFunc(first, LatchedCallback::run, &held));
    CHECK_OK(aclrtRecordEvent(event, first));
    CHECK_OK(aclrtStreamWaitEvent(waiting_for_first, event));
    CHECK_OK(aclrtWaitAndResetNotify(never, second, 0));
    CHECK_OK(aclrtRecordEvent(event, second));
    CHECK_OK(aclrtStreamWaitEvent(waiting_for_second, event));
    CHECK(!is_complete(waiting_for_second));
    CHECK_OK(aclrtStreamAbort(second));
    CHECK_OK(aclrtSynchronizeStream(waiting_for_second));
    CHECK(!is_complete(waiting_for_first));
    held.released.open();
    destroy({waiting_for_first, waiting_for_second, first, second});
    CHECK_OK(aclrtDestroyNotify(never));
    CHECK_OK(aclrtDestroyEvent(event));
}

// Records may complete in any order. Each releases its own waits at once.
void each_record_releases_its_own_waits() {
    constexpr int kRecords = 40;
    const aclrtEvent event = new_ipc_event();
    std::vector<LatchedCallback> callbacks(kRecords);
    std::vector<aclrtStream> recording;
    std::vector<aclrtStream> waiting;
    for (LatchedCallback &each : callbacks) {
        aclrtContext context = nullptr;  // each context has one thread for host functions
        CHECK_OK(aclrtCreateContext(&context, 0));
        recording.push_back(new_stream());
        waiting.push_back(new_stream());
        CHECK_OK(aclrtLaunchHostFunc(recording.back(), LatchedCallback::run, &each));
        CHECK_OK(aclrtRecordEvent(event, recording.back()));
        CHECK_OK(aclrtStreamWaitEvent(waiting.back(), event));
    }
    for (int i = kRecords - 1; i >= 0; --i) {
        for (int other = 0; other <= i; ++other) {
            CHECK(!is_complete(waiting[other]));
        }
        callbacks[i].released.open();
        CHECK_OK(aclrtSynchronizeStream(waiting[i]));
    }
    CHECK_OK(aclrtDestroyEvent(event));
    CHECK_OK(aclrtResetDeviceForce(0));
    CHECK_OK(aclrtSetDevice(0));
}

// --- two processes ---------------------------------------------------------------------------------------------------

struct Handles {
    aclrtIpcEventHandle awaited;
    aclrtIpcEventHandle other;
};

template <class T>
T receive(int pipe) {
    T value{};
    CHECK(read(pipe, &value, sizeof value) == sizeof value);
    return value;
}

template <class T>
void send(int pipe, const T &value) {
    CHECK(write(pipe, &value, sizeof value) == sizeof value);
}

// All waits are polled together for records of other processes: when the later wait has been released by the other
// event, the earlier wait has been polled too.
void wait_in_another_process(int from, int to) {
    CHECK_OK(aclrtSetDevice(0));
    const auto handles = receive<Handles>(from);
    aclrtEvent awaited = nullptr;
    aclrtEvent other = nullptr;
    CHECK_OK(aclrtIpcOpenEventHandle(handles.awaited, &awaited));
    CHECK_OK(aclrtIpcOpenEventHandle(handles.other, &other));
    const aclrtStream waiting = new_stream();
    const aclrtStream marker = new_stream();
    CHECK_OK(aclrtStreamWaitEvent(waiting, awaited));
    CHECK_OK(aclrtStreamWaitEvent(marker, other));
    send(to, 'w');
    CHECK_OK(aclrtSynchronizeStream(marker));
    CHECK(!is_complete(waiting));
    send(to, 'n');
    CHECK_OK(aclrtSynchronizeStream(waiting));
    CHECK_OK(aclrtDestroyEvent(awaited));
    CHECK_OK(aclrtDestroyEvent(other));
    CHECK_OK(aclrtResetDeviceForce(0));
}

void record_in_this_process(int from, int to) {
    const aclrtStream first = new_stream();
    const aclrtStream second = new_stream();
    const aclrtEvent awaited = new_ipc_event();
    const aclrtEvent other = new_ipc_event();
    aclrtNotify go = nullptr;
    CHECK_OK(aclrtCreateNotify(&go, ACL_NOTIFY_DEFAULT));
    LatchedCallback held;
    CHECK_OK(aclrtLaunchHostFunc(first, LatchedCallback::run, &held));
    CHECK_OK(aclrtRecordEvent(awaited, first));
    CHECK_OK(aclrtWaitAndResetNotify(go, second, 0));
    CHECK_OK(aclrtRecordEvent(other, second));
    Handles handles{};
    CHECK_OK(aclrtIpcGetEventHandle(awaited, &handles.awaited));
    CHECK_OK(aclrtIpcGetEventHandle(other, &handles.other));
    send(to, handles);
    CHECK(receive<char>(from) == 'w');
    const aclrtStream third = new_stream();
    CHECK_OK(aclrtRecordEvent(awaited, third));
    CHECK_OK(aclrtRecordNotify(go, third));
    CHECK(receive<char>(from) == 'n');
    held.released.open();
    destroy({first, second, third});
    CHECK_OK(aclrtDestroyNotify(go));
    CHECK_OK(aclrtDestroyEvent(awaited));
    CHECK_OK(aclrtDestroyEvent(other));
}

}  // namespace

int main() {
    int to_child[2] = {};
    int to_parent[2] = {};
    CHECK(pipe(to_child) == 0 && pipe(to_parent) == 0);
    const pid_t child = fork();  // before the first use of the library
    const Watchdog watchdog("ipc_event_test", kLongEnough);
    if (child == 0) {
        close(to_child[1]);
        wait_in_another_process(to_child[0], to_parent[1]);
        return 0;
    }
    close(to_parent[1]);
    CHECK_OK(aclrtSetDevice(0));
    a_later_record_releases_no_earlier_wait();
    an_aborted_record_completes_no_earlier_one();
    each_record_releases_its_own_waits();
    record_in_this_process(to_parent[0], to_child[1]);
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK_OK(aclrtResetDevice(0));
    return 0;
}
