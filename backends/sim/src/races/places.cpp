#include "races/places.h"

#include <functional>

#include "support/text.h"

namespace aclsim::races {
namespace {

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
    hash = (hash ^ value) * 0x9E3779B97F4A7C15ULL;
    return hash ^ (hash >> 32);
}

std::uint64_t hash_of(const char *function, const CallPlace &place) {
    std::uint64_t hash = as_integer(function);
    for (std::size_t i = 0; i < place.count; ++i) {
        hash = mixed(mixed(hash, as_integer(place.frames[i].code)), static_cast<std::uint64_t>(place.frames[i].offset));
    }
    return hash;
}

bool are_equal(const CallPlace &one, const CallPlace &other) {
    bool are_so = one.kind == other.kind && one.count == other.count;
    for (std::size_t i = 0; are_so && i < one.count; ++i) {
        are_so = one.frames[i].code == other.frames[i].code && one.frames[i].offset == other.frames[i].offset;
    }
    return are_so;
}

}  // namespace

PlaceId Places::find(const char *function, const CallPlace &frames, const std::string &kernel) {
    const std::uint64_t hash = mixed(hash_of(function, frames), std::hash<std::string>{}(kernel));
    const auto range = by_hash_.equal_range(hash);
    for (auto it = range.first; it != range.second; ++it) {
        const Place &known = list_[it->second];
        if (known.function == function && known.kernel == kernel && are_equal(known.frames, frames)) {
            return it->second;
        }
    }
    const auto id = static_cast<PlaceId>(list_.size());
    list_.push_back({function, frames, kernel});
    by_hash_.emplace(hash, id);
    return id;
}

}  // namespace aclsim::races
