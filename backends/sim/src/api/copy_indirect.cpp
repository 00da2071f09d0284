// SPDX-License-Identifier: Apache-2.0
// Copies whose addresses are read from device memory when the task runs (memory_cmo_allocator.md section 3).
#include <cstdint>

#include "api/entry.h"
#include "memory/memory.h"
#include "tasks/indirect_copy.h"

using namespace aclsim;

namespace {

constexpr std::size_t kLargestCopy = 4ULL << 30;
constexpr std::size_t kLargestOffset = 0xFFFFFFFFFFFF;
constexpr std::uintptr_t kCopyDescriptorAlignment = 64;

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

// Checks a descriptor. Descriptors of 32 bytes must be aligned to 64 too.
void require_copy_descriptor(Simulator &sim, const void *descriptor, AccessMode mode) REQUIRES(engine_lock) {
    if (reinterpret_cast<std::uintptr_t>(descriptor) % kCopyDescriptorAlignment != 0 ||
        !is_live_on_device(sim.memory, descriptor, CopyDescriptor::size())) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "%p is not %zu bytes of live device memory, aligned to 64%s", descriptor,
             CopyDescriptor::size(), explain_address(sim.memory, descriptor).c_str());
    }
    note_use(sim.memory, descriptor, CopyDescriptor::size(), mode, "desc");
}

// --- offsets ---------------------------------------------------------------------------------------------------------

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
        *descSize = CopyDescriptor::size();
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
        require_copy_descriptor(sim, desc, AccessMode::Write);
        AddressSpace &memory = sim.memory.space();
        if (!is_live_on_device(sim.memory, srcAddr, count) || !is_live_on_device(sim.memory, dstAddr, count) ||
            memory.locate(srcAddr).device != memory.locate(dstAddr).device) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "%p and %p are not %zu bytes each of live memory of one device", srcAddr,
                 dstAddr, count);
        }
        note_use(sim.memory, srcAddr, count, AccessMode::None, "srcAddr");
        note_use(sim.memory, dstAddr, count, AccessMode::None, "dstAddr");
        require_current_device(sim);
        CopyDescriptor::write(desc, srcAddr, dstAddr, count);
    });
}

aclError aclrtMemcpyAsyncWithDesc(void *desc, aclrtMemcpyKind kind, aclrtStream stream) {
    return entry(Function::aclrtMemcpyAsyncWithDesc, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require(desc, "desc");
        require(stream, "stream");
        check_kind(kind);
        require_described_kind(kind);
        ContextStream &on = require_stream(sim, stream);
        require_copy_descriptor(sim, desc, AccessMode::Read);
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
            require_handle<ContextStream>(sim, stream, "stream");
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
