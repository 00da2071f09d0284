// SPDX-License-Identifier: Apache-2.0
#include "support/function.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace aclsim {

Function find_function(const char *name) {
    const FunctionInfo *begin = kFunctions + 1;  // skips Function::None
    const FunctionInfo *end = kFunctions + static_cast<std::size_t>(Function::Count);
    const auto *found =
        name == nullptr ? end : std::lower_bound(begin, end, name, [](const auto &info, const char *it) {
            return std::strcmp(info.name, it) < 0;
        });
    const bool is_it = found != end && std::strcmp(found->name, name) == 0;
    return is_it ? static_cast<Function>(found - kFunctions) : Function::None;
}

namespace {

// Number of letters that must be inserted, removed or replaced to make one text of the other.
std::size_t edit_distance(const std::string &from, const std::string &to) {
    std::vector<std::size_t> row(to.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < from.size(); ++i) {
        std::size_t diagonal = std::exchange(row[0], i + 1);
        for (std::size_t j = 0; j < to.size(); ++j) {
            const std::size_t replaced = diagonal + (from[i] == to[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
        }
    }
    return row.back();
}

}  // namespace

std::string suggest_function(const std::string &name) {
    constexpr std::size_t kLongest = 128;  // longer names are not compared
    if (name.size() > kLongest || find_function(name.c_str()) != Function::None) {
        return "";
    }
    std::size_t least = name.size() / 4 + 1;
    const char *nearest = nullptr;
    for (std::size_t i = 1; i < static_cast<std::size_t>(Function::Count); ++i) {
        const auto function = static_cast<Function>(i);
        const std::size_t distance = is_simulated(function) ? edit_distance(name, info_of(function).name) : least;
        if (distance < least) {
            least = distance;
            nearest = info_of(function).name;
        }
    }
    return nearest == nullptr ? "" : std::string("; did you mean ") + nearest + "?";
}

}  // namespace aclsim
