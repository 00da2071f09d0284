// SPDX-License-Identifier: Apache-2.0
#include "races/places.h"

#include <array>
#include <cstddef>
#include <cstring>
#include <functional>

#include "support/text.h"

namespace aclsim::races {
namespace {

constexpr std::uint64_t kFactor = 0x9E3779B97F4A7C15ULL;

constexpr std::array<std::uint64_t, CallPlace::kMostFrames> odd_factors() {
    std::array<std::uint64_t, CallPlace::kMostFrames> factors{};
    for (std::size_t i = 0; i < factors.size(); ++i) {
        factors[i] = (kFactor * (i + 1)) | 1;
    }
    return factors;
}
constexpr auto kFactors = odd_factors();

std::uint64_t mixed(std::uint64_t hash) {
    hash *= kFactor;
    return hash ^ (hash >> 32);
}

// Frames are independent terms, which the processor computes at the same time.
std::uint64_t hash_of(const char *function, const CallPlace &place) {
    std::uint64_t hash = as_integer(function);
    for (std::size_t i = 0; i < place.count; ++i) {
        const auto offset = static_cast<std::uint64_t>(place.frames[i].offset);
        hash += (as_integer(place.frames[i].code) + (offset << 32) + i) * kFactors[i];
    }
    return mixed(hash);
}

// Frames have no padding: all of their bytes are compared at once.
bool are_equal(const CallPlace &one, const CallPlace &other) {
    using Frame = aclsimCallFrame;
    static_assert(sizeof(Frame) == sizeof(Frame::code) + sizeof(Frame::offset));
    return one.kind == other.kind && one.count == other.count &&
           std::memcmp(one.frames.data(), other.frames.data(), one.count * sizeof(Frame)) == 0;
}

}  // namespace

bool Places::is(PlaceId id, const char *function, const CallPlace &frames, const std::string &kernel) const {
    const Place &known = list_[id];
    return known.function == function && known.kernel == kernel && are_equal(known.frames, frames);
}

PlaceId Places::find(const char *function, const CallPlace &frames, const std::string &kernel) {
    if (newest_ != 0 && is(newest_, function, frames, kernel)) {  // as in a loop
        return newest_;
    }
    return newest_ = find_by_hash(function, frames, kernel);
}

PlaceId Places::find_by_hash(const char *function, const CallPlace &frames, const std::string &kernel) {
    const std::uint64_t hash = hash_of(function, frames) + (kernel.empty() ? 0 : std::hash<std::string>{}(kernel));
    PlaceId &recent = recent_[hash % recent_.size()];
    if (recent != 0 && is(recent, function, frames, kernel)) {
        return recent;
    }
    const auto range = by_hash_.equal_range(hash);
    for (auto it = range.first; it != range.second; ++it) {
        if (is(it->second, function, frames, kernel)) {
            return recent = it->second;
        }
    }
    const auto id = static_cast<PlaceId>(list_.size());
    list_.push_back({function, frames, kernel});
    by_hash_.emplace(hash, id);
    return recent = id;
}

}  // namespace aclsim::races
