// SPDX-License-Identifier: Apache-2.0
// Facts that the core reports to observers: the accesses of calls, and the life of tasks.
#include <algorithm>
#include <new>
#include <utility>

#include "engine/core.h"

namespace aclsim {

void Core::note_edges(const std::vector<Share> &shares, const std::vector<Point> &taken, Edge edge) const {
    std::vector<Point> others = taken;
    std::uint64_t sum = 0;
    bool all_taken = true;
    for (const Share &it : shares) {
        const auto found = std::find(others.begin(), others.end(), it.task);
        all_taken = all_taken && found != others.end();
        others.erase(found, found == others.end() ? found : found + 1);
        sum += it.weight;
    }
    if (shares.empty() || (all_taken && others.empty() && sum == edge.needed)) {
        for (const Point &it : taken) {
            edge.before = it;
            note_edge(edge);
        }
        return;
    }
    for (const Share &it : shares) {
        const bool is_taken = std::any_of(taken.begin(), taken.end(), [&](const Point &newest) {
            return newest.stream == it.task.stream && newest.sequence >= it.task.sequence;
        });
        edge.before = it.task;
        edge.weight = it.weight;
        edge.choice = is_taken ? Edge::Choice::Taken : Edge::Choice::Other;
        note_edge(edge);
    }
    edge.weight = 0;
    edge.choice = Edge::Choice::Fallback;
    for (const Point &it : others) {
        edge.before = it;
        note_edge(edge);
    }
}

Submission Core::describe_submission() {
    const Call *const call = Call::t_newest_;
    if (call == nullptr) {
        return {present_call(), kNoAccesses};
    }
    return {present_call(), call->accesses_ != nullptr ? *call->accesses_ : kNoAccesses, call->are_accesses_known_,
            call->batch_};
}

// Transfers the accesses that the call declared to the submitted task.
void Core::hand_over_accesses() {
    if (Call *const call = Call::t_newest_) {
        delete std::exchange(call->accesses_, nullptr);
        call->are_accesses_known_ = true;
        call->uses_memory_ = false;
    }
}

void Core::note_changed(const Stream &stream, const Task &former, const Task &now) {
    if (observers_.want(kTasks)) {
        observers_.report<kTasks>(&Observer::changed, stream, former, now, describe_submission());
    }
    hand_over_accesses();
}

void Core::report_submitted(const Moment &now, const Stream &stream, const Task &task) {
    if (observers_.want(kTasks)) {
        observers_.report_at<kTasks>(now, &Observer::submitted, stream, task, describe_submission());
    }
    hand_over_accesses();
}

void Core::submit_told(Stream &stream, Task &task, Keep keep) {
    const Moment now = observers_.moment();
    if (task.info().has(kEndsAtOnce)) {
        task.start(stream);
        complete_up_to(task.sequence, stream, task);
        observers_.report_at<kTasks>(now, &Observer::passed, stream, task, describe_submission(), thread_number());
        hand_over_accesses();
        pump();
        return;
    }
    report_submitted(now, stream, task);
    Start start{};
    try {
        start = task.start(stream);
    } catch (const std::bad_alloc &) {
        withdraw(stream, task);
        throw;
    }
    if (start == Start::Done || (start == Start::Run && task.run_at_once())) {
        complete_up_to(task.sequence, stream, task);
        report_done(now, stream, task);
    } else {
        report_start(now, stream, task, start);
        submit_started(stream, keep(*this, stream, task), start);
    }
    pump();
}

void Core::report_start(const Moment &now, const Stream &stream, const Task &task, Start start) {
    if (start != Start::Blocked || !observers_.want(kTasks) || task.info().has(kNotesBegin)) {
        return;
    }
    try {
        Causes causes;
        const_cast<Task &>(task).as_blocking()->add_causes(causes);
        observers_.report_at<kTasks>(now, &Observer::blocked, stream, task, causes);
    } catch (const std::bad_alloc &) {
        observers_.report_at<kTasks>(now, &Observer::fact_lost);
    }
}

void Core::report_done(const Moment &now, const Stream &stream, const Task &task) {
    if (observers_.want(kTasks)) {
        const std::uint32_t thread = thread_number();
        observers_.each<kTasks>(now, [&](Observer &observer) REQUIRES(engine_lock) {
            if (!task.info().has(kNotesBegin)) {
                observer.started(now, stream, task, thread);
            }
            observer.ended(now, stream, task, thread);
        });
    }
}

// Reports an access of the present call. An observer that was added during the call receives facts from the next call
// on.
void Core::report_access(const Access &access) {
    Call *const call = Call::t_newest_;
    if (call == nullptr) {
        return;
    }
    if (call->accesses_ == nullptr) {
        call->accesses_ = new std::vector<Access>;
        call->accesses_->reserve(2);  // a copy has two
    }
    call->accesses_->push_back(access);
    call->accesses_->back().item = call->item_;
    call->uses_memory_ = true;
    observers_.report<kMemory>(&Observer::call_accesses, access);
}

void Core::note_unknown_accesses() {
    if (Call *const call = Call::t_newest_) {
        call->are_accesses_known_ = false;
    }
}

void Core::note_batch() {
    if (Call *const call = Call::t_newest_) {
        call->batch_ = ++batches_;
    }
}

void Core::note_item() {
    if (Call *const call = Call::t_newest_) {
        ++call->item_;
    }
}

void Core::note_done_with_memory() {
    Call *const call = Call::t_newest_;
    if (call != nullptr && call->uses_memory_) {
        const std::vector<Access> none;
        observers_.report<kMemory>(&Observer::call_done_with_memory,
                                   call->accesses_ != nullptr ? *call->accesses_ : none);
        hand_over_accesses();
    }
}

namespace {

CallSite present_site() {
    const CurrentCall *const call = current_call();
    const bool is_placed = call != nullptr && call->place.kind != CallPlace::Kind::Unknown;
    return {thread_number(), current_function(), is_placed ? &call->place : nullptr};
}

}  // namespace

void Core::Call::begin() {
    outer_ = std::exchange(t_newest_, this);
    accesses_ = nullptr;
    batch_ = 0;
    item_ = 0;
    are_accesses_known_ = true;
    uses_memory_ = false;
    if (core_->observers_.want(kCalls)) {
        core_->observers_.report<kCalls>(&Observer::call_began, present_site());
    }
}

void Core::Call::end() {
    core_->note_done_with_memory();
    if (core_->observers_.want(kCalls)) {
        core_->observers_.report<kCalls>(&Observer::call_ended, present_site());
    }
    delete accesses_;
    t_newest_ = outer_;
}

}  // namespace aclsim
