// SPDX-License-Identifier: Apache-2.0
#include "races/sharing.h"

#include <algorithm>
#include <cstddef>
#include <ctime>
#include <iterator>
#include <utility>
#include <vector>

#include "races/fields.h"

namespace aclsim::races {
namespace {

std::vector<Step> steps_of(const WithHost &known) {
    std::vector<Step> steps = known.known.steps();
    steps.resize(std::max<std::size_t>(steps.size(), known.host + 1));
    steps[known.host] = std::max(steps[known.host], known.step);
    return steps;
}

std::string list_of(const std::vector<Step> &steps) {
    std::string list;
    for (const Step step : steps) {
        list += (list.empty() ? "" : ",") + std::to_string(step);
    }
    return "[" + list + "]";
}

}  // namespace

std::uint64_t Sharing::now() {
    std::timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

void Sharing::start() {
    if (!std::exchange(is_on_, true)) {
        output_.write(object({text_field("kind", "sharing"), field("process", process_)}));
    }
}

void Sharing::access(const Block &block, std::uint64_t begin, std::uint64_t end, const Now &now) {
    const Use &use = now.use;
    const bool is_content = use.mode != Mode::Allocation && (use.mode != Mode::Free || block.kind != BlockKind::Shared);
    if (block.shared.file.empty() || !is_content || accesses_ > kMostAccesses) {
        return;
    }
    if (accesses_++ == kMostAccesses) {
        reports_.note("this process accessed shared memory more than " + std::to_string(kMostAccesses) +
                      " times: later accesses are not compared with those of other processes");
        return;
    }
    if (is_of_value(use.mode)) {  // may have waited for any process
        wait(use.lane, use.step, {}, 0, 0);
    }
    output_.write(object({text_field("kind", "shared_access"), text_field("file", block.shared.file),
                          field("begin", block.shared.offset + begin), field("end", block.shared.offset + end),
                          field("lane", use.lane), field("step", use.step), field("time", now.time),
                          field("known", list_of(steps_of({now.known, now.caller, now.caller_step}))),
                          field("memory", reports_.memory_of(block, use.part)), field("offset", begin),
                          field("use", reports_.use_of(use))}));
    if (use.agent.is_task) {
        note_unknown(use.lane, use.step);
    }
}

std::string Sharing::order_of(const Use &earlier, const Now &now) const {
    if (!is_on_) {
        return "";
    }
    return object({field("earlier_lane", earlier.lane), field("earlier_step", earlier.step),
                   field("lane", now.use.lane), field("step", now.use.step), field("time", now.time),
                   field("known", list_of(steps_of({now.known, now.caller, now.caller_step})))});
}

void Sharing::record(Point task, LaneId lane, Step step, const WithHost &known, std::uint64_t time, PlaceId place) {
    output_.write(
        object({text_field("kind", "shared_record"), field("stream", task.stream), field("sequence", task.sequence),
                field("lane", lane), field("step", step), field("time", time), field("known", list_of(steps_of(known))),
                field("frames", reports_.frames_of(place))}));
}

void Sharing::wait(LaneId lane, Step step, Point record, std::uint64_t process, PlaceId place) {
    start();
    output_.write(object({text_field("kind", "shared_wait"), field("process", process), field("stream", record.stream),
                          field("sequence", record.sequence), field("lane", lane), field("step", step),
                          field("time", now()), field("frames", reports_.frames_of(place))}));
    note_unknown(lane, step);
}

void Sharing::note_unknown(LaneId lane, Step step) {
    const auto added = unknown_.try_emplace(lane, Unknown{step, step});
    Unknown &unknown = added.first->second;
    unknown.first = std::min(unknown.first, step);
    unknown.newest = std::max(unknown.newest, step);
}

void Sharing::host_knows(std::uint64_t time, const WithHost &known) {
    if (unknown_.empty()) {
        return;
    }
    const std::vector<Step> steps = steps_of(known);
    bool is_new = false;
    for (auto it = unknown_.begin(); it != unknown_.end();) {
        const Step step = it->first < steps.size() ? steps[it->first] : 0;
        is_new |= step >= it->second.first;
        it->second.first = std::max(it->second.first, step + 1);
        it = step >= it->second.newest ? unknown_.erase(it) : std::next(it);
    }
    if (is_new) {
        output_.write(object({text_field("kind", "shared_host"), field("time", time), field("known", list_of(steps))}));
    }
}

}  // namespace aclsim::races
