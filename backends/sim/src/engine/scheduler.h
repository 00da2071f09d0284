// Every choice of order and moment: which ready stream runs next, and whether anything may start at all.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>

namespace aclsim {

class Stream;

constexpr std::size_t kPriorities = 8;  // 0 is the highest (events_streams_sync.md section 3)

// The streams whose head waits for a thread of one executor: first in, first out within each priority.
class ReadyQueue {
  public:
    void push(Stream &stream);
    void remove(Stream &stream);
    Stream *front(std::size_t priority) const { return lists_[priority].head; }
    // May be read without the engine lock, by threads that look for work before they sleep.
    std::size_t size() const { return size_.load(std::memory_order_acquire); }

  private:
    struct List {
        Stream *head = nullptr;
        Stream *tail = nullptr;
    };
    std::array<List, kPriorities> lists_;
    std::atomic<std::size_t> size_{0};
};

// Called with the engine lock held.
class Scheduler {
  public:
    virtual ~Scheduler() = default;
    // May this stream start its head task now? While the answer is no the stream waits for Engine::resume().
    virtual bool may_start(const Stream &stream) const = 0;
    // The stream that the next free thread serves; the queue is not empty.
    virtual Stream &next(const ReadyQueue &ready) = 0;
};

// The default: whatever can start starts at once; by priority, then by age.
class EagerScheduler final : public Scheduler {
  public:
    bool may_start(const Stream &) const override { return !held_; }
    Stream &next(const ReadyQueue &ready) override;
    void hold(bool on) { held_ = on; }
    bool held() const { return held_; }

  private:
    bool held_ = false;
};

}  // namespace aclsim
