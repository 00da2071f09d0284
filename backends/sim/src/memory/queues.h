// SPDX-License-Identifier: Apache-2.0
// Shared queues (API reference 17-02).
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "machine/machine.h"
#include "memory/queue_directory.h"
#include "memory/ring.h"
#include "support/ref.h"

// Attributes of a queue, as the headers of the runtime's own layer declare them: programs that include those set the
// members which have no function. The flow control is for events of the device, which nothing here receives.
struct tagMemQueueAttr {
    char name[128];
    std::uint32_t depth;
    std::uint32_t workMode;
    std::uint32_t flowCtrlDropTime;
    bool flowCtrlFlag;
    bool overWriteFlag;
    std::uint32_t deployType : 1;
    std::uint32_t resv : 31;
};

namespace aclsim {

// Queue that this process has created or attached to.
struct Queue : RefCounted {
    Queue(std::uint64_t identity_of, std::unique_ptr<Ring> ring_of, std::uint32_t device_of, bool is_created)
        : identity(identity_of), ring(std::move(ring_of)), device(device_of), is_own(is_created) {}
    std::uint32_t number = 0;
    const std::uint64_t identity;  // number of the shared memory
    const std::unique_ptr<Ring> ring;
    const std::uint32_t device;  // the reset of which ends the use
    const bool is_own;           // created here
    std::condition_variable_any changed;
};

// Guarded by the engine lock.
class Queues final : public Resident {
  public:
    explicit Queues(Machine &machine) : machine_(machine) { machine.add(*this); }

    std::uint32_t create(const QueueAttributes &attributes, const Device &device) REQUIRES(engine_lock);
    void destroy(std::uint32_t number) REQUIRES(engine_lock);
    // Returns a queue to which this process has the right. Fails with ACL_ERROR_RT_DRV_INTERNAL_ERROR if there is none
    // with that number, and with ACL_ERROR_RT_NO_PERMISSION if the right is missing.
    Ref<Queue> require(std::uint32_t number, std::uint32_t right) REQUIRES(engine_lock);
    void grant(std::uint32_t number, pid_t process, std::uint32_t rights) REQUIRES(engine_lock);
    // Returns the rights that this process was granted. Waits for a grant until the deadline.
    std::uint32_t attach(Lock &lock, std::uint32_t number, const Device &device, Time deadline) REQUIRES(engine_lock);

    // Puts a message, or waits for room first. make() gives the message; it may release the lock, and fail.
    struct Waiting {
        std::int32_t timeout_ms;  // negative: no limit
        aclError late;            // code of a call that has waited for so long
    };
    class Source {
      public:
        virtual ~Source() = default;
        virtual Message &message(Lock &lock) REQUIRES(engine_lock) = 0;  // called again after a lost race
        virtual void put_back() REQUIRES(engine_lock) {}                 // after a failure
    };
    void put(Lock &lock, const Ref<Queue> &queue, Source &source, const Waiting &waiting) REQUIRES(engine_lock);
    // Takes a message, or waits for one first. accept() is called with the lock, and may fail: then the message stays.
    using Accept = std::function<void(const Ring::Front &)>;
    Message take(Lock &lock, const Ref<Queue> &queue, const Accept &accept, const Waiting &waiting)
        REQUIRES(engine_lock);

    // Set the status of each route; return false if one failed.
    bool bind(std::vector<Route> &routes) REQUIRES(engine_lock);
    void unbind(std::vector<Route> &routes) REQUIRES(engine_lock);
    std::vector<Route> routes() REQUIRES(engine_lock);

    // Attributes that acltdtCreateQueueAttr returned.
    std::map<const void *, std::unique_ptr<tagMemQueueAttr>> attributes GUARDED_BY(engine_lock);

    // Releases contents without the engine lock.
    void discard(std::vector<Message> messages) REQUIRES(engine_lock);
    void device_closed(Device &device) override REQUIRES(engine_lock);

  private:
    Handover &handover_of(const Ring &ring, Message &message) REQUIRES(engine_lock) {
        return ring.is_shared() ? of_shared_ : message.handover;
    }
    template <class Attempt>
    void wait(Lock &lock, Queue &queue, const char *awaited, std::uint32_t others, const Waiting &waiting,
              Attempt attempt) REQUIRES(engine_lock);
    Ref<Queue> add(Ref<Queue> queue) REQUIRES(engine_lock);
    // Returns the queue that this process uses under a number, or nullptr: it may be closed, or may never have been
    // there.
    Ref<Queue> find(std::uint32_t number) REQUIRES(engine_lock);
    void end(Queue &queue) REQUIRES(engine_lock);
    void end_with_device(Queue &queue) REQUIRES(engine_lock);
    void note_change(Queue &queue) REQUIRES(engine_lock);
    bool bind_one(const Route &route) REQUIRES(engine_lock);
    void count_route(const Route &route, std::int32_t change) REQUIRES(engine_lock);
    void forward() REQUIRES(engine_lock);
    std::vector<Route> routes_without_circles() REQUIRES(engine_lock);
    bool forward_from(std::uint32_t source, const std::vector<Route> &routes) REQUIRES(engine_lock);
    Ref<Queue> find_or_open(std::uint32_t number) REQUIRES(engine_lock);

    Machine &machine_;
    QueueDirectory directory_ GUARDED_BY(engine_lock);
    std::map<std::uint32_t, Ref<Queue>> queues_ GUARDED_BY(engine_lock);
    std::uint64_t created_ GUARDED_BY(engine_lock) = 0;
    Handover of_shared_ GUARDED_BY(engine_lock);  // serves all messages of queues in shared memory
};

}  // namespace aclsim
