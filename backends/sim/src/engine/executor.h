// SPDX-License-Identifier: Apache-2.0
// Threads that run the tasks which need one.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/lock.h"
#include "engine/scheduler.h"

namespace aclsim {

class Core;

// Work of a running task that several threads share.
class SharedWork {
  public:
    virtual ~SharedWork() = default;
    // Called once by each thread; returns when nothing is left to begin.
    virtual void work() EXCLUDES(engine_lock) = 0;

  private:
    friend class Executor;
    std::uint32_t wanted_ GUARDED_BY(engine_lock) = 0;  // threads that may still join
    std::uint32_t joined_ GUARDED_BY(engine_lock) = 0;  // threads at work
};

// Threads for the streams of one shard, which lock that shard. Device work uses the executor of the device's shard;
// host functions use an executor with a single thread per context. Threads are started on demand and live as long as
// the executor.
class Executor : public std::enable_shared_from_this<Executor> {
  public:
    Executor(Core &core, std::uint32_t shard, std::uint32_t thread_limit, bool accepts_help)
        : can_be_helped(accepts_help), core_(core), shard_(shard), thread_limit_(thread_limit) {}

    // Requires the engine lock.
    void enqueue(Stream &stream) REQUIRES(engine_lock);
    void remove(Stream &stream) REQUIRES(engine_lock) { ready_.remove(stream); }

    // Role of a thread that runs tasks one after another, holding the lock except while a task runs. If the end of a
    // task makes a stream ready, the same thread serves it next: waking another thread would take longer than most
    // tasks, and both threads would then compete for the stream.
    class Server {
      public:
        Server() = default;
        ~Server() REQUIRES(engine_lock) { leave(); }
        Server(const Server &) = delete;
        Server &operator=(const Server &) = delete;
        // Removes a stream from its ready queue, because the thread runs its head.
        void take(Executor &executor, Stream &stream) REQUIRES(engine_lock);
        // Announces the end of that task: the thread serves the next stream of the same executor, or leaves.
        void look() REQUIRES(engine_lock);
        // Leaves for other work: another thread serves the ready streams.
        void leave() REQUIRES(engine_lock);

      private:
        Executor *works_for_ GUARDED_BY(engine_lock) = nullptr;
        Executor *looks_at_ GUARDED_BY(engine_lock) = nullptr;
    };

    void wake() REQUIRES(engine_lock);  // resumes after streams were held back
    void stop() REQUIRES(engine_lock);  // ends each thread after its present task
    // Performs the work on the calling thread, which runs a task, and on up to that many idle threads besides. Returns
    // when all of them have left it.
    void share(SharedWork &work, std::uint32_t others) EXCLUDES(engine_lock);
    bool has_thread() REQUIRES(engine_lock) { return threads_ > 0 || start_thread(); }

    // Allows a thread that waits for a stream to run its tasks. False for host functions, which have a dedicated thread
    // (events_streams_sync.md section 9, aclrtLaunchHostFunc).
    const bool can_be_helped;

  private:
    void serve();
    Stream &next() const REQUIRES(engine_lock);
    // Spins without the lock until a stream is ready or the spin time is over. Not analysed: takes the lock
    // conditionally.
    void spin(Lock &lock) REQUIRES(engine_lock) NO_THREAD_SAFETY_ANALYSIS;
    void idle(Lock &lock) REQUIRES(engine_lock);
    static void sleep(std::condition_variable_any &changed, Lock &lock) REQUIRES(engine_lock);
    bool start_thread() REQUIRES(engine_lock);    // returns true if there is one now
    void call_thread() REQUIRES(engine_lock);     // wakes a sleeping thread, or starts one
    void call_if_needed() REQUIRES(engine_lock);  // unless enough threads are looking for work already
    void join(Lock &lock) REQUIRES(engine_lock) NO_THREAD_SAFETY_ANALYSIS;  // not analysed, as for spin()
    void withdraw(SharedWork &work) EXCLUDES(engine_lock);                  // waits until all threads have left it

    Core &core_;
    const std::uint32_t shard_;
    const std::uint32_t thread_limit_;
    ReadyQueue ready_;
    std::atomic<std::uint64_t> arrivals_{0};  // streams that became ready; written under the engine lock
    std::condition_variable_any work_;
    std::uint32_t threads_ GUARDED_BY(engine_lock) = 0;
    std::uint32_t sleeping_ GUARDED_BY(engine_lock) = 0;
    std::uint32_t wakeups_ GUARDED_BY(engine_lock) = 0;  // sleeping threads that have been notified
    // Spinning threads, at most one: more would only take processors away from the program.
    std::uint32_t spinning_ GUARDED_BY(engine_lock) = 0;
    std::uint32_t looking_ GUARDED_BY(engine_lock) = 0;  // servers that look for the next stream
    bool stopped_ GUARDED_BY(engine_lock) = false;
    std::vector<SharedWork *> shared_ GUARDED_BY(engine_lock);  // work that threads may join
    std::condition_variable_any left_;                          // notified when a thread has left
};

}  // namespace aclsim
