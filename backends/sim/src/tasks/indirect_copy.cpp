// SPDX-License-Identifier: Apache-2.0
#include "tasks/indirect_copy.h"

#include <cstring>

#include "machine/context.h"
#include "memory/memory.h"

namespace aclsim {
namespace {

// Leading fields of a descriptor; the rest is zero. The hardware layout is not documented.
struct DescriptorLayout {
    std::uint64_t source;
    std::uint64_t destination;
    std::uint32_t length;  // truncated: 4 GiB become 0 (aclrtSetMemcpyDesc)
};

void *pointer(std::uint64_t address) { return reinterpret_cast<void *>(static_cast<std::uintptr_t>(address)); }
std::uint64_t number_of(const void *address) { return reinterpret_cast<std::uintptr_t>(address); }

}  // namespace

bool is_live_on_device(Memory &memory, const void *address, std::size_t size) {
    return memory.space().locate(address).place == Place::Device && is_live(memory, address, size);
}

IndirectCopyTask::IndirectCopyTask(Memory &memory) : CopyTask({}, ACL_MEMCPY_DEVICE_TO_DEVICE), memory_(memory) {}

Start IndirectCopyTask::start(Stream &stream) {
    if (!read(stream) || !is_found(stream, transfer_.source, AccessMode::Read, "src") ||
        !is_found(stream, transfer_.destination, AccessMode::Write, "dst")) {
        result = ACL_ERROR_RT_SYS_DMA;
        return Start::Done;
    }
    set_bytes(transfer_.width * transfer_.height);
    return CopyTask::start(stream);
}

// Does not report the access, which was reported at submission.
bool IndirectCopyTask::is_readable(const Stream &stream, const void *address, std::size_t size,
                                   const char *name) const {
    const bool is_there = is_live_on_device(memory_, address, size);
    if (!is_there) {
        memory_.core.note_found(stream, *this, {address, size, AccessMode::Read, name}, false);
    }
    return is_there;
}

bool IndirectCopyTask::is_found(const Stream &stream, const void *address, AccessMode mode, const char *name) const {
    const std::size_t size = transfer_.width;
    const bool is_there = size != 0 && is_live_on_device(memory_, address, size) &&
                          memory_.space().locate(address).device == device_of(stream).physical_id;
    memory_.core.note_found(stream, *this, {address, size, mode, name}, is_there);
    return is_there;
}

// --- descriptors -----------------------------------------------------------------------------------------------------

std::size_t CopyDescriptor::size() { return config().product->has(kHasLongDescriptors) ? 64 : 32; }

void CopyDescriptor::write(void *descriptor, const void *source, const void *destination, std::size_t length) {
    const DescriptorLayout written{number_of(source), number_of(destination), static_cast<std::uint32_t>(length)};
    std::memset(descriptor, 0, size());
    std::memcpy(descriptor, &written, sizeof written);
}

bool DescribedCopyTask::read(const Stream &stream) {
    if (!is_readable(stream, descriptor_, CopyDescriptor::size(), "desc")) {
        return false;
    }
    DescriptorLayout found;
    std::memcpy(&found, descriptor_, sizeof found);
    transfer_ = Transfer::plain(pointer(found.destination), pointer(found.source), found.length);
    return true;
}

// --- offsets ---------------------------------------------------------------------------------------------------------

bool OffsetCopyTask::read(const Stream &stream) {
    std::uint64_t to = 0;
    std::uint64_t from = 0;
    if (!read(stream, destination_, to, "dst") || !read(stream, source_, from, "src")) {
        return false;
    }
    transfer_ = Transfer::plain(pointer(to), pointer(from), count_);
    return true;
}

bool OffsetCopyTask::read(const Stream &stream, const AddressWord &place, std::uint64_t &address,
                          const char *name) const {
    if (!is_readable(stream, place.word, sizeof address, name)) {
        return false;
    }
    std::uint64_t base = 0;
    std::memcpy(&base, place.word, sizeof base);
    return !__builtin_add_overflow(base, place.offset, &address);
}

}  // namespace aclsim
