// What an event becomes in a captured graph: an edge of its own, whatever happens to the event afterwards
// (graphs_kernels.md section B2).
#pragma once

#include <cstdint>

#include "engine/core.h"
#include "tasks/event.h"

namespace aclsim {

class Capture;
class ContextStream;

// The event while its capture lasts. Guarded by the engine's lock.
struct CapturedEvent {
    Capture &capture;
    const Ref<Event> event;
    Ref<Signal> signal{};                     // of its newest record
    const ContextStream *recorder = nullptr;  // the user's stream
    const Stream *stream = nullptr;           // the hidden one
    std::uint64_t sequence = 0;
    bool is_awaited = false;
};

// Engine lock held; the stream, a hidden one, takes the tasks. Without an event they are the runtime's own.
void submit_edge_begin(Core &core, Stream &stream, const Ref<Signal> &signal, const Event *event) REQUIRES(engine_lock);
void submit_edge_end(Core &core, Stream &stream, const Ref<Signal> &signal, const Event *event, std::uint32_t timeout_s)
    REQUIRES(engine_lock);

// The edge that the task begins, or ends; nullptr: it does not.
const Signal *edge_begun_by(const Task &task);
const Signal *edge_ended_by(const Task &task);

}  // namespace aclsim
