#include "control/stall.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#ifdef __linux__
#include <dirent.h>
#endif

#include "engine/thread.h"
#include "machine/context.h"
#include "support/config.h"

namespace aclsim {
namespace {

std::string name_of(const Stream &stream) {
    return "stream " + std::to_string(stream.id) + " of device " + std::to_string(device_of(stream).user_id);
}

std::string name_of(const Stream &stream, std::uint64_t sequence) {
    return "task " + std::to_string(sequence) + " of " + name_of(stream);
}

std::string heading(const HostWait &wait) { return "ascend_rt simulator: " + std::string(wait.function()); }

std::string awaited_by(const HostWait &wait) REQUIRES(engine_lock) {
    if (wait.blocker() != nullptr) {
        const HostWait *ahead = wait.wait_of_blocker();
        return std::string(wait.blocker()->function) + " of another thread" +
               (ahead == nullptr ? "" : ", which waits for " + awaited_by(*ahead));
    }
    const Cause &cause = wait.cause();
    if (cause.stream == nullptr) {
        return wait.awaited();
    }
    return cause.stream->is_done(cause.sequence) ? "the end of " + name_of(*cause.stream)
                                                 : name_of(*cause.stream, cause.sequence);
}

// Returns the wait, without a time limit, of the program code that the stream runs; the stream moves when that wait
// ends. Returns nullptr if there is none.
const HostWait *wait_of_runner(const Core &core, const Stream &stream) REQUIRES(engine_lock) {
    const auto &waits = core.host_waits();
    const auto found = std::find_if(waits.begin(), waits.end(), [&](const HostWait *wait) REQUIRES(engine_lock) {
        return wait->is_asleep() && wait->thread() == stream.runner && !wait->has_deadline();
    });
    return stream.state != Stream::State::Running || found == waits.end() ? nullptr : *found;
}

std::string doing(const Core &core, const Stream &stream, Task &head) REQUIRES(engine_lock) {
    const HostWait *wait = wait_of_runner(core, stream);
    switch (stream.state) {
        case Stream::State::Idle:
            return stream.is_active() ? "is stopped by a failure" : "keeps its tasks for a model";
        case Stream::State::Held:
            return stream.timing.is_awaited ? "starts when the device would, by the profile"
                   : core.is_held()         ? "is held by aclsimHold"
                                            : "is about to go on";
        case Stream::State::Ready:
            return std::string("waits for a thread to run ") + head.info().running;
        case Stream::State::Running:
            return std::string("runs ") + head.info().running +
                   (wait == nullptr ? ""
                                    : ", where " + std::string(wait->function()) + " waits for " + awaited_by(*wait));
        case Stream::State::Blocked:
            break;
    }
    return "waits for " + head.as_blocking()->awaited();
}

std::string line_about(const Core &core, const Stream &stream) REQUIRES(engine_lock) {
    Task *const head = stream.queue.front();
    if (head != nullptr) {
        return "  " + name_of(stream) + ", at task " + std::to_string(head->sequence) + " of " +
               std::to_string(stream.submitted) + ", " + doing(core, stream, *head) + "\n";
    }
    const bool is_leaving = stream.destroyer != std::thread::id();
    return "  " + name_of(stream) + (is_leaving ? " is being destroyed by another thread" : " has done its tasks") +
           "\n";
}

// Returns the number of threads of the process; 0 if unknown.
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

// Determines the streams that can still move: first those that certainly can, then those that wait for one of these,
// and so on. All others wait forever, regardless of events elsewhere. A thread of the program that is not inside the
// simulator may do anything, but it cannot make a submitted task overtake another one.
class Mobility {
  public:
    // `threads` are all threads that may call the library, as named by the program; empty if it does not name them.
    Mobility(Core &core, const HostWait &wait, std::vector<aclsimThread> threads = {}) REQUIRES(engine_lock)
        : core_(core), wait_(wait), threads_(std::move(threads)) {
        add(wait.cause());
        spread();
        if (!can_end() && asks_for_host_) {
            look_at_host();
        }
    }

    bool can_end() const REQUIRES(engine_lock) { return is_mobile(wait_); }
    bool depends_on_host() const { return asks_for_host_; }
    bool is_mobile(const Stream &stream) const REQUIRES(engine_lock) {
        const auto found = nodes_.find(&stream);
        return found == nodes_.end() || found->second.is_mobile;
    }
    // Returns the causes for which the stream waits; none if it can go on by itself.
    Causes causes_of(const Stream &stream) const REQUIRES(engine_lock) {
        Causes causes;
        if (const HostWait *wait = wait_of_runner(core_, stream)) {
            causes.list.push_back(wait->cause());
        } else if (stream.state == Stream::State::Blocked) {
            stream.queue.front()->as_blocking()->add_causes(causes);
        } else if (const Stream *ahead = ahead_of(stream)) {
            causes.list.push_back({ahead, ahead->queue.front()->sequence});
        }
        return causes;
    }

  private:
    struct Node {
        Causes causes;
        bool is_mobile = false;
    };

    // Returns the running stream that keeps the executor of the stream's head busy, or nullptr. Host functions of a
    // context share one thread.
    const Stream *ahead_of(const Stream &stream) const REQUIRES(engine_lock) {
        Executor *executor = stream.state == Stream::State::Ready ? stream.queue.front()->executor() : nullptr;
        if (executor == nullptr || executor->can_be_helped) {
            return nullptr;
        }
        const auto streams = core_.registry().all<Stream>();
        const auto found =
            std::find_if(streams.begin(), streams.end(), [&](const Ref<Stream> &it) REQUIRES(engine_lock) {
                return it->state == Stream::State::Running && it->queue.front()->executor() == executor;
            });
        return found == streams.end() ? nullptr : found->get();
    }

    void add(const Cause &cause) REQUIRES(engine_lock) {
        if (cause.stream != nullptr && !cause.stream->is_done(cause.sequence)) {
            add(*cause.stream);
        }
    }

    // Adds the stream and all streams that it waits for, directly or indirectly. Not recursive, because chains may be
    // long.
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
            node.causes = causes_of(stream);
            node.is_mobile = node.causes.list.empty() || core_.timer().is_armed(stream);
            for (const Cause &cause : node.causes.list) {
                if (cause.stream != nullptr && !cause.stream->is_done(cause.sequence)) {
                    open.push_back(cause.stream);
                }
            }
        }
    }

    // Determines if any thread of the program can act. A thread that waits here without a time limit can act if its
    // wait can end; and any stream that moves may end a wait or run a function of the program.
    void look_at_host() REQUIRES(engine_lock) {
        host_can_act_ = has_free_thread();
        if (!host_can_act_) {
            for (const HostWait *wait : core_.host_waits()) {
                add(wait->cause());
            }
            for (const auto &stream : core_.registry().all<Stream>()) {
                const bool can_run = stream->is_active() && stream->group.failure == ACL_SUCCESS;
                if (can_run && stream->queue.front() != nullptr) {
                    add(*stream);
                }
            }
            spread();
            const auto &waits = core_.host_waits();
            host_can_act_ =
                std::any_of(nodes_.begin(), nodes_.end(), [](const auto &it) { return it.second.is_mobile; }) ||
                std::any_of(waits.begin(), waits.end(),
                            [this](const HostWait *wait) REQUIRES(engine_lock) { return is_mobile(*wait); });
        }
        spread();
    }

    // Returns the threads of the program that wait here without a time limit.
    std::vector<std::uint64_t> waiting_threads() const REQUIRES(engine_lock) {
        std::vector<std::uint64_t> waiting;
        for (const HostWait *wait : core_.host_waits()) {
            if (wait->is_asleep() && !wait->has_deadline() && !wait->is_of_own_thread()) {
                waiting.push_back(wait->thread_identifier());
            }
        }
        return waiting;
    }

    // Returns true if a thread of the program does not wait, or if that is unknown. Considers the threads that the
    // program names and those that have used the library; if either list is missing, all threads of the process except
    // the simulator's.
    bool has_free_thread() const REQUIRES(engine_lock) {
        std::vector<std::uint64_t> waiting = waiting_threads();
        const auto enrolled = enrolled_threads();
        if (threads_.empty() || !enrolled) {
            const std::size_t threads = count_threads();
            return threads == 0 || threads > waiting.size() + core_.own_threads();
        }
        std::vector<std::uint64_t> able = *enrolled;
        for (const aclsimThread &thread : threads_) {
            (thread.isWaiting != 0 ? waiting : able).push_back(thread.thread);
        }
        return std::any_of(able.begin(), able.end(), [&](std::uint64_t thread) {
            return std::find(waiting.begin(), waiting.end(), thread) == waiting.end();
        });
    }

    bool is_mobile(const Cause &cause) const REQUIRES(engine_lock) {
        switch (cause.outside) {
            case Outside::None:
                return cause.stream->is_done(cause.sequence) || is_mobile(*cause.stream);
            case Outside::Host:
            case Outside::Anybody:
                asks_for_host_ = true;
                return host_can_act_;
            case Outside::Caller:  // it may fall asleep unnoticed
                asks_for_host_ = true;
                return true;
            default:
                return true;
        }
    }
    bool is_mobile(const HostWait &wait) const REQUIRES(engine_lock) {
        return wait.has_deadline() || is_mobile(wait.cause());
    }

    void spread() REQUIRES(engine_lock) {
        for (bool has_changed = true; has_changed;) {
            has_changed = false;
            for (auto node = order_.rbegin(); node != order_.rend(); ++node) {
                if (!(*node)->is_mobile && is_enough((*node)->causes)) {
                    (*node)->is_mobile = has_changed = true;
                }
            }
        }
    }
    bool is_enough(const Causes &causes) const REQUIRES(engine_lock) {
        const auto moves = [this](const Cause &cause) REQUIRES(engine_lock) { return is_mobile(cause); };
        return causes.any ? std::any_of(causes.list.begin(), causes.list.end(), moves)
                          : std::all_of(causes.list.begin(), causes.list.end(), moves);
    }

    Core &core_;
    const HostWait &wait_;
    const std::vector<aclsimThread> threads_;
    mutable bool asks_for_host_ = false;
    bool host_can_act_ = false;
    std::map<const Stream *, Node> nodes_;
    std::vector<Node *> order_;  // streams before those they wait for: one pass backwards is usually enough
};

// Describes the chain of waits, one line per stream, from the stream that the thread waits for to the end of the chain.
// If the wait can never end, follows only streams that can never move.
std::string chain_of(const Core &core, const HostWait &wait, const Mobility &mobility) REQUIRES(engine_lock) {
    const bool is_stuck = !mobility.can_end();
    std::string text;
    std::vector<const Stream *> seen;
    for (const Stream *at = wait.cause().stream; at != nullptr;) {
        if (std::find(seen.begin(), seen.end(), at) != seen.end()) {
            return text + (is_stuck ? "  which waits for itself: a deadlock\n"
                                    : "  which waits for itself, unless something else ends that\n");
        }
        seen.push_back(at);
        text += line_about(core, *at);
        const Causes causes = mobility.causes_of(*at);
        const auto next =
            std::find_if(causes.list.begin(), causes.list.end(), [&](const Cause &cause) REQUIRES(engine_lock) {
                return cause.stream != nullptr && !cause.stream->is_done(cause.sequence) &&
                       (!is_stuck || !mobility.is_mobile(*cause.stream));
            });
        at = next == causes.list.end() ? nullptr : next->stream;
    }
    return text + (is_stuck ? "  and nothing is left that could end that: a deadlock\n" : "");
}

// Explains the wait if it is a deadlock. Returns true if the answer depends on actions of the program's threads.
bool explain_deadlock(Core &core, HostWait &wait, std::vector<aclsimThread> threads) REQUIRES(engine_lock) {
    const Mobility mobility(core, wait, std::move(threads));
    if (!mobility.can_end()) {
        wait.explain(heading(wait) + " waits forever for " + awaited_by(wait) + "\n" + chain_of(core, wait, mobility));
    }
    return mobility.depends_on_host();
}

}  // namespace

void Stall::explain_stall(HostWait &wait) {
    wait.explain(heading(wait) + " has waited " + std::to_string(config().stall.count()) + " ms for " +
                 awaited_by(wait) + "\n" + chain_of(core_, wait, Mobility(core_, wait)));
}

// Repeats the query while the list is too short, because the number of threads may grow between two queries.
std::vector<aclsimThread> Stall::ask_for_threads(Lock &lock) const {
    const aclsimThreadProvider ask = provider_;
    const Unlocked unlocked(lock);
    std::vector<aclsimThread> threads(64);
    for (;;) {
        const std::size_t count = ask(threads.data(), threads.size());
        const bool is_complete = count <= threads.size();
        threads.resize(count);
        if (is_complete) {
            return threads;
        }
    }
}

bool Stall::look_for_deadlock(HostWait &wait, Lock &lock) {
    const bool depends_on_host = explain_deadlock(core_, wait, {});
    if (!depends_on_host || wait.is_explained() || provider_ == nullptr) {
        return depends_on_host;
    }
    // A thread that acts between the two looks cannot go unnoticed: it changes the engine, or is among the named
    // threads.
    const std::uint64_t changes = core_.changes();
    std::vector<aclsimThread> threads = ask_for_threads(lock);
    return changes != core_.changes() || explain_deadlock(core_, wait, std::move(threads));
}

}  // namespace aclsim
