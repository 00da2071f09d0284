// SPDX-License-Identifier: Apache-2.0
// Happens-before check based on the facts alone: vector clocks are built from submissions, edges and the knowledge of
// the host, and must imply every order that a random program has requested.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "check.h"
#include "observe.h"

using namespace aclsim;

namespace {

using VectorClock = std::map<std::uint64_t, std::uint64_t>;  // newest preceding task of each stream
using Key = std::pair<std::uint64_t, std::uint64_t>;

constexpr unsigned kPrograms = 40;

Key key_of(const Point &point) { return {point.stream, point.sequence}; }

void join(VectorClock &into, const VectorClock &other) {
    for (const auto &[stream, sequence] : other) {
        into[stream] = std::max(into[stream], sequence);
    }
}

class HappensBefore final : public Observer {
  public:
    void submitted(const Moment &, const Stream &stream, const Task &task, const Submission &how) override {
        newest = stream.point(task);
        if (how.origin.is_calling) {
            tasks_[key_of(newest)].host = threads_[how.origin.thread];
        }
    }
    void blocked(const Moment &, const Stream &stream, const Task &task, const Causes &causes) override {
        Node &node = tasks_.at(key_of(stream.point(task)));
        node.causes.clear();
        for (const Cause &cause : causes.list) {
            node.causes.push_back(cause.stream == nullptr ? Key{} : Key{cause.stream->serial, cause.sequence});
        }
    }
    void started(const Moment &, const Stream &stream, const Task &task, std::uint32_t) override {
        Node &node = tasks_.at(key_of(stream.point(task)));
        CHECK(node.started == 0 && node.ended == 0);
        node.started = ++steps_;
        const auto previous = tasks_.find({stream.serial, task.sequence - 1});
        CHECK(previous == tasks_.end() || previous->second.ended != 0);
    }
    void ended(const Moment &, const Stream &stream, const Task &task, std::uint32_t) override {
        Node &node = tasks_.at(key_of(stream.point(task)));
        CHECK(node.started != 0 && node.ended == 0);
        node.ended = ++steps_;
    }
    void dropped(const Moment &, const Stream &, const Task &, aclError) override { CHECK(false); }
    void ordered(const Moment &, const Edge &edge) override {
        CHECK(edge.before.stream != 0 && edge.process == 0);
        edges_[key_of(edge.after)].push_back(key_of(edge.before));
    }
    void host_learned(const Moment &, std::uint32_t thread, Point point, HostSync) override {
        const auto found = tasks_.find(key_of(point));
        if (found != tasks_.end()) {  // otherwise from an earlier program
            CHECK(found->second.ended != 0);
            join(threads_[thread], clock_of(key_of(point)));
        }
    }

    // Returns true if the facts imply the order.
    bool implies(const Key &before, const Key &after) {
        const VectorClock &clock = clock_of(after);
        const auto found = clock.find(before.first);
        return found != clock.end() && found->second >= before.second;
    }
    // Checks that the reported edges agree with the actual order.
    void require_true_edges() const {
        for (const auto &[after, list] : edges_) {
            const auto second = tasks_.find(after);
            for (const Key &before : list) {
                const auto first = tasks_.find(before);
                CHECK(first != tasks_.end() && first->second.ended != 0);
                CHECK(second == tasks_.end() || first->second.ended < second->second.ended);
            }
        }
    }
    // Returns true if `after` was never blocked, or if `before` was one of its causes.
    bool is_cause(const Key &before, const Key &after) const {
        const auto &causes = tasks_.at(after).causes;
        return causes.empty() || std::find(causes.begin(), causes.end(), before) != causes.end();
    }
    bool has(const Key &task) const { return tasks_.count(task) != 0; }
    std::size_t count() const { return tasks_.size(); }
    void forget_edges() {
        edges_.clear();
        clocks_.clear();
    }

    Point newest;

  private:
    struct Node {
        VectorClock host;  // knowledge of the submitting thread
        std::vector<Key> causes{};
        std::uint64_t started = 0;
        std::uint64_t ended = 0;
    };

    // Requires that the task has ended, so that all its predecessors have been reported.
    const VectorClock &clock_of(const Key &task) {
        const auto known = clocks_.find(task);
        if (known != clocks_.end()) {
            return known->second;
        }
        VectorClock clock = tasks_.at(task).host;
        const Key previous{task.first, task.second - 1};
        if (tasks_.count(previous) != 0) {
            join(clock, clock_of(previous));
        }
        for (const Key &before : edges_[task]) {
            join(clock, clock_of(before));
        }
        clock[task.first] = task.second;
        return clocks_[task] = std::move(clock);
    }

    std::map<Key, Node> tasks_;
    std::map<Key, std::vector<Key>> edges_;
    std::map<Key, VectorClock> clocks_;
    std::map<std::uint32_t, VectorClock> threads_;
    std::uint64_t steps_ = 0;
};

// Random program that records the orders it requests.
class Program {
  public:
    explicit Program(unsigned seed) : random_(seed) {
        for (auto &stream : streams_) {
            CHECK_OK(aclrtCreateStream(&stream));
        }
        CHECK_OK(aclrtMalloc(&values_, kSteps * sizeof(std::uint64_t), ACL_MEM_MALLOC_HUGE_FIRST));
        CHECK_OK(aclrtMemset(values_, kSteps * sizeof(std::uint64_t), 0, kSteps * sizeof(std::uint64_t)));
    }
    Program(const Program &) = delete;
    Program &operator=(const Program &) = delete;
    ~Program() {
        for (aclrtEvent event : events_) {
            CHECK_OK(aclrtDestroyEvent(event));
        }
        for (aclrtNotify notify : notifies_) {
            CHECK_OK(aclrtDestroyNotify(notify));
        }
        for (aclrtStream stream : streams_) {
            CHECK_OK(aclrtDestroyStream(stream));
        }
        CHECK_OK(aclrtFree(values_));
    }

    void run() {
        {
            const Observing observing(facts_);
            for (int step = 0; step < kSteps; ++step) {
                do_step(step);
            }
            for (aclrtStream stream : streams_) {
                CHECK_OK(aclrtSynchronizeStream(stream));
            }
        }
        facts_.require_true_edges();
        const std::size_t missing = count_missing();
        CHECK(missing == 0);
        for (const auto &[before, after] : waits_) {
            CHECK(facts_.is_cause(before, after));
        }
        facts_.forget_edges();
        CHECK(count_missing() > 0);  // the check detects missing edges
    }

  private:
    static constexpr int kStreams = 5;
    static constexpr int kSteps = 300;

    int pick(int count) { return std::uniform_int_distribution<int>(0, count - 1)(random_); }
    // Returns the newest task, which the call before must have submitted, and records its orders.
    Key submitted(aclrtStream stream) {
        const Key task = key_of(facts_.newest);
        require_stream_order(stream, task);
        return task;
    }
    void require_stream_order(aclrtStream stream, const Key &task) {
        if (last_.count(stream) != 0) {
            orders_.push_back({last_[stream], task});
        }
        for (const Key before : known_) {  // tasks that the host knows to be done
            orders_.push_back({before, task});
        }
        if (awaited_.count(stream) != 0) {  // awaited by a wait that needed no task
            orders_.push_back({awaited_[stream], task});
        }
        last_[stream] = task;
    }
    void learn(const Key &task) { known_[task.first] = std::max(known_[task.first], task.second); }

    void record(aclrtStream stream) {
        if (events_.size() < 6) {
            events_.emplace_back();
            CHECK_OK(aclrtCreateEventExWithFlag(&events_.back(), ACL_EVENT_SYNC));
        }
        aclrtEvent event = events_[static_cast<std::size_t>(pick(static_cast<int>(events_.size())))];
        CHECK_OK(aclrtRecordEvent(event, stream));
        records_[event] = submitted(stream);
    }
    void wait(aclrtStream stream, aclrtEvent event) {
        const Key before = facts_.newest.stream == 0 ? Key{} : key_of(facts_.newest);
        CHECK_OK(aclrtStreamWaitEvent(stream, event));
        if (key_of(facts_.newest) == before) {
            awaited_[stream] = records_[event];
            return;
        }
        const Key task = submitted(stream);
        orders_.push_back({records_[event], task});
        waits_.push_back({records_[event], task});
    }

    void do_step(int step) {
        aclrtStream stream = streams_[pick(kStreams)];
        aclrtStream other = streams_[pick(kStreams)];
        std::uint8_t unused = 0;
        auto *value = static_cast<std::uint64_t *>(values_) + step;
        switch (pick(10)) {
            case 0:
            case 1:
                record(stream);
                break;
            case 2:
            case 3:
                if (!records_.empty()) {
                    wait(stream, std::next(records_.begin(), pick(static_cast<int>(records_.size())))->first);
                }
                break;
            case 4:
                if (stream != other) {
                    notifies_.emplace_back();
                    CHECK_OK(aclrtCreateNotify(&notifies_.back(), 0));
                    CHECK_OK(aclrtWaitAndResetNotify(notifies_.back(), stream, 0));
                    const Key wait = submitted(stream);
                    CHECK_OK(aclrtRecordNotify(notifies_.back(), other));
                    orders_.push_back({submitted(other), wait});
                }
                break;
            case 5: {
                CHECK_OK(aclrtValueWrite(value, 1, 0, stream));
                const Key write = submitted(stream);
                CHECK_OK(aclrtValueWait(value, 1, ACL_STREAM_WAIT_VALUE_EQ, other));
                orders_.push_back({write, submitted(other)});
                break;
            }
            case 6:
                CHECK_OK(aclrtLaunchHostFunc(stream, [](void *) { std::this_thread::yield(); }, nullptr));
                submitted(stream);
                break;
            case 7:
                if (pick(4) == 0 && last_.count(stream) != 0) {
                    CHECK_OK(aclrtSynchronizeStream(stream));
                    learn(last_[stream]);
                }
                break;
            case 8:
                query(stream);
                break;
            default:
                CHECK_OK(aclrtProfTrace(&unused, 1, stream));
                submitted(stream);
        }
    }
    void query(aclrtStream stream) {
        aclrtStreamStatus status{};
        CHECK_OK(aclrtStreamQuery(stream, &status));
        if (status == ACL_STREAM_STATUS_COMPLETE && last_.count(stream) != 0) {
            learn(last_[stream]);
        }
        for (const auto &[event, record] : records_) {
            aclrtEventRecordedStatus recorded{};
            CHECK_OK(aclrtQueryEventStatus(event, &recorded));
            if (recorded == ACL_EVENT_RECORDED_STATUS_COMPLETE) {
                learn(record);
            }
        }
    }

    std::size_t count_missing() {
        return static_cast<std::size_t>(std::count_if(orders_.begin(), orders_.end(), [&](const auto &order) {
            return !facts_.implies(order.first, order.second);
        }));
    }

    std::mt19937 random_;
    HappensBefore facts_;
    aclrtStream streams_[kStreams] = {};
    std::vector<aclrtEvent> events_;
    std::vector<aclrtNotify> notifies_;
    void *values_ = nullptr;
    std::map<aclrtEvent, Key> records_;   // newest record of each event
    std::map<aclrtStream, Key> last_;     // last task of each stream
    std::map<aclrtStream, Key> awaited_;  // record of the last wait without a task
    VectorClock known_;                   // tasks that the host knows to be done
    std::vector<std::pair<Key, Key>> orders_;
    std::vector<std::pair<Key, Key>> waits_;  // waits for events
};

}  // namespace

int main(int count, char **arguments) {
    const auto first = static_cast<unsigned>(count > 1 ? std::atoi(arguments[1]) : 0) * kPrograms;
    CHECK_OK(aclrtSetDevice(0));
    for (unsigned seed = first + 1; seed <= first + kPrograms; ++seed) {
        Program(seed).run();
    }
    CHECK_OK(aclrtResetDevice(0));
    std::puts("native order: all passed");
    return 0;
}
