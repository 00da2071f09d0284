// The capture of a graph: which streams take part, which events they exchange, and whether they are joined at its end
// (graphs_kernels.md sections B1 to B3).
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

// The redirect of every stream that takes part. Guarded by the engine's lock.
class Capture final : public TaskRedirect {
  public:
    Capture(Machine &machine, Ref<Graph> graph, aclmdlRICaptureMode mode);
    Capture *as_capture() override { return this; }
    // The origin, or a stream that waits for an event of the capture.
    void add(ContextStream &stream) REQUIRES(engine_lock);
    ContextStream &take(ContextStream &stream, bool is_kernel) override REQUIRES(engine_lock);
    void require_usable(const ContextStream &stream) const override REQUIRES(engine_lock);

    // --- events; a failure makes the capture invalid ---------------------------------------------------------------
    void record(Lock &lock, ContextStream &stream, Event &event) REQUIRES(engine_lock);
    // The newest record of the event is in this capture.
    void wait(Lock &lock, ContextStream &stream, Event &event, std::uint32_t timeout_s) REQUIRES(engine_lock);
    // With a stream outside. Fails for an event that the graph uses so already; the capture stays valid.
    void exchange(Lock &lock, ContextStream &stream, Event &event, ExternalEvent::Use use) REQUIRES(engine_lock);

    // --- task groups: one at a time in a graph ---------------------------------------------------------------------
    void begin_group(ContextStream &stream) REQUIRES(engine_lock);
    Ref<TaskGroup> end_group(ContextStream &stream) REQUIRES(engine_lock);

    // --- the end ---------------------------------------------------------------------------------------------------
    void invalidate() REQUIRES(engine_lock);
    // Throws what aclmdlRICaptureEnd fails with, in the order of its checks.
    void require_complete() const REQUIRES(engine_lock);
    // All streams and events are again what they were before.
    void end() REQUIRES(engine_lock);
    bool has_ended() const REQUIRES(engine_lock) { return has_ended_; }

    const ContextStream &origin() const REQUIRES(engine_lock) { return *branches_.front().stream; }
    const Ref<Graph> graph;
    const aclmdlRICaptureMode mode;
    const std::uint32_t thread;  // that has begun it

  private:
    class LeavingEvents;
    struct Branch {
        ContextStream *stream;  // stays: DestroyStream refuses it, and the end of its context ends the capture first
        ContextStream *hidden;  // that takes its tasks now
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
    std::vector<Branch> branches_ GUARDED_BY(engine_lock);  // the origin's is the first
    std::map<const Event *, CapturedEvent> events_ GUARDED_BY(engine_lock);
    std::unique_ptr<OpenGroup> group_ GUARDED_BY(engine_lock);
    bool has_ended_ GUARDED_BY(engine_lock) = false;
    bool has_origin_joined_ GUARDED_BY(engine_lock) = false;   // it has waited for another stream of the capture
    const char *broken_by_ GUARDED_BY(engine_lock) = nullptr;  // the call that made it invalid
};

// The capture that the stream takes part in, or nullptr.
inline Capture *capture_of(const ContextStream &stream) REQUIRES(engine_lock) {
    return stream.is_redirected ? stream.redirect()->as_capture() : nullptr;
}

// Fails for a stream that the host does not schedule.
void require_capturable_flags(const ContextStream &stream);

}  // namespace aclsim
