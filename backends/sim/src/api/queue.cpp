// SPDX-License-Identifier: Apache-2.0
// Shared queues (API reference 17-02).
#include "api/queue.h"

#include "memory/memory.h"

using namespace aclsim;

namespace {

constexpr std::int32_t kForever = -1;

void require_limit(std::int32_t timeout) {
    if (timeout < kForever) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "timeout %d ms is neither -1 nor positive nor 0", timeout);
    }
}

// Rejects memory of a device that is not allocated. Other memory is the program's own.
void require_allocated_data(Simulator &sim, const void *address, std::uint64_t size, AccessMode mode, const char *name)
    REQUIRES(engine_lock) {
    if (sim.memory.is_on_device(address) && !sim.memory.is_live(address, size)) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "%s, %p, is not allocated with %llu bytes%s", name, address,
             static_cast<unsigned long long>(size), explain_address(sim.memory, address).c_str());
    }
    note_use(sim.memory, address, size, mode, name);
}

void require_user_data_size(std::size_t size) {
    if (size > BufferPart::kUserData) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "%zu bytes of user data are more than %zu", size, BufferPart::kUserData);
    }
}

// Data of the program, which are copied once there is room.
class ProgramData final : public Queues::Source {
  public:
    ProgramData(Simulator &sim, const void *data, std::size_t size, const void *user_data, std::size_t user_data_size)
        : sim_(sim), data_(data), size_(size), user_data_(user_data), user_data_size_(user_data_size) {}
    Message &message(Lock &lock) override REQUIRES(engine_lock) {
        if (message_.parts.empty()) {
            make(lock);
        }
        return message_;
    }

  private:
    void make(Lock &lock) REQUIRES(engine_lock) {
        require_user_data_size(user_data_size_);
        if (user_data_ == nullptr && user_data_size_ > 0) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "userData is NULL, and userDataSize is %zu", user_data_size_);
        }
        if (size_ > SharedBuffer::kLargest) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "%zu bytes are more than 4 GiB", size_);
        }
        require_allocated_data(sim_, data_, size_, AccessMode::Read, "data");
        BufferPart part;
        part.length = size_;
        std::memcpy(part.user_data.data(), user_data_ == nullptr ? "" : user_data_, user_data_size_);
        std::string small;
        if (size_ <= Message::kSmall) {
            small.assign(static_cast<const char *>(data_), size_);
        } else {
            const Unlocked unlocked(lock);
            part.content = Content::create(size_);
            part.content->write(data_, size_);
        }
        message_.small = std::move(small);
        message_.parts.push_back(std::move(part));
    }

    Simulator &sim_;
    const void *const data_;
    const std::size_t size_;
    const void *const user_data_;
    const std::size_t user_data_size_;
    Message message_;
};

// A chain of buffers, which the queue takes over.
class BufferChain final : public Queues::Source {
  public:
    BufferChain(Simulator &sim, void *head) : sim_(sim), head_(head) {}
    Message &message(Lock &) override REQUIRES(engine_lock) {
        message_ = require_chain(sim_, head_).lend();
        return message_;
    }
    void put_back() override REQUIRES(engine_lock) { require_chain(sim_, head_).take_back(std::move(message_)); }
    void forget() REQUIRES(engine_lock) { require_chain(sim_, head_).remove(sim_.core.registry()); }

  private:
    Simulator &sim_;
    void *const head_;
    Message message_;
};

}  // namespace

aclError acltdtDestroyQueue(uint32_t qid) {
    return entry(Function::acltdtDestroyQueue, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require_current_device(sim);
        sim.queues.destroy(qid);
    });
}

aclError acltdtEnqueueData(uint32_t qid, const void *data, size_t dataSize, const void *userData, size_t userDataSize,
                           int32_t timeout, uint32_t rsv) {
    return entry(Function::acltdtEnqueueData, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require(data, "data");
        require_size(dataSize);
        require_current_device(sim);
        require_limit(timeout);
        static_cast<void>(rsv);
        ProgramData source(sim, data, dataSize, userData, userDataSize);
        sim.queues.put(lock, sim.queues.require(qid, kEnqueue), source, {timeout, ACL_ERROR_RT_QUEUE_FULL});
    });
}

aclError acltdtDequeueData(uint32_t qid, void *data, size_t dataSize, size_t *retDataSize, void *userData,
                           size_t userDataSize, int32_t timeout) {
    return entry(Function::acltdtDequeueData, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require(data, "data");
        require(retDataSize, "retDataSize");
        require_size(dataSize);
        require_current_device(sim);
        require_limit(timeout);
        require_user_data_size(userDataSize);
        std::uint64_t length = 0;
        const auto accept = [&](const Ring::Front &front) REQUIRES(engine_lock) {
            length = front.length;
            if (length > dataSize) {
                *retDataSize = length;
                fail(ACL_ERROR_RT_PARAM_INVALID,
                     "the message has %llu bytes, and there is room for %zu; it stays there",
                     static_cast<unsigned long long>(length), dataSize);
            }
            require_allocated_data(sim, data, length, AccessMode::Write, "data");
        };
        const Ref<Queue> queue = sim.queues.require(qid, kDequeue);
        std::optional<Message> message = sim.queues.take(lock, queue, accept, {timeout, ACL_ERROR_RT_QUEUE_EMPTY});
        if (userData != nullptr) {
            std::memcpy(userData, message->parts.front().user_data.data(), userDataSize);
        }
        work_unlocked(sim.memory, lock, [&] {
            message->read(data, length);
            message.reset();
        });
        *retDataSize = length;
    });
}

aclError acltdtEnqueue(uint32_t qid, acltdtBuf buf, int32_t timeout) {
    return entry(Function::acltdtEnqueue, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require_queues_on_device();
        require(buf, "buf");
        require_current_device(sim);
        require_limit(timeout);
        BufferChain chain(sim, buf);
        sim.queues.put(lock, sim.queues.require(qid, kEnqueue), chain, {timeout, ACL_ERROR_FAILURE});
        chain.forget();
    });
}

aclError acltdtDequeue(uint32_t qid, acltdtBuf *buf, int32_t timeout) {
    return entry(Function::acltdtDequeue, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require_queues_on_device();
        require(buf, "buf");
        require_current_device(sim);
        require_limit(timeout);
        std::unique_ptr<Content> for_small;  // made while the message is in the queue, because that may fail
        const auto accept = [&](const Ring::Front &front) {
            for_small = front.small > 0 ? Content::create(front.small) : nullptr;
        };
        Message message =
            sim.queues.take(lock, sim.queues.require(qid, kDequeue), accept, {timeout, ACL_ERROR_FAILURE});
        message.give_content(std::move(for_small));
        *buf = SharedBuffer::add(sim.core.registry(), std::move(message)).handle();
    });
}

aclError acltdtGrantQueue(uint32_t qid, int32_t pid, uint32_t permission, int32_t timeout) {
    return entry(Function::acltdtGrantQueue, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require_queues_on_device();
        require_current_device(sim);
        require_limit(timeout);
        if (pid <= 0) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "there is no process %d", pid);
        }
        if (permission == 0 || (permission & ~std::uint32_t{kAllRights}) != 0) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "permission 0x%x is not a combination of rights", permission);
        }
        sim.queues.grant(qid, pid, permission);
    });
}

aclError acltdtAttachQueue(uint32_t qid, int32_t timeout, uint32_t *permission) {
    return entry(Function::acltdtAttachQueue, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require_queues_on_device();
        require(permission, "permission");
        const Device &device = require_current_device(sim);
        require_limit(timeout);
        *permission = sim.queues.attach(lock, qid, device, deadline_of(sim, timeout));
    });
}
