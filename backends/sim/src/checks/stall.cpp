#include "checks/stall.h"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#ifdef __linux__
#include <dirent.h>
#endif

#include "machine/context.h"
#include "support/config.h"

namespace aclsim {
namespace {

// What a thread does that runs a task of this kind; the others need no thread.
std::string running(TaskKind kind) {
    switch (kind) {
        case TaskKind::HostFunction:
            return "a host function";
        case TaskKind::Reduce:
            return "a reduction";
        case TaskKind::Fill:
            return "a fill of memory";
        case TaskKind::Cmo:
            return "a cache operation";
        case TaskKind::Operator:
            return "an operator";
        default:
            return "a copy";
    }
}

std::string doing(const Stream &stream, const Task &head) REQUIRES(engine_lock) {
    switch (stream.state) {
        case Stream::State::Held:
            return "is held by aclsimHold";
        case Stream::State::Ready:
            return "waits for a thread to run " + running(head.kind());
        case Stream::State::Running:
            return "runs " + running(head.kind());
        default:
            return "waits for " + head.awaited();
    }
}

std::string name_of(const Stream &stream) {
    return "stream " + std::to_string(stream.id) + " of device " + std::to_string(device_of(stream).user_id);
}

std::string name_of(const Stream &stream, std::uint64_t sequence) {
    return "task " + std::to_string(sequence) + " of " + name_of(stream);
}

std::string line_about(const Stream &stream) REQUIRES(engine_lock) {
    const Task *head = stream.queue.front();
    if (head != nullptr) {
        return "  " + name_of(stream) + ", at task " + std::to_string(head->sequence) + " of " +
               std::to_string(stream.submitted) + ", " + doing(stream, *head) + "\n";
    }
    const bool is_leaving = stream.destroyer != std::thread::id();
    return is_leaving ? "  " + name_of(stream) + " is being destroyed by another thread\n" : "";
}

std::string heading(const HostWait &wait) { return "ascend_rt simulator: " + std::string(wait.function()); }

std::string what_is_awaited(const HostWait &wait) {
    const Cause &cause = wait.cause();
    return cause.stream == nullptr ? wait.awaited() : name_of(*cause.stream, cause.sequence);
}

Causes causes_of(const Stream &stream) REQUIRES(engine_lock) {
    Causes causes;
    stream.queue.front()->add_causes(causes);
    return causes;
}

// How many threads the process has; 0: that cannot be found out.
std::size_t count_threads() {
    std::size_t count = 0;
#ifdef __linux__
    if (DIR *tasks = opendir("/proc/self/task")) {
        while (const dirent *entry = readdir(tasks)) {
            count += entry->d_name[0] != '.' ? 1 : 0;
        }
        closedir(tasks);
    }
#endif
    return count;
}

// What can still move: found from what certainly can, along what waits for it. What is left at the end waits for ever,
// whatever happens elsewhere. A thread of the program that is not inside the simulator may do anything, but it cannot
// make a submitted task overtake another one.
class Mobility {
  public:
    explicit Mobility(Core &core) : core_(core) {}

    bool can_end(const HostWait &wait) REQUIRES(engine_lock) {
        add(wait);
        spread();
        return is_mobile(wait);
    }
    bool is_mobile(const Stream &stream) const {
        const auto found = nodes_.find(&stream);
        return found == nodes_.end() || found->second.is_mobile;
    }

  private:
    struct Node {
        Causes causes;
        bool is_mobile = false;
    };

    // All threads of the program but those that wait here without a limit.
    bool has_free_host() const REQUIRES(engine_lock) {
        if (!has_free_host_) {
            has_free_host_ = find_free_host();
        }
        return *has_free_host_;
    }
    bool find_free_host() const REQUIRES(engine_lock) {
        const std::size_t threads = count_threads();
        std::size_t waiting = 0;
        for (const HostWait *wait : core_.host_waits()) {
            waiting += wait->has_deadline() || wait->is_of_own_thread() ? 0 : 1;
        }
        return threads == 0 || threads > waiting + core_.own_threads();
    }

    void add(const HostWait &wait) REQUIRES(engine_lock) {
        if (wait.cause().stream != nullptr) {
            add(*wait.cause().stream);
        }
    }

    // With all that it waits for, one after the other: chains are long.
    void add(const Stream &first) REQUIRES(engine_lock) {
        std::vector<const Stream *> open{&first};
        while (!open.empty()) {
            const Stream &stream = *open.back();
            open.pop_back();
            if (nodes_.count(&stream) != 0) {
                continue;
            }
            Node &node = nodes_[&stream];
            order_.push_back(&node);
            if (const HostWait *wait = wait_of_runner(stream)) {
                node.causes.list.push_back(wait->cause());
            } else if (stream.state == Stream::State::Blocked && !core_.timer().is_armed(stream)) {
                node.causes = causes_of(stream);
            } else {
                node.is_mobile = true;
            }
            for (const Cause &cause : node.causes.list) {
                if (cause.stream != nullptr && !cause.stream->is_done(cause.sequence)) {
                    open.push_back(cause.stream);
                }
            }
        }
    }

    // A host function that waits for the device moves when its wait ends.
    const HostWait *wait_of_runner(const Stream &stream) const REQUIRES(engine_lock) {
        if (stream.state != Stream::State::Running) {
            return nullptr;
        }
        const auto &waits = core_.host_waits();
        const auto found = std::find_if(waits.begin(), waits.end(), [&](const HostWait *wait) REQUIRES(engine_lock) {
            return wait->thread() == stream.runner && !wait->has_deadline();
        });
        return found == waits.end() ? nullptr : *found;
    }

    bool is_mobile(const Cause &cause) const REQUIRES(engine_lock) {
        switch (cause.outside) {
            case Outside::None:
                return cause.stream->is_done(cause.sequence) || is_mobile(*cause.stream);
            case Outside::Host:
                return has_free_host();
            case Outside::Anybody:
                return has_free_host() || has_mobile_stream();
            default:
                return true;
        }
    }
    bool is_mobile(const HostWait &wait) const REQUIRES(engine_lock) {
        return wait.has_deadline() || is_mobile(wait.cause());
    }

    // A stream outside the picture may have tasks that nobody waits for.
    bool has_mobile_stream() const REQUIRES(engine_lock) {
        for (const auto &stream : core_.registry().all<Stream>()) {
            if (stream->queue.front() != nullptr && nodes_.count(stream.get()) == 0) {
                return true;
            }
        }
        return std::any_of(nodes_.begin(), nodes_.end(), [](const auto &it) { return it.second.is_mobile; });
    }

    void spread() {
        for (bool has_changed = true; has_changed;) {
            has_changed = false;
            for (auto node = order_.rbegin(); node != order_.rend(); ++node) {
                if (!(*node)->is_mobile && is_enough((*node)->causes)) {
                    (*node)->is_mobile = has_changed = true;
                }
            }
        }
    }
    bool is_enough(const Causes &causes) const {
        const auto moves = [this](const Cause &cause) REQUIRES(engine_lock) { return is_mobile(cause); };
        return causes.list.empty() || (causes.any ? std::any_of(causes.list.begin(), causes.list.end(), moves)
                                                  : std::all_of(causes.list.begin(), causes.list.end(), moves));
    }

    Core &core_;
    mutable std::optional<bool> has_free_host_;  // known when somebody asks
    std::map<const Stream *, Node> nodes_;
    std::vector<Node *> order_;  // a stream comes before what it waits for, so that one pass backwards mostly does
};

// The chain of waits, from the stream to what keeps it, several lines; only along what can never move, if there is such
// a thing.
std::string chain_from(const Stream &first, const Mobility *stuck) REQUIRES(engine_lock) {
    std::string text;
    std::vector<const Stream *> seen;
    for (const Stream *at = &first; at != nullptr;) {
        if (std::find(seen.begin(), seen.end(), at) != seen.end()) {
            return text + (stuck == nullptr ? "" : "  which waits for itself: a deadlock\n");
        }
        seen.push_back(at);
        text += line_about(*at);
        const Causes causes = at->state == Stream::State::Blocked ? causes_of(*at) : Causes();
        const auto next = std::find_if(causes.list.begin(), causes.list.end(), [&](const Cause &cause) {
            return cause.stream != nullptr && !cause.stream->is_done(cause.sequence) &&
                   (stuck == nullptr || !stuck->is_mobile(*cause.stream));
        });
        at = next == causes.list.end() ? nullptr : next->stream;
    }
    return text + (stuck == nullptr ? "" : "  and nothing is left that could end that: a deadlock\n");
}

std::string chain_of(const HostWait &wait, const Mobility *stuck) REQUIRES(engine_lock) {
    return wait.cause().stream == nullptr ? "" : chain_from(*wait.cause().stream, stuck);
}

}  // namespace

void Stall::explain_stall(HostWait &wait) {
    Mobility mobility(core_);
    const bool is_stuck = !mobility.can_end(wait);
    wait.explain(heading(wait) + " has waited " + std::to_string(config().stall.count()) + " ms for " +
                 what_is_awaited(wait) + "\n" + chain_of(wait, is_stuck ? &mobility : nullptr));
}

void Stall::look_for_deadlock(HostWait &wait) {
    Mobility mobility(core_);
    if (!mobility.can_end(wait)) {
        wait.explain(heading(wait) + " waits for ever for " + what_is_awaited(wait) + "\n" + chain_of(wait, &mobility));
    }
}

}  // namespace aclsim
