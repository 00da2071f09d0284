// SPDX-License-Identifier: Apache-2.0
#include "tasks/copy.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "machine/context.h"
#include "memory/memory.h"
#include "support/error.h"
#include "support/move_bytes.h"
#include "support/own_view.h"

namespace aclsim {
namespace {

// Size of the tasks into which the runtime splits copies between host and device (memory_cmo_allocator.md section 3,
// aclrtMemcpyAsync). All pieces of a copy stay on one thread, which saturates the memory bandwidth: two threads were
// not faster when measured.
constexpr std::size_t kCopyPiece = 64ULL << 20;

// Code without a name in the headers: a capture denies a copy that would wait for its stream.
constexpr aclError kBlocksAsync = 107041;

constexpr std::uint32_t bit(aclrtMemcpyKind kind) { return 1U << kind; }
constexpr std::uint32_t kDefault = bit(ACL_MEMCPY_DEFAULT);
constexpr std::uint32_t kHostToHost = bit(ACL_MEMCPY_HOST_TO_HOST);
constexpr std::uint32_t kHostToDevice = bit(ACL_MEMCPY_HOST_TO_DEVICE);
constexpr std::uint32_t kDeviceToHost = bit(ACL_MEMCPY_DEVICE_TO_HOST);
constexpr std::uint32_t kDeviceToDevice = bit(ACL_MEMCPY_DEVICE_TO_DEVICE);
constexpr std::uint32_t kDirections = kHostToHost | kHostToDevice | kDeviceToHost | kDeviceToDevice;
constexpr std::uint32_t kEvery = kDirections | kDefault;

// Correction of the direction of a copy. Between pinned and device memory the actual direction applies, regardless of
// the caller's; earlier releases refuse another one (Change::CorrectsCopyKinds). With pageable memory on at least one
// side, only ACL_MEMCPY_DEFAULT is corrected, and some kinds are kept.
struct KindRule {
    Place source;
    Place destination;
    aclrtMemcpyKind direction;
    std::uint32_t corrected;  // bit masks of kinds
    std::uint32_t kept;
};
constexpr KindRule kKindRules[] = {
    {Place::Pinned, Place::Device, ACL_MEMCPY_HOST_TO_DEVICE, kEvery, 0},
    {Place::Device, Place::Pinned, ACL_MEMCPY_DEVICE_TO_HOST, kEvery, 0},
    {Place::Pinned, Place::Pinned, ACL_MEMCPY_HOST_TO_HOST, kEvery, 0},
    {Place::Device, Place::Device, ACL_MEMCPY_DEVICE_TO_DEVICE, kEvery, 0},
    {Place::Unregistered, Place::Device, ACL_MEMCPY_HOST_TO_DEVICE, kDefault, kHostToDevice | kDeviceToDevice},
    {Place::Device, Place::Unregistered, ACL_MEMCPY_DEVICE_TO_HOST, kDefault, kDeviceToHost | kDeviceToDevice},
    {Place::Pinned, Place::Unregistered, ACL_MEMCPY_HOST_TO_HOST, kDefault, kHostToHost | kHostToDevice},
    {Place::Unregistered, Place::Pinned, ACL_MEMCPY_HOST_TO_HOST, kDefault, kHostToHost | kDeviceToHost},
    {Place::Unregistered, Place::Unregistered, ACL_MEMCPY_HOST_TO_HOST, kDefault, kDirections},
};

const char *name_of(Place place) {
    constexpr const char *kNames[] = {"host memory that is not registered", "pinned host memory", "device memory",
                                      "managed memory"};
    return kNames[static_cast<std::size_t>(place)];
}

bool is_pageable(Memory &memory, const void *address) REQUIRES(engine_lock) {
    return memory.space().locate(address).place == Place::Unregistered;
}

bool is_on_device(Memory &memory, const void *address) REQUIRES(engine_lock) {
    const Place place = memory.space().locate(address).place;
    return place == Place::Device || place == Place::Managed;
}

aclrtMemcpyKind direction_of(Memory &memory, const Transfer &transfer) REQUIRES(engine_lock) {
    const bool is_to_device = is_on_device(memory, transfer.destination);
    return is_on_device(memory, transfer.source)
               ? (is_to_device ? ACL_MEMCPY_DEVICE_TO_DEVICE : ACL_MEMCPY_DEVICE_TO_HOST)
               : (is_to_device ? ACL_MEMCPY_HOST_TO_DEVICE : ACL_MEMCPY_HOST_TO_HOST);
}

// Accounts for a transfer that the call performs itself: it takes at least as long on the device.
template <class Move>
void work_in_call(Memory &memory, Lock &lock, std::chrono::nanoseconds duration, Move move) REQUIRES(engine_lock) {
    TimingModel &timing = memory.core.timing();
    const Time end = timing.is_on() ? timing.end_of_call(duration) : Time{};
    work_unlocked(memory, lock, move);
    if (timing.is_on()) {
        if (timing.is_awaited(end)) {
            sleep_until(memory.core, lock, end, ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, "the device of the profile");
        }
        timing.note_end(end);
    }
}

// Number of bytes from the first byte of the first row to the last byte of the last row.
std::size_t extent_of(const Transfer &transfer, std::size_t pitch) {
    std::size_t bytes = 0;
    if (__builtin_mul_overflow(transfer.height - 1, pitch, &bytes) ||
        __builtin_add_overflow(bytes, transfer.width, &bytes)) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "%zu rows with a pitch of %zu bytes reach beyond the end of all memory",
             transfer.height, pitch);
    }
    return bytes;
}

bool can_access(const Device &device, const Location &location) REQUIRES(engine_lock) {
    return location.device == device.physical_id || device.accessible_peers.count(location.device) != 0;
}

void require_access(Memory &memory, const Transfer &transfer) REQUIRES(engine_lock) {
    const Location from = memory.space().locate(transfer.source);
    const Location to = memory.space().locate(transfer.destination);
    const bool is_between_devices =
        from.place == Place::Device && to.place == Place::Device && from.device != to.device;
    if (!is_between_devices || !config().product->has(kCopiesNeedPeerAccess)) {
        return;
    }
    const Device &own = require_current_device(memory.machine);
    if (!can_access(own, from) || !can_access(own, to)) {
        fail(ACL_ERROR_RT_PARAM_INVALID,
             "the copy goes from one device to another, and device %u has no access to its peer; call "
             "aclrtDeviceEnablePeerAccess first, or import the memory with "
             "ACL_RT_IPC_MEM_IMPORT_FLAG_ENABLE_PEER_ACCESS",
             own.user_id);
    }
}

// Requires that a copy of pageable memory, which synchronizes the stream, is permitted (graphs_kernels.md section B1).
void require_synchronizable(Memory &memory, const ContextStream &stream) REQUIRES(engine_lock) {
    if (stream.is_hidden) {
        fail(ACL_ERROR_RT_PARAM_INVALID,
             "a copy of pageable host memory cannot be captured; use memory of aclrtMallocHost");
    }
    memory.machine.capture_modes.require_permitted(context_of(stream), kBlocksAsync);
}

}  // namespace

bool Transfer::move(const Interruption &interruption) const {
    auto *to = own_view(static_cast<unsigned char *>(destination));
    const auto *from = own_view(static_cast<const unsigned char *>(source));
    for (std::size_t row = 0; row < height; ++row) {
        for (std::size_t at = 0; at < width; at += kCopyPiece) {
            if (interruption.is_requested()) {
                return false;
            }
            move_bytes(to + row * destination_pitch + at, from + row * source_pitch + at,
                       std::min(kCopyPiece, width - at));
        }
    }
    return true;
}

bool Pattern::write(const Interruption &interruption) const {
    auto *to = own_view(static_cast<unsigned char *>(destination));
    const std::size_t size = unit * count;
    for (std::size_t at = 0; at < size; at += kCopyPiece) {
        if (interruption.is_requested()) {
            return false;
        }
        const std::size_t bytes = std::min(kCopyPiece, size - at);
        if (unit == 1) {
            std::memset(to + at, static_cast<int>(value & 0xFF), bytes);
        } else {
            std::fill_n(reinterpret_cast<std::uint32_t *>(to + at), bytes / sizeof value, value);
        }
    }
    return true;
}

void require_fits(std::size_t count, std::size_t limit) {
    if (count > limit) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "%zu bytes do not fit into a destination of %zu", count, limit);
    }
}

aclrtMemcpyKind correct_kind(Memory &memory, aclrtMemcpyKind kind, const void *destination, const void *source) {
    const Place from = memory.space().locate(source).place;
    const Place to = memory.space().locate(destination).place;
    const auto *rule = std::find_if(std::begin(kKindRules), std::end(kKindRules), [&](const KindRule &candidate) {
        return candidate.source == from && candidate.destination == to;
    });
    if (rule == std::end(kKindRules) || (rule->kept & bit(kind)) != 0) {
        return kind;
    }
    const bool is_wrong = (kDirections & bit(kind)) != 0 && kind != rule->direction;
    if ((rule->corrected & bit(kind)) == 0 || (is_wrong && !config().has(Change::CorrectsCopyKinds))) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "copy kind %d does not fit: dst is %s, src %s", static_cast<int>(kind),
             name_of(to), name_of(from));
    }
    return rule->direction;
}

void require_ranges(Memory &memory, const Transfer &transfer) {
    const std::size_t written = extent_of(transfer, transfer.destination_pitch);
    const std::size_t read = extent_of(transfer, transfer.source_pitch);
    require_allocated(memory, transfer.destination, written, "dst");
    require_allocated(memory, transfer.source, read, "src");
    if (memory.core.observers().want(kMemory)) {
        const auto rows = [&](std::size_t pitch) { return Layout::rows(transfer.width, transfer.height, pitch); };
        note_use(memory, {transfer.destination, written, AccessMode::Write, "dst", rows(transfer.destination_pitch)});
        note_use(memory, {transfer.source, read, AccessMode::Read, "src", rows(transfer.source_pitch)});
    }
    require_access(memory, transfer);
}

void copy_in_stream(Memory &memory, Lock &lock, Stream &stream, const Transfer &transfer, aclrtMemcpyKind corrected) {
    const bool crosses = corrected == ACL_MEMCPY_HOST_TO_DEVICE || corrected == ACL_MEMCPY_DEVICE_TO_HOST;
    const Extent destination{transfer.destination, extent_of(transfer, transfer.destination_pitch)};
    const Extent source{transfer.source, extent_of(transfer, transfer.source_pitch)};
    const bool is_task =
        !crosses || !(is_pageable(memory, transfer.source) || is_pageable(memory, transfer.destination));
    if (!is_task) {
        require_synchronizable(memory, static_cast<ContextStream &>(stream));
    }
    admit_with(memory, lock, stream, {destination, source});
    if (is_task) {
        memory.core.submit(stream, CopyTask(transfer, corrected));
        return;
    }
    const Ref<Stream> keep(stream);
    // Treat a stream of a model as done (graphs_kernels.md section B4).
    const std::uint64_t last = static_cast<ContextStream &>(stream).is_always_complete() ? 0 : stream.submitted;
    if (memory.core.wait_for(lock, keep, last, kNever) == Core::Waited::Aborted) {
        fail_aborted(stream);
    }
    require_healthy(context_of(stream));
    raise_stream_failure(stream);
    require_still_live(memory, {destination, source});
    copy_now(memory, lock, transfer);
}

void copy_now(Memory &memory, Lock &lock, const Transfer *transfers, std::size_t count) {
    TimingModel &timing = memory.core.timing();
    std::chrono::nanoseconds duration{0};
    for (std::size_t i = 0; timing.is_on() && i < count; ++i) {
        duration += timing.duration(work_of(direction_of(memory, transfers[i]), transfers[i]));
    }
    work_in_call(memory, lock, duration, [&] {
        for (std::size_t i = 0; i < count; ++i) {
            transfers[i].move();
        }
    });
}

void fill_now(Memory &memory, Lock &lock, const Pattern &pattern) {
    TimingModel &timing = memory.core.timing();
    const bool has_cost = timing.is_on() && is_on_device(memory, pattern.destination);
    work_in_call(memory, lock, std::chrono::nanoseconds(has_cost ? timing.duration(work_of(pattern)).count() : 0),
                 [&] { pattern.write(); });
}

}  // namespace aclsim
