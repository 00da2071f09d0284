// Calls at the end of a thread and of the process: from destructors of thread_local objects, from destructors of
// pthread keys, from static destructors and functions of atexit. A failure has its code and its text there as
// everywhere.
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

// A wait for a stream that waits for another: a helper lists what the stream waits for.
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

// Made before the library knows the thread, so its destructor runs after those of objects that the library makes.
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

// The key is newer than those of the library, whose state of the thread has ended when this destructor is called.
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
