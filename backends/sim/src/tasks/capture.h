// SPDX-License-Identifier: Apache-2.0
// Capture of a graph: the participating streams, the events they exchange, and the check that they are joined at the
// end (graphs_kernels.md sections B1 to B3).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "machine/machine.h"
#include "tasks/captured_event.h"
#include "tasks/graph.h"
#include "tasks/task_group.h"

namespace aclsim {

// Redirect of every participating stream. Guarded by the engine lock.
class Capture final : public TaskRedirect {
  public:
    Capture(Machine &machine, Ref<Graph> graph, aclmdlRICaptureMode mode);
    Capture *as_capture() override { return this; }
    // Adds the origin, or a stream that waits for an event of the capture.
    void add(ContextStream &stream) REQUIRES(engine_lock);
    ContextStream &take(ContextStream &stream, bool is_kernel) override REQUIRES(engine_lock);
    void require_usable(const ContextStream &stream) const override REQUIRES(engine_lock);

    // --- events; a failure makes the capture invalid ---------------------------------------------------------------
    void record(Lock &lock, ContextStream &stream, Event &event) REQUIRES(engine_lock);
    // Requires the newest record of the event to be in this capture.
    void wait(Lock &lock, ContextStream &stream, Event &event, std::uint32_t timeout_s) REQUIRES(engine_lock);
    // Records or waits for an event outside the capture. Fails if the graph already uses the event this way; the
    // capture stays valid.
    void exchange(Lock &lock, ContextStream &stream, Event &event, ExternalEvent::Use use) REQUIRES(engine_lock);

    // --- task groups: one at a time in a graph ---------------------------------------------------------------------
    void begin_group(ContextStream &stream) REQUIRES(engine_lock);
    Ref<TaskGroup> end_group(ContextStream &stream) REQUIRES(engine_lock);

    // --- the end ---------------------------------------------------------------------------------------------------
    void invalidate() REQUIRES(engine_lock);
    // Checks for every failure of aclmdlRICaptureEnd, in the documented order.
    void require_complete() const REQUIRES(engine_lock);
    // Restores all streams and events to their state before the capture.
    void end() REQUIRES(engine_lock);
    bool has_ended() const REQUIRES(engine_lock) { return has_ended_; }

    const ContextStream &origin() const REQUIRES(engine_lock) { return *branches_.front().stream; }
    const Ref<Graph> graph;
    const aclmdlRICaptureMode mode;
    const std::uint32_t thread;  // thread that began the capture

  private:
    class LeavingEvents;
    struct Branch {
        // Outlives the capture: aclrtDestroyStream refuses it, and the end of its context ends the capture first.
        ContextStream *stream;
        ContextStream *hidden;  // stream that currently receives the tasks
    };
    struct OpenGroup {
        const ContextStream *stream;
        std::vector<TaskGroup::Range> ranges;  // the last one is open
        aclError failure = ACL_SUCCESS;
    };
    Branch &branch_of(const ContextStream &stream) REQUIRES(engine_lock);
    void make_room(Branch &branch) REQUIRES(engine_lock);
    [[noreturn]] void interrupt_group(aclError reason) REQUIRES(engine_lock);
    CapturedEvent &captured(Event &event) REQUIRES(engine_lock);
    void require_joined() const REQUIRES(engine_lock);

    Machine &machine_;
    std::vector<Branch> branches_ GUARDED_BY(engine_lock);  // origin first
    std::map<const Event *, CapturedEvent> events_ GUARDED_BY(engine_lock);
    std::unique_ptr<OpenGroup> group_ GUARDED_BY(engine_lock);
    bool has_ended_ GUARDED_BY(engine_lock) = false;
    bool has_origin_joined_ GUARDED_BY(engine_lock) = false;  // the origin has waited for another stream of the capture
    const char *broken_by_ GUARDED_BY(engine_lock) = nullptr;  // call that invalidated the capture
};

// Returns the capture in which the stream takes part, or nullptr.
inline Capture *capture_of(const ContextStream &stream) REQUIRES(engine_lock) {
    return stream.is_redirected ? stream.redirect()->as_capture() : nullptr;
}

// Fails for a stream that is not scheduled by the host.
void require_capturable_flags(const ContextStream &stream);

}  // namespace aclsim
