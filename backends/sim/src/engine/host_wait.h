// SPDX-License-Identifier: Apache-2.0
// Wait of a program thread inside the simulator: until a deadline or, without one, until the awaited event happens.
// Long waits without a deadline are reported once, with their reasons.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>

#include "abi/acl.h"
#include "engine/clock.h"
#include "engine/facts.h"
#include "engine/thread.h"
#include "support/call_place.h"

namespace aclsim {

class Core;
class Stream;

using InterruptCheck = std::int32_t (*)();  // registered by aclsimInterruptCheck

// Decides if a thread continues to wait.
class WaitCheck {
  public:
    virtual ~WaitCheck() = default;
    // Returns the time of the next look, or throws a Failure, which ends the wait. The first look is at the beginning
    // of the wait.
    virtual Time look(Lock &lock) REQUIRES(engine_lock) = 0;
};

// Asks the program if the thread is interrupted.
class InterruptPoll final : public WaitCheck {
  public:
    // `awaited` names the object of the wait; `code` is the error code of an interrupted call.
    InterruptPoll(Core &core, aclError code, std::string awaited)
        : core_(core), code_(code), awaited_(std::move(awaited)) {}
    Time look(Lock &lock) override REQUIRES(engine_lock);

  private:
    Core &core_;
    const aclError code_;
    const std::string awaited_;
};

// Call of the API that keeps other threads waiting until it returns.
struct BlockingCall {
    const char *function = nullptr;
    std::thread::id thread{};  // no thread: the call has returned

    bool blocks_caller() const { return thread != std::thread::id() && thread != std::this_thread::get_id(); }
};

// Scope of a wait, on the stack of the waiting thread. Construction and destruction require the engine lock.
class HostWait {
  public:
    // Waits for a task of a stream, or for something else, which `awaited` names. Given a check, sleep() fails when the
    // check does.
    HostWait(Core &core, const Stream &stream, std::uint64_t sequence, Time deadline, WaitCheck *check = nullptr)
        REQUIRES(engine_lock);
    HostWait(Core &core, Outside outside, const char *awaited, Time deadline, WaitCheck *check = nullptr)
        REQUIRES(engine_lock);
    // Waits for the return of a call of another thread.
    HostWait(Core &core, const BlockingCall &call, WaitCheck *check) REQUIRES(engine_lock);
    ~HostWait() REQUIRES(engine_lock);
    HostWait(const HostWait &) = delete;
    HostWait &operator=(const HostWait &) = delete;

    // Sleeps until a change is notified or the time for another look has come. Returns false if the deadline has
    // passed.
    bool sleep(Lock &lock, std::condition_variable_any &changed, Time look_again = kNever) REQUIRES(engine_lock);
    // Passes a text to the thread, which writes it to standard error, once per wait: without the lock, so that a slow
    // reader blocks no other thread. Called by the waiting thread itself.
    void explain(const std::string &text) REQUIRES(engine_lock);
    // Notes that a deadlock with this wait was reported, and whether the wait is to fail.
    void note_deadlock(bool is_hopeless) REQUIRES(engine_lock);
    // Fails a wait that is to fail because it can never end.
    void fail_if_hopeless() const REQUIRES(engine_lock);

    // Behind another call, the cause and the deadline are those of the present wait of that call.
    const Cause &cause() const REQUIRES(engine_lock) { return decisive().cause_; }
    bool has_deadline() const REQUIRES(engine_lock) { return decisive().deadline_ != kNever; }
    const char *awaited() const { return awaited_; }          // nullptr: a task, or the return of a call
    const BlockingCall *blocker() const { return blocker_; }  // nullptr: no call
    // Returns the present wait of the blocking call, which need not be asleep; nullptr if it does not wait.
    const HostWait *wait_of_blocker() const REQUIRES(engine_lock);
    const char *function() const { return function_; }
    std::thread::id thread() const { return thread_; }
    std::uint64_t thread_identifier() const { return thread_identifier_; }
    std::uint32_t thread_number() const { return thread_number_; }
    const CallPlace *place() const { return place_; }  // place of the call; nullptr unless wanted
    bool is_explained() const { return look_at_ == kNever; }
    bool is_asleep() const { return is_asleep_; }                // otherwise the thread helps or runs a callback
    bool is_of_own_thread() const { return is_of_own_thread_; }  // started by the simulator

  private:
    HostWait(Core &core, const Cause &cause, const char *awaited, const BlockingCall *blocker, Time deadline,
             WaitCheck *check) REQUIRES(engine_lock);
    const HostWait &decisive() const REQUIRES(engine_lock);
    bool look_and_sleep(Lock &lock, std::condition_variable_any &changed, Time look_again) REQUIRES(engine_lock);
    bool look(Lock &lock) REQUIRES(engine_lock);
    void check_before_look(Time now);
    void write(Lock &lock) REQUIRES(engine_lock);

    Core &core_;
    const Cause cause_;
    const char *const awaited_;
    const BlockingCall *const blocker_;
    const char *const function_;  // call that waits
    const std::thread::id thread_ = std::this_thread::get_id();
    const CallPlace *const place_;
    const std::uint64_t thread_identifier_ = aclsim::thread_identifier();
    const std::uint32_t thread_number_ = aclsim::thread_number();  // enrols the thread
    const Time deadline_;
    const bool is_of_own_thread_;
    WaitCheck *const check_;
    Time check_at_;
    Time explain_at_;
    Time look_at_;  // next look for a deadlock; kNever: no more looks
    std::chrono::milliseconds look_interval_;
    std::uint64_t looked_at_ = 0;  // the engine's changes at the last look
    bool looks_again_ = false;     // even without changes
    bool is_asleep_ = false;
    bool is_hopeless_ = false;
    std::string text_;  // to be written
};

// Sleeps until `end`. If the program interrupts the sleep, the call fails with `code`; `awaited` names the object of
// the wait.
void sleep_until(Core &core, Lock &lock, Time end, aclError code, const char *awaited) REQUIRES(engine_lock);

}  // namespace aclsim
