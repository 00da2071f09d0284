// SPDX-License-Identifier: Apache-2.0
// Calls, which become actions.
#include "races/detector.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace aclsim::races {

// --- lanes -----------------------------------------------------------------------------------------------------------

Lane *Detector::find_lane(std::uint64_t serial) const {
    if (newest_ != nullptr && newest_->serial == serial) {
        return newest_;
    }
    const auto found = streams_.find(serial);
    return found == streams_.end() ? nullptr : newest_ = found->second.get();
}

Lane &Detector::lane_of(std::uint64_t serial) {
    if (Lane *const known = find_lane(serial)) {
        return *known;
    }
    auto lane = std::make_unique<Lane>();
    lane->serial = serial;
    if (const auto name = names_.find(serial); name != names_.end()) {
        lane->number = name->second.number;
        lane->device = name->second.device;
    }
    if (vacant_.empty()) {
        lane->id = lanes_++;
    } else {
        std::tie(lane->id, lane->base) = vacant_.back();
        vacant_.pop_back();
    }
    return *(streams_[serial] = std::move(lane));
}

Lane &Detector::host_lane(std::uint32_t thread) {
    const std::uint32_t key = separates_threads_ ? thread : 0;
    if (newest_host_.second != nullptr && newest_host_.first == key) {
        return *newest_host_.second;
    }
    std::unique_ptr<Lane> &lane = hosts_[key];
    if (lane == nullptr) {
        lane = std::make_unique<Lane>();
        lane->is_host = true;
        lane->number = separates_threads_ ? static_cast<std::uint32_t>(hosts_.size()) : 0;
        lane->id = lanes_++;
    }
    newest_host_ = {key, lane.get()};
    return *lane;
}

// --- actions, in the order of calls ----------------------------------------------------------------------------------

Detector::Owned Detector::make(Action::Kind kind, std::uint32_t thread) {
    Owned action;
    if (spare_.empty()) {
        action = std::make_unique<Action>();
    } else {
        action = std::move(spare_.back());
        spare_.pop_back();
    }
    action->kind = kind;
    action->number = ++calls_;
    action->time = sharing_.is_on() ? Sharing::now() : 0;
    action->lane = action->caller = &host_lane(thread);
    return action;
}

// Returns nullptr for a task that was taken, or is unknown.
Action *Detector::find_open(Point task) const {
    const Lane *const lane = task.stream == 0 ? nullptr : find_lane(task.stream);
    return lane == nullptr ? nullptr : lane->find_open(task.sequence);
}

void Detector::enqueue(Owned action) {
    if (action->is_over && queue_.empty()) {
        return see(std::move(action));
    }
    queue_.push_back(std::move(action));
    drain();
}

// A model's task is executed when its launch is reached, and was called with it. Executions of one model follow each
// other, but not always in the order of their launches.
void Detector::enqueue_behind(const Action &launch, Owned action) {
    const auto &open = action->lane->open;  // the action is the newest
    action->number = open.size() > 1 ? std::max(launch.number, open[open.size() - 2]->number) : launch.number;
    action->time = launch.time;
    const auto later = std::upper_bound(queue_.begin(), queue_.end(), action->number,
                                        [](std::uint64_t number, const Owned &it) { return number < it->number; });
    queue_.insert(later, std::move(action));
    drain();
}

// Leaves the task in the queue, but in no stream.
void Detector::discard(Action &task) {
    task.is_over = task.is_dropped = true;
    task.lane->close(task);
    task.lane = nullptr;
}

Lane &Detector::lane_of(const StreamName &stream) {
    Lane &lane = lane_of(stream.serial);
    lane.number = stream.number;
    lane.device = stream.device;
    return lane;
}

Detector::Owned Detector::make_task(Lane &lane, std::uint64_t sequence, const Submitted &how) {
    if (Action *withdrawn = lane.find_open(sequence)) {  // its place in the stream is taken by this task
        discard(*withdrawn);
    }
    Owned action = make(Action::Kind::Task, how.caller.thread);
    action->lane = &lane;
    action->sequence = sequence;
    action->batch = how.batch;
    action->launch = how.launch;
    action->kept = how.kept;
    action->place = how.place;
    action->shown = sequence + lane.waits_without_task;
    action->vain = std::exchange(lane.early_vain, {});
    action->after.swap(lane.early);
    action->gifts.swap(lane.gifts);
    if (how.is_call && how.caller.task.stream != 0) {
        action->after.push_back({how.caller.task.stream, how.caller.task.sequence, 0});
    }
    if (const Action *const execution = how.is_call ? nullptr : find_open(how.launch)) {  // waits before it
        action->after.insert(action->after.end(), execution->after.begin(), execution->after.end());
    }
    lane.open.push_back(action.get());
    return action;
}

void Detector::submit(const StreamName &stream, std::uint64_t sequence, const Submitted &how,
                      std::vector<Operand> operands) {
    Owned action = make_task(lane_of(stream), sequence, how);
    action->is_over = false;
    action->operands = std::move(operands);
    if (const Action *const launch = how.is_call ? nullptr : find_open(how.launch)) {
        enqueue_behind(*launch, std::move(action));
    } else {
        enqueue(std::move(action));
    }
}

void Detector::pass(const StreamName &stream, std::uint64_t sequence, const Submitted &how) {
    Lane &lane = lane_of(stream);
    lane.newest_over = sequence;
    const bool is_plain_call = how.is_call && how.batch == 0 && how.caller.task.stream == 0;
    if (is_plain_call && lane.is_plain() && queue_.empty() && parking_.empty()) {  // as mostly; it needs no action
        Lane &caller = host_lane(how.caller.thread);
        advance(lane, {sequence, how.place, &caller, ++calls_}, knowledge_before(lane, caller, caller.known));
    } else {
        enqueue(make_task(lane, sequence, how));
    }
}

void Detector::add_operands(Point task, const std::vector<Operand> &operands) {
    if (Action *const action = find_open(task)) {
        action->operands.insert(action->operands.end(), operands.begin(), operands.end());
    }
}

bool Detector::replace_operands(Point task, const std::vector<Operand> &operands) {
    Action *const action = find_open(task);
    if (action != nullptr) {
        action->operands = operands;
    }
    return action != nullptr;
}

PlaceId Detector::place_of(Point task) const {
    const Action *const action = find_open(task);
    return action == nullptr ? 0 : action->place;
}

std::uint64_t Detector::number_of(Point task) const {
    const Action *const action = find_open(task);
    const Lane *const lane = find_lane(task.stream);
    return action != nullptr ? action->shown : task.sequence + (lane == nullptr ? 0 : lane->waits_without_task);
}

bool Detector::was_free(const Block &block, Point task) const {
    const Action *const action = find_open(task);
    return block.freed != 0 && (action == nullptr || block.freed < action->number);
}

void Detector::end_task(Point task, bool is_dropped) {
    Action *const action = find_open(task);
    if (action == nullptr) {
        return;
    }
    Lane *const lane = action->lane;
    lane->newest_over = std::max(lane->newest_over, task.sequence);
    action->is_over = true;
    action->is_dropped = is_dropped;
    const auto waited = lane->waits.empty() ? lane->waits.end() : lane->waits.find(task.sequence);
    if (waited != lane->waits.end()) {
        action->is_wait = true;
        const bool is_bound = std::any_of(action->after.begin(), action->after.end(),
                                          [&](const Before &it) { return it.wait == waited->second; });
        if (!is_bound) {
            action->vain = {waited->second, "failed_wait"};
        }
        lane->waits.erase(waited);
    }
    if (is_dropped && !lane->early.empty()) {
        // An abort. Waits for complete records, which have no task, are dropped with those that have one: it depends
        // on the schedule which of the two they are.
        lane->early_vain = {lane->early.back().wait, "failed_wait"};
        lane->early.clear();
        lane->gifts.clear();
    }
    if (!lane->parked.empty()) {
        retry_parked();
    }
    drain();
}

void Detector::withdraw(Point task) {
    Action *const action = find_open(task);
    if (action == nullptr) {
        return;
    }
    Lane &lane = *action->lane;
    const auto is_it = [&](const std::unique_ptr<Action> &it) { return it.get() == action; };
    if (std::any_of(lane.parked.begin(), lane.parked.end(), is_it)) {
        end_task(task, /*is_dropped=*/true);
        return;
    }
    discard(*action);
    lane.early = std::move(action->after);  // order and waits before it are those of the next task
    lane.gifts = std::move(action->gifts);
    lane.early_vain = action->vain;
    drain();
}

void Detector::end_stream(std::uint64_t stream, const Caller &caller) {
    names_.erase(stream);
    if (find_lane(stream) != nullptr) {
        Owned action = make(Action::Kind::StreamEnds, caller.thread);
        action->launch.stream = stream;
        enqueue(std::move(action));
    }
}

void Detector::wait(const Caller &caller, Point task, PlaceId place, const WaitBinding &binding) {
    using State = WaitBinding::State;
    Lane &lane = lane_of(task.stream);
    if (binding.state == State::NeverRecorded) {
        lane.early_vain = {place, "unbound_wait"};
        reports_.waited_without_record(place, lane.number);
    } else if (binding.state == State::Ignored) {
        lane.early_vain = {place, "ignored_wait"};
    } else if (binding.has_task) {
        lane.waits[task.sequence] = place;
        lane.early_vain = {};
    } else if (binding.state == State::Record) {
        lane.add_early({binding.record.stream, binding.record.sequence, place});
        ++lane.waits_without_task;
        lane.early_vain = {};
        if (separates_threads_) {  // a wait with a task would bring what its caller knew
            Owned action = make(Action::Kind::HostGives, caller.thread);
            action->key = &lane;
            lane.gifts.assign(1, std::make_shared<Gift>());  // the newest has all that earlier ones have
            action->gifts = lane.gifts;
            enqueue(std::move(action));
        }
    }
}

// Returns the number of the group of edges of a wait.
std::uint64_t Detector::group_of(Point wait) {
    if (wait != grouped_) {
        grouped_ = wait;
        ++groups_;
    }
    return groups_;
}

void Detector::order(const Edge &edge) {
    Lane &lane = lane_of(edge.after.stream);
    Action *const action = lane.find_open(edge.after.sequence);
    if (edge.process != 0) {
        const auto waited = lane.waits.find(edge.after.sequence);
        const PlaceId wait = waited == lane.waits.end() ? 0 : waited->second;
        std::vector<Before> all;
        order_after_all(action != nullptr ? action->after : all, wait);
        std::for_each(all.begin(), all.end(), [&](const Before &it) { lane.add_early(it); });
        sharing_.wait(lane.id, lane.step_of(edge.after.sequence), edge.before, edge.process, wait);
        return;
    }
    const bool is_implied = edge.why == Ordering::Model || edge.why == Ordering::PoolReuse;
    const bool is_early = std::any_of(lane.early.begin(), lane.early.end(), [&](const Before &it) {
        return it.stream == edge.before.stream && it.sequence == edge.before.sequence;
    });
    const bool is_fallback = edge.choice == Edge::Choice::Fallback;
    const bool is_certain = edge.choice == Edge::Choice::Taken;
    const std::uint64_t group = edge.choice == Edge::Choice::Sole ? 0 : group_of(edge.after);
    if (action == nullptr && (!is_early || group != 0)) {
        lane.add_early({edge.before.stream, edge.before.sequence, 0, is_implied, group, is_fallback, is_certain,
                        edge.weight, edge.needed});
    } else if (action != nullptr) {
        const auto waited = lane.waits.find(edge.after.sequence);
        const PlaceId wait = waited == lane.waits.end() ? 0 : waited->second;
        action->has_value = action->has_value || edge.why == Ordering::Value;
        action->after.push_back({edge.before.stream, edge.before.sequence, wait, is_implied, group, is_fallback,
                                 is_certain, edge.weight, edge.needed});
    }
}

// Another process has made the record, after anything that this process has completed: its knowledge is not known here.
void Detector::order_after_all(std::vector<Before> &after, PlaceId wait) const {
    for (const auto &it : streams_) {
        after.push_back({it.first, it.second->newest_over, 0});
    }
    after.push_back({0, calls_, wait});
}

void Detector::learn(const Caller &caller, Point task, PlaceId place, Learned how) {
    const auto add_to = [&](Action &action) {
        action.after.push_back({task.stream, task.sequence, place});
        if (const Lane *const lane = how == Learned::OfStream ? find_lane(task.stream) : nullptr) {
            action.after.insert(action.after.end(), lane->early.begin(), lane->early.end());
            action.gifts.insert(action.gifts.end(), lane->gifts.begin(), lane->gifts.end());
        }
    };
    if (Action *const run = how == Learned::Quietly ? nullptr : find_open(caller.task)) {
        return add_to(*run);
    }
    Owned action = make(Action::Kind::HostLearns, caller.thread);
    action->is_quiet = how == Learned::Quietly;
    action->is_use = how == Learned::OfTime;
    action->place = place;
    add_to(*action);
    enqueue(std::move(action));
}

void Detector::learn_of(const Caller &caller, Point task, std::uint64_t process, PlaceId place) {
    Owned action = make(Action::Kind::HostLearns, caller.thread);
    action->place = place;
    order_after_all(action->after, place);
    sharing_.wait(action->lane->id, action->number, task, process, place);
    enqueue(std::move(action));
}

void Detector::publish(Point task) {
    sharing_.start();
    lane_of(task.stream).published.push_back(task.sequence);
}

void Detector::give(const Caller &caller, const void *key) {
    // The threads of the program have one clock otherwise, and a gate that they open late must not hide a missing wait.
    if (!separates_threads_ && caller.task.stream == 0) {
        return;
    }
    Owned action = make(Action::Kind::HostGives, caller.thread);
    action->key = key;
    Given &given = given_[key];
    if (given.giver.stream != caller.task.stream) {
        given.of_others = std::move(given.newest);
    }
    given.newest = std::make_shared<Gift>();
    given.giver = caller.task;
    action->gifts.push_back(given.newest);
    if (caller.task.stream != 0) {
        action->after.push_back({caller.task.stream, caller.task.sequence, 0});
    }
    enqueue(std::move(action));
}

void Detector::take(const Caller &caller, const void *key) {
    const auto given = given_.find(key);
    if (given == given_.end()) {
        return;
    }
    Action *const run = find_open(caller.task);
    if (run != nullptr) {  // its stream continues after what it waited for, and after its own earlier gifts anyway
        const bool is_own = given->second.giver.stream == caller.task.stream;
        if (const auto &gift = is_own ? given->second.of_others : given->second.newest) {
            run->gifts.push_back(gift);
        }
    }
    Owned action = make(Action::Kind::HostTakes, caller.thread);
    action->key = key;
    enqueue(std::move(action));
}

BlockRef Detector::allocate(const Caller &caller, std::uintptr_t address, std::uint64_t size, BlockKind kind,
                            PlaceId place) {
    const Lane &lane = host_lane(caller.thread);
    const std::uint64_t number = ++calls_;
    Agent agent;
    agent.thread = lane.number;
    return blocks_.allocate(address, size, kind,
                            UseRef(new Use{lane.id, number, number, number, Mode::Allocation, place, "", agent}));
}

void Detector::free(const Caller &caller, std::uintptr_t address, PlaceId place) {
    if (BlockRef block = blocks_.release(address)) {
        const std::uint64_t size = block->size;
        access(caller, {{std::move(block), 0, size, {}, Mode::Free, place, ""}}, place);
    }
}

void Detector::share(std::uintptr_t address, SharedBlock as) {
    const BlockRef block = blocks_.find(address);
    if (block == nullptr || !block->shared.file.empty()) {
        return;
    }
    sharing_.start();
    block->shared = std::move(as);
    block->shadow.each(0, block->size, [&](std::uint64_t begin, std::uint64_t end, const UseRef &use) {
        sharing_.access(*block, begin, end, {*use, use->step, Clock(), use->lane, use->step, 0});
    });
    for (const auto &host : hosts_) {
        sharing_.host_knows(Sharing::now(), {*host.second->known, host.second->id, calls_});
    }
}

void Detector::access(const Caller &caller, std::vector<Operand> operands, PlaceId place) {
    if (Action *const run = find_open(caller.task)) {
        for (Operand &operand : operands) {
            operand.item = 0;  // the other calls of the host function come before or after the whole batch
            run->operands.push_back(std::move(operand));
        }
        return;
    }
    Owned action = make(Action::Kind::HostAccess, caller.thread);
    action->place = place;
    action->operands = std::move(operands);
    enqueue(std::move(action));
}

void Detector::access_page(const Caller &caller, std::vector<Operand> operands, PlaceId place) {
    if (find_open(caller.task) == nullptr) {
        const bool goes_on =
            std::tie(paged_.number, paged_.place, paged_.thread) == std::tie(calls_, place, caller.thread);
        calls_ -= goes_on ? 1 : 0;  // it keeps its number
        paged_ = {calls_ + 1, place, caller.thread};
    }
    access(caller, std::move(operands), place);
}

void Detector::give_out(std::uintptr_t address, std::uint64_t size, PlaceId place) {
    blocks_.give_out(address, size, {++calls_, place, nullptr});
}

void Detector::forget(const Caller &caller, std::vector<Operand> operands) {
    Owned action = make(Action::Kind::HostForgets, caller.thread);
    action->operands = std::move(operands);
    enqueue(std::move(action));
}

}  // namespace aclsim::races
