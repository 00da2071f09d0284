// SPDX-License-Identifier: Apache-2.0
// Storage of a queue: its messages in order, for one process or for several.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "abi/acl.h"
#include "engine/lock.h"
#include "memory/shared_buffer.h"

namespace aclsim {

struct QueueAttributes {  // validated
    std::string name;
    std::uint32_t depth = 8;
    bool overwrites = false;  // a full queue drops its oldest message
};

enum QueueRight : std::uint32_t {
    kManage = ACL_TDT_QUEUE_PERMISSION_MANAGE,
    kDequeue = ACL_TDT_QUEUE_PERMISSION_DEQUEUE,
    kEnqueue = ACL_TDT_QUEUE_PERMISSION_ENQUEUE,
    kAllRights = kManage | kDequeue | kEnqueue,
};

// Guarded by the engine lock.
class Ring {
  public:
    // Has the messages for itself among all processes until it ends.
    class Step {
      public:
        explicit Step(Ring &ring) REQUIRES(engine_lock) : ring_(ring) { ring_.begin(); }
        ~Step() REQUIRES(engine_lock) { ring_.end(); }
        Step(const Step &) = delete;
        Step &operator=(const Step &) = delete;

      private:
        Ring &ring_;
    };
    virtual ~Ring() = default;

    // The following functions require a Step.
    virtual std::uint32_t count() REQUIRES(engine_lock) = 0;
    struct Front {
        std::uint64_t length;  // bytes of data
        std::size_t small;     // bytes of its only buffer, which has no content; 0: the buffers have contents
    };
    virtual Front front() REQUIRES(engine_lock) = 0;  // describes the first message; there is one
    // Adds a message; there is room. A failure leaves the message as it was.
    virtual void put(Message &message) REQUIRES(engine_lock) = 0;
    // Returns the first message. A failure loses it.
    virtual Message take() REQUIRES(engine_lock) = 0;
    bool is_full() REQUIRES(engine_lock) { return count() == depth(); }

    virtual std::uint32_t depth() const = 0;
    virtual bool overwrites() const = 0;
    virtual bool is_open() const = 0;
    virtual std::vector<Message> close() REQUIRES(engine_lock) = 0;  // for all processes; returns its messages
    // Changes with every message that comes or goes. Requires no lock.
    virtual std::uint64_t changes() const = 0;
    virtual bool is_shared() const { return false; }
    virtual std::uint32_t rights() const { return kAllRights; }  // granted to this process; the ring is open
    // Counts the routes from and to the queue.
    virtual std::atomic<std::uint32_t> &routes() = 0;

  protected:
    virtual void begin() REQUIRES(engine_lock) {}
    virtual void end() REQUIRES(engine_lock) {}
};

// Queue of one process.
class PrivateRing final : public Ring {
  public:
    explicit PrivateRing(const QueueAttributes &attributes) : attributes_(attributes) {}
    std::uint32_t count() override REQUIRES(engine_lock) { return static_cast<std::uint32_t>(messages_.size()); }
    Front front() override REQUIRES(engine_lock) {
        return {messages_.front().length(), messages_.front().small.size()};
    }
    void put(Message &message) override REQUIRES(engine_lock);
    Message take() override REQUIRES(engine_lock);
    std::uint32_t depth() const override { return attributes_.depth; }
    bool overwrites() const override { return attributes_.overwrites; }
    bool is_open() const override { return is_open_.load(std::memory_order_relaxed); }
    std::vector<Message> close() override REQUIRES(engine_lock);
    std::uint64_t changes() const override { return changes_.load(std::memory_order_acquire); }
    std::atomic<std::uint32_t> &routes() override { return routes_; }

  private:
    const QueueAttributes attributes_;
    std::deque<Message> messages_ GUARDED_BY(engine_lock);
    std::atomic<std::uint64_t> changes_{0};
    std::atomic<std::uint32_t> routes_{0};
    std::atomic<bool> is_open_{true};
};

}  // namespace aclsim
