#include "engine/lock.h"

#include <pthread.h>

#include <chrono>
#include <thread>

namespace aclsim {
namespace {

constexpr int kPauses = 7;  // the last of them takes a microsecond or two
constexpr int kYields = 100;
constexpr std::chrono::microseconds kSleep{50};

void sleep_uncancelled() {  // a thread that waits for the lock may be in a destructor, and must not be unwound there
    int state = 0;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    std::this_thread::sleep_for(kSleep);
    pthread_setcancelstate(state, nullptr);
}

}  // namespace

void Backoff::pause() {
    if (rounds_ >= kPauses + kYields) {
        sleep_uncancelled();
        return;
    }
    if (rounds_ >= kPauses) {
        std::this_thread::yield();
    } else {
        for (int i = 0; i < 2 << rounds_; ++i) {  // the first is longer than a thread needs from one call to the next
            pause_processor();
        }
    }
    ++rounds_;
}

}  // namespace aclsim
