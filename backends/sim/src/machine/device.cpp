// SPDX-License-Identifier: Apache-2.0
#include "machine/device.h"

#include <algorithm>

#include "machine/context.h"
#include "machine/shared_card.h"
#include "support/config.h"

namespace aclsim {
namespace {

constexpr std::uint32_t kFirstUserStream = 2;  // internal streams have the numbers below

std::unique_ptr<SharedCard> card_of(std::uint32_t physical_id) {
    return config().shares_cards ? std::make_unique<SharedCard>(config().product->name, physical_id) : nullptr;
}

}  // namespace

Device::Device(std::uint32_t user, std::uint32_t physical)
    : user_id(user),
      physical_id(physical),
      card(card_of(physical)),
      stream_ids(kFirstUserStream, config().product->streams),
      event_ids(0, config().product->events),
      notify_ids(0, config().product->notifies),
      core_limits{config().product->cube_cores, config().product->vector_cores},
      has_group(!config().product->has(kHasGroups) || config().groups == 1) {}

Device::~Device() = default;

// Take from the card first: it fails if the host cannot share it, and then no ID may be allocated.
bool Device::acquire_stream(std::uint32_t &id) {
    if (card != nullptr && !card->take(SharedCard::kStreams, 1, config().product->streams)) {
        return false;
    }
    if (!stream_ids.acquire(id)) {
        if (card != nullptr) {
            card->give_back(SharedCard::kStreams, 1);
        }
        return false;
    }
    return true;
}

void Device::release_stream(std::uint32_t id) {
    stream_ids.release(id);
    if (card != nullptr) {
        card->give_back(SharedCard::kStreams, 1);
    }
}

std::uint32_t Device::available_streams() const {
    const std::uint64_t left =
        card == nullptr ? UINT64_MAX : card->left(SharedCard::kStreams, config().product->streams);
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(stream_ids.available(), left));
}

void Device::count_internal_streams() {
    if (card != nullptr) {
        card->count(SharedCard::kStreams, kFirstUserStream);
    }
}

void Device::release_internal_streams() {
    if (card != nullptr) {
        card->give_back(SharedCard::kStreams, kFirstUserStream);
    }
}

}  // namespace aclsim
