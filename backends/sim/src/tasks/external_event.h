// SPDX-License-Identifier: Apache-2.0
// Events that a captured graph exchanges with streams outside it (graphs_kernels.md section B2.8). Each launch binds
// them anew.
#pragma once

#include <memory>
#include <vector>

#include "tasks/event.h"
#include "tasks/model.h"

namespace aclsim {

// Record or wait in a graph, shared by its task and the graph. Guarded by the engine lock.
struct ExternalEvent {
    enum class Use : std::uint8_t { Record, Wait };
    const Ref<Event> event;
    const Use use;
    std::unique_ptr<Task> record{};  // record of the current execution
    Ref<Signal> awaited{};           // signal to wait for in the current execution; nullptr: none
};
using ExternalEvents = std::vector<std::shared_ptr<ExternalEvent>>;

// Requires the engine lock, and a hidden stream that has admitted a task.
void submit_external(Core &core, Stream &stream, const std::shared_ptr<ExternalEvent> &event) REQUIRES(engine_lock);

// Binds the events of a graph for a launch that is the stream's next task. Returns nullptr if there are none.
std::unique_ptr<LaunchBinding> bind_external(Core &core, Stream &launching, const ExternalEvents &events)
    REQUIRES(engine_lock);

}  // namespace aclsim
