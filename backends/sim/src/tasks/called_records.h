// SPDX-License-Identifier: Apache-2.0
// Records and waits of a notify in the order of their calls. The race check binds a wait to the records that may
// satisfy it by that order: which of them does so in a run depends on the schedule.
#pragma once

#include <vector>

#include "engine/facts.h"
#include "engine/lock.h"

namespace aclsim {

class Stream;

class CalledRecords {
  public:
    // Note a call for the stream's next task. The second returns the records that may satisfy the wait, one of each
    // stream. The list is empty if no record precedes the wait, or the order has ended.
    void note_record(const Stream &stream) REQUIRES(engine_lock);
    std::vector<Point> note_wait(const Stream &stream) REQUIRES(engine_lock);
    // Returns the first record that was called after a wait with none before it.
    std::vector<Point> after(const Point &wait) const REQUIRES(engine_lock);

    void forget_record(const Point &record) REQUIRES(engine_lock);
    void forget_wait(const Point &wait) REQUIRES(engine_lock);
    void forget_records() REQUIRES(engine_lock) { records_.clear(); }
    // Ends the order: calls of other processes, and executions of what a model keeps, have no place in it.
    void end_order() REQUIRES(engine_lock) { has_order_ = false; }

  private:
    // Open wait that no record was called before, and the first one after it.
    struct Ahead {
        Point wait;
        Point record;
    };
    bool is_in_order(const Stream &stream) REQUIRES(engine_lock);
    std::vector<Ahead>::const_iterator find_ahead(const Point &wait) const REQUIRES(engine_lock);

    std::vector<Point> records_ GUARDED_BY(engine_lock);  // since the newest wait, the first of each stream
    std::vector<Ahead> ahead_ GUARDED_BY(engine_lock);
    bool has_order_ GUARDED_BY(engine_lock) = true;
};

}  // namespace aclsim
