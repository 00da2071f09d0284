// SPDX-License-Identifier: Apache-2.0
// Work deferred by one thread: the work of others that a call waits for, and the calls that wait for none.
#include <chrono>
#include <cstddef>
#include <future>
#include <memory>
#include <utility>

#include "api/simulator.h"
#include "check.h"
#include "latch.h"
#include "memory/memory.h"

using aclsim::DeferredWork;
using aclsim::InternalBlock;
using aclsim::Lock;
using aclsim::Simulator;

namespace {

// Deferred work that runs until it is released, and may then defer more.
class LatchedWork final : public DeferredWork {
  public:
    explicit LatchedWork(LatchedCallback &latches, std::unique_ptr<DeferredWork> consequence = nullptr)
        : latches_(latches), consequence_(std::move(consequence)) {}
    void work() noexcept override { LatchedCallback::run(&latches_); }
    void finish() override REQUIRES(aclsim::engine_lock) {
        if (consequence_ != nullptr) {
            Simulator::get().core.defer(std::move(consequence_));
        }
    }

  private:
    LatchedCallback &latches_;
    std::unique_ptr<DeferredWork> consequence_;
};

// Thread that does such work.
class Worker {
  public:
    explicit Worker(std::unique_ptr<DeferredWork> work)
        : done_(begin([owned = std::move(work)]() mutable {
              Lock lock = Simulator::get().core.acquire();
              Simulator::get().core.defer(std::move(owned));
              Simulator::get().core.do_deferred(lock);
          })) {}
    bool ends() const { return returns(done_); }

  private:
    std::future<void> done_;
};

// Thread that waits for deferred work.
class Waiter {
  public:
    Waiter()
        : result_(begin([this] {
              Lock lock = Simulator::get().core.acquire();
              has_lock_.open();
              return Simulator::get().core.deferred().await(lock);
          })) {
        CHECK(has_lock_.opens());
        const Lock lock = Simulator::get().core.acquire();  // free only once the thread sleeps or has returned
        is_asleep_ = true;
    }
    bool returns() const { return is_asleep_ && ::returns(result_); }
    bool has_returned() const { return result_.wait_for(std::chrono::seconds(0)) == std::future_status::ready; }
    bool result() { return result_.get(); }

  private:
    Latch has_lock_;
    bool is_asleep_ = false;
    std::future<bool> result_;
};

void a_call_waits_for_older_work_only() {
    LatchedCallback older;
    LatchedCallback newer;
    const Worker of_older(std::make_unique<LatchedWork>(older));
    CHECK(older.entered.opens());
    Waiter waiter;
    const Worker of_newer(std::make_unique<LatchedWork>(newer));
    CHECK(newer.entered.opens());
    CHECK(!waiter.has_returned());
    older.released.open();
    CHECK(waiter.returns());
    CHECK(waiter.result());
    newer.released.open();
    CHECK(of_older.ends() && of_newer.ends());
}

void a_call_waits_for_consequences_of_older_work() {
    LatchedCallback older;
    LatchedCallback newer;
    LatchedCallback later;
    const Worker of_older(std::make_unique<LatchedWork>(older, std::make_unique<LatchedWork>(later)));
    CHECK(older.entered.opens());
    Waiter waiter;
    const Worker of_newer(std::make_unique<LatchedWork>(newer));
    CHECK(newer.entered.opens());
    older.released.open();
    CHECK(later.entered.opens());
    CHECK(!waiter.has_returned());
    later.released.open();
    CHECK(waiter.returns());
    newer.released.open();
    CHECK(of_older.ends() && of_newer.ends());
}

void a_call_without_work_to_wait_for_returns_at_once() {
    Waiter waiter;
    CHECK(waiter.returns());
    CHECK(!waiter.result());
}

// Graph of the current device whose destruction calls a function that runs until it is released.
aclmdlRI graph_with_latch(LatchedCallback &latches) {
    aclrtStream stream = nullptr;
    aclmdlRI graph = nullptr;
    CHECK_OK(aclrtCreateStream(&stream));
    CHECK_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    CHECK_OK(aclmdlRICaptureEnd(stream, &graph));
    CHECK_OK(aclmdlRIDestroyRegisterCallback(graph, LatchedCallback::run, &latches));
    CHECK_OK(aclrtDestroyStream(stream));
    return graph;
}

void a_reset_waits_for_no_work_of_other_devices() {
    LatchedCallback latches;
    CHECK_OK(aclrtSetDevice(0));
    const aclmdlRI graph = graph_with_latch(latches);
    const auto destroyed = begin([graph] {
        CHECK_OK(aclrtSetDevice(0));
        CHECK_OK(aclmdlRIDestroy(graph));
    });
    CHECK(latches.entered.opens());
    const auto reset = begin([] {
        CHECK_OK(aclrtSetDevice(1));
        CHECK_OK(aclrtResetDevice(1));
    });
    CHECK(returns(reset));
    latches.released.open();
    CHECK(returns(destroyed));
}

// A task that leaves late frees its workspace after the reset of its device.
void a_late_free_frees_no_new_block() {
    constexpr std::size_t kBytes = 4096;
    CHECK_OK(aclrtSetDevice(1));
    Lock lock = Simulator::get().core.acquire();
    aclsim::Memory &memory = Simulator::get().memory;
    const auto allocate = [&memory]() REQUIRES(aclsim::engine_lock) {
        return own_block(memory, 1, memory.space().allocate_internal(1, kBytes));
    };
    InternalBlock late = allocate();
    CHECK(late != nullptr);
    lock.unlock();
    CHECK_OK(aclrtResetDevice(1));
    CHECK_OK(aclrtSetDevice(1));
    lock.lock();
    InternalBlock successor = allocate();
    CHECK(successor == late);
    late.reset();
    CHECK(memory.space().device(1).live_blocks() == 1);
    successor.reset();
    CHECK(memory.space().device(1).live_blocks() == 0);
    lock.unlock();
    CHECK_OK(aclrtResetDevice(1));
    lock.lock();
}

}  // namespace

int main() {
    const Watchdog watchdog("deferred_work_test", std::chrono::seconds(100));
    CHECK_OK(aclInit(nullptr));
    a_call_without_work_to_wait_for_returns_at_once();
    a_call_waits_for_older_work_only();
    a_call_waits_for_consequences_of_older_work();
    a_reset_waits_for_no_work_of_other_devices();
    a_late_free_frees_no_new_block();
    return 0;
}
