// SPDX-License-Identifier: Apache-2.0
#include "tasks/sleep.h"

#include <algorithm>

#include "engine/core.h"

namespace aclsim {
namespace {

constexpr std::chrono::hours kLongest{24 * 365};  // larger values would overflow the clock

std::chrono::nanoseconds duration_of(std::uint64_t cycles) {
    const double ms = static_cast<double>(cycles) / config().product->ticks_per_ms;
    const auto longest = std::chrono::duration<double, std::milli>(kLongest);
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::min(std::chrono::duration<double, std::milli>(ms), longest));
}

}  // namespace

SleepTask::SleepTask(Core &core, std::uint64_t cycles) : core_(core), cycles_(cycles) { core.timer().start(); }

Start SleepTask::start(Stream &stream) {
    if (is_over_ || cycles_ == 0) {
        return Start::Done;
    }
    if (!core_.timer().is_armed(stream)) {
        core_.timer().arm(stream, core_.clock().now() + duration_of(cycles_));
    }
    return Start::Blocked;
}

void SleepTask::add_causes(Causes &causes) const { causes.list.push_back({nullptr, 0, Outside::Clock}); }

std::string SleepTask::awaited() const { return "the end of a sleep of " + std::to_string(cycles_) + " cycles"; }

}  // namespace aclsim
