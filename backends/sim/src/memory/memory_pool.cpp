// SPDX-License-Identifier: Apache-2.0
#include "memory/memory_pool.h"

#include <algorithm>
#include <iterator>
#include <new>
#include <optional>
#include <utility>

#include "engine/condition.h"
#include "engine/sliced_work.h"
#include "machine/context.h"
#include "memory/memory.h"
#include "support/error.h"
#include "support/text.h"

namespace aclsim {
namespace {

// Task with which a stream takes over a block: from this point on no other stream may use it. Usually the order of the
// streams ensures this already; the task matters if the pool itself makes one stream wait for another.
class AttachTask final : public ConditionTask {
  public:
    // Polls, because an aborted stream passes its points without waking the waiters.
    AttachTask(Core &core, Ref<MemoryPool> pool, std::uint64_t number, Fence fence)
        : ConditionTask(core, /*timeout_s=*/0, /*polls=*/true),
          pool_(std::move(pool)),
          number_(number),
          fence_(std::move(fence)) {}
    static constexpr TaskInfo kInfo{"TASK"};
    const TaskInfo &info() const override { return kInfo; }
    void add_causes(Causes &causes) const override REQUIRES(engine_lock) { fence_.add_causes(causes); }
    std::string awaited() const override { return "memory of a pool that was freed in another stream"; }

  protected:
    bool try_pass() override REQUIRES(engine_lock) { return fence_.has_passed(); }
    void note_passed(const Stream &stream) override REQUIRES(engine_lock) {
        fence_.for_each([&](const Point &freed) REQUIRES(engine_lock) {
            core_.note_edge({freed, stream.point(*this), Ordering::PoolReuse});
        });
        core_.observers().report<kMemory>(&Observer::allocation_reached, number_, stream.point(*this));
    }
    Waiters &waiters() override { return pool_->waiters; }

  private:
    Ref<MemoryPool> pool_;
    std::uint64_t number_;
    Fence fence_;
};

// Point in a stream at which the stream frees a block. A task kept by a model frees the block with the model, because
// every execution uses the block again.
class DetachTask final : public Task {
  public:
    DetachTask(Core &core, Ref<MemoryPool> pool, std::uint64_t number)
        : core_(core), pool_(std::move(pool)), number_(number) {}
    DetachTask(DetachTask &&) = default;
    DetachTask &operator=(DetachTask &&) = delete;
    ~DetachTask() override { reach({}); }
    static constexpr TaskInfo kInfo{"TASK"};
    const TaskInfo &info() const override { return kInfo; }
    Start start(Stream &stream) override REQUIRES(engine_lock) {
        if (stream.executes_tasks) {
            reach(stream.point(*this));
            pool_->waiters.wake(core_);
        }
        return Start::Done;
    }
    // The pool has owned the block since the submission.
    void cancel(Stream &stream) noexcept override REQUIRES(engine_lock) { reach(stream.point(*this)); }

  private:
    void reach(const Point &task) REQUIRES(engine_lock) {
        if (pool_ && !has_reached_) {  // pool_ is null after a move
            has_reached_ = true;
            core_.observers().report<kMemory>(&Observer::free_reached, number_, task);
        }
    }

    Core &core_;
    Ref<MemoryPool> pool_;
    std::uint64_t number_;
    bool has_reached_ = false;
};

// Frees memory of aclrtMalloc in stream order. The stream owns the block until then, so no other call can free it, and
// it is still the same block when the task runs.
class FreeTask final : public Task {
  public:
    FreeTask(Memory &memory, void *address, std::uint64_t number)
        : memory_(memory), address_(address), number_(number) {}
    static constexpr TaskInfo kInfo{"TASK"};
    const TaskInfo &info() const override { return kInfo; }
    Start start(Stream &stream) override REQUIRES(engine_lock) {
        if (!take_back()) {  // the block never existed or is gone with its device
            result = ACL_ERROR_RT_PARAM_INVALID;
            return Start::Done;
        }
        memory_.core.observers().report<kMemory>(&Observer::free_reached, number_, stream.point(*this));
        memory_.return_device_block(address_);
        return Start::Done;
    }
    void cancel(Stream &) noexcept override REQUIRES(engine_lock) {
        if (take_back()) {
            memory_.core.observers().report<kMemory>(&Observer::free_dropped, number_);
        }
    }

  private:
    bool take_back() REQUIRES(engine_lock) {
        return memory_.space().change_owner(address_, Owner::Stream, Owner::Application);
    }

    Memory &memory_;
    void *address_;
    std::uint64_t number_;
};

void require_used(Memory &memory, const MemoryPool &pool, const void *address) REQUIRES(engine_lock) {
    if (pool.state_of(address) != MemoryPool::State::Used) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "%p is inside a pool and not the start of a block that is in use%s", address,
             explain_address(memory, address).c_str());
    }
}

// Leaves it to the task to detect an address that is not a block (memory_cmo_allocator.md section 9).
void free_block_in_stream(Memory &memory, Stream &stream, void *address) REQUIRES(engine_lock) {
    if (memory.space().is_device_block(address, Owner::Stream)) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "%p was given to a stream to free already%s", address,
             explain_address(memory, address).c_str());
    }
    std::uint64_t number = 0;
    if (memory.space().change_owner(address, Owner::Application, Owner::Stream)) {
        number = memory.note_free_in_stream(address, memory.space().find(address)->size);
    } else {
        memory.core.observers().report<kMemory>(&Observer::freed_nothing, address);
    }
    memory.core.submit(stream, FreeTask(memory, address, number));
}

}  // namespace

// --- Fence -----------------------------------------------------------------------------------------------------------

void Fence::add(const Ref<const Stream> &stream, std::uint64_t sequence) {
    for (Entry &entry : entries_) {
        if (entry.stream == stream) {
            entry.sequence = std::max(entry.sequence, sequence);
            return;
        }
    }
    entries_.push_back({stream, sequence});
}

void Fence::remove(const Stream &stream) {
    const auto is_of = [&](const Entry &entry) { return entry.stream == &stream; };
    entries_.erase(std::remove_if(entries_.begin(), entries_.end(), is_of), entries_.end());
}

void Fence::merge(const Fence &other) {
    for (const Entry &entry : other.entries_) {
        if (!entry.stream->is_destroyed) {
            add(entry.stream, entry.sequence);
        }
    }
}

bool Fence::has_same_streams(const Fence &other) const {
    const auto has = [](const Fence &fence, const Entry &wanted) REQUIRES(engine_lock) {
        return std::any_of(fence.entries_.begin(), fence.entries_.end(),
                           [&](const Entry &entry) { return entry.stream == wanted.stream; });
    };
    const auto has_all = [&](const Fence &of, const Fence &in) REQUIRES(engine_lock) {
        return std::all_of(of.entries_.begin(), of.entries_.end(),
                           [&](const Entry &entry) REQUIRES(engine_lock) { return has(in, entry); });
    };
    return has_all(*this, other) && has_all(other, *this);
}

bool Fence::has_passed() const {
    return std::all_of(entries_.begin(), entries_.end(),
                       [](const Entry &entry) REQUIRES(engine_lock) { return entry.has_passed(); });
}

void Fence::add_causes(Causes &causes) const {
    for (const Entry &entry : entries_) {
        if (!entry.has_passed()) {
            causes.list.push_back({entry.stream.get(), entry.sequence});
        }
    }
}

// --- MemoryPool ------------------------------------------------------------------------------------------------------

MemoryPool::MemoryPool(Device &owner, Memory &memory, Owners &owners, std::uint64_t created_as, std::uint64_t bytes)
    : device(owner), number(created_as), size(bytes), memory_(memory), owners_(owners) {
    for (const auto reuse : {ACL_RT_MEM_POOL_REUSE_FOLLOW_EVENT_DEPENDENCIES, ACL_RT_MEM_POOL_REUSE_ALLOW_OPPORTUNISTIC,
                             ACL_RT_MEM_POOL_REUSE_ALLOW_INTERNAL_DEPENDENCIES}) {
        attributes_[reuse] = 1;
    }
}

void *MemoryPool::allocate(std::uint64_t bytes, const Stream &stream, const StreamOrder &order, Fence &fence) {
    const bool follows_events = attribute(ACL_RT_MEM_POOL_REUSE_FOLLOW_EVENT_DEPENDENCIES) != 0;
    const bool is_opportunistic = attribute(ACL_RT_MEM_POOL_REUSE_ALLOW_OPPORTUNISTIC) != 0;
    const auto comes_after = [&](const Fence &freed) REQUIRES(engine_lock) {
        return freed.all_of([&](const Stream &other, std::uint64_t sequence) REQUIRES(engine_lock) {
            return &other == &stream || other.synchronized >= sequence ||
                   (follows_events && order.has(stream, {other.serial, sequence})) ||
                   (is_opportunistic && other.is_done(sequence));
        });
    };
    if (has_uncached_) {
        cache_all();
    }
    auto found = find_cached(bytes, comes_after);
    if (found == blocks_.end() && reserved() - used() >= bytes) {
        join_all();
        found = find_cached(bytes, comes_after);
    }
    if (found == blocks_.end()) {
        found = reserve(bytes);
    }
    if (found == blocks_.end()) {
        Trim all;
        trim(all, [] { return false; });
        found = reserve(bytes);
    }
    if (found == blocks_.end() && attribute(ACL_RT_MEM_POOL_REUSE_ALLOW_INTERNAL_DEPENDENCIES) != 0) {
        found = find_cached(bytes, [](const Fence &freed) REQUIRES(engine_lock) {
            return freed.all_of([](const Stream &, std::uint64_t sequence) { return sequence != Fence::kEndOfStream; });
        });
    }
    return found == blocks_.end() ? nullptr : take(found, bytes, fence);
}

std::uint64_t MemoryPool::size_of(const void *address) const { return blocks_.at(as_integer(address)).size; }

MemoryPool::State MemoryPool::state_of(const void *address) const {
    auto reservation = reservations_.upper_bound(as_integer(address));
    if (reservation == reservations_.begin()) {
        return State::Outside;
    }
    --reservation;
    if (as_integer(address) - reservation->first >= reservation->second) {
        return State::Outside;
    }
    const auto block = blocks_.find(as_integer(address));
    return block != blocks_.end() && block->second.is_used && !is_abandoned_ ? State::Used : State::NotUsed;
}

void MemoryPool::note_fence(const void *address, const Fence &fence) {
    blocks_.find(as_integer(address))->second.fence.merge(fence);
}

void MemoryPool::release(const void *address) {
    const auto block = blocks_.find(as_integer(address));
    count(ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT, ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH, used() - block->second.size);
    cache(block);
    join(block);
    if (block != blocks_.begin()) {
        join(std::prev(block));
    }
}

// Between slices other threads may use, trim and destroy the pool.
template <class IsEnough>
bool MemoryPool::trim(Trim &trim, IsEnough is_enough) {
    if (!trim.has_begun && (reserved() <= trim.keep || reserved() == used())) {
        return false;
    }
    trim.has_begun = true;
    for (auto next = reservations_.lower_bound(trim.before); next != reservations_.begin();
         next = reservations_.lower_bound(trim.before)) {
        const auto reservation = std::prev(next);
        if (is_enough() || join_within(reservation, trim.block, is_enough)) {
            return true;
        }
        trim.before = reservation->first;
        if (reserved() > trim.keep && reserved() - reservation->second >= trim.keep) {
            give_back_idle(reservation);
        }
    }
    return false;
}

// Joins the blocks of the reservation, from that one on if it is one of them. Returns true if more are left.
template <class IsEnough>
bool MemoryPool::join_within(Reservations::iterator reservation, std::uintptr_t &at, IsEnough is_enough) {
    const auto [address, bytes] = *reservation;
    if (is_abandoned_ && address < lost_from_) {
        memory_.report_release(address, bytes);
        lost_from_ = address;
    }
    at = at < address || at - address >= bytes ? address : at;
    auto block = std::prev(blocks_.upper_bound(at));  // another thread may have joined it with the one before
    lose_used(block);
    for (auto next = std::next(block); next != blocks_.end() && next->first - address < bytes;
         next = std::next(block)) {
        if (is_enough()) {
            at = block->first;
            return true;
        }
        lose_used(next);
        if (!join(block)) {
            block = next;
        }
    }
    return false;
}

void MemoryPool::lose_used(Blocks::iterator block) {
    if (is_abandoned_ && block->second.is_used) {
        cache(block);
        block->second.fence = {};
    }
}

void MemoryPool::give_back_idle(Reservations::iterator reservation) {
    const auto [address, bytes] = *reservation;
    const auto block = blocks_.find(address);
    if (block->second.is_used || block->second.size != bytes || !block->second.fence.has_passed()) {
        return;
    }
    uncache(block);
    blocks_.erase(block);
    reservations_.erase(reservation);
    owners_.erase(address);
    memory_.space().free_internal(device.physical_id, reinterpret_cast<void *>(address));
    count(ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_HIGH, reserved() - bytes);
}

void MemoryPool::abandon() {
    is_abandoned_ = true;
    count(ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT, ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH, 0);
}

template <class IsEnough>
bool MemoryPool::forget(IsEnough is_enough) {
    const auto has_more = [&](auto &all) REQUIRES(engine_lock) {
        while (!all.empty() && !is_enough()) {
            all.erase(all.begin());
        }
        return !all.empty();
    };
    return has_more(blocks_) || has_more(cached_) || has_more(reservations_);
}

// Best fit: the smallest block that is large enough; among equals, the one with the lowest address.
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
    require_not_poisoned(device);
    void *const address =
        bytes <= size - reserved() ? memory_.space().allocate_internal(device.physical_id, bytes) : nullptr;
    if (address == nullptr) {
        return blocks_.end();
    }
    Blocks::iterator block;
    try {
        block = blocks_.emplace(as_integer(address), Block{bytes, false, {}}).first;
        reservations_.emplace(as_integer(address), bytes);
        owners_.emplace(as_integer(address), this);
    } catch (const std::bad_alloc &) {
        reservations_.erase(as_integer(address));
        blocks_.erase(as_integer(address));
        memory_.space().free_internal(device.physical_id, address);
        throw;
    }
    count(ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_HIGH, reserved() + bytes);
    cache(block);
    return block;
}

void *MemoryPool::take(Blocks::iterator block, std::uint64_t bytes, Fence &fence) {
    fence = block->second.fence;
    const std::uint64_t rest = block->second.size - bytes;
    if (rest > 0) {
        cache(blocks_.emplace(block->first + bytes, Block{rest, false, block->second.fence}).first);
    }
    uncache(block);
    block->second.size = bytes;
    block->second.is_used = true;
    count(ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT, ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH, used() + bytes);
    return reinterpret_cast<void *>(block->first);
}

// Leaves the block to cache_all() if the list cannot grow, so that a release cannot fail.
void MemoryPool::cache(Blocks::iterator block) {
    block->second.is_used = false;
    try {
        cached_.insert({block->second.size, block->first});
    } catch (const std::bad_alloc &) {
        has_uncached_ = true;
    }
}

void MemoryPool::cache_all() {
    for (const auto &[address, block] : blocks_) {
        if (!block.is_used) {
            cached_.insert({block.size, address});
        }
    }
    has_uncached_ = false;
}

// Joins only neighbours of one reservation that become free together: otherwise the earlier one would have to wait.
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
    try {
        block->second.fence.merge(next->second.fence);
    } catch (const std::bad_alloc &) {
        return false;  // the blocks stay separate
    }
    uncache(block);
    uncache(next);
    block->second.size += next->second.size;
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

// A trim of one pool, or of those of a device.
class MemoryPools::Trimming final : public SlicedWork {
  public:
    // Down to that many bytes.
    Trimming(Core &core, MemoryPools &pools, const MemoryPool &pool, std::uint64_t keep)
        : SlicedWork(core),
          pools_(pools),
          device_(pool.device),
          keep_(keep),
          number_(pool.number),
          last_(pool.number) {}
    // All, down to their thresholds.
    Trimming(Core &core, MemoryPools &pools, const Device &device) : SlicedWork(core), pools_(pools), device_(device) {}
    bool do_slice() override REQUIRES(engine_lock) {
        std::size_t done = 0;
        auto &in_use = pools_.in_use_;
        for (auto it = in_use.lower_bound(number_); it != in_use.end() && it->first <= last_;
             it = in_use.lower_bound(number_)) {
            MemoryPool &pool = *it->second;
            if (it->first != number_) {
                number_ = it->first;
                trim_ = {};
            }
            if (&pool.device == &device_) {
                trim_.keep = keep_ ? *keep_ : threshold_of(pool);
                if (pool.trim(trim_, [&]() REQUIRES(engine_lock) { return is_enough(done++); })) {
                    return true;
                }
                pools_.drop_if_empty(core_, pool);
            }
            ++number_;
            trim_ = {};
        }
        return false;
    }

  private:
    static std::uint64_t threshold_of(MemoryPool &pool) REQUIRES(engine_lock) {
        return pool.is_abandoned() ? 0 : pool.attribute(ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD);
    }

    MemoryPools &pools_;
    const Device &device_;
    std::optional<std::uint64_t> keep_;
    std::uint64_t number_ = 0;  // number of the next pool
    std::uint64_t last_ = UINT64_MAX;
    MemoryPool::Trim trim_;
};

// Records that the pools of a device keep of its memory, after that memory has been freed.
class MemoryPools::Closing final : public SlicedWork {
  public:
    Closing(Core &core, Pools pools, MemoryPool::Owners owners)
        : SlicedWork(core), pools_(std::move(pools)), owners_(std::move(owners)) {}
    bool do_slice() override REQUIRES(engine_lock) {
        std::size_t done = 0;
        const auto is_over = [&]() REQUIRES(engine_lock) { return is_enough(done++); };
        for (; !pools_.empty(); pools_.erase(pools_.begin())) {
            if (is_over() || pools_.begin()->second->forget(is_over)) {
                return true;
            }
        }
        while (!owners_.empty() && !is_over()) {
            owners_.erase(owners_.begin());
        }
        return !owners_.empty();
    }

  private:
    Pools pools_;
    MemoryPool::Owners owners_;
};

Ref<MemoryPool> MemoryPools::create(Memory &memory, Device &device, std::uint64_t size) {
    const auto pool = make_ref<MemoryPool>(device, memory, owners_[&device], ++created_, size);
    memory.core.registry().add_with(pool, [&]() REQUIRES(engine_lock) { pools_.emplace(pool->number, pool); });
    memory.core.stream_order().start();
    return pool;
}

void MemoryPools::destroy(Memory &memory, MemoryPool &pool) {
    const Ref<MemoryPool> keep(pool);
    pool.abandon();
    memory.core.registry().remove(pool);
    trim(memory, pool, 0);
    drop_if_empty(memory.core, pool);
}

Ref<MemoryPool> MemoryPools::pool_of(const void *address) const {
    for (const auto &[device, owners] : owners_) {
        const auto next = owners.upper_bound(as_integer(address));
        MemoryPool *const before = next == owners.begin() ? nullptr : std::prev(next)->second;
        if (before != nullptr && before->state_of(address) != MemoryPool::State::Outside) {
            return Ref<MemoryPool>(before);
        }
    }
    return nullptr;
}

void MemoryPools::trim(Memory &memory, const MemoryPool &pool, std::uint64_t keep) {
    do_in_slices(memory.core, Trimming(memory.core, *this, pool, keep));
}

// Callable with only a shard lock while no pool exists: synchronizations of streams do so.
void MemoryPools::trim(Memory &memory, const Device &device) {
    if (!in_use_.empty()) {
        do_in_slices(memory.core, Trimming(memory.core, *this, device));
    }
}

void MemoryPools::drop_if_empty(Core &core, MemoryPool &pool) {
    if (pool.reserved() > 0) {
        return;
    }
    const std::uint64_t number = pool.number;
    in_use_.erase(number);
    if (pool.is_abandoned() && pools_.erase(number) > 0 && pools_.empty()) {
        core.stream_order().stop();
    }
}

void MemoryPools::close(Memory &memory, const Device &device) {
    Pools closed;
    for (auto it = pools_.begin(); it != pools_.end();) {
        MemoryPool &pool = *it->second;
        const auto next = std::next(it);
        if (&pool.device == &device) {
            if (!pool.is_abandoned()) {
                memory.core.registry().remove(pool);
            }
            pool.close();
            in_use_.erase(it->first);
            closed.insert(pools_.extract(it));
        }
        it = next;
    }
    if (closed.empty()) {
        return;
    }
    if (pools_.empty()) {
        memory.core.stream_order().stop();
    }
    MemoryPool::Owners owners = std::exchange(owners_.at(&device), {});
    do_in_slices(memory.core, Closing(memory.core, std::move(closed), std::move(owners)));
}

// --- allocations and frees in stream order ---------------------------------------------------------------------------

void *allocate_in_stream(Memory &memory, Stream &stream, const Ref<MemoryPool> &pool, std::uint64_t size) {
    memory.core.timer().start();  // fails before the block is taken if the task is impossible
    const std::uint64_t bytes = round_up(size, MemoryPool::kGranularity);
    Fence fence;
    memory.pools.note_use(*pool);  // must come first: the pool may keep memory even if the allocation fails
    void *const address = pool->allocate(bytes, stream, memory.core.stream_order(), fence);
    if (address == nullptr) {
        return nullptr;
    }
    fence.remove(stream);  // the stream's own frees are already ordered
    const Allocation allocation{address, size, bytes, Pages::InStream, memory.pools.next_number()};
    memory.core.observers().report<kMemory>(&Observer::allocated, allocation);
    try {
        memory.core.submit(stream, AttachTask(memory.core, pool, allocation.number, std::move(fence)));
    } catch (const std::bad_alloc &) {
        memory.core.observers().report<kMemory>(&Observer::freed, address);
        pool->release(address);
        throw;
    }
    return address;
}

void fail_exhausted(Memory &memory, const MemoryPool &pool, std::uint64_t size) {
    fail(ACL_ERROR_RT_INTERNAL_ERROR,
         "the pool is exhausted: %llu bytes do not fit; %llu of its %llu bytes are used, %llu are reserved; %s",
         static_cast<unsigned long long>(size), static_cast<unsigned long long>(pool.used()),
         static_cast<unsigned long long>(pool.size), static_cast<unsigned long long>(pool.reserved()),
         describe_room(memory, pool.device).c_str());
}

void free_in_stream(Memory &memory, Stream &stream, void *address) {
    const auto pool = memory.pools.pool_of(address);
    if (!pool) {
        free_block_in_stream(memory, stream, address);
        return;
    }
    if (&pool->device != &device_of(stream)) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "%p belongs to a pool of device %u, the stream to device %u", address,
             pool->device.user_id, device_of(stream).user_id);
    }
    require_used(memory, *pool, address);
    Fence fence;
    fence.add(Ref<const Stream>(stream), stream.executes_tasks ? stream.submitted + 1 : Fence::kEndOfStream);
    pool->note_fence(address, fence);
    memory.core.submit(stream,
                       DetachTask(memory.core, pool, memory.note_free_in_stream(address, pool->size_of(address))));
    pool->release(address);
}

bool free_into_pool(Memory &memory, void *address) {
    const auto pool = memory.pools.pool_of(address);
    if (!pool) {
        return false;
    }
    require_used(memory, *pool, address);
    note_release(memory, address);
    pool->release(address);
    return true;
}

}  // namespace aclsim
