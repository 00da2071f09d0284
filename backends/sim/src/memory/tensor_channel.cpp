// SPDX-License-Identifier: Apache-2.0
#include "memory/tensor_channel.h"

#include "memory/extent.h"
#include "support/error.h"
#include "support/move_bytes.h"
#include "support/pages.h"

namespace aclsim {
namespace {

constexpr std::size_t kAlignment = 64;  // each received item's data (tensor_channels.md section 2)

constexpr std::size_t aligned(std::size_t size) { return (size + kAlignment - 1) / kAlignment * kAlignment; }

// Room in the channel for the message of a send, until the message has arrived or the send has failed.
class Room final {
  public:
    explicit Room(TensorChannel &channel) REQUIRES(engine_lock) : channel_(channel) { ++channel_.arriving; }
    ~Room() REQUIRES(engine_lock) {
        --channel_.arriving;
        channel_.changed.notify_all();
    }
    Room(const Room &) = delete;
    Room &operator=(const Room &) = delete;

  private:
    TensorChannel &channel_;
};

[[noreturn]] void fail_of_end(const TensorChannel &channel, const char *what) {
    fail_unremembered(ACL_ERROR_FAILURE, "channel \"%s\" %s", channel.name.c_str(), what);
}

void require_open(const TensorChannel &channel) REQUIRES(engine_lock) {
    if (channel.is_over) {
        fail_of_end(channel, "was destroyed, or its device was reset, during this call");
    }
    require_not_lost(channel.device);
}

// Control items carry no data and no shape.
constexpr bool can_be_sent(acltdtTensorType type) {
    return type == ACL_TENSOR_DATA_TENSOR || type == ACL_TENSOR_DATA_END_OF_SEQUENCE ||
           type == ACL_TENSOR_DATA_ABNORMAL;
}

}  // namespace

TensorChannels::TensorChannels(Memory &memory) : memory_(memory) { memory.machine.add(*this); }

Ref<TensorChannel> TensorChannels::create(const Device &device, const char *name, std::size_t capacity) {
    auto channel = make_ref<TensorChannel>(device, name, capacity);
    memory_.core.registry().add(channel);
    return channel;
}

void TensorChannels::destroy(TensorChannel &channel) {
    const Ref<TensorChannel> keep(channel);
    channel.is_over = true;
    channel.messages.clear();
    channel.changed.notify_all();
    memory_.core.registry().remove(channel);
}

void TensorChannels::stop(TensorChannel &channel) {
    channel.is_stopped = true;
    channel.changed.notify_all();
}

void TensorChannels::clean(TensorChannel &channel) {
    channel.messages.clear();
    channel.changed.notify_all();
}

void TensorChannels::device_closed(Device &device) {
    for (const auto &channel : memory_.core.registry().all<TensorChannel>()) {
        if (&channel->device == &device) {
            destroy(*channel);
        }
    }
}

template <class Ready>
void TensorChannels::await(Lock &lock, TensorChannel &channel, std::int32_t timeout, const char *awaited,
                           aclError otherwise, Ready is_ready) {
    require_open(channel);
    if (is_ready()) {
        return;
    }
    const std::string what = std::string(awaited) + " channel " + channel.name;
    const auto fail_late = [&] { fail_unremembered(otherwise, "there is no %s", what.c_str()); };
    if (timeout == 0) {
        fail_late();
    }
    const Time deadline = timeout < 0 ? kNever : memory_.core.clock().now() + std::chrono::milliseconds(timeout);
    InterruptPoll poll(memory_.core, ACL_ERROR_RT_WAIT_TIMEOUT, what);
    HostWait wait(memory_.core, Outside::Host, what.c_str(), deadline, &poll);
    while (!is_ready()) {
        if (channel.is_stopped) {
            fail_of_end(channel, "was stopped");
        }
        const bool is_in_time = wait.sleep(lock, channel.changed);
        require_open(channel);
        if (!is_in_time && !is_ready()) {
            fail_late();
        }
    }
}

// --- sending ---------------------------------------------------------------------------------------------------------

// Checks the items in the order of the runtime: first their types, then, by the driver, their data
// (tensor_channels.md section 3).
std::vector<Ref<DataItem>> TensorChannels::sendable_items(const Dataset &set) {
    std::vector<Ref<DataItem>> items;
    for (void *const handle : set.items()) {
        DataItem *const item = memory_.core.registry().find<DataItem>(handle);
        if (item == nullptr) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "item %zu of the set was destroyed", items.size());
        }
        if (!can_be_sent(item->type)) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "item %zu has tensor type %d, which cannot be sent",
                              items.size(), static_cast<int>(item->type));
        }
        items.emplace_back(*item);
    }
    if (items.empty()) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "an empty set cannot be sent");
    }
    for (const auto &item : items) {
        require_readable(*item);
    }
    return items;
}

void TensorChannels::require_readable(const DataItem &item) {
    if (item.size == 0) {
        return;
    }
    if (item.data == nullptr) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "an item of %zu bytes %s", item.size,
             item.received == nullptr ? "has no data" : "was received, and cannot be sent again: create an item");
    }
    require_live(memory_, item.data, item.size, AccessMode::Read, "data");
    const bool is_unknown = memory_.space().locate(item.data).place == Place::Unregistered;
    if (is_unknown && !has_pages(item.data, item.size)) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "%zu bytes at %p are not memory of the host", item.size, item.data);
    }
}

TensorChannel::Message TensorChannels::copy_of(Lock &lock, const std::vector<Ref<DataItem>> &items) {
    std::size_t bytes = 0;
    for (const auto &item : items) {
        if (__builtin_add_overflow(bytes, aligned(item->size), &bytes) || aligned(item->size) < item->size) {
            fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "the data of the set are larger than all memory");
        }
    }
    TensorChannel::Message message;
    if (bytes != 0) {
        message.block = allocate_pinned_block(memory_, lock, bytes);
    }
    std::vector<Source> sources;
    auto *to = static_cast<unsigned char *>(message.block.get());
    for (const auto &item : items) {
        auto copy = make_ref<DataItem>();
        copy->type = item->type;
        copy->dimensions = item->dimensions;
        copy->data_type = item->data_type;
        copy->size = item->size;
        copy->belongs_to_set = true;
        if (item->size != 0) {
            require_allocated(memory_, item->data, item->size, "data");  // it may have been freed during a wait
            copy->received = to;
            sources.push_back({item->data, to, item->size});
            to += aligned(item->size);
        }
        message.items.push_back(std::move(copy));
    }
    if (!sources.empty()) {
        work_unlocked(memory_, lock, [&] {
            for (const Source &source : sources) {
                move_bytes(source.copy, source.data, source.size);
            }
        });
    }
    return message;
}

void TensorChannels::send(Lock &lock, const Ref<TensorChannel> &channel, const Dataset &set, std::int32_t timeout) {
    const std::vector<Ref<DataItem>> items = sendable_items(set);  // kept: the program may destroy them meanwhile
    await(lock, *channel, timeout, "room in", ACL_ERROR_RT_QUEUE_FULL,
          [&]() REQUIRES(engine_lock) { return channel->has_room(); });
    const Room room(*channel);
    TensorChannel::Message message = copy_of(lock, items);
    require_open(*channel);
    message.handover.give(memory_.core);
    channel->messages.push_back(std::move(message));
}

// --- receiving -------------------------------------------------------------------------------------------------------

void TensorChannels::receive(Lock &lock, const Ref<TensorChannel> &channel, const Ref<Dataset> &set,
                             std::int32_t timeout) {
    await(lock, *channel, timeout, "data in", ACL_ERROR_RT_QUEUE_EMPTY,
          [&]() REQUIRES(engine_lock) { return !channel->messages.empty(); });
    if (set->kind() != Dataset::kKind) {
        fail_unremembered(ACL_ERROR_INVALID_PARAM, "the set was destroyed during this call");
    }
    TensorChannel::Message &message = channel->messages.front();
    // The runtime has taken the message out when it looks at the set, so the message is lost (tensor_channels.md
    // section 3 [obs]).
    const bool is_lost = set->has_own_items();
    if (!is_lost) {
        set->receive(message.items, message.block);
    }
    message.handover.take(memory_.core);
    channel->messages.pop_front();
    channel->changed.notify_all();
    if (is_lost) {
        fail_unremembered(ACL_ERROR_INVALID_PARAM,
                          "the set has items that were added to it; the oldest data of channel %s are lost",
                          channel->name.c_str());
    }
}

}  // namespace aclsim
