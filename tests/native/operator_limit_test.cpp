// SPDX-License-Identifier: Apache-2.0
// Time limit of operators in the synchronization of a device: the wait ends if no task of the device has ended within
// the limit, but only while all its streams are at waits or kernels. The test controls the clock.
#include "machine/operator_limit.h"

#include <thread>
#include <vector>

#include "check.h"
#include "engine/waiters.h"
#include "latch.h"
#include "machine/machine.h"
#include "manual_clock.h"

using namespace aclsim;

namespace {

constexpr std::chrono::milliseconds kLimit{4294};

class NoReports final : public StallReporter {
  public:
    void explain_stall(HostWait &) override {}
    bool look_for_deadlock(HostWait &, Lock &) override {
        ++looks;
        return false;
    }
    int looks = 0;
};

constexpr TaskInfo kWait{"WAIT"};
constexpr TaskInfo kCopy{"COPY", "a copy"};
constexpr TaskInfo kKernel{"KERNEL", "a kernel", kIsKernel};
constexpr TaskInfo kFunction{"FUNCTION", "a function of the program", kRunsProgram};

// Blocks until a thread of the test opens the gate.
class Gated final : public BlockingTask {
  public:
    Gated(Waiters &waiters, const bool &is_open, const TaskInfo &info)
        : waiters_(&waiters), is_open_(&is_open), info_(info) {}
    const TaskInfo &info() const override { return info_; }
    Start start(Stream &stream) override REQUIRES(engine_lock) {
        if (*is_open_) {
            waiters_->remove(stream);
            return Start::Done;
        }
        waiters_->add(stream);
        return Start::Blocked;
    }
    void add_causes(Causes &) const override {}
    std::string awaited() const override { return "a gate"; }

  private:
    Waiters *waiters_;
    const bool *is_open_;
    const TaskInfo &info_;
};

// Runs until a thread of the test releases it.
class Running final : public Task {
  public:
    Running(::LatchedCallback &held, const TaskInfo &info) : held_(&held), info_(info) {}
    const TaskInfo &info() const override { return info_; }
    Start start(Stream &) override { return Start::Run; }
    void run() override { ::LatchedCallback::run(held_); }

  private:
    ::LatchedCallback *held_;
    const TaskInfo &info_;
};

// Never destroyed, because threads of the engine outlive main().
struct Bench {
    ManualClock clock;
    EagerScheduler scheduler;
    Core core{clock, scheduler};
    NoReports reports;
    Machine machine{core};
    Waiters waiters;
    bool is_open = false;

    Bench() { core.set_stall_reporter(reports); }
    Device &device(std::size_t number) { return *machine.devices[number]; }
    Ref<ContextStream> new_stream(std::size_t number) REQUIRES(engine_lock) {
        if (device(number).set_count == 0) {
            enter_device(machine, device(number));
        }
        return create_stream(machine, *device(number).primary, 0, 0);
    }
    void submit_wait(Stream &stream, const TaskInfo &info) REQUIRES(engine_lock) {
        core.submit(stream, Gated(waiters, is_open, info));
    }
    void open() REQUIRES(engine_lock) {
        is_open = true;
        waiters.wake(core);
        core.pump();
        is_open = false;
    }
};

// Synchronization of device 0 on a new thread, as by aclrtSynchronizeDevice. The thread waits when the constructor
// returns.
class Synchronization {
  public:
    explicit Synchronization(Bench &bench) : bench_(bench), thread_([this] { work(); }) { await_wait(); }
    ~Synchronization() { thread_.join(); }
    Synchronization(const Synchronization &) = delete;
    Synchronization &operator=(const Synchronization &) = delete;

    // Waits for the end of the synchronization, and returns its result.
    aclError answer() {
        CHECK(done_.opens());
        return answer_;
    }
    // Advances the clock, and checks that the limit has no effect: the thread waits again after a look at the clock.
    void outlasts(std::chrono::milliseconds time) {
        std::uint64_t seen = 0;
        {
            const Lock lock = bench_.core.acquire();
            seen = looks_;
            bench_.clock.advance(time);
        }
        for (bool has_looked = false; !has_looked; std::this_thread::yield()) {
            const Lock lock = bench_.core.acquire();
            CHECK(answer_ == kNone);
            has_looked = looks_ > seen;
        }
    }

  private:
    static constexpr aclError kNone = -1;

    // Limit that counts the looks of the thread.
    class Counted final : public WaitCheck {
      public:
        Counted(Synchronization &owner, Bench &bench) : owner_(owner), limit_(bench.core, bench.device(0), kLimit) {}
        Time look(Lock &lock) override REQUIRES(engine_lock) {
            const Time next = limit_.look(lock);
            ++owner_.looks_;
            return next;
        }

      private:
        Synchronization &owner_;
        OperatorLimit limit_;
    };

    void work() {
        {
            Lock lock = bench_.core.acquire();
            thread_context() = {nullptr, bench_.device(0).primary->handle()};
            Counted check(*this, bench_);
            try {
                synchronize_device(bench_.machine, lock, kNever, &check);
                answer_ = ACL_SUCCESS;
            } catch (const Failure &failure) {
                answer_ = failure.code;
            }
        }
        done_.open();
    }
    void await_wait() {
        for (bool waits = false; !waits; std::this_thread::yield()) {
            const Lock lock = bench_.core.acquire();
            waits = looks_ > 0;
        }
    }

    Bench &bench_;
    Latch done_;
    aclError answer_ = kNone;
    std::uint64_t looks_ = 0;
    std::thread thread_;
};

void advance(Bench &bench, std::chrono::milliseconds time) {
    const Lock lock = bench.core.acquire();
    bench.clock.advance(time);
}

// Waits until another search for deadlocks has begun. The thread releases the lock between its look at the clock and
// the search.
void await_search(Bench &bench, int earlier) {
    for (bool has_begun = false; !has_begun; std::this_thread::yield()) {
        const Lock lock = bench.core.acquire();
        has_begun = bench.reports.looks > earlier;
    }
}

void a_wait_fails_when_nothing_ends_and_stays_pending(Bench &bench) {
    Ref<ContextStream> stream;
    {
        const Lock lock = bench.core.acquire();
        stream = bench.new_stream(0);
        bench.submit_wait(*stream, kWait);
    }
    for (int i = 0; i < 2; ++i) {
        const int looks = bench.reports.looks;
        Synchronization synchronization(bench);
        synchronization.outlasts(kLimit - std::chrono::milliseconds(100));
        await_search(bench, looks);  // for deadlocks, as without a limit
        advance(bench, std::chrono::milliseconds(200));
        CHECK_CODE(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, synchronization.answer());
    }
    Synchronization synchronization(bench);
    {
        const Lock lock = bench.core.acquire();
        CHECK(!stream->is_complete());
        bench.open();
    }
    CHECK_CODE(ACL_SUCCESS, synchronization.answer());
}

void what_ends_on_the_device_begins_the_limit_anew(Bench &bench) {
    Ref<ContextStream> stuck;
    Ref<ContextStream> other;
    Ref<ContextStream> foreign;
    {
        const Lock lock = bench.core.acquire();
        stuck = bench.new_stream(0);
        other = bench.new_stream(0);
        foreign = bench.new_stream(1);
        bench.submit_wait(*stuck, kWait);
    }
    const auto end_task = [&](Stream &stream) {
        const Lock lock = bench.core.acquire();
        Waiters none;
        const bool is_open = true;
        bench.core.submit(stream, Gated(none, is_open, kWait));
    };
    Synchronization synchronization(bench);
    for (int i = 0; i < 3; ++i) {
        synchronization.outlasts(kLimit - std::chrono::milliseconds(100));
        end_task(*other);
        synchronization.outlasts(kLimit - std::chrono::milliseconds(100));
    }
    end_task(*foreign);  // without effect, because it is on another device
    advance(bench, kLimit);
    CHECK_CODE(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, synchronization.answer());
    const Lock lock = bench.core.acquire();
    bench.open();
}

// Waits for all tasks, so that no thread of the engine uses the callbacks of a test afterwards.
void await_all(Bench &bench) {
    Lock lock = bench.core.acquire();
    for (const std::size_t number : {0, 1}) {
        if (bench.device(number).set_count > 0) {
            thread_context() = {nullptr, bench.device(number).primary->handle()};
            synchronize_device(bench.machine, lock, kNever);
        }
    }
}

void await_end(Bench &bench, const ContextStream &stream) {
    for (bool has_ended = false; !has_ended; std::this_thread::yield()) {
        const Lock lock = bench.core.acquire();
        has_ended = stream.is_complete();
    }
}

// Runs a task on the given device while a wait of another stream blocks device 0.
void what_runs(Bench &bench, const TaskInfo &info, std::size_t device, bool has_limit) {
    ::LatchedCallback held;
    Ref<ContextStream> busy;
    {
        const Lock lock = bench.core.acquire();
        const Ref<ContextStream> stuck = bench.new_stream(0);
        busy = bench.new_stream(device);
        bench.submit_wait(*stuck, kWait);
        bench.core.submit(*busy, Running(held, info));
    }
    CHECK(held.entered.opens());
    Synchronization synchronization(bench);
    if (!has_limit) {
        synchronization.outlasts(10 * kLimit);
        synchronization.outlasts(10 * kLimit);
        held.released.open();
        await_end(bench, *busy);
        synchronization.outlasts(kLimit / 8);  // the thread notices the end, which restarts the limit
    }
    advance(bench, 2 * kLimit);
    CHECK_CODE(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, synchronization.answer());
    held.released.open();
    {
        const Lock lock = bench.core.acquire();
        bench.open();
        busy = nullptr;
    }
    await_all(bench);
}

// All workers of the device are busy. The waiting thread would be free to run the kernel, but must not, because the
// duration of a kernel is unknown.
void a_kernel_that_waits_for_a_thread_is_not_run_by_the_caller(Bench &bench) {
    std::vector<::LatchedCallback> busy(config().workers);
    ::LatchedCallback held;
    Ref<ContextStream> awaited;
    {
        const Lock lock = bench.core.acquire();
        awaited = bench.new_stream(0);  // the synchronization waits for this stream first
        for (::LatchedCallback &each : busy) {
            bench.core.submit(*bench.new_stream(0), Running(each, kKernel));
        }
    }
    for (::LatchedCallback &each : busy) {
        CHECK(each.entered.opens());
    }
    {
        const Lock lock = bench.core.acquire();
        bench.core.submit(*awaited, Running(held, kKernel));
        awaited = nullptr;
    }
    {
        Synchronization synchronization(bench);
        advance(bench, 2 * kLimit);
        CHECK_CODE(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, synchronization.answer());
        CHECK(!held.entered.is_open());
    }
    for (::LatchedCallback &each : busy) {
        each.released.open();
    }
    held.released.open();
    await_all(bench);
}

void a_callback_that_a_stream_waits_for_has_no_limit(Bench &bench) {
    {
        const Lock lock = bench.core.acquire();
        bench.submit_wait(*bench.new_stream(0), kFunction);
    }
    Synchronization synchronization(bench);
    synchronization.outlasts(10 * kLimit);
    {
        const Lock lock = bench.core.acquire();
        bench.open();
    }
    CHECK_CODE(ACL_SUCCESS, synchronization.answer());
}

void held_devices_have_no_limit(Bench &bench) {
    {
        const Lock lock = bench.core.acquire();
        bench.submit_wait(*bench.new_stream(0), kWait);
        bench.core.hold(true);
    }
    Synchronization synchronization(bench);
    synchronization.outlasts(10 * kLimit);
    {
        const Lock lock = bench.core.acquire();
        bench.core.hold(false);
        bench.clock.advance(std::chrono::milliseconds(1));
        bench.open();
    }
    CHECK_CODE(ACL_SUCCESS, synchronization.answer());
}

}  // namespace

int main() {
    const Watchdog watchdog("native operator limit", std::chrono::seconds(60));
    static Bench &bench = *new Bench();
    a_wait_fails_when_nothing_ends_and_stays_pending(bench);
    what_ends_on_the_device_begins_the_limit_anew(bench);
    what_runs(bench, kKernel, /*device=*/0, /*has_limit=*/true);
    what_runs(bench, kCopy, /*device=*/0, /*has_limit=*/false);
    what_runs(bench, kCopy, /*device=*/1, /*has_limit=*/true);
    what_runs(bench, kFunction, /*device=*/1, /*has_limit=*/false);
    a_kernel_that_waits_for_a_thread_is_not_run_by_the_caller(bench);
    a_callback_that_a_stream_waits_for_has_no_limit(bench);
    held_devices_have_no_limit(bench);
    std::puts("native operator limit: all passed");
    return 0;
}
