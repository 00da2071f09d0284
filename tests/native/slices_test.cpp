// SPDX-License-Identifier: Apache-2.0
// Work that grows with a size: other threads get the lock between slices of the work.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "api/simulator.h"
#include "check.h"
#include "device_kit.h"
#include "latch.h"
#include "memory/memory.h"
#include "tasks/graph.h"

using aclsim::Context;
using aclsim::ContextStream;
using aclsim::Graph;
using aclsim::Lock;
using aclsim::MemoryPool;
using aclsim::Model;
using aclsim::ModelTask;
using aclsim::Ref;
using aclsim::Simulator;
using aclsim::Stream;

namespace {

constexpr int kTasks = 5000;  // in several hidden streams of a graph

aclrtStream new_stream() {
    aclrtStream stream = nullptr;
    CHECK_OK(aclrtCreateStream(&stream));
    return stream;
}

// Graph whose tasks fill the same memory, the last one with a different byte.
class BigGraph {
  public:
    // A graph that is held back executes nothing until release().
    explicit BigGraph(bool is_held_back = false) : stream_(new_stream()) {
        CHECK_OK(aclrtMalloc(&memory_, 64, ACL_MEM_MALLOC_HUGE_FIRST));
        CHECK_OK(aclrtMalloc(&word_, 64, ACL_MEM_MALLOC_HUGE_FIRST));
        CHECK_OK(aclrtMemset(word_, 64, 0, 64));
        CHECK_OK(aclmdlRICaptureBegin(stream_, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
        if (is_held_back) {
            CHECK_OK(aclrtValueWait(word_, 1, ACL_STREAM_WAIT_VALUE_EQ, stream_));
        }
        for (int i = 0; i < kTasks; ++i) {
            CHECK_OK(aclrtMemsetAsync(memory_, 64, i + 1 < kTasks ? 1 : 2, 64, stream_));
        }
        CHECK_OK(aclmdlRICaptureEnd(stream_, &graph_));
    }
    ~BigGraph() {
        destroy();
        CHECK_OK(aclrtDestroyStream(stream_));
        CHECK_OK(aclrtFree(memory_));
        CHECK_OK(aclrtFree(word_));
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
    void release() const { CHECK_OK(aclrtMemset(word_, 64, 1, 1)); }
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
    void *word_ = nullptr;
    aclmdlRI graph_ = nullptr;
    mutable std::atomic<bool> is_destroyed_{false};
};

// Repeats the call until another thread has held the lock while is_there() was true.
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
    const auto end = std::chrono::steady_clock::now() + kLongEnough;  // the thread may have no processor for long
    while (!was_there && std::chrono::steady_clock::now() < end) {
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

// Releases more tasks than one slice processes: with one device in use, and with the shard of one of two devices.
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

// The other thread changes the information of the first and the last task of the graph together. The two differ in the
// file only if that happens during the call.
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

void others_have_the_lock_while_a_capture_ends() {
    constexpr int kEvents = 2000;
    const aclrtStream stream = new_stream();
    std::vector<aclrtEvent> events(kEvents);
    for (aclrtEvent &event : events) {
        CHECK_OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
    }
    const auto references = [](aclrtEvent event) REQUIRES(aclsim::engine_lock) {
        return Simulator::get().core.registry().find<aclsim::Event>(event)->references();
    };
    const auto capture = [&] {
        aclmdlRI graph = nullptr;
        CHECK_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
        for (const aclrtEvent event : events) {
            CHECK_OK(aclrtRecordEvent(event, stream));
        }
        CHECK_OK(aclmdlRICaptureEnd(stream, &graph));
        CHECK_OK(aclmdlRIDestroy(graph));
    };
    // The capture has ended and still refers to some of its events, but these no longer count as captured.
    expect_let_in(capture, [&]() REQUIRES(aclsim::engine_lock) {
        const auto *origin = Simulator::get().core.registry().find<ContextStream>(stream);
        const auto *last = Simulator::get().core.registry().find<aclsim::Event>(events.back());
        const bool differ = references(events.front()) != references(events.back());
        return !origin->is_redirected && differ && last->captured() == nullptr;
    });
    for (const aclrtEvent event : events) {
        CHECK_OK(aclrtDestroyEvent(event));
    }
    CHECK_OK(aclrtDestroyStream(stream));
}

aclrtStream new_persistent_stream() {
    aclrtStream stream = nullptr;
    CHECK_OK(aclrtCreateStreamWithConfig(&stream, 0, ACL_STREAM_PERSISTENT));
    return stream;
}

// Another thread binds a further stream to the model while the model is being built.
void others_have_the_lock_while_a_model_is_built() {
    void *memory = nullptr;
    CHECK_OK(aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    constexpr int kOfStream = 600;
    const aclrtStream streams[] = {new_persistent_stream(), new_persistent_stream(), new_persistent_stream()};
    const aclrtStream late = new_persistent_stream();
    Model *model = nullptr;  // guarded by the lock, like the next variable
    std::uint32_t references = 0;
    const auto build = [&]() NO_THREAD_SAFETY_ANALYSIS {
        aclmdlRI built = nullptr;
        CHECK_OK(aclmdlRIBuildBegin(&built, 0));
        for (const aclrtStream stream : streams) {
            CHECK_OK(aclmdlRIBindStream(built, stream, 0));
            for (int i = 0; i < kOfStream; ++i) {
                CHECK_OK(aclrtMemsetAsync(memory, 64, 1, 64, stream));
            }
        }
        CHECK_OK(aclmdlRIEndTask(built, streams[0]));
        {
            const Lock lock = Simulator::get().core.acquire();
            model = Simulator::get().core.registry().find<Model>(built);
            references = model->references();
        }
        CHECK_OK(aclmdlRIBuildEnd(built, nullptr));
        {
            const Lock lock = Simulator::get().core.acquire();
            model = nullptr;
        }
        CHECK_OK(aclmdlRIDestroy(built));
    };
    expect_let_in(build, [&]() REQUIRES(aclsim::engine_lock) {
        // The call that builds the model holds a reference to it.
        if (model == nullptr || model->is_executable() || model->references() == references) {
            return false;
        }
        model->bind(*Simulator::get().core.registry().find<ContextStream>(late), /*is_head=*/true);
        return true;
    });
    for (const aclrtStream stream : {streams[0], streams[1], streams[2], late}) {
        CHECK_OK(aclrtDestroyStream(stream));
    }
    CHECK_OK(aclrtFree(memory));
}

// All streams of the graph are empty, but the execution has not ended, because replays remain to be cancelled.
void others_have_the_lock_while_a_graph_is_stopped() {
    const BigGraph graph(/*is_held_back=*/true);
    const auto abort = [&] {
        CHECK_OK(aclmdlRIExecuteAsync(graph.handle(), graph.stream()));
        CHECK_OK(aclrtStreamAbort(graph.stream()));
    };
    expect_let_in(abort, [&]() REQUIRES(aclsim::engine_lock) {
        Model &model = graph.model();
        return model.is_executing() && count_waiting(model) == 0;
    });
    graph.release();
    graph.launch_and_check();
}

// Replaces every task by one that does nothing.
void others_have_the_lock_while_a_graph_is_updated() {
    const BigGraph graph;
    const auto update = [&]() NO_THREAD_SAFETY_ANALYSIS {
        Lock lock = Simulator::get().core.acquire();
        Graph &changed = *graph.model().as_graph();
        for (const auto &stream : changed.streams()) {
            for (std::size_t i = 0; i < changed.count_tasks(*stream); ++i) {
                changed.disable(changed.named_task(*stream, i));
            }
        }
        changed.apply_changes(lock);
        CHECK(changed.status == Graph::Status::Ready);
    };
    expect_let_in(update, [&]() REQUIRES(aclsim::engine_lock) {
        const Graph &changed = *graph.model().as_graph();
        const auto streams = changed.streams();
        const ModelTask *const first = changed.known_task(*streams.front(), 0);
        const ModelTask *const last = changed.known_task(*streams.back(), 0);
        return changed.status == Graph::Status::Updating && last != nullptr &&
               !first->replacement != !last->replacement;
    });
}

void a_graph_may_be_destroyed_while_it_is_updated() {
    constexpr int kGraphs = 20;
    for (int i = 0; i < kGraphs; ++i) {
        const BigGraph graph;
        Latch begun;
        std::thread updater([&]() NO_THREAD_SAFETY_ANALYSIS {
            Lock lock = Simulator::get().core.acquire();
            Graph &changed = *graph.model().as_graph();
            for (const auto &stream : changed.streams()) {
                for (std::size_t task = 0; task < changed.count_tasks(*stream); ++task) {
                    changed.disable(changed.named_task(*stream, task));
                }
            }
            begun.open();
            changed.apply_changes(lock);
        });
        CHECK(begun.opens());
        graph.destroy();
        updater.join();
    }
}

// The handles of the graph's tasks are removed in slices.
void others_have_the_lock_while_a_graph_is_destroyed() {
    void *first = nullptr;
    void *last = nullptr;
    const auto destroy = [&]() NO_THREAD_SAFETY_ANALYSIS {
        const BigGraph graph;
        {
            const Lock lock = Simulator::get().core.acquire();
            Model &model = graph.model();
            for (const auto &stream : model.streams()) {
                for (std::size_t i = 0; i < model.count_tasks(*stream); ++i) {
                    last = model.named_task(*stream, i).handle();
                    first = first == nullptr ? last : first;
                }
            }
        }
        graph.destroy();
        const Lock lock = Simulator::get().core.acquire();
        first = last = nullptr;
    };
    expect_let_in(destroy, [&]() REQUIRES(aclsim::engine_lock) {
        auto &registry = Simulator::get().core.registry();
        const bool has_first = registry.find<ModelTask>(first) != nullptr;
        return last != nullptr && has_first != (registry.find<ModelTask>(last) != nullptr);
    });
}

// Pool that keeps reservations without using them.
class BigPool {
  public:
    static constexpr std::uint64_t kBlock = 2ULL << 20;
    static constexpr int kBlocks = 1200;
    explicit BigPool(aclrtStream stream) : blocks_(kBlocks) {
        aclrtMemPoolProps props{};
        props.allocType = ACL_MEM_ALLOCATION_TYPE_PINNED;
        props.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
        CHECK_OK(aclrtMemPoolCreate(&pool_, &props));
        std::uint64_t kept = kBlock * kBlocks;
        CHECK_OK(aclrtMemPoolSetAttr(pool_, ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD, &kept));
        for (void *&block : blocks_) {
            CHECK_OK(aclrtMemPoolMallocAsync(&block, kBlock, pool_, stream));
        }
        for (void *block : blocks_) {
            CHECK_OK(aclrtMemPoolFreeAsync(block, stream));
        }
        CHECK_OK(aclrtSynchronizeStream(stream));
    }
    aclrtMemPool handle() const { return pool_; }
    void *first() const { return *std::min_element(blocks_.begin(), blocks_.end()); }
    void *last() const { return *std::max_element(blocks_.begin(), blocks_.end()); }
    Ref<MemoryPool> find() const REQUIRES(aclsim::engine_lock) {
        return Ref<MemoryPool>(Simulator::get().core.registry().find<MemoryPool>(pool_));
    }

  private:
    aclrtMemPool pool_ = nullptr;
    std::vector<void *> blocks_;
};

// Repeats the call, each time with a new pool, until another thread has seen a pool in the given state.
template <class Call, class IsThere>
void expect_seen(const Pair &pair, Call call, IsThere is_there) {
    Ref<MemoryPool> seen;  // guarded by the lock
    const auto call_with_pool = [&]() NO_THREAD_SAFETY_ANALYSIS {
        const BigPool pool(pair.stream);
        {
            const Lock lock = Simulator::get().core.acquire();
            seen = pool.find();
        }
        call(pool);
        const Lock lock = Simulator::get().core.acquire();
        seen.reset();
    };
    expect_let_in(call_with_pool, [&]() REQUIRES(aclsim::engine_lock) { return seen && is_there(*seen); });
}

bool is_partly_reserved(const MemoryPool &pool) REQUIRES(aclsim::engine_lock) {
    const std::uint64_t reserved = const_cast<MemoryPool &>(pool).reserved();
    return reserved > 0 && reserved < BigPool::kBlock * BigPool::kBlocks;
}

void others_have_the_lock_while_a_pool_is_trimmed(const Pair &pair) {
    const auto trim = [](const BigPool &pool) {
        CHECK_OK(aclrtMemPoolTrimTo(pool.handle(), 0));
        CHECK_OK(aclrtMemPoolDestroy(pool.handle()));
    };
    expect_seen(pair, trim, [](const MemoryPool &pool) REQUIRES(aclsim::engine_lock) {
        return !pool.is_abandoned() && is_partly_reserved(pool);
    });
}

void others_have_the_lock_while_a_stream_with_a_pool_is_synchronized(const Pair &pair) {
    const auto synchronize = [&](const BigPool &pool) {
        std::uint64_t kept = 0;
        CHECK_OK(aclrtMemPoolSetAttr(pool.handle(), ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD, &kept));
        CHECK_OK(aclrtSynchronizeStream(pair.stream));
        CHECK_OK(aclrtMemPoolDestroy(pool.handle()));
    };
    expect_seen(pair, synchronize, [](const MemoryPool &pool) REQUIRES(aclsim::engine_lock) {
        return !pool.is_abandoned() && is_partly_reserved(pool);
    });
}

void others_have_the_lock_while_a_pool_is_destroyed(const Pair &pair) {
    const auto destroy = [](const BigPool &pool) { CHECK_OK(aclrtMemPoolDestroy(pool.handle())); };
    expect_seen(pair, destroy, [](const MemoryPool &pool) REQUIRES(aclsim::engine_lock) {
        return pool.is_abandoned() && is_partly_reserved(pool);
    });
}

std::size_t free_memory() {
    std::size_t free = 0;
    std::size_t total = 0;
    CHECK_OK(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total));
    return free;
}

// Each reservation is returned once, by either call.
void a_pool_may_be_destroyed_while_it_is_trimmed(const Pair &pair) {
    constexpr int kPools = 20;
    const std::size_t free_before = free_memory();
    for (int i = 0; i < kPools; ++i) {
        const BigPool pool(pair.stream);
        std::thread trimmer([&] {
            CHECK_OK(aclrtSetDevice(0));
            const aclError code = aclrtMemPoolTrimTo(pool.handle(), 0);
            CHECK(code == ACL_SUCCESS || code == ACL_ERROR_RT_INTERNAL_ERROR);
        });
        CHECK_OK(aclrtMemPoolDestroy(pool.handle()));
        trimmer.join();
    }
    CHECK(free_memory() == free_before);
}

void others_have_the_lock_while_a_context_is_destroyed() {
    constexpr std::size_t kStreams = 700;
    Ref<Context> seen;  // guarded by the lock
    const auto destroy = [&]() NO_THREAD_SAFETY_ANALYSIS {
        aclrtContext context = nullptr;
        CHECK_OK(aclrtCreateContext(&context, 0));
        for (std::size_t i = 0; i < kStreams; ++i) {
            new_stream();
        }
        {
            const Lock lock = Simulator::get().core.acquire();
            seen = Ref<Context>(Simulator::get().core.registry().find<Context>(context));
        }
        CHECK_OK(aclrtDestroyContext(context));
        const Lock lock = Simulator::get().core.acquire();
        seen.reset();
    };
    expect_let_in(destroy, [&]() REQUIRES(aclsim::engine_lock) {
        return seen && !seen->streams.empty() && seen->streams.size() < kStreams;
    });
    CHECK_OK(aclrtSetDevice(0));
}

// After a reset, the records that the pools of the device keep of their reservations are removed in slices.
void others_have_the_lock_while_a_device_is_reset() {
    Ref<MemoryPool> seen;  // guarded by the lock
    void *first = nullptr;
    void *last = nullptr;
    const auto reset = [&]() NO_THREAD_SAFETY_ANALYSIS {
        CHECK_OK(aclrtSetDevice(2));
        aclrtMemPoolProps props{};
        props.allocType = ACL_MEM_ALLOCATION_TYPE_PINNED;
        props.location = {2, ACL_MEM_LOCATION_TYPE_DEVICE};
        aclrtMemPool pool = nullptr;
        CHECK_OK(aclrtMemPoolCreate(&pool, &props));
        const aclrtStream stream = new_stream();
        std::vector<void *> blocks(BigPool::kBlocks);
        for (void *&block : blocks) {
            CHECK_OK(aclrtMemPoolMallocAsync(&block, BigPool::kBlock, pool, stream));
        }
        {
            const Lock lock = Simulator::get().core.acquire();
            seen = Ref<MemoryPool>(Simulator::get().core.registry().find<MemoryPool>(pool));
            first = *std::min_element(blocks.begin(), blocks.end());
            last = *std::max_element(blocks.begin(), blocks.end());
        }
        CHECK_OK(aclrtResetDevice(2));
        {
            const Lock lock = Simulator::get().core.acquire();
            CHECK(seen->state_of(last) == MemoryPool::State::Outside);
            seen.reset();
        }
        CHECK_OK(aclrtSetDevice(0));
    };
    expect_let_in(reset, [&]() REQUIRES(aclsim::engine_lock) {
        return seen && seen->state_of(first) == MemoryPool::State::Outside &&
               seen->state_of(last) != MemoryPool::State::Outside;
    });
}

// Aborts come before, during or after the start and the execution of the graph.
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

// The call that opens the gate executes the graph, not the call that has launched it.
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

// Handles of tasks are removed in slices, which keep the graph alive after the end of the context. The primary context
// keeps the device open.
void a_context_may_end_before_the_handles_of_its_graph() {
    constexpr int kTasks = 3000;
    aclrtContext primary = nullptr, context = nullptr;
    void *memory = nullptr;
    CHECK_OK(aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK_OK(aclrtGetCurrentContext(&primary));
    CHECK_OK(aclrtCreateContext(&context, 0));
    const aclrtStream stream = new_stream();
    CHECK_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    for (int i = 0; i < kTasks; ++i) {
        CHECK_OK(aclrtMemsetAsync(memory, 64, 1, 64, stream));
    }
    aclmdlRI graph = nullptr;
    CHECK_OK(aclmdlRICaptureEnd(stream, &graph));
    std::uint32_t count = 0;
    CHECK_OK(aclmdlRIGetStreams(graph, nullptr, &count));
    std::vector<aclrtStream> streams(count);
    CHECK_OK(aclmdlRIGetStreams(graph, streams.data(), &count));
    for (const aclrtStream of_graph : streams) {
        CHECK_OK(aclmdlRIGetTasksByStream(of_graph, nullptr, &count));
        std::vector<aclmdlRITask> tasks(count);
        CHECK_OK(aclmdlRIGetTasksByStream(of_graph, tasks.data(), &count));
    }
    CHECK_OK(aclrtDestroyContext(context));
    CHECK_OK(aclrtSetCurrentContext(primary));
    CHECK_OK(aclrtFree(memory));
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
        others_have_the_lock_while_a_capture_ends();
        others_have_the_lock_while_a_model_is_built();
        others_have_the_lock_while_a_graph_is_stopped();
        others_have_the_lock_while_a_graph_is_updated();
        others_have_the_lock_while_a_graph_is_destroyed();
        others_have_the_lock_while_a_pool_is_trimmed(pair);
        others_have_the_lock_while_a_stream_with_a_pool_is_synchronized(pair);
        others_have_the_lock_while_a_pool_is_destroyed(pair);
        others_have_the_lock_while_a_context_is_destroyed();
        others_have_the_lock_while_a_device_is_reset();
        a_graph_may_be_destroyed_while_it_is_updated();
        a_pool_may_be_destroyed_while_it_is_trimmed(pair);
        a_launch_may_be_aborted_anywhere();
        a_graph_may_be_destroyed_anywhere();
        a_graph_may_begin_in_another_call();
        a_context_may_end_before_the_handles_of_its_graph();
        const Pair other(1);
        CHECK_OK(aclrtSetDevice(0));
        others_have_the_lock_while_a_stream_goes_on(pair);
    }
    return 0;
}
