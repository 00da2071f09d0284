// SPDX-License-Identifier: Apache-2.0
// Fuzz test: several threads call every function with NULL, garbage, destroyed handles and handles of other types. The
// library must not crash or hang, and must work afterwards. Usage: fuzz_test [SEED [STEPS]].
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "check.h"

namespace {

constexpr int kThreads = 4;
constexpr int kDevices = 2;
constexpr std::size_t kMemory = 16384;  // bytes; no structure or array passed to a call is larger
constexpr int kRenewal = 200;           // calls between two calls of renew()

// Handles that were valid when they were stored. Any thread may have destroyed them since.
std::array<std::atomic<void *>, 64> g_handles;

template <class T>
struct Nothing;
template <class R, class... A>
struct Nothing<R (*)(A...)> {
    static R call(A...) { return R(); }
};

class Chooser {
  public:
    explicit Chooser(unsigned seed) : random_(seed) {}
    std::size_t below(std::size_t end) { return random_() % end; }

    // Chooses a handle, a callback, an enumerator or a number. A structure that is passed by value is zero.
    template <class T>
    std::remove_const_t<T> value() {
        using Plain = std::remove_const_t<T>;
        if constexpr (std::is_pointer_v<Plain>) {
            if constexpr (std::is_function_v<std::remove_pointer_t<Plain>>) {
                return below(4) == 0 ? nullptr : &Nothing<Plain>::call;
            } else {
                return address<Plain>();
            }
        } else if constexpr (std::is_class_v<Plain>) {
            return {};
        } else {
            constexpr std::int64_t kValues[] = {0, 0, 0, 1, 1, 2, 3, 8, 50, -1, -2, 0x7FFFFFFF, 0x100000001};
            return static_cast<Plain>(kValues[below(std::size(kValues))]);
        }
    }
    // Chooses a number of bytes or elements.
    template <class T>
    std::remove_const_t<T> measure() {
        if constexpr (std::is_arithmetic_v<T>) {
            constexpr int kValues[] = {0, 1, 2, 8, 64};
            return static_cast<T>(kValues[below(std::size(kValues))]);
        } else {
            return value<T>();
        }
    }
    // Chooses a value that calls only look up: a valid or destroyed handle of any type, garbage, or NULL.
    template <class T>
    T address() {
        constexpr std::uintptr_t kGarbage[] = {0,          0, 1, 8, 0x1234567800, 0x7FFFFFFFFFF8, 0x5AF0000010000000,
                                               UINTPTR_MAX};
        void *found = below(4) == 0 ? reinterpret_cast<void *>(kGarbage[below(std::size(kGarbage))])
                                    : g_handles[below(g_handles.size())].load();
        return reinterpret_cast<T>(found);
    }
    // Chooses memory that calls read or write: zeros, allocated for each call because tasks may use them later;
    // sometimes NULL.
    template <class T>
    T memory() {
        if (below(8) == 0) {
            return nullptr;
        }
        memory_.emplace_back(std::calloc(1, kMemory), &std::free);
        return reinterpret_cast<T>(memory_.back().get());
    }
    char *text() {
        constexpr const char *kTexts[] = {"", "/nonexistent", "aclrtMalloc", "%s%n", "\xff\xfe"};
        char *chosen = memory<char *>();
        if (chosen != nullptr) {
            std::snprintf(chosen, kMemory, "%s", kTexts[below(std::size(kTexts))]);
        }
        return chosen;
    }
    // Stores possible handles: a block that the last call filled in may begin with a new handle.
    void keep_results() {
        for (std::size_t i = seen_; i < memory_.size(); ++i) {
            void *const first = *static_cast<void **>(memory_[i].get());
            if (first != nullptr) {
                g_handles[below(g_handles.size())] = first;
            }
        }
        seen_ = memory_.size();
    }

  private:
    std::mt19937 random_;
    std::vector<std::unique_ptr<void, void (*)(void *)>> memory_;
    std::size_t seen_ = 0;
};

struct Call {
    const char *name;
    void (*make)(Chooser &);
};
constexpr Call kCalls[] = {
#include "fuzz_calls.inc"
};

// Creates objects to work on. Random calls may have finalized the library or closed the devices, so failures are
// ignored.
void renew(Chooser &chooser) {
    const auto keep = [&](void *handle) { g_handles[chooser.below(g_handles.size())] = handle; };
    (void)aclInit(nullptr);
    (void)aclrtSetDevice(static_cast<std::int32_t>(chooser.below(kDevices)));
    aclrtStream stream = nullptr;
    aclrtEvent event = nullptr;
    aclrtNotify notify = nullptr;
    void *memory = nullptr;
    (void)aclrtCreateStream(&stream);
    (void)aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE);
    (void)aclrtCreateNotify(&notify, 0);
    (void)aclrtMalloc(&memory, kMemory, ACL_MEM_MALLOC_HUGE_FIRST);
    for (void *handle : {stream, event, notify, memory}) {
        keep(handle);
    }
}

void fuzz(unsigned seed, int steps) {
    Chooser chooser(seed);
    for (int step = 0; step < steps; ++step) {
        if (step % kRenewal == 0) {
            renew(chooser);
        }
        const Call &call = kCalls[chooser.below(std::size(kCalls))];
        if (std::getenv("FUZZ_TRACE") != nullptr) {
            std::fprintf(stderr, "%s\n", call.name);
        }
        call.make(chooser);
        chooser.keep_results();
    }
}

// Aborts tasks repeatedly, because random calls may submit waits that never end otherwise.
void abort_now_and_then(const std::atomic<bool> &is_over) {
    while (!is_over) {
        for (std::int32_t device = 0; device < kDevices; ++device) {
            (void)aclrtDeviceTaskAbort(device, 1000);
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
}

void the_library_still_works() {
    (void)aclInit(nullptr);
    CHECK_OK(aclrtSetDevice(0));
    CHECK_OK(aclrtResetDeviceForce(0));  // removes everything left on it
    CHECK_OK(aclrtSetDevice(0));
    aclrtStream stream = nullptr;
    aclrtEvent event = nullptr;
    CHECK_OK(aclrtCreateStream(&stream));
    CHECK_OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
    CHECK_OK(aclrtRecordEvent(event, stream));
    CHECK_OK(aclrtSynchronizeStream(stream));
    aclrtEventRecordedStatus status{};
    CHECK_OK(aclrtQueryEventStatus(event, &status));
    CHECK(status == ACL_EVENT_RECORDED_STATUS_COMPLETE);
    CHECK_OK(aclrtDestroyEvent(event));
    CHECK_OK(aclrtDestroyStream(stream));
}

}  // namespace

int main(int count, char **arguments) {
    char directory[] = "/tmp/ascend_rt_fuzz_XXXXXX";  // calls make directories of the names that they are given
    CHECK(mkdtemp(directory) != nullptr);
    std::filesystem::current_path(directory);
    setenv("ASCEND_RT_SIM_DEVICES", std::to_string(kDevices).c_str(), 1);
    const auto seed = static_cast<unsigned>(count > 1 ? std::atoi(arguments[1]) : 1);
    const int steps = count > 2 ? std::atoi(arguments[2]) : 3000;
    std::atomic<bool> is_over{false};
    std::thread aborter([&] { abort_now_and_then(is_over); });
    std::vector<std::thread> threads;
    for (unsigned thread = 0; thread < kThreads; ++thread) {
        threads.emplace_back([=] { fuzz(seed * kThreads + thread, steps); });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    is_over = true;
    aborter.join();
    the_library_still_works();
    std::filesystem::remove_all(directory);
    return 0;
}
