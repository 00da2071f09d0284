/* SPDX-License-Identifier: Apache-2.0 */
#include "forward_places.h"

#include <ATen/SequenceNumber.h>
#include <ATen/core/grad_mode.h>
#include <ATen/record_function.h>
#include <torch/csrc/autograd/node.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <vector>

#include "abi/aclsim.h"
#include "checks.h"
#include "forks.h"

namespace ascend_rt {
namespace {

struct Place {
    std::uint64_t thread = 0;
    std::uint64_t number = 0;  // number of the node that differentiates the operator; each thread counts
    std::int32_t count = 0;
    std::array<aclsimCallFrame, 8> frames{};
};

// The newest places, under held_in_forks. Empty until a check needs them.
constexpr std::size_t kMost = 1 << 15;
auto &places = *new std::vector<Place>;  // forever: threads may outlive static variables

constinit thread_local Place newest;  // place of the thread's nodes

std::size_t index_of(std::uint64_t thread, std::uint64_t number) { return (thread * 4099 + number) % kMost; }

bool needs_gradient(const IValue &value) {
    if (value.isTensor()) {
        return value.toTensor().defined() && value.toTensor().requires_grad();
    }
    if (!value.isTensorList()) {
        return false;
    }
    const auto tensors = value.toTensorVector();
    return std::any_of(tensors.begin(), tensors.end(), [](const at::Tensor &it) { return it.requires_grad(); });
}

void keep_place(const Place &place) {
    const std::lock_guard<std::mutex> lock(held_in_forks);
    if (places.empty()) {
        places.resize(kMost);
    }
    Place &kept = places[index_of(place.thread, place.number)];
    if (kept.thread != place.thread || kept.number != place.number) {  // the first operator is the node's
        kept = place;
    }
}

// Finds the place of the node. Those that accumulate gradients, or change views, have none: they have the one of the
// node that the thread has run before, which led to them.
bool find_place(std::uint64_t thread, std::uint64_t number, Place &place) {
    const std::lock_guard<std::mutex> lock(held_in_forks);
    if (places.empty()) {
        return false;
    }
    const Place &kept = places[index_of(thread, number)];
    if (kept.thread == thread && kept.number == number) {
        newest = kept;
    }
    place = newest;
    return place.count > 0;
}

}  // namespace

void note_forward_place(c10::ArrayRef<IValue> arguments) {
    const std::uint64_t next = at::sequence_number::peek();
    if (next == 0 || !is_checked() || !at::GradMode::is_enabled() ||
        !std::any_of(arguments.begin(), arguments.end(), needs_gradient)) {
        return;
    }
    Place place;
    place.thread = at::RecordFunction::currentThreadId();
    place.number = next - 1;
    place.count = aclsimGetFrames(place.frames.data(), static_cast<std::int32_t>(place.frames.size()));
    if (place.count > 0) {
        keep_place(place);
    }
}

ForwardPlace::ForwardPlace() {
    if (!is_checked()) {
        return;
    }
    const auto node = torch::autograd::get_current_node();
    Place place;
    if (node && find_place(node->thread_id(), node->sequence_nr(), place)) {
        aclsimSetForwardPlace(place.frames.data(), place.count);
        is_set_ = true;
    }
}

ForwardPlace::~ForwardPlace() {
    if (is_set_) {
        aclsimSetForwardPlace(nullptr, 0);
    }
}

}  // namespace ascend_rt
