// SPDX-License-Identifier: Apache-2.0
// Cache operations (memory_cmo_allocator.md section 6). Simulated memory is coherent, so an operation changes no data;
// it is still a task with a position in its stream, and barriers order tasks of other streams after it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "abi/acl.h"
#include "engine/condition.h"
#include "engine/stream.h"
#include "engine/task.h"
#include "engine/waiters.h"

namespace aclsim {

class Core;
class Memory;

// Range of a cache operation. The hardware's length has 32 bits, and higher bits of a size are silently dropped.
struct CacheRange {
    const void *address;
    std::uint32_t length;
};

// Layout of a descriptor.
struct CmoDescriptor {
    std::size_t size;
    std::size_t address;
    std::size_t length;
    std::size_t head;  // bytes at the start that aclrtCmoAsyncWithDesc overwrites

    static const CmoDescriptor &of_product();
    void write(void *descriptor, const CacheRange &range) const;
    void write_head(void *descriptor, aclrtCmoType type) const;
    CacheRange read(const void *descriptor) const;
};

// Tags of one model, which map to the operations that a barrier waits for. Guarded by the engine lock.
class CmoBarriers {
  public:
    struct Operation {
        Ref<const Stream> stream;
        bool is_done = false;
        Point task;  // task that performed it
    };
    using Operations = std::vector<std::shared_ptr<Operation>>;

    std::shared_ptr<Operation> add(std::uint32_t id, const Stream &stream) REQUIRES(engine_lock);
    // Returns the operations submitted so far, or nullptr if the id was never used.
    const Operations *find(std::uint32_t id) const REQUIRES(engine_lock);
    void complete(Core &core, Operation &operation) REQUIRES(engine_lock);
    Waiters &waiters() { return waiters_; }

  private:
    std::map<std::uint32_t, Operations> operations_ GUARDED_BY(engine_lock);
    Waiters waiters_;
};

inline constexpr TaskInfo kCacheOperation{"CMO", "a cache operation"};

// Operation on a range that is known at submission.
class CmoTask final : public Task {
  public:
    CmoTask(aclrtCmoType type, const CacheRange &range) : type_(type), range_(range) {}
    const TaskInfo &info() const override { return kCacheOperation; }
    Start start(Stream &) override REQUIRES(engine_lock) { return Start::Run; }
    void run() override;

  private:
    aclrtCmoType type_;
    CacheRange range_;
};

// Operation with a tag that barriers of the model refer to.
class TaggedCmoTask final : public Task {
  public:
    TaggedCmoTask(Core &core, CmoBarriers &barriers, std::shared_ptr<CmoBarriers::Operation> operation)
        : core_(core), barriers_(barriers), operation_(std::move(operation)) {}
    const TaskInfo &info() const override { return kCacheOperation; }
    Start start(Stream &stream) override REQUIRES(engine_lock) {
        operation_->task = stream.point(*this);
        return Start::Run;
    }
    void finish() override REQUIRES(engine_lock) { barriers_.complete(core_, *operation_); }
    void cancel(Stream &) noexcept override REQUIRES(engine_lock) {
        finish();
    }  // barriers do not wait for an operation that was dropped
    void rewind() override REQUIRES(engine_lock) { operation_->is_done = false; }

  private:
    Core &core_;
    CmoBarriers &barriers_;  // barriers of the model that keeps this task
    std::shared_ptr<CmoBarriers::Operation> operation_;
};

// Operation on the range in its descriptor at the time the task starts.
class DescribedCmoTask final : public Task {
  public:
    DescribedCmoTask(Memory &memory, aclrtCmoType type, const void *descriptor)
        : memory_(memory), type_(type), descriptor_(descriptor) {}
    const TaskInfo &info() const override { return kCacheOperation; }
    Start start(Stream &) override REQUIRES(engine_lock);
    void run() override;

  private:
    Memory &memory_;
    aclrtCmoType type_;
    const void *descriptor_;
    CacheRange range_{};
};

// Blocks its stream until the operations are done.
class CmoBarrierTask final : public ConditionTask {
  public:
    CmoBarrierTask(Core &core, CmoBarriers &barriers, CmoBarriers::Operations operations)
        : ConditionTask(core, /*timeout_s=*/0, /*polls=*/false),
          barriers_(barriers),
          operations_(std::move(operations)) {}
    static constexpr TaskInfo kInfo{"CMO"};
    const TaskInfo &info() const override { return kInfo; }
    void add_causes(Causes &causes) const override REQUIRES(engine_lock);
    std::string awaited() const override REQUIRES(engine_lock) { return "cache operations with barriers"; }

  protected:
    bool try_pass() override REQUIRES(engine_lock);
    void note_passed(const Stream &stream) override REQUIRES(engine_lock);
    Waiters &waiters() override REQUIRES(engine_lock) { return barriers_.waiters(); }

  private:
    CmoBarriers &barriers_;
    CmoBarriers::Operations operations_;
};

}  // namespace aclsim
