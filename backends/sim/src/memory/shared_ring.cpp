// SPDX-License-Identifier: Apache-2.0
#include "memory/shared_ring.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <utility>

#include "support/error.h"

namespace aclsim {

// A buffer of a message, as it lies in a slot or, if it is not the first of the message, in a further part.
struct PartInfo {
    std::uint64_t size;
    std::uint64_t length;
    std::array<unsigned char, BufferPart::kUserData> user_data;
};

namespace {

constexpr std::size_t kMembers = 64;
constexpr std::uint32_t kOpen = 1, kClosed = 2;
constexpr std::uint32_t kMinDepth = 2;

PartInfo info_of(const BufferPart &part, std::uint64_t size) { return {size, part.length, part.user_data}; }

bool is_sound(const PartInfo &info) {
    return info.size > 0 && info.size <= SharedBuffer::kLargest && info.length <= info.size;
}

}  // namespace

// A process with rights. It is attached while `attached` is set and the process holds the lock of the row's first byte;
// set without the lock, it has ended.
struct SharedRing::Member {
    std::atomic<std::int32_t> process;
    std::atomic<std::uint32_t> rights;
    std::atomic<std::uint32_t> attached;
};

struct alignas(64) SharedRing::Slot {
    std::uint32_t count;       // buffers
    std::uint32_t small_size;  // 0: the buffers have contents
    PartInfo first;
    unsigned char small[Message::kSmall];
};

struct SharedRing::Shared {
    std::atomic<std::uint32_t> state;
    std::atomic<std::uint32_t> depth;
    std::atomic<std::uint32_t> overwrites;
    std::atomic<std::uint32_t> routes;
    char name[128];  // shown by tools that look at the file
    Member members[kMembers];
    alignas(64) std::atomic<std::uint64_t> head;  // position of the first message
    std::atomic<std::uint64_t> tail;              // position after the last message
    std::atomic<std::uint64_t> changes;
    Slot slots[kMostSlots];
};

std::unique_ptr<SharedRing> SharedRing::create(const QueueAttributes &attributes) {
    static_assert(offsetof(Shared, slots) + kMinDepth * sizeof(Slot) <= SharedMemory::kFirstBytes);
    auto memory = SharedMemory::create<Shared>();
    Shared &shared = memory->as<Shared>();
    memory->reserve(shared.slots, attributes.depth * sizeof(Slot));
    shared.depth = attributes.depth;
    shared.overwrites = attributes.overwrites ? 1 : 0;
    std::snprintf(shared.name, sizeof shared.name, "%s", attributes.name.c_str());
    std::unique_ptr<SharedRing> ring(new SharedRing(std::move(memory)));
    ring->join(0, kAllRights);
    shared.state = kOpen;
    return ring;
}

std::unique_ptr<SharedRing> SharedRing::open(std::uint64_t number) {
    auto memory = SharedMemory::open<Shared>(SharedMemory::name_of(number));
    if (memory == nullptr) {
        return nullptr;
    }
    std::unique_ptr<SharedRing> ring(new SharedRing(std::move(memory)));
    const bool is_queue =
        ring->depth_ >= kMinDepth && ring->depth_ <= kMostSlots && ring->shared().state.load() == kOpen;
    return is_queue ? std::move(ring) : nullptr;
}

SharedRing::SharedRing(std::shared_ptr<SharedMemory> memory)
    : memory_(std::move(memory)), depth_(shared().depth), overwrites_(shared().overwrites != 0) {
    memory_->own_parts();
}

// The row of a process that gives its use up is free; that of a killed one says so.
SharedRing::~SharedRing() {
    if (own_row_ && is_whole()) {
        shared().members[*own_row_].attached = 0;
        shared().members[*own_row_].rights = 0;
    }
}

SharedRing::Shared &SharedRing::shared() const { return memory_->as<Shared>(); }

bool SharedRing::is_whole() const { return memory_->has_its_size(); }

void SharedRing::require_whole() const {
    if (!is_whole()) {
        fail(ACL_ERROR_RT_DRV_INTERNAL_ERROR, "another process has truncated the memory of the queue, %s",
             memory_->name().c_str());
    }
}

void SharedRing::fail_damaged() const {
    fail(ACL_ERROR_RT_DRV_INTERNAL_ERROR, "another process has damaged the memory of the queue, %s",
         memory_->name().c_str());
}

void SharedRing::begin() {
    require_whole();
    turn_.emplace(*memory_, offsetof(Shared, head));
    if (!turn_->has_it()) {
        turn_.reset();
        fail(ACL_ERROR_RT_DRV_INTERNAL_ERROR, "a process that is stopped keeps the queue locked");
    }
}

void SharedRing::end() { turn_.reset(); }

// --- messages --------------------------------------------------------------------------------------------------------

std::uint32_t SharedRing::count() {
    const std::uint64_t count = shared().tail - shared().head;
    if (count > depth_) {
        fail_damaged();
    }
    return static_cast<std::uint32_t>(count);
}

SharedRing::Slot &SharedRing::slot(std::uint64_t position) const { return shared().slots[position % depth_]; }

SharedRing::Slot SharedRing::checked_slot(std::uint64_t position) const {
    Slot copy;
    std::memcpy(&copy, &slot(position), offsetof(Slot, small));
    const bool has_small = copy.small_size > 0;
    if (copy.count == 0 || copy.count > Message::kMost || copy.small_size > Message::kSmall || !is_sound(copy.first) ||
        (has_small && (copy.count != 1 || copy.first.size != copy.small_size))) {
        fail_damaged();
    }
    std::memcpy(copy.small, slot(position).small, copy.small_size);
    return copy;
}

// Names parts by slots: what a killed process has left there is replaced by the next message in the slot.
std::string SharedRing::part_name(std::uint64_t position, std::size_t index) const {
    char suffix[40];
    std::snprintf(suffix, sizeof suffix, "%llx.%zx", static_cast<unsigned long long>(position % depth_), index);
    return memory_->part(suffix);
}

// The buffers after the first are described in a further content, which has the index after theirs.
void SharedRing::put(Message &message) {
    const std::uint64_t position = shared().tail;
    Slot &into = slot(position);
    const std::size_t count = message.parts.size();
    const auto content_of = [&](std::size_t index) -> SharedContent & {
        return static_cast<SharedContent &>(*message.parts[index].content);
    };
    into.count = static_cast<std::uint32_t>(count);
    into.small_size = static_cast<std::uint32_t>(message.small.size());
    std::memcpy(into.small, message.small.data(), message.small.size());
    into.first = info_of(message.parts[0], message.small.empty() ? content_of(0).size() : message.small.size());
    std::unique_ptr<SharedContent> others;
    if (count > 1) {
        std::vector<PartInfo> infos;
        for (std::size_t i = 1; i < count; ++i) {
            infos.push_back(info_of(message.parts[i], content_of(i).size()));
        }
        others = SharedContent::create(infos.size() * sizeof(PartInfo));
        others->write(infos.data(), infos.size() * sizeof(PartInfo));
        others->rename(part_name(position, count));
    }
    std::size_t renamed = 0;
    try {
        for (; renamed < count && message.small.empty(); ++renamed) {
            content_of(renamed).rename(part_name(position, renamed));
        }
    } catch (const Failure &) {
        while (renamed > 0) {
            content_of(--renamed).reclaim();
        }
        throw;
    }
    shared().tail = position + 1;
    ++shared().changes;
    const auto leave = [](std::unique_ptr<Content> content) {
        if (content) {
            static_cast<SharedContent &>(*content).leave();
        }
    };
    leave(std::move(others));
    for (BufferPart &part : message.parts) {
        leave(std::move(part.content));
    }
}

std::vector<PartInfo> SharedRing::parts_of(const Slot &slot, std::uint64_t position) const {
    std::vector<PartInfo> infos(slot.count, slot.first);
    const std::uint64_t bytes = (slot.count - 1) * sizeof(PartInfo);
    if ((bytes > 0 && !SharedContent::read(part_name(position, slot.count), infos.data() + 1, bytes)) ||
        !std::all_of(infos.begin(), infos.end(), is_sound)) {
        fail_damaged();
    }
    return infos;
}

Ring::Front SharedRing::front() {
    const std::uint64_t position = shared().head;
    const Slot slot = checked_slot(position);
    std::uint64_t length = 0;
    for (const PartInfo &info : parts_of(slot, position)) {
        length += info.length;
    }
    return {length, slot.small_size};
}

Message SharedRing::take() {
    const std::uint64_t position = shared().head;
    shared().head = position + 1;  // first: whatever happens to the message, the next one can be taken
    ++shared().changes;
    const Slot slot = checked_slot(position);
    const std::vector<PartInfo> infos = parts_of(slot, position);
    if (slot.count > 1) {
        SharedContent::remove(part_name(position, slot.count));
    }
    Message message;
    message.small.assign(reinterpret_cast<const char *>(slot.small), slot.small_size);
    for (std::size_t i = 0; i < infos.size(); ++i) {
        std::unique_ptr<Content> content;
        if (message.small.empty()) {
            content = SharedContent::take(part_name(position, i), infos[i].size);
            if (content == nullptr) {
                fail_damaged();
            }
        }
        message.parts.push_back({std::move(content), infos[i].length, infos[i].user_data});
    }
    return message;
}

bool SharedRing::is_open() const { return is_whole() && shared().state == kOpen; }

std::vector<Message> SharedRing::close() {
    std::vector<Message> left;
    if (is_whole()) {
        shared().state = kClosed;
        ++shared().changes;
        try {
            for (std::uint32_t i = count(); i > 0; --i) {
                left.push_back(take());
            }
        } catch (const Failure &) {
            return left;  // parts that a damaged queue does not name are removed with its piece
        }
    }
    return left;
}

std::uint64_t SharedRing::changes() const { return shared().changes.load(std::memory_order_acquire); }

std::atomic<std::uint32_t> &SharedRing::routes() { return shared().routes; }

// --- members ---------------------------------------------------------------------------------------------------------

std::uint32_t SharedRing::rights() const {
    return own_row_ ? shared().members[*own_row_].rights.load() & kAllRights : 0U;
}

std::size_t SharedRing::member_byte(std::size_t index) const {
    return offsetof(Shared, members) + index * sizeof(Member);
}

// The lock of the row of this process never seems to be held, because it belongs to this object.
bool SharedRing::has_ended(std::size_t index) {
    if (index == own_row_ || shared().members[index].attached == 0 || !memory_->try_lock(member_byte(index))) {
        return false;
    }
    memory_->unlock(member_byte(index));
    return true;
}

void SharedRing::join(std::size_t index, std::uint32_t rights) {
    Member &row = shared().members[index];
    if (!memory_->try_lock(member_byte(index))) {
        fail_damaged();
    }
    own_row_ = index;
    row.process = getpid();
    row.rights = rights;
    row.attached = 1;
}

std::optional<std::size_t> SharedRing::find_row(pid_t process) {
    std::optional<std::size_t> free;
    for (std::size_t i = 0; i < kMembers; ++i) {
        Member &row = shared().members[i];
        if (has_ended(i)) {
            continue;  // the number may be that of another process by now; find_ended() frees the row
        }
        if (row.process == process && row.rights != 0) {
            return i;
        }
        if (row.rights == 0 && row.attached == 0 && !free) {
            free = i;
        }
    }
    return free;
}

void SharedRing::grant(pid_t process, std::uint32_t rights) {
    std::optional<std::size_t> index = find_row(process);
    if (!index && find_ended(kAllRights) != 0) {
        index = find_row(process);
    }
    if (!index) {
        fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "%zu processes have rights to the queue already", kMembers);
    }
    Member &row = shared().members[*index];
    row.rights = (row.process == process ? row.rights.load() : 0) | rights;
    row.process = process;
}

bool SharedRing::attach() {
    const std::optional<std::size_t> index = find_row(getpid());
    const std::uint32_t rights = index ? shared().members[*index].rights.load() & kAllRights : 0U;
    if (rights != 0) {
        join(*index, rights);
    }
    return rights != 0;
}

pid_t SharedRing::find_ended(std::uint32_t rights) {
    for (std::size_t i = 0; i < kMembers; ++i) {
        Member &row = shared().members[i];
        if ((row.rights & rights) != 0 && has_ended(i)) {
            const pid_t process = row.process;
            row.rights = 0;
            row.attached = 0;
            return process;
        }
    }
    return 0;
}

}  // namespace aclsim
