// SPDX-License-Identifier: Apache-2.0
#include "control/stall.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#ifdef __linux__
#include <dirent.h>
#endif

#include "control/deadlocks.h"
#include "engine/thread.h"
#include "machine/context.h"
#include "support/config.h"

namespace aclsim {
namespace {

constexpr std::int32_t kForProgram = 2;  // isWaiting of a thread that waits for other threads of the program

std::string name_of(const Stream &stream) {
    return "stream " + std::to_string(stream.id) + " of device " + std::to_string(device_of(stream).user_id);
}

std::string heading(const HostWait &wait) { return "ascend_rt simulator: " + std::string(wait.function()); }

// Returns the wait, without a time limit, of the program code that the stream runs; the stream moves when that wait
// ends. Returns nullptr if there is none.
const HostWait *wait_of_runner(const Core &core, const Stream &stream) REQUIRES(engine_lock) {
    const auto &waits = core.host_waits();
    const auto found = std::find_if(waits.begin(), waits.end(), [&](const HostWait *wait) REQUIRES(engine_lock) {
        return wait->is_asleep() && wait->thread() == stream.runner && !wait->has_deadline();
    });
    return stream.state != Stream::State::Running || found == waits.end() ? nullptr : *found;
}

// Describes waits and streams.
class Words {
  public:
    // Without calls, tasks have the numbers of the engine.
    Words(const Core &core, const SubmissionCalls *calls) : core_(core), calls_(calls) {}

    std::uint64_t number_of(const Stream &stream, std::uint64_t sequence) const REQUIRES(engine_lock) {
        return calls_ == nullptr ? sequence : calls_->number_of(stream, sequence);
    }

    std::string awaited_by(const HostWait &wait) const REQUIRES(engine_lock) {
        if (wait.blocker() != nullptr) {
            const HostWait *ahead = wait.wait_of_blocker();
            return std::string(wait.blocker()->function) + " of another thread" +
                   (ahead == nullptr ? "" : ", which waits for " + awaited_by(*ahead));
        }
        const Cause &cause = wait.cause();
        if (cause.stream == nullptr) {
            return wait.awaited();
        }
        return (cause.stream->is_done(cause.sequence)
                    ? "the end"
                    : "task " + std::to_string(number_of(*cause.stream, cause.sequence))) +
               " of " + name_of(*cause.stream);
    }

    std::string doing(const Stream &stream, Task &head) const REQUIRES(engine_lock) {
        const HostWait *wait = wait_of_runner(core_, stream);
        switch (stream.state) {
            case Stream::State::Idle:
                return stream.is_active() ? "is stopped by a failure" : "keeps its tasks for a model";
            case Stream::State::Held:
                return stream.timing.is_awaited ? "starts when the device would, by the profile"
                       : core_.is_held()        ? "is held by aclsimHold"
                                                : "is about to go on";
            case Stream::State::Ready:
                return std::string("waits for a thread to run ") + head.info().running;
            case Stream::State::Running:
                return std::string("runs ") + head.info().running +
                       (wait == nullptr
                            ? ""
                            : ", where " + std::string(wait->function()) + " waits for " + awaited_by(*wait));
            case Stream::State::Blocked:
                break;
        }
        return "waits for " + head.as_blocking()->awaited();
    }

    std::string line_about(const Stream &stream) const REQUIRES(engine_lock) {
        Task *const head = stream.queue.front();
        if (head != nullptr) {
            const std::uint64_t behind_newest = stream.submitted + 1;  // after which no wait is left to count
            return "  " + name_of(stream) + ", at task " + std::to_string(number_of(stream, head->sequence)) + " of " +
                   std::to_string(number_of(stream, behind_newest) - 1) + ", " + doing(stream, *head) + "\n";
        }
        const bool is_leaving = stream.destroyer != std::thread::id();
        return "  " + name_of(stream) + (is_leaving ? " is being destroyed by another thread" : " has done its tasks") +
               "\n";
    }

  private:
    const Core &core_;
    const SubmissionCalls *calls_;
};

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
    Mobility(Core &core, const HostWait &wait, const std::vector<aclsimThread> &threads = {}) REQUIRES(engine_lock)
        : core_(core), wait_(wait), threads_(threads) {
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
    // Returns true if the stream runs program code, whose thread waits for other threads of the program.
    bool waits_in_program(const Stream &stream) const REQUIRES(engine_lock) {
        return stream.state == Stream::State::Running &&
               std::any_of(threads_.begin(), threads_.end(), [&](const aclsimThread &it) REQUIRES(engine_lock) {
                   return it.isWaiting == kForProgram && it.thread == identifier_of(stream.runner);
               });
    }
    // Returns the causes for which the stream waits; none if it can go on by itself.
    Causes causes_of(const Stream &stream) const REQUIRES(engine_lock) {
        Causes causes;
        if (const HostWait *wait = wait_of_runner(core_, stream)) {
            causes.list.push_back(wait->cause());
        } else if (waits_in_program(stream)) {
            causes.list.push_back({nullptr, 0, Outside::Host});
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
            asks_for_host_ |= config().checks_deadlocks && stream.state == Stream::State::Running && node.is_mobile;
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

    // Returns the threads of the program that wait here without a time limit, and the simulator's if `with_own` is set.
    std::vector<std::uint64_t> waiting_threads(bool with_own) const REQUIRES(engine_lock) {
        std::vector<std::uint64_t> waiting;
        for (const HostWait *wait : core_.host_waits()) {
            if (wait->is_asleep() && !wait->has_deadline() && (with_own || !wait->is_of_own_thread())) {
                waiting.push_back(wait->thread_identifier());
            }
        }
        return waiting;
    }

    // Returns true if a thread of the program does not wait, or if that is unknown. Considers the threads that the
    // program names and those that have used the library; if either list is missing, all threads of the process except
    // the simulator's.
    bool has_free_thread() const REQUIRES(engine_lock) {
        const auto enrolled = enrolled_threads();
        if (threads_.empty() || !enrolled) {
            const std::size_t threads = count_threads();
            return threads == 0 || threads > waiting_threads(/*with_own=*/false).size() + core_.own_threads();
        }
        std::vector<std::uint64_t> waiting = waiting_threads(/*with_own=*/true);
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
    const std::vector<aclsimThread> &threads_;
    mutable bool asks_for_host_ = false;
    bool host_can_act_ = false;
    std::map<const Stream *, Node> nodes_;
    std::vector<Node *> order_;  // streams before those they wait for: one pass backwards is usually enough
};

// Streams from the one that the thread waits for to the end of the chain of waits. If the wait can never end, only
// streams that can never move.
struct Chain {
    std::vector<const Stream *> streams{};
    bool is_cycle = false;
    bool is_stuck = false;

    const char *end() const {
        if (is_cycle) {
            return is_stuck ? "  which waits for itself: a deadlock\n"
                            : "  which waits for itself, unless something else ends that\n";
        }
        return is_stuck ? "  and nothing is left that could end that: a deadlock\n" : "";
    }
};

Chain chain_of(const HostWait &wait, const Mobility &mobility) REQUIRES(engine_lock) {
    Chain chain;
    chain.is_stuck = !mobility.can_end();
    auto &seen = chain.streams;
    for (const Stream *at = wait.cause().stream; at != nullptr;) {
        if (std::find(seen.begin(), seen.end(), at) != seen.end()) {
            chain.is_cycle = true;
            return chain;
        }
        seen.push_back(at);
        const Causes causes = mobility.causes_of(*at);
        const auto next =
            std::find_if(causes.list.begin(), causes.list.end(), [&](const Cause &cause) REQUIRES(engine_lock) {
                return cause.stream != nullptr && !cause.stream->is_done(cause.sequence) &&
                       (!chain.is_stuck || !mobility.is_mobile(*cause.stream));
            });
        at = next == causes.list.end() ? nullptr : next->stream;
    }
    return chain;
}

// Describes the chain, one line per stream.
std::string text_of(const Words &words, const Chain &chain) REQUIRES(engine_lock) {
    std::string text;
    for (const Stream *stream : chain.streams) {
        text += words.line_about(*stream);
    }
    return text + chain.end();
}

// Collects the waits of a deadlock: those of the chain and, if any thread of the program could end it, those of all
// threads.
class DeadlockCollector {
  public:
    DeadlockCollector(const Core &core, const Mobility &mobility, const SubmissionCalls &calls)
        : core_(core), mobility_(mobility), calls_(calls), words_(core, &calls) {}

    Deadlock collect(HostWait &wait, const std::vector<aclsimThread> &threads) REQUIRES(engine_lock) {
        const Chain chain = chain_of(wait, mobility_);
        const std::string first = std::string(wait.function()) + " waits forever for " + words_.awaited_by(wait) + "\n";
        Deadlock found{first + text_of(words_, chain), {}, chain.end()};
        add(wait);
        if (mobility_.depends_on_host()) {
            for (HostWait *const other : core_.host_waits()) {
                add(*other);
            }
            for (const aclsimThread &thread : threads) {
                if (thread.isWaiting == kForProgram) {
                    add(thread.thread);
                }
            }
        }
        found.waits = std::move(waits_);
        return found;
    }

    const std::set<const Stream *> &streams() const { return streams_; }

  private:
    // Adds the wait, and the chain of streams behind it.
    void add(HostWait &wait) REQUIRES(engine_lock) {
        if (wait.has_deadline() || !threads_.insert(wait.thread_identifier()).second) {
            return;
        }
        wait.note_deadlock(/*is_hopeless=*/config().deadlocks_fail);
        StuckWait stuck{"thread " + std::to_string(wait.thread_number()), 0, "waits for " + words_.awaited_by(wait),
                        wait.function()};
        stuck.thread = wait.thread_identifier();
        if (wait.place() != nullptr) {
            stuck.frames = names_of(*wait.place());
        }
        waits_.push_back(std::move(stuck));
        for (const Stream *stream : chain_of(wait, mobility_).streams) {
            add(*stream);
        }
    }

    void add(const Stream &stream) REQUIRES(engine_lock) {
        Task *const head = stream.queue.front();
        if (head == nullptr || !streams_.insert(&stream).second) {
            return;
        }
        const CallNote call = calls_.find(stream, head->sequence);
        waits_.push_back({name_of(stream), words_.number_of(stream, head->sequence), words_.doing(stream, *head),
                          call.function, names_of(call.place)});
        if (mobility_.waits_in_program(stream)) {
            add(identifier_of(stream.runner));
        }
        const auto &waits = core_.host_waits();
        const auto inner = std::find(waits.begin(), waits.end(), wait_of_runner(core_, stream));
        if (inner != waits.end()) {
            add(**inner);
        }
    }

    // Adds a thread that waits in the program, which describes it.
    void add(std::uint64_t thread) {
        if (threads_.insert(thread).second) {
            waits_.push_back({"another thread", 0, "waits for a thread of the program", "", {}, thread});
        }
    }

    const Core &core_;
    const Mobility &mobility_;
    const SubmissionCalls &calls_;
    const Words words_;
    std::vector<StuckWait> waits_;
    std::set<const Stream *> streams_;
    std::set<std::uint64_t> threads_;
};

}  // namespace

void Stall::explain_stall(HostWait &wait) {
    const Words words(core_, calls_);
    wait.explain(heading(wait) + " has waited " + std::to_string(config().stall.count()) + " ms for " +
                 words.awaited_by(wait) + "\n" + text_of(words, chain_of(wait, Mobility(core_, wait))));
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

bool Stall::look(HostWait &wait, Lock &lock, const std::vector<aclsimThread> &threads) {
    const Mobility mobility(core_, wait, threads);
    if (mobility.can_end()) {
        return mobility.depends_on_host();
    }
    if (!config().checks_deadlocks) {
        const Words words(core_, calls_);
        wait.explain(heading(wait) + " waits forever for " + words.awaited_by(wait) + "\n" +
                     text_of(words, chain_of(wait, mobility)));
        return false;
    }
    DeadlockCollector collector(core_, mobility, *calls_);
    Deadlock found = collector.collect(wait, threads);
    bool is_new = collector.streams().empty();
    for (const Stream *stream : collector.streams()) {
        is_new |= reported_.insert({stream->serial, stream->queue.front()->sequence}).second;
    }
    if (!is_new) {
        return false;  // the thread that has found it reports it
    }
    ++reports_;
    {
        const aclsimThreadDescriber describer = describer_;
        const Unlocked unlocked(lock);
        if (describer != nullptr) {
            describe_threads(found, describer);
        }
        report(found);
    }
    if (--reports_ == 0) {  // otherwise the report of another deadlock would be lost
        end_after_deadlock();
    }
    return false;
}

bool Stall::look_for_deadlock(HostWait &wait, Lock &lock) {
    const bool depends_on_host = look(wait, lock, {});
    if (!depends_on_host || wait.is_explained() || provider_ == nullptr) {
        return depends_on_host;
    }
    // A thread that acts between the two looks cannot go unnoticed: it changes the engine, or is among the named
    // threads.
    const std::uint64_t changes = core_.changes();
    std::vector<aclsimThread> threads = ask_for_threads(lock);
    if (std::exchange(asked_at_, changes) != changes) {
        for (aclsimThread &thread : threads) {  // its wait may have ended with the change
            thread.isWaiting = thread.isWaiting == kForProgram ? 0 : thread.isWaiting;
        }
    }
    return changes != core_.changes() || look(wait, lock, threads);
}

}  // namespace aclsim
