// SPDX-License-Identifier: Apache-2.0
// Records and waits of a notify in the order of their calls. The race check binds a wait to the records that may
// satisfy it by that order: which of them do so in a run depends on the schedule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "abi/acl.h"
#include "engine/call_order.h"
#include "engine/facts.h"
#include "engine/lock.h"

namespace aclsim {

class Stream;

std::uint32_t changed(std::uint32_t value, const aclrtCntNotifyRecordInfo &info);
bool is_satisfied(std::uint32_t value, const aclrtCntNotifyWaitInfo &info);

class CalledRecords {
  public:
    CalledRecords() = default;
    ~CalledRecords();
    CalledRecords(const CalledRecords &) = delete;
    CalledRecords &operator=(const CalledRecords &) = delete;

    // Records of which any that add up to `needed` satisfy a wait.
    struct Binding {
        std::vector<Share> shares;
        std::uint64_t needed = 0;
    };

    // Note a call for the stream's next task.
    void note_record(CallOrder &order, const Stream &stream, const aclrtCntNotifyRecordInfo &info)
        REQUIRES(engine_lock);
    void note_wait(CallOrder &order, const Stream &stream, const aclrtCntNotifyWaitInfo &info) REQUIRES(engine_lock);
    // Returns nullptr if the records called so far would not satisfy the wait in that order, or the order has ended.
    const Binding *binding_of(const Point &wait) const REQUIRES(engine_lock);

    void note_passed(const Point &wait) REQUIRES(engine_lock);
    // Notes that a wait is over. One that did not pass ends the order: it was taken to be satisfied.
    void note_over(const Point &wait) REQUIRES(engine_lock);
    void forget_records() REQUIRES(engine_lock) { records_.clear(); }
    // Ends the order: calls of other processes, executions of what a model keeps, and tasks that are dropped have no
    // place in it.
    void end_order() REQUIRES(engine_lock) {
        has_order_ = false;
        records_.clear();
        waits_.clear();
    }

  private:
    struct Record {
        Point task;
        aclrtCntNotifyRecordInfo info;
    };
    struct Wait {
        Point task;
        aclrtCntNotifyWaitInfo info;
        std::optional<Binding> binding;
    };
    bool is_in_order(const Stream &stream) REQUIRES(engine_lock);
    void add(const Record &record) REQUIRES(engine_lock);
    bool try_to_bind(const Point &task) REQUIRES(engine_lock);
    std::optional<Binding> bind(const aclrtCntNotifyWaitInfo &wait) const REQUIRES(engine_lock);
    Binding bind_to_any(std::size_t newest, const aclrtCntNotifyWaitInfo &wait) const REQUIRES(engine_lock);
    std::size_t first_in_effect() const REQUIRES(engine_lock);
    void shorten() REQUIRES(engine_lock);

    std::vector<Record> records_ GUARDED_BY(engine_lock);  // since the newest wait that cleared the number
    std::vector<Wait> waits_ GUARDED_BY(engine_lock);      // which are not over
    CallOrder *order_ GUARDED_BY(engine_lock) = nullptr;   // from the first call on
    bool has_order_ GUARDED_BY(engine_lock) = true;
};

}  // namespace aclsim
