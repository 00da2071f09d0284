// SPDX-License-Identifier: Apache-2.0
#include "observe/marks.h"

#include <algorithm>
#include <utility>

#include "engine/thread.h"
#include "support/thread_state.h"

namespace aclsim {
namespace {

struct Pushed {
    std::string message;
    Time began;
};

// Ranges that the thread has pushed; innermost last. They end with the profiles during which they were pushed.
struct PushedRanges {
    std::uint64_t attachment = 0;
    std::vector<Pushed> list;

    static std::vector<Pushed> &get(std::uint64_t attachment) {
        PushedRanges &own = ThreadState<PushedRanges>::get();
        if (own.attachment != attachment) {
            own.attachment = attachment;
            own.list.clear();
        }
        return own.list;
    }
};

std::string shape_of(const aclprofTensor &tensor) {
    std::string text = "[";
    const std::uint32_t dimensions = std::min<std::uint32_t>(tensor.shapeDim, ACL_PROF_TENSOR_DATA_SHAPE_LEN);
    for (std::uint32_t i = 0; i < dimensions; ++i) {
        text += (i == 0 ? "" : " ") + std::to_string(tensor.shape[i]);
    }
    return text + "]";
}

}  // namespace

Stamp *Marks::create_stamp() {
    const auto free = std::find_if(stamps_.begin(), stamps_.end(), [](const auto &it) { return !it; });
    if (free == stamps_.end()) {
        return nullptr;
    }
    const auto stamp = make_ref<Stamp>(static_cast<std::uint32_t>(free - stamps_.begin()));
    core_.registry().add(stamp);
    *free = stamp;
    return stamp.get();
}

void Marks::destroy(Stamp &stamp) {
    const Ref<Stamp> last = std::move(stamps_[stamp.id]);
    core_.registry().remove(*last);
}

StepInfo &Marks::create_step() {
    const auto step = make_ref<StepInfo>(steps_ + 1);
    core_.registry().add(step);
    ++steps_;
    return *step;
}

void Marks::mark(const Stamp &stamp) {
    const Time now = core_.clock().now();
    profiler_.note_range({thread_number(), "marker", stamp.message, now, now});
}

void Marks::push(const Stamp &stamp) {
    PushedRanges::get(profiler_.attachment()).push_back({stamp.message, core_.clock().now()});
}

bool Marks::pop() {
    std::vector<Pushed> &pushed = PushedRanges::get(profiler_.attachment());
    if (pushed.empty()) {
        return false;
    }
    const Pushed range = std::move(pushed.back());
    pushed.pop_back();
    profiler_.note_range({thread_number(), "push/pop", range.message, range.began, core_.clock().now()});
    return true;
}

void Marks::start_range(Stamp &stamp) { stamp.began = core_.clock().now(); }

bool Marks::stop_range(std::uint32_t id) {
    const Stamp *const stamp = id < stamps_.size() ? stamps_[id].get() : nullptr;
    if (stamp == nullptr || !stamp->began) {
        return false;
    }
    profiler_.note_range({thread_number(), "start/end", stamp->message, *stamp->began, core_.clock().now()});
    return true;
}

Marks::Tensors &Marks::own_tensors() { return ThreadState<Tensors>::get(); }

void Marks::push_tensors(const aclprofTensorInfo *info) {
    Tensors pushed;
    pushed.was_pushed = true;
    pushed.began = core_.clock().now();
    if (info != nullptr) {
        pushed.info = *info;
        if (info->tensors != nullptr) {
            pushed.tensors.assign(info->tensors, info->tensors + info->tensorNum);
        }
    }
    own_tensors() = std::move(pushed);
}

std::string Marks::text_of(std::uint64_t number) const {
    const auto found = texts_.find(number);
    return found == texts_.end() ? std::to_string(number) : found->second;
}

std::string Marks::describe(const Tensors &range) const {
    constexpr const char *kRoles[] = {"input", "output"};
    std::string text = text_of(range.info->opNameId) + ", " + text_of(range.info->opTypeId);
    if (range.info->blockNums != 0) {
        text += ", " + std::to_string(range.info->blockNums) + " blocks";
    }
    for (const aclprofTensor &tensor : range.tensors) {
        text += std::string(", ") + (tensor.type < std::size(kRoles) ? kRoles[tensor.type] : "tensor") + " of type " +
                std::to_string(tensor.dataType) + " " + shape_of(tensor);
    }
    return text;
}

void Marks::note_tensors(const Tensors &range) {
    profiler_.note_range({thread_number(), "tensors", describe(range), range.began, core_.clock().now()});
}

// Hashes as the runtime does, whose numbers appear in files of its profiler (profiling.md section 7 [obs]).
std::uint64_t Marks::number_of(const std::string &text) {
    std::uint32_t first = 0, second = 0;
    for (const char letter : text) {
        const auto value = static_cast<std::uint32_t>(static_cast<std::int32_t>(static_cast<signed char>(letter)));
        first = first * 29 + value;
        second = second * 131 + value;
    }
    const std::uint64_t number = std::uint64_t{first} << 32 | second;
    texts_.emplace(number, text);
    return number;
}

}  // namespace aclsim
