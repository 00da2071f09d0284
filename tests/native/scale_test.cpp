// SPDX-License-Identifier: Apache-2.0
// Ten thousand streams and a million tasks: every value arrives, and all memory is returned.
#include <malloc.h>

#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "concurrent.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kReduced = 10;  // divides both numbers: sanitizers make every task many times slower
#else
constexpr int kReduced = 1;
#endif

namespace {

constexpr int kStreams = 10'000 / kReduced;
constexpr int kTasks = 1'000'000 / kReduced;  // in each round
constexpr int kDevicesPerThread = 2;
constexpr int kDevices = kThreads * kDevicesPerThread;
constexpr int kStreamsPerDevice = kStreams / kDevices;
constexpr int kTasksPerDevice = kTasks / kDevices;
constexpr int kRounds = 2;
// Bytes for lists that keep their capacity. A leak of one object per stream and round would take ten times as much.
constexpr std::size_t kSlack = 64 * 1024;

// Streams of one device, each with a cell in device memory. `expected_` is the content of the cells in the end.
class Crowd {
  public:
    Crowd() : streams_(kStreamsPerDevice), events_(kStreamsPerDevice), expected_(kStreamsPerDevice) {
        for (int i = 0; i < kStreamsPerDevice; ++i) {
            streams_[i] = new_stream();
            CHECK_OK(aclrtCreateEventExWithFlag(&events_[i], ACL_EVENT_SYNC));
        }
        void *memory = nullptr;
        CHECK_OK(aclrtMalloc(&memory, kStreamsPerDevice, ACL_MEM_MALLOC_HUGE_FIRST));
        cells_ = static_cast<std::uint8_t *>(memory);
        CHECK_OK(aclrtMemset(cells_, kStreamsPerDevice, 0, kStreamsPerDevice));
    }
    ~Crowd() {
        for (int i = 0; i < kStreamsPerDevice; ++i) {
            CHECK_OK(aclrtDestroyEvent(events_[i]));
            CHECK_OK(aclrtDestroyStream(streams_[i]));
        }
        CHECK_OK(aclrtFree(cells_));
    }
    Crowd(const Crowd &) = delete;
    Crowd &operator=(const Crowd &) = delete;

    void submit(unsigned seed) {
        std::mt19937 random(seed);
        for (int tasks = 0; tasks < kTasksPerDevice;) {
            const int from = static_cast<int>(random() % kStreamsPerDevice);
            const int to = static_cast<int>(random() % kStreamsPerDevice);
            if (random() % 2 == 0 || from == to) {
                tasks += set(from, static_cast<std::uint8_t>(random()));
            } else {
                tasks += hand_over(from, to);
            }
        }
    }

    void check() const {
        CHECK_OK(aclrtSynchronizeDevice());
        std::vector<std::uint8_t> arrived(kStreamsPerDevice);
        CHECK_OK(aclrtMemcpy(arrived.data(), arrived.size(), cells_, kStreamsPerDevice, ACL_MEMCPY_DEVICE_TO_HOST));
        CHECK(arrived == expected_);
    }

  private:
    int set(int i, std::uint8_t value) {
        CHECK_OK(aclrtMemsetAsync(&cells_[i], 1, value, 1, streams_[i]));
        expected_[i] = value;
        return 1;
    }

    // The second event keeps `from` from changing its cell before `to` has read it.
    int hand_over(int from, int to) {
        CHECK_OK(aclrtRecordEvent(events_[from], streams_[from]));
        CHECK_OK(aclrtStreamWaitEvent(streams_[to], events_[from]));
        CHECK_OK(aclrtMemcpyAsync(&cells_[to], 1, &cells_[from], 1, ACL_MEMCPY_DEVICE_TO_DEVICE, streams_[to]));
        CHECK_OK(aclrtRecordEvent(events_[to], streams_[to]));
        CHECK_OK(aclrtStreamWaitEvent(streams_[from], events_[to]));
        expected_[to] = expected_[from];
        return 5;
    }

    std::vector<aclrtStream> streams_;
    std::vector<aclrtEvent> events_;
    std::vector<std::uint8_t> expected_;
    std::uint8_t *cells_ = nullptr;
};

// Sets each device before the body, and resets it afterwards. The main thread keeps every device open.
template <class Body>
void on_devices(int first, int last, Body body) {
    for (int device = first; device < last; ++device) {
        CHECK_OK(aclrtSetDevice(device));
        body(device);
        CHECK_OK(aclrtResetDevice(device));
    }
}

// Uses all streams at the same time. With `is_held`, all tasks are pending before the first one starts; otherwise tasks
// run while others are submitted.
void values_arrive(bool is_held) {
    std::vector<std::unique_ptr<Crowd>> crowds(kDevices);
    on_devices(0, kDevices, [&](int device) { crowds[device] = std::make_unique<Crowd>(); });
    CHECK(aclsimHold(is_held ? 1 : 0) == 0);
    in_threads([&](int thread) {
        on_devices(thread * kDevicesPerThread, (thread + 1) * kDevicesPerThread,
                   [&](int device) { crowds[device]->submit(static_cast<unsigned>(device)); });
    });
    CHECK(aclsimHold(0) == 0);
    on_devices(0, kDevices, [&](int device) { crowds[device]->check(); });
    on_devices(0, kDevices, [&](int device) { crowds[device].reset(); });
}

struct Taken {
    std::size_t host = 0;
    std::size_t device = 0;
};

// The number of the host is always 0 under the address sanitizer, which checks for leaks itself at the end.
Taken taken() {
    std::size_t free = 0;
    std::size_t total = 0;
    CHECK_OK(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total));
    return {mallinfo2().uordblks, total - free};
}

}  // namespace

int main() {
    CHECK_OK(aclInit(nullptr));
    for (int device = kDevices - 1; device >= 0; --device) {
        CHECK_OK(aclrtSetDevice(device));
    }
    values_arrive(false);  // creates everything that the library keeps
    values_arrive(true);
    const Taken before = taken();
    for (int round = 0; round < kRounds; ++round) {
        values_arrive(false);
        values_arrive(true);
    }
    const Taken after = taken();
    std::printf("in use before %zu B, after %zu B\n", before.host, after.host);
    CHECK(after.device == before.device);
    CHECK(after.host <= before.host + kSlack);
    on_devices(0, kDevices, [](int device) { CHECK_OK(aclrtResetDevice(device)); });
    CHECK_OK(aclFinalize());
    std::puts("native scale: all passed");
    return 0;
}
