// What the tests with many threads share. The main thread has set device 0 and keeps it open.
#pragma once

#include <thread>
#include <vector>

#include "check.h"

constexpr int kThreads = 4;

// Runs body(thread) on threads that have set device 0, and waits for them.
template <class Body>
void in_threads(Body body) {
    std::vector<std::thread> threads;
    for (int thread = 0; thread < kThreads; ++thread) {
        threads.emplace_back([=] {
            CHECK_OK(aclrtSetDevice(0));
            body(thread);
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    for (int thread = 0; thread < kThreads; ++thread) {
        CHECK_OK(aclrtResetDevice(0));  // the main thread keeps the device open with a count of its own
    }
}

inline aclrtStream new_stream() {
    aclrtStream stream = nullptr;
    CHECK_OK(aclrtCreateStream(&stream));
    return stream;
}
