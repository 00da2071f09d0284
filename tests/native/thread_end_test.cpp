// SPDX-License-Identifier: Apache-2.0
// Calls at the end of a thread and of the process: from destructors of thread_local objects, from destructors of
// pthread keys, from static destructors and from functions registered by atexit. A failure has a code and a text there
// too.
#include <pthread.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "concurrent.h"
#include "latch.h"

namespace {

void *const kNoMemory = reinterpret_cast<void *>(64);

void leave_text_unread() { CHECK_CODE(ACL_ERROR_INVALID_PARAM, aclrtFree(nullptr)); }

void fail_and_read_text() {
    CHECK_CODE(ACL_ERROR_INVALID_PARAM, aclrtCreateStream(nullptr));
    const char *text = aclGetRecentErrMsg();
    CHECK(text != nullptr && std::strstr(text, "aclrtCreateStream") == text);
    CHECK(aclGetRecentErrMsg() == nullptr);
    CHECK(aclrtFree(kNoMemory) != ACL_SUCCESS);
    CHECK(aclrtGetLastError(ACL_RT_THREAD_LEVEL) != ACL_SUCCESS);
    CHECK(std::strstr(aclGetRecentErrMsg(), "aclrtFree") != nullptr);
}

// Waits for a stream that waits for another one: a helping thread collects the streams to help in a list.
void synchronize_a_wait() {
    CHECK_OK(aclrtSetDevice(0));
    const aclrtStream recording = new_stream(), waiting = new_stream();
    const aclrtEvent event = new_event();
    LatchedCallback held;
    CHECK_OK(aclrtLaunchHostFunc(recording, LatchedCallback::run, &held));
    CHECK_OK(aclrtRecordEvent(event, recording));
    CHECK_OK(aclrtStreamWaitEvent(waiting, event));
    CHECK_CODE(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, aclrtSynchronizeStreamWithTimeout(waiting, 1));
    aclGetRecentErrMsg();
    held.released.open();
    CHECK_OK(aclrtSynchronizeStream(waiting));
    CHECK_OK(aclrtDestroyEvent(event));
    CHECK_OK(aclrtDestroyStream(recording));
    CHECK_OK(aclrtDestroyStream(waiting));
    CHECK_OK(aclrtResetDevice(0));
}

// Constructed before the thread's first call of the library, so that it is destroyed after the objects of the library.
struct LastCaller {
    bool calls = false;
    ~LastCaller() {
        if (calls) {
            leave_text_unread();
            synchronize_a_wait();
            fail_and_read_text();
        }
    }
};

LastCaller g_static_caller;
thread_local LastCaller t_caller;

void a_destructor_of_a_thread_local_object_calls() {
    std::thread([] {
        t_caller.calls = true;
        synchronize_a_wait();
        leave_text_unread();
    }).join();
}

// The key is newer than those of the library, so the library has already destroyed its state of the thread when this
// destructor is called.
void a_destructor_of_a_key_calls() {
    pthread_key_t key{};
    CHECK(pthread_key_create(&key, [](void *) { fail_and_read_text(); }) == 0);
    std::thread([key] {
        leave_text_unread();
        CHECK(pthread_setspecific(key, kNoMemory) == 0);
    }).join();
    CHECK(pthread_key_delete(key) == 0);
}

}  // namespace

int main() {
    CHECK(std::atexit(fail_and_read_text) == 0);
    CHECK_OK(aclrtSetDevice(0));
    leave_text_unread();
    a_destructor_of_a_thread_local_object_calls();
    a_destructor_of_a_key_calls();
    g_static_caller.calls = true;
    leave_text_unread();
    return 0;
}
