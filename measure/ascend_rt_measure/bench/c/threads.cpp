// SPDX-License-Identifier: Apache-2.0
// A peer: streams as they are first thought of, each a thread with a queue, a mutex and a condition variable.
#include <unistd.h>

#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "timing.h"

namespace {

class Stream {
  public:
    Stream() : thread_([this] { run(); }) {}

    ~Stream() {
        submit(nullptr);
        thread_.join();
    }

    Stream(const Stream &) = delete;
    Stream &operator=(const Stream &) = delete;

    void submit(std::function<void()> task) {
        {
            const std::lock_guard<std::mutex> guard(mutex_);
            tasks_.push_back(std::move(task));
        }
        changed_.notify_all();
    }

    // The task that runs stays in the queue until it is done.
    void synchronize() {
        std::unique_lock<std::mutex> guard(mutex_);
        changed_.wait(guard, [this] { return tasks_.empty(); });
    }

  private:
    void run() {
        std::unique_lock<std::mutex> guard(mutex_);
        for (;;) {
            changed_.wait(guard, [this] { return !tasks_.empty(); });
            const std::function<void()> task = std::move(tasks_.front());
            if (!task) {
                return;
            }
            guard.unlock();
            task();
            guard.lock();
            tasks_.pop_front();
            changed_.notify_all();
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> tasks_;  // an empty one ends the thread
    std::thread thread_;
};

// A wait is for the newest record at the time of the call, as in CANN.
class Event {
  public:
    void record(Stream &stream) {
        stream.submit([this, number = ++recorded_] {
            {
                const std::lock_guard<std::mutex> guard(mutex_);
                complete_ = number;
            }
            changed_.notify_all();
        });
    }

    void wait_on(Stream &stream) {
        stream.submit([this, number = recorded_] {
            std::unique_lock<std::mutex> guard(mutex_);
            changed_.wait(guard, [&] { return complete_ >= number; });
        });
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    uint64_t recorded_ = 0;  // records of the thread that submits
    uint64_t complete_ = 0;
};

template <typename Body>
double time_of(uint64_t loops, Body body) {
    const double begin = seconds();
    for (uint64_t loop = 0; loop < loops; ++loop) {
        body();
    }
    return seconds() - begin;
}

double record_wait_synchronize(uint64_t loops) {
    Event event;
    Stream a;
    Stream b;
    return time_of(loops, [&] {
        event.record(a);
        event.wait_on(b);
        b.synchronize();
    });
}

void do_nothing(void *) {}

double host_func_round_trip(uint64_t loops) {
    Stream a;
    void (*function)(void *) = do_nothing;
    return time_of(loops, [&] {
        a.submit([function] { function(nullptr); });
        a.synchronize();
    });
}

template <size_t Size>
double copy_async(uint64_t loops) {
    const std::vector<char> source(Size, 1);
    std::vector<char> destination(Size);
    Stream a;
    return time_of(loops, [&] {
        a.submit([&] { std::memcpy(destination.data(), source.data(), Size); });
        a.synchronize();
    });
}

constexpr size_t KiB = 1 << 10;
constexpr size_t MiB = 1 << 20;

const Benchmark benchmarks[] = {
    {"record_wait_synchronize", record_wait_synchronize, nullptr},
    {"host_func_round_trip", host_func_round_trip, nullptr},
    {"copy_async_4KiB", copy_async<4 * KiB>, nullptr},
    {"copy_async_1MiB", copy_async<MiB>, nullptr},
    {"copy_async_64MiB", copy_async<64 * MiB>, nullptr},
};

}  // namespace

double slowest_probe;

int main(int argc, char **argv) {
    Plan plan = USUAL_PLAN;
    for (int option = getopt(argc, argv, OPTIONS); option != -1; option = getopt(argc, argv, OPTIONS)) {
        if (!take_option(&plan, option, optarg)) {
            return EXIT_FAILURE;
        }
    }
    for (int i = optind; i < argc; ++i) {
        measure(find(benchmarks, sizeof benchmarks / sizeof benchmarks[0], argv[i]), &plan);
    }
    return EXIT_SUCCESS;
}
