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

// Work of a running task that several threads do together.
class SharedWork {
  public:
    virtual ~SharedWork() = default;
    // Each thread calls it once; it returns when nothing is left to begin.
    virtual void work() EXCLUDES(engine_lock) = 0;

  private:
    friend class Executor;
    std::uint32_t wanted_ GUARDED_BY(engine_lock) = 0;  // threads that may still join
    std::uint32_t joined_ GUARDED_BY(engine_lock) = 0;  // that are at work
};

// For the streams of one shard, whose lock its threads take. What a device does has the executor of its shard, host
// functions have one of a single thread per context. Threads are started when there is work for them and live as long
// as the executor.
class Executor : public std::enable_shared_from_this<Executor> {
  public:
    Executor(Core &core, std::uint32_t shard, std::uint32_t thread_limit, bool accepts_help)
        : can_be_helped(accepts_help), core_(core), shard_(shard), thread_limit_(thread_limit) {}

    // All with the engine lock held.
    void enqueue(Stream &stream) REQUIRES(engine_lock);
    void remove(Stream &stream) REQUIRES(engine_lock) { ready_.remove(stream); }

    // A thread that runs one task after another, with the lock held but for the tasks. When one has ended, a stream
    // that this makes ready is the thread's own next one: to wake another thread for it would take longer than most
    // tasks, and end in both of them wanting it.
    class Server {
      public:
        Server() = default;
        ~Server() REQUIRES(engine_lock) { leave(); }
        Server(const Server &) = delete;
        Server &operator=(const Server &) = delete;
        // Removes a stream from where it is ready, because the thread runs its head.
        void take(Executor &executor, Stream &stream) REQUIRES(engine_lock);
        // That task is about to end: the thread takes the next one from there, or leaves.
        void look() REQUIRES(engine_lock);
        // It does something else: another thread takes what is ready.
        void leave() REQUIRES(engine_lock);

      private:
        Executor *works_for_ GUARDED_BY(engine_lock) = nullptr;
        Executor *looks_at_ GUARDED_BY(engine_lock) = nullptr;
    };

    void wake() REQUIRES(engine_lock);  // streams may start again
    void stop() REQUIRES(engine_lock);  // threads end when they are done with what they run
    // Does the work on the calling thread, which runs a task, and on up to that many idle threads besides. Returns when
    // all of them have left it.
    void share(SharedWork &work, std::uint32_t others) EXCLUDES(engine_lock);
    bool has_thread() REQUIRES(engine_lock) { return threads_ > 0 || start_thread(); }

    // May a thread that waits for a stream run its task itself? Not with host functions: they have a thread of their
    // own (events_streams_sync.md section 9, aclrtLaunchHostFunc).
    const bool can_be_helped;

  private:
    void serve();
    Stream &next() const REQUIRES(engine_lock);
    // Without the lock, until a stream is ready or it was long enough. Not analysed: it takes the lock on a condition.
    void spin(Lock &lock) REQUIRES(engine_lock) NO_THREAD_SAFETY_ANALYSIS;
    void idle(Lock &lock) REQUIRES(engine_lock);
    static void sleep(std::condition_variable_any &changed, Lock &lock) REQUIRES(engine_lock);
    bool start_thread() REQUIRES(engine_lock);    // is there one now?
    void call_thread() REQUIRES(engine_lock);     // wakes one that sleeps, or starts one
    void call_if_needed() REQUIRES(engine_lock);  // unless threads that look for work see each stream that is ready
    void join(Lock &lock) REQUIRES(engine_lock) NO_THREAD_SAFETY_ANALYSIS;  // as spin()
    void withdraw(SharedWork &work) EXCLUDES(engine_lock);                  // waits until all have left it

    Core &core_;
    const std::uint32_t shard_;
    const std::uint32_t thread_limit_;
    ReadyQueue ready_;
    std::atomic<std::uint64_t> arrivals_{0};  // streams that became ready; written with the engine lock held
    std::condition_variable_any work_;
    std::uint32_t threads_ GUARDED_BY(engine_lock) = 0;
    std::uint32_t sleeping_ GUARDED_BY(engine_lock) = 0;
    std::uint32_t wakeups_ GUARDED_BY(engine_lock) = 0;  // sleeping threads that have been notified
    // At most one thread spins: the others would only take processors from users.
    std::uint32_t spinning_ GUARDED_BY(engine_lock) = 0;
    std::uint32_t looking_ GUARDED_BY(engine_lock) = 0;  // servers
    bool stopped_ GUARDED_BY(engine_lock) = false;
    std::vector<SharedWork *> shared_ GUARDED_BY(engine_lock);  // that threads may join
    std::condition_variable_any left_;                          // a thread has left one
};

}  // namespace aclsim
