// Events that a captured graph exchanges with the streams outside (graphs_kernels.md section B2.8). What they stand for
// is known when the graph is launched, and is different for each launch.
#pragma once

#include <memory>
#include <vector>

#include "tasks/event.h"
#include "tasks/model.h"

namespace aclsim {

// A record or a wait in a graph, which its task shares with the graph. Guarded by the engine's lock.
struct ExternalEvent {
    enum class Use : std::uint8_t { Record, Wait };
    const Ref<Event> event;
    const Use use;
    std::unique_ptr<Task> record{};  // of the present execution
    Ref<Signal> awaited{};           // the same; nullptr: there is nothing to wait for
};
using ExternalEvents = std::vector<std::shared_ptr<ExternalEvent>>;

// Engine lock held; the stream, a hidden one, has admitted a task.
void submit_external(Core &core, Stream &stream, const std::shared_ptr<ExternalEvent> &event) REQUIRES(engine_lock);

// What the events of a graph stand for in a launch that is the stream's next task; nullptr: there are none.
std::unique_ptr<LaunchBinding> bind_external(Core &core, Stream &launching, const ExternalEvents &events)
    REQUIRES(engine_lock);

}  // namespace aclsim
