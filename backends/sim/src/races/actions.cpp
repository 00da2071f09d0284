// SPDX-License-Identifier: Apache-2.0
// Actions, taken in their order: the knowledge that they bring to streams and to the host, and their accesses.
#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "races/detector.h"
#include "races/pieces.h"

namespace aclsim::races {
namespace {

constexpr std::size_t kMostEnded = 4096;
constexpr std::size_t kMostUncounted = 64;  // waits of a stream that does nothing else
constexpr std::size_t kMostCalls = 1024;    // newest tasks of a stream that are remembered by name

}  // namespace

// --- order -----------------------------------------------------------------------------------------------------------

void Detector::take_action(Action &action) {
    switch (action.kind) {
        case Action::Kind::Task:
            take_task(action);
            break;
        case Action::Kind::HostAccess:
            take_host_access(action);
            break;
        case Action::Kind::HostForgets:
            take_host_forgets(action);
            break;
        case Action::Kind::StreamEnds:
            take_end_of_stream(action);
            break;
        default:
            take_host_order(action);
            break;
    }
}

// Adds what a stream that has ended knew.
void Detector::join_ended(Knowledge &knowledge, const Before &before) const {
    if (const auto ended = ended_.find(before.stream); ended != ended_.end()) {
        knowledge.learn(ended->second.known);
        knowledge.learn(ended->second.lane, ended->second.base + before.sequence);
    }
}

// Adds all that the earlier task and its lane knew.
void Detector::join(Knowledge &knowledge, Lane &lane, const Action &action, const Before &before) {
    if (before.stream == 0) {
        for (const auto &host : hosts_) {
            knowledge.learn(host.second->id, before.sequence);
        }
        return;
    }
    const Lane *const source = find_lane(before.stream);
    if (source == nullptr) {
        return join_ended(knowledge, before);
    }
    if (source == &lane) {
        return;
    }
    const Step step = source->step_of(before.sequence);
    const bool is_known = knowledge.of(source->id) >= step;
    if (before.wait != 0 && !lane.is_host) {
        lane.uncounted.emplace_back(before.wait, is_known);
    }
    if (is_known && lane.is_host) {
        return;
    }
    const Lane::Call *const call = add_task(knowledge, *source, action, before);
    if (!lane.is_host && !before.is_implied) {
        const bool is_named = call != nullptr && call->sequence == before.sequence;
        lane.sources[source->id] = {step, before.wait != 0 ? before.wait : action.place, is_named ? call->place : 0};
    }
}

// Adds the task and all that its stream knew there. Returns the call by which it is known, or nullptr.
const Lane::Call *Detector::add_task(Knowledge &knowledge, const Lane &source, const Action &action,
                                     const Before &before) {
    const Step step = source.step_of(before.sequence);
    const Lane::Call *const call = source.call_of(source.oldest_known_call(before.sequence));
    knowledge.learn(source.known_at(step));
    knowledge.learn(source.id, step);
    if (call != nullptr && call->caller != nullptr &&
        (call->caller != action.caller || call->caller_step > action.caller_step)) {
        knowledge.learn(call->caller->id, call->caller_step);
    }
    return call;
}

// Adds what every choice of members brings that is enough: of each lane, the newest step that all of them know.
void Detector::join_enough(Knowledge &knowledge, const Lane &lane, const Action &action,
                           const std::vector<Before> &members) const {
    struct Brought {
        ClockRef known;
        std::uint64_t weight;
    };
    std::vector<Brought> brought;
    std::size_t lanes = 0;
    for (const Before &member : members) {
        Knowledge own(clock_zero());
        const Lane *const source = find_lane(member.stream);
        if (source == nullptr) {
            join_ended(own, member);
        } else if (source != &lane) {  // else its lane knows it
            add_task(own, *source, action, member);
        }
        brought.push_back({std::move(own).result(), member.weight});
        lanes = std::max(lanes, brought.back().known->steps().size());
    }
    for (LaneId id = 0; id < lanes; ++id) {
        std::sort(brought.begin(), brought.end(),
                  [=](const Brought &one, const Brought &other) { return one.known->of(id) < other.known->of(id); });
        std::uint64_t sum = 0;
        const auto enough = std::find_if(brought.begin(), brought.end(), [&](const Brought &it) {
            sum += it.weight;
            return sum >= members.front().needed;
        });
        knowledge.learn(id, enough->known->of(id));
    }
}

void Detector::join_groups(Knowledge &knowledge, Lane &lane, Action &action) {
    std::map<std::uint64_t, std::vector<Before>> groups;
    for (const Before &before : action.after) {
        if (before.group != 0 && is_member(action, before)) {
            groups[before.group].push_back(before);
        }
    }
    for (const auto &[number, members] : groups) {
        const Before &first = members.front();
        const std::uint64_t sum =
            std::accumulate(members.begin(), members.end(), std::uint64_t{0},
                            [](std::uint64_t so_far, const Before &it) { return so_far + it.weight; });
        if (sum > first.needed) {
            join_enough(knowledge, lane, action, members);
            action.vain = {first.wait != 0 ? first.wait : action.place, "any_record"};
            continue;
        }
        for (const Before &member : members) {
            join(knowledge, lane, action, member);
        }
    }
}

// Returns what precedes the next task of a stream by the order in the stream and of its caller.
Knowledge Detector::knowledge_before(const Lane &lane, const Lane &caller, const ClockRef &known_to_caller) {
    Knowledge knowledge(lane.known);
    knowledge.learn(known_to_caller);
    if (lane.caller != nullptr && lane.caller != &caller) {
        knowledge.learn(lane.caller->id, lane.caller_step);
    }
    return knowledge;
}

// Makes the task the newest one that its stream has taken.
void Detector::advance(Lane &lane, const Lane::Call &call, Knowledge &&knowledge) {
    lane.caller_step = lane.caller == call.caller ? std::max(lane.caller_step, call.caller_step) : call.caller_step;
    lane.caller = call.caller;
    if (ClockRef known = std::move(knowledge).result(); known != lane.known) {
        lane.set_known(lane.step_of(call.sequence), std::move(known));
    }
    lane.newest = call.sequence;
    Lane::Call &noted = lane.calls.emplace_back();  // in place: a copy would wait for its parts to be stored
    noted.sequence = call.sequence;
    noted.place = call.place;
    noted.caller = lane.caller;
    noted.caller_step = lane.caller_step;
    if (lane.calls.size() > kMostCalls) {
        lane.calls.pop_front();
    }
}

void Detector::take_task(Action &action) {
    Lane &lane = *action.lane;
    const Step step = lane.step_of(action.sequence);
    if (action.batch == 0 || action.batch != lane.batch) {
        lane.batch = action.batch;
        lane.batch_begin = action.sequence;
    }
    Knowledge knowledge = knowledge_before(lane, *action.caller, action.known);
    for (const Before &before : action.after) {
        lane.vain = before.wait != 0 ? VainWait() : lane.vain;
        if (before.group == 0) {
            join(knowledge, lane, action, before);
        }
    }
    join_groups(knowledge, lane, action);
    for (const std::shared_ptr<Gift> &gift : action.gifts) {
        knowledge.learn(gift->known);
    }
    lane.vain = action.vain.wait != 0 ? action.vain : lane.vain;
    if (!action.is_wait || lane.uncounted.size() > kMostUncounted) {
        for (const auto &[wait, is_redundant] : lane.uncounted) {
            reports_.waited(wait, lane.number, is_redundant);
        }
        lane.uncounted.clear();
    }
    advance(lane, {action.sequence, action.place, action.caller, action.caller_step}, std::move(knowledge));
    publish_record(action);
    for (Operand &operand : action.operands) {
        operand.mode = operand.mode == Mode::ValueWait && !action.has_value ? Mode::Poll : operand.mode;
    }
    if (!action.is_dropped && !action.operands.empty()) {
        const Launch &launched = action.launched;
        Agent agent{true, lane.device, lane.number, action.shown, action.caller->number, lane.serial};
        if (launched.place != 0) {
            agent.device = launched.device;
            agent.stream = launched.stream;
            agent.task = launched.task;
        }
        const Use use{lane.id, step, action.number,  action.number, Mode::Read, 0, "",
                      agent,   {},   launched.place, action.place,  action.kept};
        const Step floor = lane.step_of(lane.batch == 0 ? action.sequence : lane.batch_begin);
        apply({use, floor, *lane.known, lane.caller->id, lane.caller_step, action.time}, action.operands);
    }
    lane.close(action);
}

// Lets other processes know the order that a wait for this record brings.
void Detector::publish_record(const Action &action) {
    Lane &lane = *action.lane;
    while (!lane.published.empty() && lane.published.front() <= action.sequence) {
        if (lane.published.front() == action.sequence) {
            sharing_.record({lane.serial, action.sequence}, lane.id, lane.step_of(action.sequence),
                            {*lane.known, lane.caller->id, lane.caller_step}, action.time, action.place);
        }
        lane.published.pop_front();
    }
}

void Detector::take_host_access(Action &action) {
    const Lane &lane = *action.lane;
    Agent agent;
    agent.thread = lane.number;
    const Use use{lane.id, action.number, action.number, action.number, Mode::Read, 0, "", agent};
    Knowledge knowledge(lane.known);
    const bool frees = !action.operands.empty() && action.operands.front().mode == Mode::Free;
    if (frees) {
        knowledge.learn(quiet_);
    }
    const ClockRef known = std::move(knowledge).result();
    apply({use, action.number, *known, lane.id, action.number, action.time}, action.operands);
}

void Detector::take_host_forgets(Action &action) {
    const Lane &lane = *action.lane;
    const Use use{lane.id, action.number, action.number, action.number, Mode::Read, 0, "", {}};
    Knowledge knowledge(lane.known);
    knowledge.learn(quiet_);
    const ClockRef known = std::move(knowledge).result();
    const Now now{use, action.number, *known, lane.id, action.number, action.time};
    for (const Operand &operand : action.operands) {
        each_piece(operand,
                   [&](std::uint64_t begin, std::uint64_t end) { operand.block->shadow.forget(begin, end, now); });
    }
}

void Detector::take_host_order(Action &action) {
    Lane &lane = *action.lane;
    ClockRef &given = action.key == nullptr ? quiet_ : given_[action.key].known;
    const bool gives = action.kind == Action::Kind::HostGives;
    ClockRef &target = gives || action.is_quiet ? given : lane.known;
    Knowledge knowledge(target);
    join_groups(knowledge, lane, action);
    const bool waits = !action.is_quiet && !gives && action.place != 0;
    for (const Before &before : action.after) {
        const Lane *const source = find_lane(before.stream);
        if (source != nullptr && action.is_use) {
            note_use_by_host(source->id, source->step_of(before.sequence));
        }
        if (before.group == 0) {
            join(knowledge, lane, action, before);
        }
        if (source != nullptr && waits) {
            host_waits_[source->id] = {action.place, source->step_of(before.sequence), source->device};
        }
    }
    for (std::size_t i = gives ? 1 : 0; i < action.gifts.size(); ++i) {
        knowledge.learn(action.gifts[i]->known);
    }
    if (gives) {
        // Without separate threads only host functions give: their streams know nothing of later calls of the host.
        if (separates_threads_) {
            knowledge.learn(lane.known);
            knowledge.learn(lane.id, action.number);
        }
    } else if (action.kind == Action::Kind::HostTakes) {
        knowledge.learn(given);
    }
    target = std::move(knowledge).result();
    if (waits) {
        lane.note_host_wait(action.place);
    }
    if (gives) {
        *action.gifts.front() = {true, target};
    }
    sharing_.host_knows(action.time, {*lane.known, lane.id, action.number});
}

// Returns what the stream knew, with its newest caller.
ClockRef Detector::known_at_end(const Lane &stream) {
    Knowledge knowledge(stream.known);
    if (stream.caller != nullptr) {
        knowledge.learn(stream.caller->id, stream.caller_step);
    }
    return std::move(knowledge).result();
}

void Detector::take_end_of_stream(Action &action) {
    Lane *const stream = find_lane(action.launch.stream);
    if (stream == nullptr) {
        return;
    }
    Lane &host = *action.lane;
    const ClockRef at_end = known_at_end(*stream);
    Knowledge knowledge(host.known);
    knowledge.learn(at_end);
    knowledge.learn(stream->id, stream->step_of(stream->newest));
    host.known = std::move(knowledge).result();
    given_.erase(stream);
    sharing_.host_knows(action.time, {*host.known, host.id, action.number});
    if (stream->open.empty()) {
        ended_[stream->serial] = {stream->id, stream->base, at_end};
        ended_in_order_.push_back(stream->serial);
        if (ended_in_order_.size() > kMostEnded) {
            ended_.erase(ended_in_order_.front());
            ended_in_order_.pop_front();
        }
        if (!separates_threads_) {  // else its tasks need not precede those of the next stream
            vacant_.emplace_back(stream->id, stream->step_of(stream->newest));
        }
        newest_ = nullptr;
        streams_.erase(action.launch.stream);
    }
}

// --- accesses --------------------------------------------------------------------------------------------------------

void Detector::apply(const Now &now, const std::vector<Operand> &operands) {
    for (const Operand &operand : operands) {
        auto *const use = new Use(now.use);
        use->mode = operand.mode;
        use->place = operand.place;
        use->operand = operand.name;
        use->part = operand.part;
        use->piece += operand.item;
        apply(operand, *use, {*use, now.floor, now.known, now.caller, now.caller_step, now.time});
    }
}

// Notes that the host needs the end of a task: the reason for the wait by which a thread came to know it, and for those
// behind that which brought no more. Among them may be a query whose answer was luck.
void Detector::note_use_by_host(LaneId lane, Step step) {
    for (const auto &host : hosts_) {
        const auto &waits = host.second->host_waits;
        const auto first = std::partition_point(waits.begin(), waits.end(),
                                                [&](const Lane::HostWait &it) { return it.known->of(lane) < step; });
        for (auto it = first; it != waits.end() && it->known == first->known; ++it) {
            reports_.used_wait_of_host(it->place, /*by_task=*/false);
        }
    }
}

// Notes the reason for a wait of the host: an access by the host itself, or only by tasks of other streams, for which
// an event would do.
void Detector::note_use_of_wait(const Operand &operand, const Use &use) {
    Block &block = *operand.block;
    if (!use.agent.is_task) {
        const Use *newest = nullptr;
        each_piece(operand, [&](std::uint64_t begin, std::uint64_t end) {
            block.shadow.each(begin, end, [&](std::uint64_t, std::uint64_t, const UseRef &earlier) {
                if (earlier.get() != newest && earlier->agent.is_task && conflict(earlier->mode, use.mode)) {
                    newest = earlier.get();
                    note_use_by_host(earlier->lane, earlier->step);
                }
            });
        });
        return;
    }
    const auto waited = host_waits_.find(block.writer);
    if (block.written != 0 && use.lane != block.writer && waited != host_waits_.end() &&
        block.written <= waited->second.step) {
        const bool is_for_task = reports_.has_waits_between(waited->second.device, use.agent.device);
        reports_.used_wait_of_host(waited->second.place, is_for_task);
    }
    if (is_write(use.mode)) {
        block.writer = use.lane;
        block.written = use.step;
    }
}

void Detector::apply(const Operand &operand, Use &use, const Now &now) {
    const UseRef kept(&use);
    Block &block = *operand.block;
    conflicts_.clear();
    note_use_of_wait(operand, now.use);
    bool is_exact = true;
    const bool is_listed = each_piece(operand, [&](std::uint64_t begin, std::uint64_t end) {
        is_exact = block.shadow.access(begin, end, kept, now, conflicts_) && is_exact;
        sharing_.access(block, begin, end, now);
    });
    if ((!is_exact || !is_listed) && !std::exchange(block.is_coarse, true)) {
        reports_.note(is_exact ? "an access of more than " + std::to_string(kMostPieces) +
                                     " separate pieces was left out; a race there is not reported"
                               : "an allocation was accessed in more than " + std::to_string(Shadow::kMostSegments) +
                                     " different pieces: older accesses to it were forgotten");
    }
    for (const Conflict &conflict : conflicts_) {
        reports_.race(
            block, conflict, now.use,
            [this](const Use &it) { return it.agent.is_task ? find_lane(it.agent.lane_of) : nullptr; },
            separates_threads_ ? "" : sharing_.order_of(*conflict.earlier, now));  // other processes have one host
    }
}

}  // namespace aclsim::races
