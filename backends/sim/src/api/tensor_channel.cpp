// SPDX-License-Identifier: Apache-2.0
// Channels for tensors (tensor_channels.md section 3).
#include "memory/tensor_channel.h"

#include <cstring>

#include "api/tensor_item.h"

using namespace aclsim;

namespace {

TensorChannel &require_channel(Simulator &sim, const acltdtChannelHandle *handle) REQUIRES(engine_lock) {
    return require_object<TensorChannel>(sim, handle, "handle");
}

// Creates a queue on the device, which must be open in the process: no device, no queue.
Device &require_open_device(Simulator &sim, std::uint32_t id) REQUIRES(engine_lock) {
    Device &device = require_device(sim, id);
    if (device.contexts.empty()) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "device %u is not open in this process: call aclrtSetDevice first", id);
    }
    require_not_lost(device);
    return device;
}

}  // namespace

// The function works only on a virtual instance of a 910, which is not simulated.
acltdtChannelHandle *acltdtCreateChannel(uint32_t, const char *name) {
    checked_entry(Function::acltdtCreateChannel, [&] {
        require(name, "name");
        require_supported();
        fail_unremembered(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
                          "only a virtual instance of the device has channels without a capacity; "
                          "use acltdtCreateChannelWithCapacity");
    });
    return nullptr;
}

acltdtChannelHandle *acltdtCreateChannelWithCapacity(uint32_t deviceId, const char *name, size_t capacity) {
    void *handle = nullptr;
    entry(Function::acltdtCreateChannelWithCapacity, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(name, "name");
        if (strnlen(name, kLongestChannelName + 1) > kLongestChannelName) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "the name has more than %zu characters", kLongestChannelName);
        }
        require_supported();
        const Device &device = require_open_device(sim, deviceId);
        if (capacity < kSmallestChannel || capacity > kLargestChannel) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "the capacity is %zu, but must be %zu to %zu", capacity, kSmallestChannel,
                 kLargestChannel);
        }
        handle = sim.tensor_channels.create(device, name, capacity)->handle();
    });
    return static_cast<acltdtChannelHandle *>(handle);
}

aclError acltdtDestroyChannel(acltdtChannelHandle *handle) {
    return entry(Function::acltdtDestroyChannel, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        sim.tensor_channels.destroy(require_channel(sim, handle));
    });
}

aclError acltdtStopChannel(acltdtChannelHandle *handle) {
    return entry(Function::acltdtStopChannel, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        TensorChannels::stop(require_channel(sim, handle));
    });
}

aclError acltdtCleanChannel(acltdtChannelHandle *handle) {
    return entry(Function::acltdtCleanChannel, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        TensorChannels::clean(require_channel(sim, handle));
    });
}

aclError acltdtQueryChannelSize(const acltdtChannelHandle *handle, size_t *size) {
    return entry(Function::acltdtQueryChannelSize, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        const TensorChannel &channel = require_channel(sim, handle);
        require(size, "size");
        *size = channel.messages.size();
    });
}

aclError acltdtSendTensor(const acltdtChannelHandle *handle, const acltdtDataset *dataset, int32_t timeout) {
    return entry(Function::acltdtSendTensor, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        const Ref<TensorChannel> channel(require_channel(sim, handle));
        sim.tensor_channels.send(lock, channel, require_dataset(sim, dataset), timeout);
    });
}

aclError acltdtReceiveTensor(const acltdtChannelHandle *handle, acltdtDataset *dataset, int32_t timeout) {
    return entry(Function::acltdtReceiveTensor, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        const Ref<TensorChannel> channel(require_channel(sim, handle));
        sim.tensor_channels.receive(lock, channel, Ref<Dataset>(require_dataset(sim, dataset)), timeout);
    });
}
