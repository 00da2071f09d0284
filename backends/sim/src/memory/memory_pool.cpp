#include "memory/memory_pool.h"

#include <algorithm>
#include <iterator>

#include "engine/condition.h"
#include "engine/core.h"
#include "machine/context.h"
#include "support/error.h"

namespace aclsim {
namespace {

std::uintptr_t number(const void *address) { return reinterpret_cast<std::uintptr_t>(address); }

// A stream takes a block over: at this point of the stream everybody else must have let go of it. Mostly that is so for
// certain; the task matters where the pool itself makes one stream wait for another.
class AttachTask final : public ConditionTask {
  public:
    // It polls because an aborted stream passes its points without telling anybody.
    AttachTask(Engine &engine, std::shared_ptr<MemoryPool> pool, std::shared_ptr<MemoryCheck::Allocation> checked,
               Fence fence)
        : ConditionTask(engine, /*timeout_s=*/0, /*polls=*/true),
          engine_(engine),
          pool_(std::move(pool)),
          checked_(std::move(checked)),
          fence_(std::move(fence)) {}
    TaskKind kind() const override { return TaskKind::Attach; }
    Stream *waits_for() override { return fence_.first_pending().get(); }
    std::string awaited() const override { return "memory of a pool that was freed in another stream"; }

  protected:
    bool try_pass() override {
        const bool has_passed = fence_.has_passed();
        if (checked_ && has_passed) {
            engine_.memory_check()->reached_allocation(*checked_);
        }
        return has_passed;
    }
    Waiters &waiters() override { return pool_->waiters; }

  private:
    Engine &engine_;
    std::shared_ptr<MemoryPool> pool_;
    std::shared_ptr<MemoryCheck::Allocation> checked_;
    Fence fence_;
};

// The point at which a stream lets go of a block.
class DetachTask final : public Task {
  public:
    DetachTask(Engine &engine, std::shared_ptr<MemoryPool> pool, std::shared_ptr<MemoryCheck::Allocation> checked)
        : engine_(engine), pool_(std::move(pool)), checked_(std::move(checked)) {}
    TaskKind kind() const override { return TaskKind::Detach; }
    Start start(Stream &stream) override {
        cancel(stream);
        pool_->waiters.wake(engine_);
        return Start::Done;
    }
    // The pool has the block back since the submission.
    void cancel(Stream &) override {
        if (checked_) {
            engine_.memory_check()->reached_free(*checked_);
        }
    }

  private:
    Engine &engine_;
    std::shared_ptr<MemoryPool> pool_;
    std::shared_ptr<MemoryCheck::Allocation> checked_;
};

// Frees memory of aclrtMalloc when its turn comes. Until then the block is the stream's: nobody else may free it, so
// that it is still the same one.
class FreeTask final : public Task {
  public:
    FreeTask(Engine &engine, void *address, std::shared_ptr<MemoryCheck::Allocation> checked)
        : engine_(engine), address_(address), checked_(std::move(checked)) {}
    TaskKind kind() const override { return TaskKind::Free; }
    Start start(Stream &) override {
        if (!take_back()) {  // it never was one, or went with its device
            result = ACL_ERROR_RT_PARAM_INVALID;
            return Start::Done;
        }
        if (checked_) {
            engine_.memory_check()->reached_free(*checked_);
        }
        engine_.free_device_block(address_);
        return Start::Done;
    }
    void cancel(Stream &) override {
        if (take_back() && checked_) {
            engine_.memory_check()->not_freed(checked_);
        }
    }

  private:
    bool take_back() { return engine_.memory().change_owner(address_, Owner::Stream, Owner::Application); }

    Engine &engine_;
    void *address_;
    std::shared_ptr<MemoryCheck::Allocation> checked_;
};

std::shared_ptr<MemoryCheck::Allocation> note_free(Engine &engine, const void *address) {
    MemoryCheck *check = engine.memory_check();
    return check == nullptr ? nullptr : check->freed_in_stream(address);
}

void require_used(Engine &engine, const MemoryPool &pool, const void *address) {
    if (pool.state_of(address) != MemoryPool::State::Used) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "%p is inside a pool and not the start of a block that is in use%s", address,
             what_is_known_of(engine, address).c_str());
    }
}

// What is no block is found out by the task (section 9).
void free_block_in_stream(Engine &engine, Stream &stream, void *address) {
    if (engine.memory().is_device_block(address, Owner::Stream)) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "%p was given to a stream to free already%s", address,
             what_is_known_of(engine, address).c_str());
    }
    std::shared_ptr<MemoryCheck::Allocation> checked;
    if (engine.memory().change_owner(address, Owner::Application, Owner::Stream)) {
        checked = note_free(engine, address);
    } else if (MemoryCheck *check = engine.memory_check()) {
        check->freed_nothing(address);
    }
    engine.submit(stream, FreeTask(engine, address, std::move(checked)));
}

}  // namespace

// --- Fence -----------------------------------------------------------------------------------------------------------

void Fence::add(const std::shared_ptr<Stream> &stream, std::uint64_t sequence) {
    for (Point &point : points_) {
        if (point.stream.lock() == stream) {
            point.sequence = std::max(point.sequence, sequence);
            return;
        }
    }
    points_.push_back({stream, sequence});
}

void Fence::merge(const Fence &other) {
    for (const Point &point : other.points_) {
        if (const auto stream = point.stream.lock()) {
            add(stream, point.sequence);
        }
    }
}

bool Fence::has_same_streams(const Fence &other) const {
    const auto has = [](const Fence &fence, const Point &wanted) {
        const auto is_it = [&](const Point &point) { return point.stream.lock() == wanted.stream.lock(); };
        return std::any_of(fence.points_.begin(), fence.points_.end(), is_it);
    };
    const auto has_all = [&](const Fence &of, const Fence &in) {
        return std::all_of(of.points_.begin(), of.points_.end(), [&](const Point &point) { return has(in, point); });
    };
    return has_all(*this, other) && has_all(other, *this);
}

std::shared_ptr<Stream> Fence::first_pending() const {
    for (const Point &point : points_) {
        const auto stream = point.stream.lock();
        if (stream && stream->completed.load(std::memory_order_acquire) < point.sequence) {
            return stream;
        }
    }
    return nullptr;
}

// --- StreamLinks -----------------------------------------------------------------------------------------------------

void StreamLinks::add(const Stream &waiting, const void *recorded, std::uint64_t sequence) {
    std::uint64_t &known = links_[{waiting.handle(), recorded}];
    known = std::max(known, sequence);
}

bool StreamLinks::has(const Stream &waiting, const Stream &recorded, std::uint64_t sequence) const {
    const auto found = links_.find({waiting.handle(), recorded.handle()});
    return found != links_.end() && found->second >= sequence;
}

void StreamLinks::forget_dead(const Registry &registry) {
    if (links_.size() < worth_a_look_) {
        return;
    }
    const auto is_dead = [&](const void *handle) {
        return registry.find<Stream>(const_cast<void *>(handle)) == nullptr;
    };
    for (auto link = links_.begin(); link != links_.end();) {
        const auto &[waiting, recorded] = link->first;
        link = is_dead(waiting) || is_dead(recorded) ? links_.erase(link) : std::next(link);
    }
    worth_a_look_ = std::max(worth_a_look_, 2 * links_.size());
}

// --- MemoryPool ------------------------------------------------------------------------------------------------------

MemoryPool::MemoryPool(Device &owner, AddressSpace &memory, std::uint64_t bytes)
    : device(owner), size(bytes), memory_(memory) {
    for (const auto reuse : {ACL_RT_MEM_POOL_REUSE_FOLLOW_EVENT_DEPENDENCIES, ACL_RT_MEM_POOL_REUSE_ALLOW_OPPORTUNISTIC,
                             ACL_RT_MEM_POOL_REUSE_ALLOW_INTERNAL_DEPENDENCIES}) {
        attributes_[reuse] = 1;
    }
}

void *MemoryPool::allocate(std::uint64_t bytes, const Stream &stream, const StreamLinks &links, Fence &fence) {
    const bool follows_events = attribute(ACL_RT_MEM_POOL_REUSE_FOLLOW_EVENT_DEPENDENCIES) != 0;
    const bool is_opportunistic = attribute(ACL_RT_MEM_POOL_REUSE_ALLOW_OPPORTUNISTIC) != 0;
    const auto comes_after = [&](const Fence &freed) {
        return freed.all_of([&](const Stream &other, std::uint64_t sequence) {
            return &other == &stream || other.synchronized >= sequence ||
                   (follows_events && links.has(stream, other, sequence)) ||
                   (is_opportunistic && other.completed.load(std::memory_order_acquire) >= sequence);
        });
    };
    auto found = find_cached(bytes, comes_after);
    if (found == blocks_.end() && reserved() - used() >= bytes) {
        join_all();
        found = find_cached(bytes, comes_after);
    }
    if (found == blocks_.end()) {
        found = reserve(bytes);
    }
    if (found == blocks_.end()) {
        trim(0);
        found = reserve(bytes);
    }
    if (found == blocks_.end() && attribute(ACL_RT_MEM_POOL_REUSE_ALLOW_INTERNAL_DEPENDENCIES) != 0) {
        found = find_cached(bytes, [](const Fence &) { return true; });
    }
    return found == blocks_.end() ? nullptr : take(found, bytes, fence);
}

MemoryPool::State MemoryPool::state_of(const void *address) const {
    auto reservation = reservations_.upper_bound(number(address));
    if (reservation == reservations_.begin()) {
        return State::Outside;
    }
    --reservation;
    if (number(address) - reservation->first >= reservation->second) {
        return State::Outside;
    }
    const auto block = blocks_.find(number(address));
    return block != blocks_.end() && block->second.is_used ? State::Used : State::NotUsed;
}

void MemoryPool::release(const void *address, const Fence &fence) {
    const auto block = blocks_.find(number(address));
    block->second.fence.merge(fence);
    count(ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT, ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH, used() - block->second.size);
    cache(block);
    join(block);
    if (block != blocks_.begin()) {
        join(std::prev(block));
    }
}

void MemoryPool::trim(std::uint64_t keep) {
    if (reserved() <= keep || reserved() == used()) {
        return;
    }
    join_all();
    for (auto it = reservations_.end(); it != reservations_.begin() && reserved() > keep;) {
        const auto reservation = std::prev(it);
        const auto [address, bytes] = *reservation;
        const auto block = blocks_.find(address);
        const bool is_idle = !block->second.is_used && block->second.size == bytes && block->second.fence.has_passed();
        if (!is_idle || reserved() - bytes < keep) {
            it = reservation;
            continue;
        }
        uncache(block);
        blocks_.erase(block);
        it = reservations_.erase(reservation);
        memory_.free_internal(device.physical_id, reinterpret_cast<void *>(address));
        count(ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_HIGH, reserved() - bytes);
    }
}

void MemoryPool::abandon() {
    is_abandoned_ = true;
    for (auto block = blocks_.begin(); block != blocks_.end(); ++block) {
        if (block->second.is_used) {
            cache(block);
            block->second.fence = {};
        }
    }
    count(ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT, ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH, 0);
    trim(0);
}

void MemoryPool::forget() {
    is_abandoned_ = true;
    reservations_.clear();
    blocks_.clear();
    cached_.clear();
}

// Best fit: the smallest block that is large enough, of those the one with the lowest address.
template <class Predicate>
MemoryPool::Blocks::iterator MemoryPool::find_cached(std::uint64_t bytes, Predicate may_have) {
    for (auto it = cached_.lower_bound({bytes, 0}); it != cached_.end(); ++it) {
        const auto block = blocks_.find(it->second);
        if (may_have(block->second.fence)) {
            return block;
        }
    }
    return blocks_.end();
}

MemoryPool::Blocks::iterator MemoryPool::reserve(std::uint64_t bytes) {
    void *const address = bytes <= size - reserved() ? memory_.allocate_internal(device.physical_id, bytes) : nullptr;
    if (address == nullptr) {
        return blocks_.end();
    }
    count(ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_HIGH, reserved() + bytes);
    reservations_.emplace(number(address), bytes);
    const auto block = blocks_.emplace(number(address), Block{bytes, false, {}}).first;
    cache(block);
    return block;
}

void *MemoryPool::take(Blocks::iterator block, std::uint64_t bytes, Fence &fence) {
    uncache(block);
    const std::uint64_t rest = block->second.size - bytes;
    if (rest > 0) {
        cache(blocks_.emplace(block->first + bytes, Block{rest, false, block->second.fence}).first);
    }
    block->second.size = bytes;
    block->second.is_used = true;
    fence = block->second.fence;
    count(ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT, ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH, used() + bytes);
    return reinterpret_cast<void *>(block->first);
}

void MemoryPool::cache(Blocks::iterator block) {
    block->second.is_used = false;
    cached_.insert({block->second.size, block->first});
}

// Neighbours of one reservation that become free together. Others stay apart, or the earlier one would have to wait.
bool MemoryPool::can_join(Blocks::iterator block, Blocks::iterator next) const {
    if (block->second.is_used || next->second.is_used || reservations_.count(next->first) != 0) {
        return false;
    }
    const Fence &left = block->second.fence;
    const Fence &right = next->second.fence;
    return left.has_same_streams(right) || (left.has_passed() && right.has_passed());
}

bool MemoryPool::join(Blocks::iterator block) {
    const auto next = std::next(block);
    if (next == blocks_.end() || !can_join(block, next)) {
        return false;
    }
    uncache(block);
    uncache(next);
    block->second.size += next->second.size;
    block->second.fence.merge(next->second.fence);
    blocks_.erase(next);
    cache(block);
    return true;
}

void MemoryPool::join_all() {
    for (auto block = blocks_.begin(); block != blocks_.end(); ++block) {
        while (join(block)) {
        }
    }
}

void MemoryPool::count(aclrtMemPoolAttr current, aclrtMemPoolAttr high, std::uint64_t bytes) {
    attributes_[current] = bytes;
    attributes_[high] = std::max(attributes_[high], bytes);
}

// --- MemoryPools -----------------------------------------------------------------------------------------------------

std::shared_ptr<MemoryPool> MemoryPools::create(Engine &engine, Device &device, std::uint64_t size) {
    const auto pool = std::make_shared<MemoryPool>(device, engine.memory(), size);
    engine.registry().add(pool);
    pools_.push_back(pool);
    return pool;
}

void MemoryPools::destroy(Engine &engine, MemoryPool &pool) {
    const Device &device = pool.device;
    if (MemoryCheck *check = engine.memory_check()) {
        for (const auto &[address, size] : pool.reservations()) {
            check->all_freed(address, size);
        }
    }
    pool.abandon();
    engine.registry().remove(pool);
    trim(device);
}

std::shared_ptr<MemoryPool> MemoryPools::pool_of(const void *address) const {
    const auto holds = [&](const auto &pool) { return pool->state_of(address) != MemoryPool::State::Outside; };
    const auto found = std::find_if(pools_.begin(), pools_.end(), holds);
    return found == pools_.end() ? nullptr : *found;
}

void MemoryPools::link(Engine &engine, const Stream &waiting, const void *recorded, std::uint64_t sequence) {
    if (!pools_.empty()) {
        links_.forget_dead(engine.registry());
        links_.add(waiting, recorded, sequence);
    }
}

void MemoryPools::trim(const Device &device) {
    for (const auto &pool : pools_) {
        if (&pool->device == &device) {
            pool->trim(pool->is_abandoned() ? 0 : pool->attribute(ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD));
        }
    }
    const auto is_gone = [](const auto &pool) { return pool->is_abandoned() && pool->reserved() == 0; };
    pools_.erase(std::remove_if(pools_.begin(), pools_.end(), is_gone), pools_.end());
}

void MemoryPools::close(Engine &engine, const Device &device) {
    for (const auto &pool : pools_) {
        if (&pool->device == &device) {
            if (!pool->is_abandoned()) {
                engine.registry().remove(*pool);
            }
            pool->forget();
        }
    }
    const auto is_closed = [&](const auto &pool) { return &pool->device == &device; };
    pools_.erase(std::remove_if(pools_.begin(), pools_.end(), is_closed), pools_.end());
}

// --- in the order of streams -----------------------------------------------------------------------------------------

void *allocate_in_stream(Engine &engine, Stream &stream, const std::shared_ptr<MemoryPool> &pool, std::uint64_t size) {
    engine.timer().start();  // or the block would be taken when the task turns out to be impossible
    const std::uint64_t bytes = round_up(size, MemoryPool::kGranularity);
    Fence fence;
    void *const address = pool->allocate(bytes, stream, engine.memory_pools().links(), fence);
    if (address == nullptr) {
        fail(ACL_ERROR_RT_INTERNAL_ERROR,
             "the pool is exhausted: %llu bytes do not fit; %llu of its %llu bytes are used, %llu are reserved, and "
             "%llu are free on device %u",
             static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(pool->used()),
             static_cast<unsigned long long>(pool->size), static_cast<unsigned long long>(pool->reserved()),
             static_cast<unsigned long long>(engine.memory().device(pool->device.physical_id).free_bytes()),
             pool->device.user_id);
    }
    MemoryCheck *check = engine.memory_check();
    auto checked = check == nullptr ? nullptr : check->allocated(address, size, bytes, MemoryCheck::Pages::InStream);
    engine.submit(stream, AttachTask(engine, pool, std::move(checked), std::move(fence)));
    return address;
}

void free_in_stream(Engine &engine, Stream &stream, void *address) {
    const auto pool = engine.memory_pools().pool_of(address);
    if (!pool) {
        free_block_in_stream(engine, stream, address);
        return;
    }
    if (&pool->device != &stream.context.device) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "%p belongs to a pool of device %u, the stream to device %u", address,
             pool->device.user_id, stream.context.device.user_id);
    }
    require_used(engine, *pool, address);
    Fence fence;
    fence.add(stream.shared_from_this(), stream.submitted + 1);
    pool->release(address, fence);
    engine.submit(stream, DetachTask(engine, pool, note_free(engine, address)));
}

bool free_into_pool(Engine &engine, void *address) {
    const auto pool = engine.memory_pools().pool_of(address);
    if (!pool) {
        return false;
    }
    require_used(engine, *pool, address);
    note_release(engine, address);
    pool->release(address, {});
    return true;
}

}  // namespace aclsim
