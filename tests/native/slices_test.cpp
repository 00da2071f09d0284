// Work that grows with a number of tasks: other threads have the lock between parts of it.
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "api/simulator.h"
#include "check.h"
#include "device_kit.h"
#include "latch.h"
#include "tasks/graph.h"

using aclsim::Lock;
using aclsim::Model;
using aclsim::Simulator;
using aclsim::Stream;

namespace {

constexpr int kTasks = 5000;       // in several hidden streams of a graph
constexpr int kMostRounds = 2000;  // a thread may have no processor for many of them

aclrtStream new_stream() {
    aclrtStream stream = nullptr;
    CHECK_OK(aclrtCreateStream(&stream));
    return stream;
}

// All tasks fill the same memory, and the last one with another byte.
class BigGraph {
  public:
    BigGraph() : stream_(new_stream()) {
        CHECK_OK(aclrtMalloc(&memory_, 64, ACL_MEM_MALLOC_HUGE_FIRST));
        CHECK_OK(aclmdlRICaptureBegin(stream_, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
        for (int i = 0; i < kTasks; ++i) {
            CHECK_OK(aclrtMemsetAsync(memory_, 64, i + 1 < kTasks ? 1 : 2, 64, stream_));
        }
        CHECK_OK(aclmdlRICaptureEnd(stream_, &graph_));
    }
    ~BigGraph() {
        destroy();
        CHECK_OK(aclrtDestroyStream(stream_));
        CHECK_OK(aclrtFree(memory_));
    }
    BigGraph(const BigGraph &) = delete;
    BigGraph &operator=(const BigGraph &) = delete;

    aclmdlRI handle() const { return graph_; }
    aclrtStream stream() const { return stream_; }
    Model &model() const REQUIRES(aclsim::engine_lock) { return *Simulator::get().core.registry().find<Model>(graph_); }
    void destroy() const {
        if (!is_destroyed_.exchange(true)) {
            CHECK_OK(aclmdlRIDestroy(graph_));
        }
    }
    bool is_done() const { return static_cast<const char *>(memory_)[0] == 2; }
    void launch_and_check() const {
        CHECK_OK(aclrtMemset(memory_, 64, 0, 64));
        CHECK_OK(aclmdlRIExecuteAsync(graph_, stream_));
        CHECK_OK(aclrtSynchronizeStream(stream_));
        CHECK(is_done());
    }

  private:
    aclrtStream stream_;
    void *memory_ = nullptr;
    aclmdlRI graph_ = nullptr;
    mutable std::atomic<bool> is_destroyed_{false};
};

// Does the call again and again, until the other thread has had the lock in a moment of that kind.
template <class Call, class IsThere>
void expect_let_in(Call call, IsThere is_there) {
    std::atomic<bool> was_there{false};
    std::atomic<bool> is_over{false};
    std::thread other([&]() NO_THREAD_SAFETY_ANALYSIS {
        while (!was_there && !is_over) {
            const Lock lock = Simulator::get().core.acquire();
            was_there = is_there();
        }
    });
    for (int round = 0; round < kMostRounds && !was_there; ++round) {
        call();
    }
    is_over = true;
    other.join();
    CHECK(was_there);
}

std::size_t count_waiting(const Model &model) REQUIRES(aclsim::engine_lock) {
    std::size_t count = 0;
    for (const auto &stream : model.streams()) {
        count += stream->queue.front() != nullptr ? 1 : 0;
    }
    return count;
}

void others_have_the_lock_while_a_graph_begins() {
    const BigGraph graph;
    expect_let_in([&] { graph.launch_and_check(); },
                  [&]() REQUIRES(aclsim::engine_lock) {
                      const auto streams = graph.model().streams();
                      return streams.front()->state == Stream::State::Held && streams.back()->queue.front() == nullptr;
                  });
}

void others_have_the_lock_while_a_graph_runs() {
    const BigGraph graph;
    expect_let_in([&] { graph.launch_and_check(); },
                  [&]() REQUIRES(aclsim::engine_lock) {
                      const auto streams = graph.model().streams();
                      return streams.front()->queue.front() == nullptr &&
                             count_waiting(graph.model()) == streams.size() - 1;
                  });
}

// A call releases more than is done at one go: with one device in use, and with the shard of one of two.
void others_have_the_lock_while_a_stream_goes_on(const Pair &pair) {
    constexpr int kQueued = 900;
    const GateEvent gate;
    const aclrtStream opener = new_stream();
    void *memory = nullptr;
    CHECK_OK(aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    const auto release_all = [&] {
        gate.close(pair.stream);
        for (int i = 0; i < kQueued; ++i) {
            CHECK_OK(aclrtMemsetAsync(memory, 64, 1, 64, pair.stream));
        }
        gate.open(opener);
        CHECK_OK(aclrtSynchronizeStream(pair.stream));
        CHECK_OK(aclrtResetEvent(gate.handle(), opener));
    };
    expect_let_in(release_all, [&]() REQUIRES(aclsim::engine_lock) {
        const auto *stream = Simulator::get().core.registry().find<aclsim::ContextStream>(pair.stream);
        return stream->state == Stream::State::Held && stream->submitted - stream->completed < kQueued;
    });
    CHECK_OK(aclrtFree(memory));
    CHECK_OK(aclrtDestroyStream(opener));
}

std::string info_of(const std::string &text, std::size_t found) {
    const std::string before = "\"extend_info\":\"";
    const std::size_t begin = found == std::string::npos ? found : found + before.size();
    CHECK(begin != std::string::npos);
    return text.substr(begin, text.find('"', begin) - begin);
}

// The other thread changes what the first and the last task of the graph show, both at once.
void others_have_the_lock_while_a_graph_is_printed() {
    const BigGraph graph;
    const std::string path = "/tmp/ascend_rt_slices_" + std::to_string(getpid()) + ".json";
    std::atomic<bool> have_differed{false};
    std::uint64_t changes = 0;
    const auto print = [&] {
        CHECK_OK(aclmdlRIDebugJsonPrint(graph.handle(), path.c_str(), 0));
        std::ifstream file(path);
        const std::string text{std::istreambuf_iterator<char>(file), {}};
        const bool is_marked = text.find("extend_info") != std::string::npos;
        const std::string first = is_marked ? info_of(text, text.find("\"extend_info")) : "";
        const std::string last = is_marked ? info_of(text, text.rfind("\"extend_info")) : "";
        have_differed = have_differed || first != last;
    };
    expect_let_in(print, [&]() REQUIRES(aclsim::engine_lock) {
        Model &model = graph.model();
        const auto streams = model.streams();
        const std::string mark = std::to_string(++changes);
        model.named_task(*streams.front(), 0).extend_info = mark;
        model.named_task(*streams.back(), 0).extend_info = mark;
        return have_differed.load();
    });
    unlink(path.c_str());
}

// Before, while or after the graph begins or runs.
void a_launch_may_be_aborted_anywhere() {
    constexpr int kLaunches = 100;
    const BigGraph graph;
    std::atomic<bool> is_over{false};
    const aclrtContext context = [] {
        aclrtContext current = nullptr;
        CHECK_OK(aclrtGetCurrentContext(&current));
        return current;
    }();
    std::thread aborter([&] {
        CHECK_OK(aclrtSetCurrentContext(context));
        while (!is_over) {
            CHECK_OK(aclrtStreamAbort(graph.stream()));
        }
    });
    for (int i = 0; i < kLaunches; ++i) {
        aclmdlRIExecuteAsync(graph.handle(), graph.stream());
        aclrtSynchronizeStream(graph.stream());
    }
    is_over = true;
    aborter.join();
    graph.launch_and_check();
}

void a_graph_may_be_destroyed_anywhere() {
    constexpr int kGraphs = 20;
    for (int i = 0; i < kGraphs; ++i) {
        const BigGraph graph;
        Latch begun;
        auto launch = begin([&, stream = graph.stream()] {
            CHECK_OK(aclrtSetDevice(0));
            begun.open();
            for (aclError code = ACL_SUCCESS; code == ACL_SUCCESS;) {
                code = aclmdlRIExecuteAsync(graph.handle(), stream);
            }
            CHECK_OK(aclrtSynchronizeStream(stream));
            return true;
        });
        CHECK(begun.opens());
        graph.destroy();
        CHECK(returns(launch) && launch.get());
    }
}

// The thread that opens the gate executes it, and not the one that has launched it.
void a_graph_may_begin_in_another_call() {
    const BigGraph graph;
    const GateEvent gate;
    const aclrtStream opener = new_stream();
    gate.close(graph.stream());
    CHECK_OK(aclmdlRIExecuteAsync(graph.handle(), graph.stream()));
    gate.open(opener);
    CHECK(graph.is_done());
    CHECK_OK(aclrtDestroyStream(opener));
}

}  // namespace

int main() {
    const Watchdog watchdog("slices_test", std::chrono::seconds(200));
    {
        const Pair pair(0);
        others_have_the_lock_while_a_graph_begins();
        others_have_the_lock_while_a_graph_runs();
        others_have_the_lock_while_a_graph_is_printed();
        others_have_the_lock_while_a_stream_goes_on(pair);
        a_launch_may_be_aborted_anywhere();
        a_graph_may_be_destroyed_anywhere();
        a_graph_may_begin_in_another_call();
        const Pair other(1);
        CHECK_OK(aclrtSetDevice(0));
        others_have_the_lock_while_a_stream_goes_on(pair);
    }
    return 0;
}
