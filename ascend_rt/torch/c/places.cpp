/* SPDX-License-Identifier: Apache-2.0 */
#include "places.h"

#include <ATen/SequenceNumber.h>
#include <ATen/core/grad_mode.h>
#include <ATen/record_function.h>
#include <torch/csrc/autograd/function.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <sstream>
#include <vector>

#include "checks.h"
#include "forks.h"

namespace ascend_rt {
namespace {

struct NodePlace {
    std::uint64_t thread = 0;
    std::uint64_t number = 0;  // number of the node that differentiates the operator; each thread counts
    Place place;
};

// The newest places, under held_in_forks. Empty until the first operator that is differentiated.
constexpr std::size_t kMost = 1 << 15;
auto &places = *new std::vector<NodePlace>;  // forever: threads may outlive static variables

constinit thread_local Place newest;   // place of the thread's nodes
constinit thread_local Place current;  // that of the node that runs, while a ForwardPlace lives

// Both are set once, before the first use of a device.
constinit std::atomic<aclsimCaptureFrames> capture{nullptr};
constinit std::atomic<aclsimNameFrame> name{nullptr};
// Directories of PyTorch and its adapter, whose lines are not the program's.
auto &libraries = *new std::vector<std::string>;

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

void keep_place(const NodePlace &noted) {
    const std::lock_guard<std::mutex> lock(held_in_forks);
    if (places.empty()) {
        places.resize(kMost);
    }
    NodePlace &kept = places[index_of(noted.thread, noted.number)];
    if (kept.thread != noted.thread || kept.number != noted.number) {  // the first operator is the node's
        kept = noted;
    }
}

// Finds the place of the node. Those that accumulate gradients, or change views, have none: they have the one of the
// node that the thread has run before, which led to them.
bool find_place(std::uint64_t thread, std::uint64_t number) {
    const std::lock_guard<std::mutex> lock(held_in_forks);
    if (places.empty()) {
        return false;
    }
    const NodePlace &kept = places[index_of(thread, number)];
    if (kept.thread == thread && kept.number == number) {
        newest = kept.place;
    }
    current = newest;
    current.is_forward = true;
    return current.count > 0;
}

std::string text_of(const aclsimCallFrame &frame) {
    char text[4352] = "";  // a path of any length, and the function
    const aclsimNameFrame named = name.load(std::memory_order_acquire);
    return named != nullptr && named(&frame, text, sizeof text) == 0 ? text : "";
}

bool is_of_library(const std::string &place) {
    return std::any_of(libraries.begin(), libraries.end(), [&](const std::string &directory) {
        return place.compare(0, directory.size(), directory) == 0;
    });
}

}  // namespace

Place place_here() {
    Place place;
    const aclsimCaptureFrames captured = capture.load(std::memory_order_acquire);
    if (captured != nullptr) {
        place.count = captured(place.frames.data(), static_cast<std::int32_t>(place.frames.size()));
    }
    return place.count > 0 ? place : current;
}

std::string line_of(const Place &place) {
    std::string innermost;
    for (std::int32_t i = 0; i < place.count; ++i) {
        std::string text = text_of(place.frames.at(static_cast<std::size_t>(i)));
        if (!text.empty() && !is_of_library(text)) {
            return text;
        }
        innermost = innermost.empty() ? std::move(text) : innermost;
    }
    return innermost;
}

void note_forward_place(c10::ArrayRef<IValue> arguments, const Place &place) {
    const std::uint64_t next = at::sequence_number::peek();
    if (next == 0 || place.count == 0 || !at::GradMode::is_enabled() ||
        !std::any_of(arguments.begin(), arguments.end(), needs_gradient)) {
        return;
    }
    keep_place({at::RecordFunction::currentThreadId(), next - 1, place});
}

ForwardPlace::ForwardPlace() {
    if (current.count > 0) {
        return;  // an operator allocates memory: its place is set
    }
    const auto node = torch::autograd::get_current_node();
    if (node && find_place(node->thread_id(), node->sequence_nr())) {
        if (is_checked()) {
            aclsimSetForwardPlace(current.frames.data(), current.count);
        }
        is_set_ = true;
    }
}

ForwardPlace::~ForwardPlace() {
    if (is_set_) {
        current = Place{};
        if (is_checked()) {
            aclsimSetForwardPlace(nullptr, 0);
        }
    }
}

}  // namespace ascend_rt

// Called from Python when a device is first used, with the functions that note and name lines, and directories.
extern "C" __attribute__((visibility("default"))) void ascend_rt_torch_places(aclsimCaptureFrames captured,
                                                                              aclsimNameFrame named,
                                                                              const char *directories) {
    using namespace ascend_rt;
    std::istringstream lines(directories);
    for (std::string line; std::getline(lines, line);) {
        libraries.push_back(line);
    }
    name.store(named, std::memory_order_release);
    capture.store(captured, std::memory_order_release);
}

// Writes the line from which the calling thread calls; "" if none is known.
extern "C" __attribute__((visibility("default"))) void ascend_rt_torch_line(char *text, std::size_t size) {
    std::snprintf(text, size, "%s", ascend_rt::line_of(ascend_rt::place_here()).c_str());
}
