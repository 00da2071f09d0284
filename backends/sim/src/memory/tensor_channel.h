// SPDX-License-Identifier: Apache-2.0
// Channels: bounded queues of datasets between threads of the process (tensor_channels.md section 3).
//
// A send copies the data into pinned memory, and the receiving set takes that memory over: data are copied once. A call
// that must wait is a HostWait for the host, because only another call ends it.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "engine/handover.h"
#include "memory/tensor_item.h"

namespace aclsim {

constexpr std::size_t kSmallestChannel = 2;
constexpr std::size_t kLargestChannel = 8192;
constexpr std::size_t kLongestChannelName = 127;

class TensorChannel final : public Object {
  public:
    static constexpr Kind kKind = Kind::TensorChannel;
    TensorChannel(const Device &owner, std::string channel_name, std::size_t most)
        : device(owner), name(std::move(channel_name)), capacity(most) {}

    struct Message {
        std::vector<Ref<DataItem>> items;
        PinnedBlock block;  // their data; nullptr without data
        Handover handover{};
    };

    const Device &device;
    const std::string name;
    const std::size_t capacity;
    std::deque<Message> messages GUARDED_BY(engine_lock);
    std::size_t arriving GUARDED_BY(engine_lock) = 0;  // messages of sends that are copying; they have a place
    bool is_stopped GUARDED_BY(engine_lock) = false;   // no call waits any more
    bool is_over GUARDED_BY(engine_lock) = false;      // destroyed, or its device was reset
    std::condition_variable_any changed;

    bool has_room() const REQUIRES(engine_lock) { return messages.size() + arriving < capacity; }
};

// Guarded by the engine lock.
class TensorChannels final : public Resident {
  public:
    explicit TensorChannels(Memory &memory);
    Ref<TensorChannel> create(const Device &device, const char *name, std::size_t capacity) REQUIRES(engine_lock);
    // Ends the waits of other threads, which fail.
    void destroy(TensorChannel &channel) REQUIRES(engine_lock);
    // Ends the waits of other threads, and lets no call wait any more.
    static void stop(TensorChannel &channel) REQUIRES(engine_lock);
    static void clean(TensorChannel &channel) REQUIRES(engine_lock);
    // Copies the set into the channel. A time limit in milliseconds; a negative one is none.
    void send(Lock &lock, const Ref<TensorChannel> &channel, const Dataset &set, std::int32_t timeout)
        REQUIRES(engine_lock);
    // Moves the oldest message into the set.
    void receive(Lock &lock, const Ref<TensorChannel> &channel, const Ref<Dataset> &set, std::int32_t timeout)
        REQUIRES(engine_lock);
    void device_closed(Device &device) override REQUIRES(engine_lock);

  private:
    struct Source {
        const void *data;
        void *copy;
        std::size_t size;
    };
    TensorChannel::Message copy_of(Lock &lock, const std::vector<Ref<DataItem>> &items) REQUIRES(engine_lock);
    std::vector<Ref<DataItem>> sendable_items(const Dataset &set) REQUIRES(engine_lock);
    void require_readable(const DataItem &item) REQUIRES(engine_lock);
    template <class Ready>
    void await(Lock &lock, TensorChannel &channel, std::int32_t timeout, const char *awaited, aclError otherwise,
               Ready is_ready) REQUIRES(engine_lock);

    Memory &memory_;
};

}  // namespace aclsim
