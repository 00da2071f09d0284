// SPDX-License-Identifier: Apache-2.0
// Helpers of tests that hold work back, or detect that a call does not return.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <type_traits>
#include <utility>

#include "check.h"

// Longer than any tested call takes on a busy machine under a sanitizer. Only a failing test waits for so long.
constexpr std::chrono::seconds kLongEnough(20);

class Latch {
  public:
    void open() {
        const std::lock_guard<std::mutex> lock(mutex_);
        is_open_ = true;
        opened_.notify_all();
    }
    void wait() {
        std::unique_lock<std::mutex> lock(mutex_);
        opened_.wait(lock, [this] { return is_open_; });
    }
    // Waits for the latch to open; returns false if that takes longer than kLongEnough.
    bool opens() {
        std::unique_lock<std::mutex> lock(mutex_);
        return opened_.wait_for(lock, kLongEnough, [this] { return is_open_; });
    }
    bool is_open() {
        const std::lock_guard<std::mutex> lock(mutex_);
        return is_open_;
    }

  private:
    std::mutex mutex_;
    std::condition_variable opened_;
    bool is_open_ = false;
};

// Host function or callback that runs until it is released.
struct LatchedCallback {
    Latch entered;
    Latch released;
    static void run(void *self) {
        static_cast<LatchedCallback *>(self)->entered.open();
        static_cast<LatchedCallback *>(self)->released.wait();
    }
};

// Starts the call on a new thread. The type of the call is hidden from std::async, which compilers take a second for.
template <class Call>
auto begin(Call call) {
    const auto shared = std::make_shared<Call>(std::move(call));
    return std::async(std::launch::async, std::function<std::invoke_result_t<Call>()>([=] { return (*shared)(); }));
}

template <class Result>
bool returns(const std::future<Result> &call) {
    return call.wait_for(kLongEnough) == std::future_status::ready;
}

// Aborts a test that runs longer than the limit.
class Watchdog {
  public:
    Watchdog(const char *name, std::chrono::seconds limit)
        : thread_([this, name, limit] {
              std::unique_lock<std::mutex> lock(mutex_);
              if (!over_.wait_for(lock, limit, [this] { return is_over_; })) {
                  std::fprintf(stderr, "%s hangs\n", name);
                  std::abort();
              }
          }) {}
    ~Watchdog() {
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            is_over_ = true;
            over_.notify_all();
        }
        thread_.join();
    }
    Watchdog(const Watchdog &) = delete;
    Watchdog &operator=(const Watchdog &) = delete;

  private:
    std::mutex mutex_;
    std::condition_variable over_;
    bool is_over_ = false;
    std::thread thread_;
};
