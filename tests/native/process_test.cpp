// SPDX-License-Identifier: Apache-2.0
// State of the process: initialisation from several threads, and calls during snapshots.
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "check.h"

namespace {

constexpr int kThreads = 4;
constexpr int kRounds = 200;

template <class Work>
void in_threads(Work work) {
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
        threads.emplace_back(work);
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
}

aclError count_init(const char *, size_t, void *counter) {
    *static_cast<int *>(counter) += 1;
    std::uint32_t devices = 0;
    return aclrtGetDeviceCount(&devices);
}

void initialise_from_threads() {
    int calls = 0;  // callbacks run one at a time
    CHECK_OK(aclInitCallbackRegister(ACL_REG_TYPE_OTHER, count_init, &calls));
    std::atomic<int> first{0};
    in_threads([&] {
        for (int i = 0; i < kRounds; ++i) {
            const aclError code = aclInit(nullptr);
            CHECK(code == ACL_SUCCESS || code == ACL_ERROR_REPEAT_INITIALIZE);
            first += code == ACL_SUCCESS ? 1 : 0;
            CHECK_OK(aclFinalizeReference(nullptr));
        }
    });
    CHECK(calls == first);
    CHECK_OK(aclInitCallbackUnRegister(ACL_REG_TYPE_OTHER, count_init));
}

uint32_t count_stage(int32_t, void *counter) {
    *static_cast<int *>(counter) += 1;
    return 0;
}

// Other threads make calls during the snapshots. None of these calls fails.
void lock_against_threads() {
    const int pid = getpid();
    int stages = 0;
    std::atomic<int> working{0};
    std::atomic<bool> done{false};
    CHECK_OK(aclrtSetDevice(0));
    CHECK_OK(aclrtSnapShotCallbackRegister(ACL_RT_SNAPSHOT_BACKUP_PRE, count_stage, &stages));
    std::thread locker([&] {
        while (working < kThreads) {
            std::this_thread::yield();
        }
        for (int i = 0; i < kRounds; ++i) {
            CHECK_OK(aclrtSnapShotProcessLock(pid, nullptr));
            CHECK_OK(aclrtSnapShotProcessBackup(pid, nullptr));
            CHECK_OK(aclrtSnapShotProcessRestore(pid, nullptr));
            CHECK_OK(aclrtSnapShotProcessUnlock(pid, nullptr));
        }
        done = true;
    });
    in_threads([&] {
        CHECK_OK(aclrtSetDevice(0));
        aclrtStream stream = nullptr;
        aclrtEvent event = nullptr;
        CHECK_OK(aclrtCreateStream(&stream));
        CHECK_OK(aclrtCreateEvent(&event));
        ++working;
        while (!done) {
            CHECK_OK(aclrtRecordEvent(event, stream));
            CHECK_OK(aclrtSynchronizeEvent(event));
        }
        CHECK_OK(aclrtDestroyEvent(event));
        CHECK_OK(aclrtDestroyStream(stream));
    });
    locker.join();
    CHECK(stages == kRounds);
    CHECK_OK(aclrtSnapShotCallbackUnregister(ACL_RT_SNAPSHOT_BACKUP_PRE, count_stage));
    CHECK_OK(aclrtResetDeviceForce(0));
}

}  // namespace

int main() {
    initialise_from_threads();
    lock_against_threads();
}
