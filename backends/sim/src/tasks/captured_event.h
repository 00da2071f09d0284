// SPDX-License-Identifier: Apache-2.0
// Representation of an event in a captured graph: a separate edge, independent of later operations on the event
// (graphs_kernels.md section B2).
#pragma once

#include <cstdint>

#include "engine/core.h"
#include "tasks/event.h"

namespace aclsim {

class Capture;
class ContextStream;

// State of an event during its capture. Guarded by the engine lock.
struct CapturedEvent {
    Capture &capture;
    const Ref<Event> event;
    Ref<Signal> signal{};                     // signal of the newest record
    const ContextStream *recorder = nullptr;  // stream of the program
    const Stream *stream = nullptr;           // hidden stream
    std::uint64_t sequence = 0;
    bool is_awaited = false;
};

// Requires the engine lock. Submits to a hidden stream. Without an event, the tasks belong to the runtime.
void submit_edge_begin(Core &core, Stream &stream, const Ref<Signal> &signal, const Event *event) REQUIRES(engine_lock);
void submit_edge_end(Core &core, Stream &stream, const Ref<Signal> &signal, const Event *event, std::uint32_t timeout_s)
    REQUIRES(engine_lock);

// Returns the edge that the task begins or ends, or nullptr.
const Signal *edge_begun_by(const Task &task);
const Signal *edge_ended_by(const Task &task);

}  // namespace aclsim
