// Copies whose addresses are read from device memory when the task runs (memory_cmo_allocator.md section 3).
#include <cstdint>
#include <cstring>

#include "api/entry.h"
#include "tasks/copy.h"

using namespace aclsim;

namespace {

constexpr std::size_t kLargestCopy = 4ULL << 30;
constexpr std::size_t kLargestOffset = 0xFFFFFFFFFFFF;
constexpr std::uintptr_t kDescriptorAlignment = 64;

bool is_live_on_device(Memory &memory, const void *address, std::size_t size) REQUIRES(engine_lock) {
    return memory.space().locate(address).place == Place::Device && is_live(memory, address, size);
}

// The addresses are not known before the task runs: one that is not in live memory of the stream's device makes the
// task fail, as the device's copy engine does.
class IndirectCopyTask : public CopyTask {
  public:
    Start start(Stream &stream) final REQUIRES(engine_lock) {
        if (!read(stream) || !is_found(stream, transfer_.source, AccessMode::Read, "src") ||
            !is_found(stream, transfer_.destination, AccessMode::Write, "dst")) {
            result = ACL_ERROR_RT_SYS_DMA;
            return Start::Done;
        }
        return CopyTask::start(stream);
    }

  protected:
    explicit IndirectCopyTask(Memory &memory) : CopyTask(memory.core.workers(), {}), memory_(memory) {}
    // Fills in the transfer; false if its description cannot be read.
    virtual bool read(const Stream &stream) = 0;
    bool is_readable(const Stream &stream, const void *address, std::size_t size, const char *name) const
        REQUIRES(engine_lock) {
        const bool is_there = is_live_on_device(memory_, address, size);
        if (!is_there) {
            memory_.core.note_found(stream, {address, size, AccessMode::Read, name}, false);
        }
        return is_there;
    }

  private:
    bool is_found(const Stream &stream, const void *address, AccessMode mode, const char *name) const
        REQUIRES(engine_lock) {
        const std::size_t size = transfer_.width;
        const bool is_there = size != 0 && is_live_on_device(memory_, address, size) &&
                              memory_.space().locate(address).device == device_of(stream).physical_id;
        memory_.core.note_found(stream, {address, size, mode, name}, is_there);
        return is_there;
    }

    Memory &memory_;
};

// --- descriptors -----------------------------------------------------------------------------------------------------

// The beginning of a descriptor; the rest is zero. No document gives the layout of the hardware.
struct Descriptor {
    std::uint64_t source;
    std::uint64_t destination;
    std::uint32_t length;  // truncated: 4 GiB become 0 (aclrtSetMemcpyDesc)
};

std::size_t descriptor_size() { return config().product->has(kHasLongDescriptors) ? 64 : 32; }

void *pointer(std::uint64_t address) { return reinterpret_cast<void *>(static_cast<std::uintptr_t>(address)); }
std::uint64_t number(const void *address) { return reinterpret_cast<std::uintptr_t>(address); }

class DescribedCopyTask final : public IndirectCopyTask {
  public:
    DescribedCopyTask(Memory &memory, const void *descriptor) : IndirectCopyTask(memory), descriptor_(descriptor) {}

  protected:
    bool read(const Stream &stream) override REQUIRES(engine_lock) {
        if (!is_readable(stream, descriptor_, descriptor_size(), "desc")) {
            return false;
        }
        Descriptor found;
        std::memcpy(&found, descriptor_, sizeof found);
        transfer_ = Transfer::plain(pointer(found.destination), pointer(found.source), found.length);
        return true;
    }

  private:
    const void *descriptor_;
};

void check_kind(aclrtMemcpyKind kind) {
    if (kind < ACL_MEMCPY_HOST_TO_HOST || kind > ACL_MEMCPY_INTER_DEVICE_TO_DEVICE) {
        fail_unremembered(ACL_ERROR_INVALID_PARAM, "there is no copy kind %d", static_cast<int>(kind));
    }
}

void require_described_kind(aclrtMemcpyKind kind) {
    if (kind != ACL_MEMCPY_INNER_DEVICE_TO_DEVICE) {
        fail_unremembered(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "only copies of kind %d have descriptors, not of kind %d",
                          static_cast<int>(ACL_MEMCPY_INNER_DEVICE_TO_DEVICE), static_cast<int>(kind));
    }
    require_supported();
}

// Descriptors of 32 bytes are aligned to 64 too.
void require_descriptor(Simulator &sim, const void *descriptor) REQUIRES(engine_lock) {
    if (reinterpret_cast<std::uintptr_t>(descriptor) % kDescriptorAlignment != 0 ||
        !is_live_on_device(sim.memory, descriptor, descriptor_size())) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "%p is not %zu bytes of live device memory, aligned to 64%s", descriptor,
             descriptor_size(), explain_address(sim.memory, descriptor).c_str());
    }
    note_use(sim.memory, descriptor, descriptor_size(), AccessMode::Read, "desc");
}

// --- offsets ---------------------------------------------------------------------------------------------------------

// A word in device memory that holds a base address, and the distance from there.
struct AddressWord {
    const void *word;
    std::size_t offset;
};

class OffsetCopyTask final : public IndirectCopyTask {
  public:
    OffsetCopyTask(Memory &memory, const AddressWord &destination, const AddressWord &source, std::size_t count)
        : IndirectCopyTask(memory), destination_(destination), source_(source), count_(count) {}

  protected:
    bool read(const Stream &stream) override REQUIRES(engine_lock) {
        std::uint64_t to = 0;
        std::uint64_t from = 0;
        if (!read(stream, destination_, to, "dst") || !read(stream, source_, from, "src")) {
            return false;
        }
        transfer_ = Transfer::plain(pointer(to), pointer(from), count_);
        return true;
    }

  private:
    bool read(const Stream &stream, const AddressWord &place, std::uint64_t &address, const char *name) const
        REQUIRES(engine_lock) {
        if (!is_readable(stream, place.word, sizeof address, name)) {
            return false;
        }
        std::uint64_t base = 0;
        std::memcpy(&base, place.word, sizeof base);
        return !__builtin_add_overflow(base, place.offset, &address);
    }

    AddressWord destination_;
    AddressWord source_;
    std::size_t count_;
};

void check_offsets(std::size_t destMax, std::size_t count, std::size_t dstDataOffset, std::size_t srcDataOffset) {
    if (count > destMax || count > kLargestCopy || dstDataOffset > kLargestOffset || srcDataOffset > kLargestOffset ||
        dstDataOffset >= destMax || count > destMax - dstDataOffset) {
        fail(ACL_ERROR_RT_PARAM_INVALID,
             "%zu bytes from offset %zu to offset %zu do not fit into a destination of %zu, or exceed 4 GiB or the "
             "offsets' 48 bits",
             count, srcDataOffset, dstDataOffset, destMax);
    }
}

void require_address_word(Simulator &sim, const void *word, const char *name) REQUIRES(engine_lock) {
    if (!is_live_on_device(sim.memory, word, sizeof(std::uint64_t))) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "%s: %p is not 8 bytes of live device memory%s", name, word,
             explain_address(sim.memory, word).c_str());
    }
    note_use(sim.memory, word, sizeof(std::uint64_t), AccessMode::Read, name);
}

}  // namespace

aclError aclrtGetMemcpyDescSize(aclrtMemcpyKind kind, size_t *descSize) {
    return entry(Function::aclrtGetMemcpyDescSize, [&](Simulator &, Lock &) {
        require(descSize, "descSize");
        check_kind(kind);
        require_described_kind(kind);
        *descSize = descriptor_size();
    });
}

aclError aclrtSetMemcpyDesc(void *desc, aclrtMemcpyKind kind, void *srcAddr, void *dstAddr, size_t count,
                            void *config) {
    return entry(Function::aclrtSetMemcpyDesc, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(desc, "desc");
        require(srcAddr, "srcAddr");
        require(dstAddr, "dstAddr");
        if (count == 0 || config != nullptr) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "count is 0, or config is not NULL");
        }
        check_kind(kind);
        require_described_kind(kind);
        if (count > kLargestCopy) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "%zu bytes are more than 4 GiB", count);
        }
        require_descriptor(sim, desc);
        AddressSpace &memory = sim.memory.space();
        if (!is_live_on_device(sim.memory, srcAddr, count) || !is_live_on_device(sim.memory, dstAddr, count) ||
            memory.locate(srcAddr).device != memory.locate(dstAddr).device) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "%p and %p are not %zu bytes each of live memory of one device", srcAddr,
                 dstAddr, count);
        }
        note_use(sim.memory, srcAddr, count, AccessMode::Read, "srcAddr");
        note_use(sim.memory, dstAddr, count, AccessMode::Write, "dstAddr");
        require_current_device(sim);
        const Descriptor written{number(srcAddr), number(dstAddr), static_cast<std::uint32_t>(count)};
        std::memset(desc, 0, descriptor_size());
        std::memcpy(desc, &written, sizeof written);
    });
}

aclError aclrtMemcpyAsyncWithDesc(void *desc, aclrtMemcpyKind kind, aclrtStream stream) {
    return entry(Function::aclrtMemcpyAsyncWithDesc, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require(desc, "desc");
        require(stream, "stream");
        check_kind(kind);
        require_described_kind(kind);
        ContextStream &on = require_stream(sim, stream);
        require_descriptor(sim, desc);
        require_own(sim, on);
        sim.core.admit(lock, on);
        sim.core.submit(on, DescribedCopyTask(sim.memory, desc));
    });
}

aclError aclrtMemcpyAsyncWithOffset(void **dst, size_t destMax, size_t dstDataOffset, const void **src, size_t count,
                                    size_t srcDataOffset, aclrtMemcpyKind kind, aclrtStream stream) {
    return entry(Function::aclrtMemcpyAsyncWithOffset, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        if (count == 0) {
            return;
        }
        if (kind != ACL_MEMCPY_INNER_DEVICE_TO_DEVICE) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "kind must be %d, not %d",
                 static_cast<int>(ACL_MEMCPY_INNER_DEVICE_TO_DEVICE), static_cast<int>(kind));
        }
        require_supported();
        if (stream != nullptr) {
            require_handle<Stream>(sim, stream, "stream");
        }
        if (dst == nullptr || src == nullptr) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "dst or src is NULL");
        }
        check_offsets(destMax, count, dstDataOffset, srcDataOffset);
        ContextStream &on = require_own_stream(sim, stream);
        require_address_word(sim, dst, "dst");
        require_address_word(sim, src, "src");
        sim.core.admit(lock, on);
        sim.core.submit(on, OffsetCopyTask(sim.memory, {dst, dstDataOffset}, {src, srcDataOffset}, count));
    });
}
