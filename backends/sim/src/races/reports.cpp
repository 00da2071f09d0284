// SPDX-License-Identifier: Apache-2.0
#include "races/reports.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>

#include "races/fields.h"

namespace aclsim::races {
namespace {

constexpr std::uint64_t kMostOrders = 1000;  // written for races at the same places
constexpr std::size_t kMostStreams = 16;     // pairs of streams for which a change at the same places is proposed
constexpr std::uint64_t kMostCounts = 1000;  // written before those are left out that grow by less than this part
constexpr std::array<const char *, kBlockKinds> kKinds{"device", "pinned", "managed", "pool", "shared", "registered"};

const char *word_for(Mode mode) {
    switch (mode) {
        case Mode::Read:
        case Mode::ValueWait:
        case Mode::Poll:
            return "read";
        case Mode::Allocation:
            return "allocation";
        case Mode::Free:
            return "free";
        default:
            return "write";
    }
}

std::string conflict_of(const Use &earlier, const Use &later) {
    return std::string(word_for(later.mode)) + " after " + word_for(earlier.mode);
}

// Returns whether an allocator has given out the memory in between, although a stream still used it.
bool is_reuse(const Use &first, const Use &second) {
    return first.agent.is_task && second.agent.is_task && first.part.number != 0 &&
           first.part.number < second.part.number;
}

// A tensor is named by the first operator that uses it, which may come after another task.
const Part &named(const Part &first, const Part &second) {
    return first.name == nullptr && first.number == second.number ? second : first;
}

// Queries, pageable copies and the ends of streams wait, too, but not only for order.
bool is_synchronization(const char *function) {
    constexpr std::string_view kPrefix = "aclrtSynchronize";
    return std::string_view(function).substr(0, kPrefix.size()) == kPrefix;
}

bool are_of_one_launch(const Use &first, const Use &second) {
    return first.launched != 0 && first.launched == second.launched && first.agent.task == second.agent.task &&
           first.agent.stream == second.agent.stream && first.agent.device == second.agent.device;
}

// Returns whether the place of the first access was called again before the second one, and that task waits for
// something that was submitted later: a wait for the newest record there would then wait for itself.
bool waits_again(const Lane *lane, const Use &first, const Use &second) {
    return lane != nullptr &&
           std::any_of(lane->parked.begin(), lane->parked.end(), [&](const std::unique_ptr<Action> &it) {
               const PlaceId place = it->launched.place != 0 ? it->launched.place : it->place;
               return it->number > first.number && it->number < second.number && place == first.called();
           });
}

}  // namespace

std::string Reports::frames_of(PlaceId place) const {
    std::string list;
    for (const std::string &name : places_.names_of(place)) {
        list += (list.empty() ? "" : ",") + quoted_with_names(name);
    }
    return "[" + list + "]";
}

std::string Reports::use_of(const Use &use) const {
    const Places::Place &place = places_[use.place];
    const bool is_task = use.agent.is_task;
    return object({text_field("mode", word_for(use.mode)), is_task ? field("device", use.agent.device) : "",
                   is_task ? field("stream", use.agent.stream) : field("stream", "null"),
                   is_task ? field("task", use.agent.task) : field("task", "null"),
                   is_task ? "" : field("thread", use.agent.thread), text_field("function", place.function),
                   place.kernel.empty() ? "" : text_field("kernel", place.kernel),
                   *use.operand == '\0' ? "" : text_field("operand", use.operand),
                   place.frames.kind == CallPlace::Kind::Forward ? field("backward", "true") : "",
                   use.launched == 0 ? "" : field("launched", frames_of(use.launched)),
                   field("frames", frames_of(use.place))});
}

std::string Reports::memory_of(const Block &block, const Part &part) const {
    return object({text_field("kind", kKinds[static_cast<std::size_t>(block.kind)]), field("number", block.number),
                   field("size", block.size), text_field("function", places_[block.allocated].function),
                   part.name == nullptr ? "" : text_field("name", part.name),
                   part.number == 0 ? "" : field("made", frames_of(part.made)),
                   field("frames", frames_of(block.allocated))});
}

// Explains why nothing orders the two.
std::string Reports::reason_for(const Use &earlier, const Use &later, const Lane *lane) const {
    if (earlier.mode == Mode::Free) {
        return object({text_field("case", "freed")});
    }
    if (earlier.lane == later.lane) {  // parts of a batch
        return object({text_field("case", "no_wait")});
    }
    if (!earlier.agent.is_task && !later.agent.is_task) {
        return object({text_field("case", "threads")});
    }
    if (lane == nullptr || !earlier.agent.is_task) {
        return object({text_field("case", "not_synchronized")});
    }
    if (is_reuse(earlier, later)) {
        return object({text_field("case", "reused"), field("given_out", frames_of(later.part.made))});
    }
    if (lane->vain.wait != 0) {
        return object({text_field("case", lane->vain.reason), field("wait", frames_of(lane->vain.wait))});
    }
    const auto source = lane->sources.find(earlier.lane);
    if (source == lane->sources.end() || source->second.wait == 0) {
        return object({text_field("case", "no_wait")});
    }
    const bool keeps_first = waits_for_first_record_.count(source->second.wait) != 0;
    return object({text_field("case", keeps_first ? "not_reset" : "late_record"),
                   field("wait", frames_of(source->second.wait)), field("record", frames_of(source->second.record))});
}

// Proposes the change that would order the two, for the one that was called first and the one after it.
std::string Reports::fix_for(const Use &first, const Use &second, const Lane *lane_of_first) const {
    const auto device = [](const char *name, const Agent &agent) {
        return agent.device == 0 ? "" : field(name, agent.device);
    };
    if (first.mode == Mode::Free) {
        return object({text_field("case", "free_after"), field("after", frames_of(second.called())),
                       second.agent.is_task ? field("stream", second.agent.stream) : "",
                       second.agent.is_task ? device("device", second.agent) : ""});
    }
    if (is_reuse(first, second)) {
        return object({text_field("case", "record_stream"), field("stream", first.agent.stream),
                       field("before", frames_of(second.part.made))});
    }
    if (first.lane == second.lane) {
        return object({text_field("case", "batch"), field("before", frames_of(second.called()))});
    }
    if (are_of_one_launch(first, second)) {
        return object({text_field("case", "edge"), field("record_after", frames_of(first.added())),
                       field("wait_before", frames_of(second.added()))});
    }
    const bool is_number_reused =
        first.agent.stream == second.agent.stream && first.agent.device == second.agent.device;
    const bool host_must_wait = !second.agent.is_task || !has_waits_between(first.agent.device, second.agent.device);
    if (first.agent.is_task && !host_must_wait && !is_number_reused) {
        const char *const by = waits_again(lane_of_first, first, second) ? "notify" : "event";
        return object({text_field("case", by), field("record_stream", first.agent.stream),
                       device("record_device", first.agent), field("record_after", frames_of(first.called())),
                       field("wait_stream", second.agent.stream), device("wait_device", second.agent),
                       field("wait_before", frames_of(second.called()))});
    }
    if (first.agent.is_task && host_must_wait) {
        // Suits a stream that its thread has destroyed by now, and one that it has not: which it is depends on luck.
        const bool is_of_other_thread = !second.agent.is_task && first.agent.thread != second.agent.thread;
        return object({text_field("case", second.mode == Mode::Free ? "free_later" : "synchronize"),
                       field("stream", first.agent.stream), device("device", first.agent),
                       is_of_other_thread ? field("other_thread", "true") : "",
                       field("before", frames_of(second.called()))});
    }
    return object({text_field("case", "threads"), field("before", frames_of(second.called()))});
}

void Reports::race(const Block &block, const Conflict &conflict, const Use &later, const FindLane &find_lane,
                   const std::string &order) {
    if (has_stopped_) {
        return;
    }
    // In the order of calls, which is that of the fix. The reason is known for the access that was met later, and for
    // the other one if its stream has learned nothing since.
    const Use &earlier = *conflict.earlier;
    const bool is_in_order =
        are_of_one_launch(earlier, later) ? earlier.kept <= later.kept : earlier.number <= later.number;
    const Use &first = is_in_order ? earlier : later;
    const Use &second = is_in_order ? later : earlier;
    Seen &seen = seen_[{first.place, second.place, is_reuse(first, second)}];
    const auto pair = std::make_tuple(earlier.lane, earlier.step, earlier.piece, later.number);
    const bool is_of_host = !earlier.agent.is_task || !later.agent.is_task;
    if (is_of_host && seen.count > 0 && seen.pair == pair) {
        return;  // another page of the same access
    }
    seen.pair = pair;
    ++seen.count;
    const bool are_new_streams =
        seen.streams.size() < kMostStreams &&
        seen.streams.insert({first.agent.device, first.agent.stream, second.agent.device, second.agent.stream}).second;
    // With other processes each has its own order.
    if (seen.count > 1 && (order.empty() || seen.count > kMostOrders)) {
        if (are_new_streams) {
            write_count(seen, fix_for(first, second, find_lane(first)));
        } else if (seen.count > seen.written + seen.written / kMostCounts) {
            write_count(seen);
        }
        return;
    }
    seen.id = output_.number();
    seen.before = seen.count - 1;
    seen.written = seen.count;
    const Lane *const lane = find_lane(second);
    const bool is_known =
        is_in_order || !second.agent.is_task || (lane != nullptr && lane->has_learned_by(second.step));
    const std::string reason = is_known ? reason_for(first, second, lane) : object({text_field("case", "no_wait")});
    output_.write(
        object({text_field("kind", "race"), field("id", seen.id), text_field("conflict", conflict_of(first, second)),
                field("memory", memory_of(block, named(first.part, second.part))), field("offset", conflict.offset),
                field("bytes", conflict.bytes), field("first", use_of(first)), field("second", use_of(second)),
                field("why", reason), field("fix", fix_for(first, second, find_lane(first))),
                order.empty() ? "" : field("order", order)}));
}

void Reports::write_count(Seen &seen, const std::string &fix) {
    seen.written = seen.count;
    output_.write(object({text_field("kind", "count"), field("id", seen.id), field("count", seen.count - seen.before),
                          fix.empty() ? "" : field("fix", fix)}));
}

void Reports::note(const std::string &text) {
    output_.write(object({text_field("kind", "note"), text_field("text", text)}));
}

void Reports::waited(PlaceId place, std::uint32_t stream, bool is_redundant) {
    Waits &waits = waits_[place];
    waits.stream = stream;
    ++(is_redundant ? waits.redundant : waits.useful);
}

void Reports::waited_without_record(PlaceId place, std::uint32_t stream) {
    Waits &waits = waits_[place];
    waits.stream = stream;
    ++waits.unbound;
}

void Reports::used_wait_of_host(PlaceId place, bool by_task) {
    Waits &waits = waits_[place];
    ++(by_task ? waits.for_tasks : waits.for_host);
}

void Reports::write_counts() {
    for (auto &it : seen_) {
        if (it.second.written != it.second.count) {
            write_count(it.second);
        }
    }
}

void Reports::finish() {
    write_counts();
    const auto hint = [&](PlaceId place, const Waits &waits, const char *what, std::uint64_t count) {
        const std::uint64_t id = output_.number();
        output_.write(object({text_field("kind", "hint"), field("id", id), text_field("hint", what),
                              text_field("function", places_[place].function),
                              waits.stream ? field("stream", *waits.stream) : field("stream", "null"),
                              field("count", count), field("frames", frames_of(place))}));
    };
    for (const auto &it : waits_) {
        if (it.second.redundant > 0 && it.second.useful == 0) {
            hint(it.first, it.second, "redundant_wait", it.second.redundant);
        }
        if (it.second.for_tasks > 0 && it.second.for_host == 0 && is_synchronization(places_[it.first].function)) {
            hint(it.first, it.second, "host_wait", it.second.for_tasks);
        }
        if (it.second.unbound > 0) {
            hint(it.first, it.second, "wait_without_record", it.second.unbound);
        }
    }
    waits_.clear();
}

}  // namespace aclsim::races
