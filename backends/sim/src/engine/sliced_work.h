// SPDX-License-Identifier: Apache-2.0
// Work that needs the engine lock and grows with a size: done in slices, between which other threads get the lock.
#pragma once

#include <memory>
#include <new>
#include <utility>

#include "engine/core.h"
#include "engine/deferred_work.h"

namespace aclsim {

class SlicedWork : public DeferredWork {
  public:
    explicit SlicedWork(Core &core) : core_(core) {}
    // Returns true if more is left to do.
    virtual bool do_slice() REQUIRES(engine_lock) = 0;

    void work() noexcept final {}
    void finish() final REQUIRES(engine_lock) { has_more_ = do_slice(); }
    bool has_more() const final { return has_more_; }
    bool moves_streams() const final { return true; }

  protected:
    // Returns true if a slice that has done so much is long enough.
    bool is_enough(std::size_t done) const REQUIRES(engine_lock) { return core_.are_many(done); }

    Core &core_;

  private:
    bool has_more_ = false;
};

// Defers work of which a slice is done. Cannot fail: without memory to defer it, the rest is done now.
template <class Work>
void defer_rest(Core &core, Work work) REQUIRES(engine_lock) {
    try {
        core.defer(std::make_unique<Work>(std::move(work)));
    } catch (const std::bad_alloc &) {
        while (work.do_slice()) {
        }
    }
}

// Does one slice now, and defers the rest to the end of the call. The caller pumps.
template <class Work>
void do_in_slices(Core &core, Work work) REQUIRES(engine_lock) {
    if (work.do_slice()) {
        defer_rest(core, std::move(work));
    }
}

}  // namespace aclsim
