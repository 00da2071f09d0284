// SPDX-License-Identifier: Apache-2.0
// Helpers of several tests that create threads and objects. The main thread must have set device 0 and keep it open.
#pragma once

#include <cstddef>
#include <cstdint>
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
        CHECK_OK(aclrtResetDevice(0));  // undoes a thread's aclrtSetDevice; that of the main thread remains
    }
}

inline aclrtStream new_stream(std::uint32_t priority = 0) {
    aclrtStream stream = nullptr;
    CHECK_OK(aclrtCreateStreamWithConfig(&stream, priority, 0));
    return stream;
}

inline aclrtEvent new_event(std::uint32_t flags = ACL_EVENT_SYNC) {
    aclrtEvent event = nullptr;
    CHECK_OK(aclrtCreateEventExWithFlag(&event, flags));
    return event;
}

// Creates a pool on device 0. A maximum size of 0 means all memory of the device.
inline aclrtMemPool new_pool(std::size_t max_size = 0) {
    aclrtMemPoolProps props{};
    props.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    props.maxSize = max_size;
    aclrtMemPool pool = nullptr;
    CHECK_OK(aclrtMemPoolCreate(&pool, &props));
    return pool;
}
