/* SPDX-License-Identifier: Apache-2.0 */
#include "places.h"

#include <ATen/SequenceNumber.h>
#include <ATen/core/grad_mode.h>
#include <ATen/record_function.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/graph_task.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <iterator>
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

// The newest places, under held_in_forks. Empty until the first is kept or looked up.
constexpr std::size_t kMost = 1 << 15;
auto &places = *new std::vector<NodePlace>;  // forever: threads may outlive static variables

// A backward pass that the program has called, and has not returned from.
struct CalledPass {
    std::uint64_t thread = 0;
    Place place;
};
auto &passes = *new std::vector<CalledPass>;  // under held_in_forks

constinit thread_local Place newest;   // place of the thread's nodes
constinit thread_local int pass = -1;  // the backward pass that has run them
constinit thread_local Place current;  // that of the node that runs, while a ForwardPlace lives

// Both are set once, before the first use of a device.
constinit std::atomic<aclsimCaptureFrames> capture{nullptr};
constinit std::atomic<aclsimNameFrame> name{nullptr};
// Directories of PyTorch and its adapter, whose lines are not the program's.
auto &libraries = *new std::vector<std::string>;

// Returns where the place of a node is kept. Requires held_in_forks.
NodePlace &place_of(std::uint64_t thread, std::uint64_t number) {
    if (places.empty()) {
        places.resize(kMost);
    }
    return places[(thread * 4099 + number) % kMost];
}

// Nodes that accumulate gradients have no number; no thread has this one.
constexpr std::uint64_t kAccumulators = UINT64_MAX;
std::uint64_t number_of(const torch::autograd::Node *accumulator) {
    return reinterpret_cast<std::uintptr_t>(accumulator) / alignof(std::max_align_t);
}

// Returns whether a tensor of the value is like that.
template <class IsLike>
bool any_tensor(const IValue &value, IsLike is_like) {
    if (value.isTensor()) {
        return value.toTensor().defined() && is_like(value.toTensor());
    }
    if (!value.isTensorList()) {
        return false;
    }
    const auto tensors = value.toTensorVector();
    return std::any_of(tensors.begin(), tensors.end(), is_like);
}

bool needs_gradient(const IValue &value) {
    return any_tensor(value, [](const at::Tensor &it) { return it.requires_grad(); });
}

bool may_have_gradient(const IValue &value) {
    return any_tensor(value,
                      [](const at::Tensor &it) { return torch::autograd::isDifferentiableType(it.scalar_type()); });
}

void keep_place(const NodePlace &noted) {
    const std::lock_guard<std::mutex> lock(held_in_forks);
    NodePlace &kept = place_of(noted.thread, noted.number);
    if (kept.thread != noted.thread || kept.number != noted.number) {  // the first operator is the node's
        kept = noted;
    }
}

// Keeps the place for the nodes that accumulate the gradients of leaves among the arguments.
void keep_accumulators(c10::ArrayRef<IValue> arguments, const Place &place) {
    for (const IValue &argument : arguments) {
        if (!argument.isTensor() || !needs_gradient(argument) || !argument.toTensor().is_leaf()) {
            continue;
        }
        if (const auto node = torch::autograd::impl::try_get_grad_accumulator(argument.toTensor())) {
            const std::lock_guard<std::mutex> lock(held_in_forks);
            const std::uint64_t number = number_of(node.get());
            place_of(kAccumulators, number) = {kAccumulators, number, place};
        }
    }
}

// Returns the call of the backward pass that runs, if all passes that do are of one thread.
Place place_of_pass() {
    const bool is_known = !passes.empty() && std::all_of(passes.begin(), passes.end(), [](const CalledPass &it) {
        return it.thread == passes.back().thread;
    });
    return is_known ? passes.back().place : Place{};
}

// Finds the place of the node. Those that accumulate gradients, or change views, have none: they have the one of the
// node that the thread has run before in this pass, which led to them, or else of the newest operator with the leaf.
// Views and the layers of torch.func leave none either: the call of the pass is the last resort.
bool find_place(const torch::autograd::Node &node) {
    const std::uint64_t thread = node.thread_id();
    const std::uint64_t number = node.sequence_nr();
    const std::lock_guard<std::mutex> lock(held_in_forks);
    if (const int present = torch::autograd::get_current_graph_task_id(); present != pass) {
        pass = present;
        newest = Place{};
    }
    const NodePlace &kept = place_of(thread, number);
    if (kept.thread == thread && kept.number == number) {
        newest = kept.place;
    }
    current = newest;
    if (current.count == 0) {
        const std::uint64_t accumulator = number_of(&node);
        const NodePlace &of_leaf = place_of(kAccumulators, accumulator);
        if (of_leaf.thread == kAccumulators && of_leaf.number == accumulator) {
            current = of_leaf.place;
        }
    }
    current.is_forward = current.count > 0;
    if (current.count == 0) {
        current = place_of_pass();
    }
    return current.count > 0;
}

// Finds the place of what a pass calls for no node, as DistributedDataParallel has it do at the end: its call.
bool find_place_of_callback() {
    if (torch::autograd::get_current_graph_task_id() < 0) {
        return false;
    }
    const std::lock_guard<std::mutex> lock(held_in_forks);
    current = place_of_pass();
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
    if (place.count <= 0 && current.count > 0) {
        return current;
    }
    place.count = std::abs(place.count);  // negative: only libraries are there
    return place;
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

void note_forward_place(c10::ArrayRef<IValue> arguments, c10::ArrayRef<IValue> results, const Place &place) {
    const std::uint64_t next = at::sequence_number::peek();
    // A comparison, for instance, has no node: the newest one belongs to a view before it.
    if (next == 0 || place.count == 0 || !at::GradMode::is_enabled() ||
        !std::any_of(arguments.begin(), arguments.end(), needs_gradient) ||
        !std::any_of(results.begin(), results.end(), may_have_gradient)) {
        return;
    }
    keep_place({at::RecordFunction::currentThreadId(), next - 1, place});
    keep_accumulators(arguments, place);
}

ForwardPlace::ForwardPlace() {
    if (current.count > 0) {
        return;  // an operator allocates memory: its place is set
    }
    const auto node = torch::autograd::get_current_node();
    if (node ? find_place(*node) : find_place_of_callback()) {
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

// Called from Python before and after each backward pass.
extern "C" __attribute__((visibility("default"))) void ascend_rt_torch_begin_pass() {
    using namespace ascend_rt;
    const CalledPass called{at::RecordFunction::currentThreadId(), place_here()};
    const std::lock_guard<std::mutex> lock(held_in_forks);
    passes.push_back(called);
}

extern "C" __attribute__((visibility("default"))) void ascend_rt_torch_end_pass() {
    using namespace ascend_rt;
    const std::lock_guard<std::mutex> lock(held_in_forks);
    const std::uint64_t thread = at::RecordFunction::currentThreadId();
    const auto last =
        std::find_if(passes.rbegin(), passes.rend(), [&](const CalledPass &it) { return it.thread == thread; });
    if (last != passes.rend()) {
        passes.erase(std::next(last).base());
    }
}

// Writes the line from which the calling thread calls; "" if none is known.
extern "C" __attribute__((visibility("default"))) void ascend_rt_torch_line(char *text, std::size_t size) {
    std::snprintf(text, size, "%s", ascend_rt::line_of(ascend_rt::place_here()).c_str());
}
