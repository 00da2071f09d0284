// SPDX-License-Identifier: Apache-2.0
// Core with the clock and the scheduler of a test: the scheduler makes every choice from all candidates, facts have the
// injected time, and the waits of threads are reported to the scheduler.
#include <map>
#include <vector>

#include "check.h"
#include "engine/core.h"
#include "engine/waiters.h"
#include "latch.h"
#include "manual_clock.h"

using namespace aclsim;

namespace {

class LastFirst final : public Scheduler {
  public:
    LastFirst() : Scheduler(/*takes_first=*/false) {}
    Stream &choose(Choice choice, const std::vector<Stream *> &candidates) override {
        CHECK(!candidates.empty());
        asked[choice].push_back(candidates.size());
        chosen[choice] = candidates.back()->id;
        return *candidates.back();
    }
    bool may_start(const Stream &stream) override { return stream.id != held_id; }
    void host_polled(std::uint32_t thread, const Point &task) override { polls.emplace_back(thread, task.sequence); }
    bool may_end(const std::vector<Stream *> &ran) override { return ran.size() >= ends_together; }
    void host_waits(const HostWait &) override { ++waits; }
    void host_goes_on(const HostWait &) override { ++ends; }

    std::map<Choice, std::vector<std::size_t>> asked;  // numbers of candidates
    std::map<Choice, std::uint32_t> chosen;            // newest result
    int waits = 0;
    int ends = 0;
    std::size_t ends_together = 1;
    std::uint32_t held_id = kNoStream;
    std::vector<std::pair<std::uint32_t, std::uint64_t>> polls;
    static constexpr std::uint32_t kNoStream = 1000;
};

class NoFailures final : public FailureHandler {
  public:
    void task_failed(const Stream &, const Task &) override { CHECK(false); }
    bool is_reporting(const Stream &) const override { return false; }
    bool settle(Lock &, const Stream &, Time) override { return true; }
    void thread_sleeps() override {}
};

class NoReports final : public StallReporter {
  public:
    void explain_stall(HostWait &) override {}
    bool look_for_deadlock(HostWait &, Lock &) override { return false; }
};

class Group final : public StreamGroup {
  public:
    Group() : StreamGroup(health_) {}
    void require_accepting(const Stream &) const override {}
    void stop(aclError) override {}

  private:
    DeviceHealth health_;
};

class Recorder final : public Observer {
  public:
    void started(const Moment &when, const Stream &stream, const Task &, std::uint32_t) override {
        note(when.time(), started_ids, stream);
    }
    void ended(const Moment &when, const Stream &stream, const Task &, std::uint32_t) override {
        note(when.time(), ended_ids, stream);
    }
    std::vector<std::uint32_t> started_ids;
    std::vector<std::uint32_t> ended_ids;

  private:
    static void note(Time when, std::vector<std::uint32_t> &ids, const Stream &stream) {
        CHECK(when >= kBegin);
        ids.push_back(stream.id);
    }
};

// Never destroyed, because threads of the engine outlive main().
struct Bench {
    ManualClock clock;
    LastFirst scheduler;
    Core core{clock, scheduler};
    NoFailures failures;
    NoReports reports;
    Ref<Group> group = make_ref<Group>();
    std::vector<Ref<Stream>> streams;
    Recorder recorder;

    Bench() {
        core.set_failure_handler(failures);
        core.set_stall_reporter(reports);
        core.add_observer(recorder);
        for (std::uint32_t id = 0; id < 4; ++id) {
            streams.push_back(make_ref_in<Stream>(/*shard=*/0, *group, id, /*creation_flags=*/0, /*priority_level=*/0));
        }
    }
    void forget() {
        scheduler.asked.clear();
        recorder.started_ids.clear();
        recorder.ended_ids.clear();
    }
    void wait_for_all(Lock &lock) {
        for (const auto &stream : streams) {
            CHECK(core.wait_for(lock, stream, stream->submitted, kNever) == Core::Waited::Done);
        }
    }
};

class Work final : public Task {
  public:
    explicit Work(Executor *executor = nullptr) : executor_(executor) {}
    static constexpr TaskInfo kInfo{"MEMCPY"};
    const TaskInfo &info() const override { return kInfo; }
    Start start(Stream &) override { return Start::Run; }
    Executor *executor() override { return executor_; }

  private:
    Executor *executor_;
};

class Gated final : public BlockingTask {
  public:
    Gated(Waiters &waiters, const bool &is_open) : waiters_(&waiters), is_open_(&is_open) {}
    static constexpr TaskInfo kInfo{"EVENT_WAIT"};
    const TaskInfo &info() const override { return kInfo; }
    Start start(Stream &stream) override {
        if (*is_open_ || has_expired_) {
            waiters_->remove(stream);
            return Start::Done;
        }
        waiters_->add(stream);
        return Start::Blocked;
    }
    bool expire() override { return has_expired_ = true; }
    void add_causes(Causes &) const override {}
    std::string awaited() const override { return "a gate"; }

  private:
    Waiters *waiters_;
    const bool *is_open_;
    bool has_expired_ = false;
};

// Waits for the newest tasks of two streams.
class Join final : public BlockingTask {
  public:
    Join(Core &core, const Stream &left, const Stream &right) : core_(core), left_(&left), right_(&right) {}
    static constexpr TaskInfo kInfo{"CMO"};
    const TaskInfo &info() const override { return kInfo; }
    Start start(Stream &stream) override {
        const bool is_done = left_->is_done(left_->submitted) && right_->is_done(right_->submitted);
        if (!is_done) {
            core_.timer().poll(stream);
        }
        return is_done ? Start::Done : Start::Blocked;
    }
    void add_causes(Causes &causes) const override {
        causes.list = {{left_, left_->submitted}, {right_, right_->submitted}};
    }
    std::string awaited() const override { return "two streams"; }

  private:
    Core &core_;
    const Stream *left_;
    const Stream *right_;
};

using Sizes = std::vector<std::size_t>;
using Ids = std::vector<std::uint32_t>;

// The end of a hold resumes all streams at once, and the workers find three ready streams when they get the lock.
void runnable_and_ready_streams(Bench &bench) {
    Lock lock = bench.core.acquire();
    bench.forget();
    bench.core.hold(true);
    for (std::size_t i = 0; i < 3; ++i) {
        bench.core.submit(*bench.streams[i], Work());
    }
    bench.core.hold(false);
    CHECK((bench.scheduler.asked[Choice::Runnable] == Sizes{3, 2, 1}));
    CHECK(bench.scheduler.asked[Choice::Ready].empty());
    {
        // Polls, because this thread would help to run tasks in wait_for().
        while (bench.recorder.ended_ids.size() < 3) {
            const Unlocked unlocked(lock);
            std::this_thread::yield();
        }
    }
    CHECK((bench.scheduler.asked[Choice::Ready] == Sizes{3, 2, 1}));
    CHECK((bench.recorder.started_ids == Ids{0, 1, 2}));  // the order is reversed twice
    CHECK((bench.scheduler.asked[Choice::Ended].size() == 3));
}

void waiters(Bench &bench) {
    const Lock lock = bench.core.acquire();
    bench.forget();
    bool is_open = false;
    Waiters waiters;
    for (std::size_t i = 0; i < 3; ++i) {
        bench.core.submit(*bench.streams[i], Gated(waiters, is_open));
    }
    bench.scheduler.asked.clear();
    is_open = true;
    waiters.wake(bench.core);
    CHECK((bench.scheduler.asked[Choice::Waiter] == Sizes{3, 2, 1}));
    bench.core.pump();
    CHECK((bench.scheduler.asked[Choice::Runnable] == Sizes{3, 2, 1}));
    CHECK((bench.recorder.ended_ids == Ids{0, 1, 2}));
}

void time_limits(Bench &bench) {
    Lock lock = bench.core.acquire();
    bench.forget();
    const bool is_open = false;
    Waiters waiters;
    bench.core.timer().start();
    const Time limit = bench.clock.now() + std::chrono::minutes(30);
    for (std::size_t i = 0; i < 3; ++i) {
        bench.core.submit(*bench.streams[i], Gated(waiters, is_open));
        bench.core.timer().arm(*bench.streams[i], limit);
    }
    const int waits = bench.scheduler.waits;
    std::thread advance([&] {  // once the thread below waits
        for (bool is_waiting = false; !is_waiting; std::this_thread::yield()) {
            const Lock advancing = bench.core.acquire();
            is_waiting = bench.scheduler.waits > waits;
            if (is_waiting) {
                bench.clock.advance(std::chrono::hours(1));
            }
        }
    });
    bench.wait_for_all(lock);
    CHECK((bench.scheduler.asked[Choice::Expired] == Sizes{3, 2, 1}));
    CHECK(bench.scheduler.waits > waits && bench.scheduler.waits == bench.scheduler.ends);
    lock.unlock();
    advance.join();
}

// The executor has no threads, so only the thread that waits for the join can run the two tasks.
void helpers(Bench &bench) {
    Lock lock = bench.core.acquire();
    bench.forget();
    const auto nobody = bench.core.create_executor(/*shard=*/0, /*threads=*/0, /*can_be_helped=*/true);
    bench.core.submit(*bench.streams[0], Work(nobody.get()));
    bench.core.submit(*bench.streams[1], Work(nobody.get()));
    bench.core.submit(*bench.streams[2], Join(bench.core, *bench.streams[0], *bench.streams[1]));
    std::thread advance([&] {  // makes the timer look at the join again
        for (bool is_done = false; !is_done; std::this_thread::yield()) {
            const Lock advancing = bench.core.acquire();
            is_done = bench.streams[2]->is_done(bench.streams[2]->submitted);
            bench.clock.advance(std::chrono::milliseconds(1));
        }
    });
    const Ref<Stream> joined = bench.streams[2];
    CHECK(bench.core.wait_for(lock, joined, joined->submitted, kNever) == Core::Waited::Done);
    CHECK((bench.scheduler.asked[Choice::Helper] == Sizes{2, 1}));
    CHECK((bench.recorder.started_ids == Ids{1, 0, 2}));
    lock.unlock();
    advance.join();
}

// All three tasks have run before the first of them completes, regardless of the order in which the workers finish.
void ended_streams(Bench &bench) {
    Lock lock = bench.core.acquire();
    bench.forget();
    bench.scheduler.ends_together = 3;
    for (std::size_t i = 0; i < 3; ++i) {
        bench.core.submit(*bench.streams[i], Work());
    }
    while (bench.scheduler.asked[Choice::Ended].empty()) {
        const Unlocked unlocked(lock);
        std::this_thread::yield();
    }
    CHECK((bench.scheduler.asked[Choice::Ended] == Sizes{3}));
    CHECK(bench.recorder.started_ids.size() == 3 && bench.recorder.ended_ids.size() == 1);
    CHECK(bench.recorder.ended_ids.front() == bench.scheduler.chosen[Choice::Ended]);
    bench.scheduler.ends_together = 1;
    bench.core.hold(false);
    CHECK((bench.scheduler.asked[Choice::Ended] == Sizes{3, 2, 1}));
    CHECK(bench.recorder.ended_ids.size() == 3);
}

// Two streams are held, and only one of them may continue.
void one_held_stream(Bench &bench) {
    Lock lock = bench.core.acquire();
    bench.forget();
    bench.core.hold(true);
    bool is_open = true;
    Waiters waiters;
    bench.core.submit(*bench.streams[0], Gated(waiters, is_open));
    bench.core.submit(*bench.streams[1], Gated(waiters, is_open));
    bench.scheduler.held_id = 1;
    bench.core.hold(false);
    CHECK((bench.recorder.ended_ids == Ids{0}));
    bench.core.start_held(*bench.streams[1]);
    CHECK((bench.recorder.ended_ids == Ids{0}));  // the scheduler still holds it back
    bench.core.note_polled(bench.streams[1]->newest());
    CHECK(bench.scheduler.polls.size() == 1 && bench.scheduler.polls[0].second == bench.streams[1]->submitted);
    CHECK(bench.scheduler.polls[0].first == thread_number());
    bench.scheduler.held_id = LastFirst::kNoStream;
    bench.core.start_held(*bench.streams[1]);
    CHECK((bench.recorder.ended_ids == Ids{0, 1}));
}

// The same work leads to the same recorded decisions, and these are the choices that were made.
void decisions_are_kept(Bench &bench) {
    const auto run = [&] {
        const Lock lock = bench.core.acquire();
        const std::size_t before = bench.scheduler.decisions().size();
        bool is_open = false;
        Waiters waiters;
        for (std::size_t i = 0; i < 3; ++i) {
            bench.core.submit(*bench.streams[i], Gated(waiters, is_open));
        }
        is_open = true;
        waiters.wake(bench.core);
        bench.core.pump();
        const auto &all = bench.scheduler.decisions();
        return std::vector<Scheduler::Decision>(all.begin() + static_cast<std::ptrdiff_t>(before), all.end());
    };
    const auto first = run();
    CHECK(first == run());
    CHECK(first.size() == 6);  // three for the waiters, three for the streams that they release
    CHECK((first[0] == Scheduler::Decision{Choice::Waiter, 3, 2}));
    CHECK((first[3] == Scheduler::Decision{Choice::Runnable, 3, 2}));
}

}  // namespace

int main() {
    const Watchdog watchdog("native schedule", std::chrono::seconds(60));
    static Bench &bench = *new Bench();
    runnable_and_ready_streams(bench);
    waiters(bench);
    time_limits(bench);
    helpers(bench);
    ended_streams(bench);
    one_held_stream(bench);
    decisions_are_kept(bench);
    std::puts("native schedule: all passed");
    return 0;
}
