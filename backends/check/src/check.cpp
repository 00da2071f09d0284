// SPDX-License-Identifier: Apache-2.0
#include "check.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <iterator>
#include <mutex>
#include <string>
#include <utility>

#include "call.h"
#include "support/json.h"
#include "support/text.h"
#include "vendor.h"

namespace aclsim::wrapped {

using races::BlockKind;
using races::Mode;
using races::Operand;
using races::PlaceId;

namespace {

constexpr std::uint64_t kWord = 8;  // bytes that a value wait compares

thread_local std::uint32_t t_number = 0;  // number of the thread; 0: not known yet

std::uint32_t thread_number() {
    if (t_number == 0) {
        t_number = static_cast<std::uint32_t>(syscall(SYS_gettid));
    }
    return t_number;
}

std::uint32_t current_device() {
    std::int32_t device = 0;
    VENDOR(aclrtGetDevice)(&device);
    return static_cast<std::uint32_t>(device);
}

bool is_set(const char *name) {
    const char *const variable = std::getenv(name);
    return variable != nullptr && std::string(variable) == "1";
}

void write_unseen(const std::string &text) { write_finding(R"({"kind":"unseen","text":)" + quoted(text) + "}"); }

// Accesses that the thread has declared for its next launch.
thread_local Declared t_declared;

// Check of this process. A forked child begins anew: it has no tasks, and its copy of the parent's check is left alone,
// because a thread that the child lacks may have been changing it.
struct OfProcess {
    std::mutex creating;  // std::call_once needs thread-local symbols of libstdc++, which a cross build cannot link
    std::atomic<Check *> check{nullptr};
};
OfProcess g_first;
OfProcess *g_process = &g_first;

void begin_child() {
    g_process = new OfProcess;
    t_number = 0;
    t_running = {};
    t_runs_unseen = false;
    t_declared.reset();
}

[[maybe_unused]] const int g_follows_forks = pthread_atfork(nullptr, nullptr, begin_child);

Mode mode_of(const Access &access, bool is_of_value) {
    const bool is_read = access.mode == AccessMode::Read;
    return is_of_value ? (is_read ? Mode::ValueWait : Mode::ValueWrite) : (is_read ? Mode::Read : Mode::Write);
}

bool is_of_host(const Access &access, aclrtMemcpyKind kind) {
    const bool is_source = access.mode == AccessMode::Read;
    switch (kind) {
        case ACL_MEMCPY_HOST_TO_DEVICE:
            return is_source;
        case ACL_MEMCPY_DEVICE_TO_HOST:
            return !is_source;
        case ACL_MEMCPY_HOST_TO_HOST:
        case ACL_MEMCPY_DEFAULT:
            return true;
        default:
            return false;
    }
}

}  // namespace

bool Check::is_on() {
    static const bool is_so = writes_findings();
    return is_so;
}

Check &Check::get() {
    Check *check = g_process->check.load(std::memory_order_acquire);
    if (check == nullptr) {
        const std::lock_guard<std::mutex> guard(g_process->creating);
        check = g_process->check.load(std::memory_order_relaxed);
        if (check == nullptr) {
            check = new Check;
            g_process->check.store(check, std::memory_order_release);
        }
    }
    return *check;
}

bool Check::exists() { return g_process->check.load(std::memory_order_acquire) != nullptr; }

Check::Check() : reports_(places_, output_), detector_(reports_, output_, is_set("ASCEND_RT_CHECK_HOST_THREADS")) {
    executions_.is_unseen = true;
    begin_findings();
    write_unseen(
        "work that libraries give to a device past the functions of the runtime, other processes, and loads and stores "
        "of the host, except those of numpy to pinned memory");
}

void Check::give_up() {
    is_over_ = true;
    write_unseen("everything after the host had no memory for the check");
}

void Check::finish() {
    if (std::exchange(is_over_, true)) {
        return;
    }
    detector_.finish();
    reports_.finish();
    if (launches_ > 0) {
        write_unseen(
            "the accesses of " + std::to_string(launches_) +
            (launches_ == 1 ? " launch of a kernel that declared none" : " launches of kernels that declared none"));
    }
    if (graphs_ > 0) {
        write_unseen("the accesses of " + std::to_string(graphs_) +
                     (graphs_ == 1 ? " execution of a graph or a model" : " executions of graphs or models"));
    }
    if (unseen_copies_ > 0) {
        write_unseen("the accesses of " + std::to_string(unseen_copies_) + (unseen_copies_ == 1 ? " copy" : " copies") +
                     " with addresses in memory of the device");
    }
    if (unknown_ > 0) {
        write_unseen(std::to_string(unknown_) + (unknown_ == 1 ? " access" : " accesses") +
                     " to memory of a device that no call seen has allocated");
    }
}

races::Caller Check::caller() const { return {thread_number(), t_running}; }

PlaceId Check::place() {
    const Call *const call = Call::present();
    return call == nullptr ? 0 : places_.find(call->function, call->place, kernel_);
}

// --- tasks -----------------------------------------------------------------------------------------------------------

bool Check::is_captured(aclrtStream stream) const {
    if (!has_captures_) {
        return false;
    }
    aclmdlRICaptureStatus status = ACL_MODEL_RI_CAPTURE_STATUS_NONE;
    aclmdlRI graph = nullptr;
    const auto ask = VENDOR(aclmdlRICaptureGetInfo);
    return ask(stream, &status, &graph) == ACL_SUCCESS && status != ACL_MODEL_RI_CAPTURE_STATUS_NONE;
}

StreamState *Check::running(aclrtStream stream) {
    if (is_captured(stream)) {
        return nullptr;
    }
    StreamState &found = streams_.of(stream);
    return found.is_kept ? nullptr : &found;
}

bool Check::is_kept(aclrtStream stream) { return running(stream) == nullptr; }

Point Check::submit(StreamState &stream, std::vector<Operand> operands, std::uint64_t batch) {
    const Point task{stream.serial, ++stream.submitted};
    forget_words(operands);
    detector_.submit({stream.serial, stream.number, stream.device}, task.sequence, {caller(), place(), batch},
                     std::move(operands));
    if (t_runs_unseen) {
        order_after_all(task);
    }
    return task;
}

Point Check::add_task(aclrtStream stream, std::vector<Operand> operands, std::uint64_t batch) {
    StreamState *const found = running(stream);
    if (found == nullptr) {
        return {};
    }
    const Point task = submit(*found, std::move(operands), batch);
    detector_.end_task(task, /*is_dropped=*/false);
    return task;
}

Point Check::add_open_task(aclrtStream stream, Condition *condition, std::vector<Operand> operands) {
    StreamState *const found = running(stream);
    if (found == nullptr) {
        return {};
    }
    const Point task = submit(*found, std::move(operands), 0);
    found->open[task.sequence] = condition;
    return task;
}

void Check::end_task(Point task) {
    if (StreamState *const stream = streams_.find(task.stream)) {
        stream->open.erase(task.sequence);
    }
    detector_.end_task(task, /*is_dropped=*/false);
}

void Check::withdraw(Point task) {
    StreamState *const stream = streams_.find(task.stream);
    if (stream == nullptr || stream->submitted != task.sequence || stream->over >= task.sequence) {
        end_task(task);  // other threads have used the stream meanwhile
        return;
    }
    stream->open.erase(task.sequence);
    --stream->submitted;
    detector_.withdraw(task);
}

void Check::add_execution(aclrtStream stream) {
    const Point task = graphs_wait_ ? add_open_task(stream, &executions_) : add_task(stream);
    if (task.stream == 0) {
        return;
    }
    ++graphs_;
    if (graphs_wait_) {
        bind(executions_.add({task}));
    }
}

void Check::note_execution() {
    ++graphs_;
    if (graphs_wait_) {
        learn(newest_of_all());
    }
}

void Check::declare(std::vector<Access> accesses) { t_declared = std::move(accesses); }

Declared Check::take_declared() { return std::exchange(t_declared, std::nullopt); }

void Check::add_launch(aclrtStream stream, aclrtFuncHandle function, const Declared &declared) {
    char name[256] = "";
    const auto ask = VENDOR(aclrtGetFunctionName);
    if (declared && ask != nullptr && ask(function, sizeof name, name) == ACL_SUCCESS) {
        kernel_ = name;
    }
    const Point task = add_task(stream, declared ? operands_of(*declared) : std::vector<Operand>());
    launches_ += declared || task.stream == 0 ? 0 : 1;
    kernel_.clear();
}

// --- order -----------------------------------------------------------------------------------------------------------

void Check::order(Point before, Point after, Edge::Choice choice, Ordering why) {
    const bool is_sole = choice == Edge::Choice::Sole;  // which of several satisfied the wait is unknown
    detector_.order({before, after, why, /*process=*/0, is_sole ? choice : Edge::Choice::Other});
    if (StreamState *const stream = choice == Edge::Choice::Other ? nullptr : streams_.find(after.stream)) {
        stream->order.push_back({after.sequence, before});
    }
}

// Something that was not seen comes before the task: it may have come after everything, as another process may.
void Check::order_after_all(Point task) { detector_.order({{}, task, Ordering::IpcEvent, /*process=*/1}); }

void Check::bind(const std::vector<Bound> &bound) {
    for (const Bound &it : bound) {
        const Points &records = it.match.records;
        const bool is_choice = it.match.is_any && records.size() > 1;
        for (const Point &record : records) {
            order(record, it.wait,
                  !is_choice                  ? Edge::Choice::Sole
                  : record == records.front() ? Edge::Choice::Taken
                                              : Edge::Choice::Other,
                  Ordering::Value);  // or another condition: to the detector only a value differs from the rest
        }
        end_task(it.wait);
    }
}

void Check::wait_for(Condition &condition, aclrtStream stream, Wait wait, std::vector<Operand> operands) {
    wait.task = add_open_task(stream, &condition, std::move(operands));
    if (wait.task.stream == 0) {
        condition.is_unseen = graphs_wait_ = true;
        return;
    }
    detector_.wait(caller(), wait.task, place(), {WaitBinding::State::Any});
    bind(condition.add(std::move(wait)));
}

void Check::note_abort(const Points &newest) {
    const auto note = [&](Condition &condition) {
        condition.is_unseen = condition.is_unseen || std::any_of(newest.begin(), newest.end(), [&](const Point &it) {
                                  return condition.has_record_of(it.stream) || condition.has_open_call_of(it.stream);
                              });
    };
    for (const auto &it : conditions_) {
        note(*it.second);
    }
    for (const auto &it : words_) {
        note(*it.second);
    }
    for (const auto &it : events_) {
        if (it.second.manual != nullptr) {
            note(*it.second.manual);
        }
    }
}

// Nothing can satisfy the waits any more, but a call that was not seen.
void Check::abandon(const Condition &condition) {
    for (const Wait &it : condition.open()) {
        order_after_all(it.task);
        end_task(it.task);
    }
}

void Check::destroy_condition(const void *object) {
    const auto found = conditions_.find(object);
    if (found != conditions_.end()) {
        abandon(*found->second);
        conditions_.erase(found);
    }
}

Latch &Check::word(void *address) {
    std::unique_ptr<Latch> &known = words_[as_integer(address)];
    if (known == nullptr) {
        known = std::make_unique<Latch>(calls_, /*takes_first=*/false);
    }
    known->note_unseen(unseen());
    known->is_unseen = known->is_unseen || may_be_shared(address);
    return *known;
}

// Memory that no call seen has allocated may be another process's.
bool Check::may_be_shared(const void *address) {
    const std::vector<Operand> found = operands_of({{address, kWord, AccessMode::Read, ""}});
    return found.empty() || std::any_of(found.begin(), found.end(), [&](const Operand &it) {
               return shared_.count(it.block->address) != 0 || (shares_mapped_ && it.block->kind == BlockKind::Shared);
           });
}

// Other writes than value writes give words a value that is not known.
void Check::forget_words(std::uintptr_t begin, std::uint64_t size) {
    const std::uintptr_t first = begin - std::min<std::uintptr_t>(begin, kWord - 1);
    for (auto word = words_.lower_bound(first); word != words_.end() && word->first < begin + size; ++word) {
        word->second->reset();
    }
}

void Check::forget_words(const std::vector<Operand> &operands) {
    for (const Operand &it : operands) {
        if (races::is_write(it.mode) && it.mode != Mode::ValueWrite) {
            forget_words(it.block->address + static_cast<std::uintptr_t>(it.offset), it.size);
        }
    }
}

void Check::create_event(aclrtEvent event, EventState state) { events_[event] = std::move(state); }

void Check::destroy_event(aclrtEvent event) {
    const auto found = events_.find(event);
    if (found == events_.end()) {
        return;
    }
    if (found->second.manual != nullptr) {
        abandon(*found->second.manual);
    }
    events_.erase(found);
}

void Check::record_event(aclrtEvent event, aclrtStream stream, bool is_external) {
    const auto found = events_.find(event);
    if (found == events_.end()) {
        add_task(stream);
        return;
    }
    EventState &state = found->second;
    const Point task = add_task(stream);
    if (task.stream == 0) {
        state.is_unseen = state.is_unseen || is_external || state.manual != nullptr;
        return;
    }
    state.record = task;
    if (state.manual != nullptr) {
        bind(state.manual->record(task, 1, 0));
    }
}

void Check::wait_for_event(aclrtEvent event, aclrtStream stream, bool is_external) {
    const auto found = events_.find(event);
    if (is_kept(stream)) {
        const bool is_of_graph = is_captured(stream) && !is_external && found != events_.end() &&
                                 !found->second.is_unseen && found->second.manual == nullptr;
        graphs_wait_ = graphs_wait_ || !is_of_graph;
        return;
    }
    if (found == events_.end() || found->second.is_unseen) {
        const Point task = add_open_task(stream);
        order_after_all(task);
        end_task(task);
    } else if (found->second.manual != nullptr) {
        wait_for(*found->second.manual, stream, {});
    } else if (found->second.record) {
        const Point task = add_open_task(stream);
        detector_.wait(caller(), task, place(), {WaitBinding::State::Record, *found->second.record});
        calls_.order.add_wait_for(*found->second.record, task);
        bind({{task, {{*found->second.record}}}});
    } else {
        const StreamState &waiting = streams_.of(stream);
        detector_.name_stream({waiting.serial, waiting.number, waiting.device});
        detector_.wait(caller(), {waiting.serial, waiting.submitted + 1}, place(),
                       {WaitBinding::State::NeverRecorded, {}, /*has_task=*/false});
    }
}

void Check::reset_event(aclrtEvent event, aclrtStream stream) {
    const auto found = events_.find(event);
    const bool is_kept = add_task(stream).stream == 0;
    if (found == events_.end() || found->second.manual == nullptr) {
        return;
    }
    if (is_kept) {  // a graph or a model may reset it at any time
        found->second.is_unseen = true;
    } else {
        found->second.manual->reset();
    }
}

Points Check::records_of(aclrtEvent event) {
    const auto found = events_.find(event);
    if (found == events_.end() || found->second.is_unseen) {
        return newest_of_all();
    }
    const std::optional<Point> &newest = found->second.record;
    return newest ? Points{*newest} : Points();
}

// --- knowledge of the host -------------------------------------------------------------------------------------------

void Check::reach(Point task) {
    Points reached{task};
    while (!reached.empty()) {
        const Point point = reached.back();
        reached.pop_back();
        StreamState *const stream = streams_.find(point.stream);
        if (stream == nullptr || stream->over >= point.sequence) {
            continue;
        }
        stream->over = point.sequence;
        while (!stream->order.empty() && stream->order.front().sequence <= point.sequence) {
            reached.push_back(stream->order.front().before);
            stream->order.pop_front();
        }
        while (!stream->open.empty() && stream->open.begin()->first <= point.sequence) {
            const auto [sequence, condition] = *stream->open.begin();
            const Point open{stream->serial, sequence};
            if (condition != nullptr) {  // satisfied unseen
                condition->withdraw(open);
                order_after_all(open);
            }
            end_task(open);
        }
    }
}

races::Learned Check::how_query_is_made(aclrtEvent event) const {
    const auto found = quiet_flags_ == 0 ? events_.end() : events_.find(event);
    const bool is_quiet = t_asks_quietly || (found != events_.end() && found->second.flags == quiet_flags_);
    return is_quiet ? races::Learned::Quietly : races::Learned::OfTask;
}

void Check::learn(const Points &tasks, races::Learned how) {
    for (const Point &task : tasks) {
        if (task.sequence != 0) {
            reach(task);
            detector_.learn(caller(), task, place(), how);
        }
    }
    calls_.order.retry();
    bind(std::exchange(calls_.bound, {}));
}

Points Check::newest_of(aclrtStream stream) {
    const StreamState *const found = streams_.find(stream);
    return found == nullptr ? Points() : Points{found->newest()};
}

Points Check::newest_of_all() {
    Points all;
    streams_.each([&](const StreamState &stream) { all.push_back(stream.newest()); });
    return all;
}

Points Check::newest_of_device(std::optional<std::uint32_t> device) {
    const std::uint32_t wanted = device ? *device : current_device();
    Points newest;
    streams_.each([&](const StreamState &stream) {
        if (stream.device == wanted) {
            newest.push_back(stream.newest());
        }
    });
    return newest;
}

void Check::end_streams(const std::vector<StreamState *> &streams) {
    for (StreamState *const stream : streams) {
        learn({stream->newest()});
        detector_.end_stream(stream->serial, caller());
        streams_.forget(*stream);
    }
}

void Check::end_stream(aclrtStream stream) {
    if (StreamState *const found = streams_.find(stream)) {
        end_streams({found});
    }
}

void Check::end_context(aclrtContext context) {
    std::vector<StreamState *> ended;
    streams_.each([&](StreamState &stream) {
        if (stream.context == context) {
            ended.push_back(&stream);
        }
    });
    end_streams(ended);
}

void Check::end_device(std::uint32_t device) {
    std::vector<StreamState *> ended;
    streams_.each([&](StreamState &stream) {
        if (stream.device == device) {
            ended.push_back(&stream);
        }
    });
    end_streams(ended);
}

// --- memory ----------------------------------------------------------------------------------------------------------

void Check::allocate(const void *address, std::uint64_t size, BlockKind kind) {
    forget_words(as_integer(address), size);
    detector_.allocate(caller(), as_integer(address), size, kind, place());
}

void Check::free(const void *address) {
    if (t_runs_unseen) {
        detector_.blocks().release(as_integer(address));
    } else {
        detector_.free(caller(), as_integer(address), place());
    }
}

void Check::allocate_in_stream(const void *address, std::uint64_t size, aclrtStream stream) {
    const std::uintptr_t begin = as_integer(address);
    if (is_kept(stream)) {
        return;
    }
    forget_words(begin, size);
    races::BlockRef block = detector_.allocate(caller(), begin, size, BlockKind::Pool, place());
    const Point task = add_open_task(stream);
    auto it = freed_.upper_bound(begin);
    if (it != freed_.begin() && std::prev(it)->first + std::prev(it)->second.first > begin) {
        --it;
    }
    while (it != freed_.end() && it->first < begin + size) {  // the pool reuses memory in the order of streams
        order(it->second.second, task);
        it = freed_.erase(it);
    }
    detector_.add_operands(task, {{std::move(block), 0, size, {}, Mode::Allocation, place(), ""}});
    end_task(task);
}

void Check::free_in_stream(const void *address, aclrtStream stream) {
    if (is_kept(stream)) {
        return;
    }
    races::BlockRef block = detector_.blocks().release(as_integer(address));
    if (block == nullptr) {
        add_task(stream);
        return;
    }
    const std::uint64_t size = block->size;
    const Point task = add_task(stream, {{std::move(block), 0, size, {}, Mode::Free, place(), ""}});
    freed_[as_integer(address)] = {size, task};
}

std::vector<Operand> Check::operands_of(const std::vector<Access> &accesses, bool is_of_value) {
    std::vector<Operand> operands;
    for (const Access &access : accesses) {
        if (access.address != nullptr && access.size > 0) {
            detector_.blocks().find(access, mode_of(access, is_of_value), place(), /*names_parts=*/false, operands);
        }
    }
    return operands;
}

std::vector<Operand> Check::operands_on_device(const std::vector<Access> &accesses) {
    std::vector<Operand> operands;
    for (const Access &it : accesses) {
        std::vector<Operand> found = operands_of({it});
        unknown_ += found.empty() && it.address != nullptr && it.size > 0 ? 1 : 0;
        std::move(found.begin(), found.end(), std::back_inserter(operands));
    }
    return operands;
}

void Check::access(const std::vector<Access> &accesses) {
    std::vector<Operand> operands = operands_of(accesses);
    forget_words(operands);
    if (!operands.empty() && !t_runs_unseen) {
        detector_.access(caller(), std::move(operands), place());
    }
}

void Check::give_out(const void *address, std::uint64_t size) {
    detector_.give_out(as_integer(address), size, place());
}

void Check::forget_uses(const void *address, std::uint64_t size) {
    std::vector<Operand> operands = operands_of({{address, size, AccessMode::Read, ""}});
    if (!operands.empty()) {
        detector_.forget(caller(), std::move(operands));
    }
}

void Check::name_part(const void *address, const char *name) {
    detector_.blocks().name_part(as_integer(address), name);
}

void Check::add_copy(const std::vector<Access> &accesses, aclrtMemcpyKind kind, aclrtStream stream) {
    bool is_pageable = false;
    std::vector<Operand> operands;
    for (const Access &it : accesses) {
        const bool may_be_pageable = is_of_host(it, kind);
        std::vector<Operand> found = may_be_pageable ? operands_of({it}) : operands_on_device({it});
        is_pageable = is_pageable || (may_be_pageable && found.empty());
        std::move(found.begin(), found.end(), std::back_inserter(operands));
    }
    const Point task = add_task(stream, std::move(operands));
    if (is_pageable) {
        learn({task});
    }
}

}  // namespace aclsim::wrapped
