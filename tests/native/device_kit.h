// SPDX-License-Identifier: Apache-2.0
// Helpers for tests of several devices: objects of one device, and one thread for each of two or more devices.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "check.h"

// Stream and event of a device. The engine assigns the device's shard during construction, at the latest.
struct Pair {
    explicit Pair(std::int32_t owner, std::uint32_t flags = ACL_EVENT_SYNC) : device(owner) {
        CHECK_OK(aclrtSetDevice(device));
        CHECK_OK(aclrtCreateStream(&stream));
        CHECK_OK(aclrtCreateEventExWithFlag(&event, flags));
    }
    ~Pair() {
        CHECK_OK(aclrtSetDevice(device));
        CHECK_OK(aclrtDestroyEvent(event));
        CHECK_OK(aclrtDestroyStreamForce(stream));
    }
    Pair(const Pair &) = delete;
    Pair &operator=(const Pair &) = delete;

    const std::int32_t device;
    aclrtStream stream = nullptr;
    aclrtEvent event = nullptr;
};

// Stream, event and memory of a device; the memory has two halves.
template <std::size_t kHalf>
struct MemoryKit : Pair {
    explicit MemoryKit(std::int32_t owner) : Pair(owner) {
        CHECK_OK(aclrtMalloc(&memory, 2 * kHalf, ACL_MEM_MALLOC_HUGE_FIRST));
    }
    ~MemoryKit() { CHECK_OK(aclrtFree(memory)); }
    void *upper_half() const { return static_cast<char *>(memory) + kHalf; }

    void *memory = nullptr;
};

// Event that holds streams back: streams can wait for it before it is recorded.
class GateEvent {
  public:
    GateEvent() { CHECK_OK(aclrtCreateEventWithFlag(&event_, ACL_EVENT_SYNC)); }
    ~GateEvent() { CHECK_OK(aclrtDestroyEvent(event_)); }
    GateEvent(const GateEvent &) = delete;
    GateEvent &operator=(const GateEvent &) = delete;
    void close(aclrtStream stream) const { CHECK_OK(aclrtStreamWaitEvent(stream, event_)); }
    void open(aclrtStream by) const { CHECK_OK(aclrtRecordEvent(event_, by)); }
    aclrtEvent handle() const { return event_; }

  private:
    aclrtEvent event_ = nullptr;
};

// Runs body(kit) many times on one thread for each of two devices, with a kit of the thread's device.
template <class Kit, class Body>
void on_two_devices(Body body, int rounds = 500) {
    const Pair known[] = {Pair(0), Pair(1)};  // from here on each device has a shard
    std::vector<std::thread> threads;
    for (const Pair &pair : known) {
        threads.emplace_back([&body, rounds, device = pair.device] {
            const Kit own(device);
            for (int round = 0; round < rounds; ++round) {
                body(own);
            }
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
}

constexpr std::int32_t kBusyDevices = 7;  // out of eight; the disturbing thread uses the last one

// One kit for each busy device, used by the threads of all devices.
template <class Kit>
struct Crowd {
    std::vector<std::unique_ptr<Kit>> kits;
    std::atomic<bool> is_over{false};
};

// Runs work(crowd, device) on a thread for each busy device, and disturb(crowd) on one more. Sets is_over when the work
// is done.
template <class Kit, class Work, class Disturb>
void on_busy_devices(Work work, Disturb disturb) {
    Crowd<Kit> crowd;
    for (std::int32_t device = 0; device < kBusyDevices; ++device) {
        crowd.kits.push_back(std::make_unique<Kit>(device));
        CHECK_OK(aclrtRecordEvent(crowd.kits.back()->event, crowd.kits.back()->stream));
    }
    std::vector<std::thread> threads;
    for (std::int32_t device = 0; device < kBusyDevices; ++device) {
        threads.emplace_back([&crowd, work, device] { work(crowd, device); });
    }
    std::thread disturber([&crowd, disturb] { disturb(crowd); });
    for (std::thread &thread : threads) {
        thread.join();
    }
    crowd.is_over = true;
    disturber.join();
}
