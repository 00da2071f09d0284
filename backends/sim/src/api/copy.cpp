// SPDX-License-Identifier: Apache-2.0
// Copies of one block and of rows (memory_cmo_allocator.md section 3). Each function keeps the order of checks given
// there.
#include "api/copy.h"

#include <cstring>
#include <vector>

#include "api/shard_entry.h"
#include "memory/memory.h"

using namespace aclsim;

namespace {

constexpr std::size_t kLargestHeight = 5242880;
constexpr std::size_t kLargestWidth = 5000000;

void require_both(const void *dst, const void *src) {
    require(dst, "dst");
    require(src, "src");
}

void require_transfer_kind(aclrtMemcpyKind kind) {
    if (kind < ACL_MEMCPY_HOST_TO_HOST || kind > ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE) {
        fail_unremembered(ACL_ERROR_INVALID_PARAM, "there is no copy kind %d here", static_cast<int>(kind));
    }
}

// Rejects a stream that is captured or bound to a model: the contents of a buffer can be copied only once. The default
// stream is never bound.
void require_unbound(Handle<ContextStream> stream) REQUIRES(engine_lock) {
    const ContextStream *on = stream.find();
    if (on != nullptr && (on->keeper != nullptr || on->is_redirected)) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "stream %u is captured or bound to a model, which cannot keep a buffered copy",
             on->id);
    }
}

void copy_buffered(Simulator &sim, Lock &lock, Handle<ContextStream> stream, const Transfer &transfer)
    REQUIRES(engine_lock) {
    require_context(sim);
    const bool to_device = sim.memory.space().locate(transfer.destination).place == Place::Device;
    if (!to_device || sim.memory.space().locate(transfer.source).place == Place::Device) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "the buffered copy goes from host to device only");
    }
    require_own_stream(sim, stream);
    require_allocated(sim.memory, transfer.destination, transfer.width, "dst");  // check before allocating the buffer
    require_live(sim.memory, transfer.source, transfer.width, AccessMode::Read, "src");
    const auto *source = static_cast<const unsigned char *>(transfer.source);
    std::vector<unsigned char> buffer;
    work_unlocked(sim.memory, lock, [&] { buffer.assign(source, source + transfer.width); });
    ContextStream &on = require_own_stream(sim, stream);  // recheck: another thread may have destroyed it
    require_live(sim.memory, transfer.destination, transfer.width, AccessMode::Write, "dst");
    admit_with(sim.memory, lock, on, {{transfer.destination, transfer.width}});
    sim.core.submit(on, BufferedCopyTask(transfer.destination, std::move(buffer)));
}

aclError copy_async(Function function, void *dst, std::size_t destMax, const void *src, std::size_t count,
                    aclrtMemcpyKind kind, Handle<ContextStream> stream) {
    const auto stays = [&](Simulator &sim) REQUIRES(engine_lock) {
        const auto is_taskable = [&](const void *address) REQUIRES(engine_lock) {
            return sim.memory.is_on_device(address) || sim.memory.is_pinned(address);
        };
        return kind != ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE && stream_in_shard(stream) != nullptr && is_taskable(dst) &&
               is_taskable(src);
    };
    return shard_entry(function, stream.value(), stays, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        if (count == 0) {
            return;
        }
        require_both(dst, src);
        require_transfer_kind(kind);
        if (stream.value() != nullptr) {
            require_handle(sim, stream, "stream");
        }
        require_fits(count, destMax);
        const Transfer transfer = Transfer::plain(dst, src, count);
        if (kind == ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE) {
            require_unbound(stream);
            copy_buffered(sim, lock, stream, transfer);
            return;
        }
        copy_block_in_stream(sim, lock, stream, transfer, kind);
    });
}

// Checks shared by the synchronous and the asynchronous two-dimensional copy. Returns false if there is nothing to do.
bool check_2d(const Transfer &transfer, aclrtMemcpyKind kind) {
    if (transfer.width == 0 || transfer.height == 0) {
        return false;
    }
    require_both(transfer.destination, transfer.source);
    if (transfer.width > transfer.source_pitch || transfer.width > transfer.destination_pitch) {
        fail_unremembered(ACL_ERROR_INVALID_PARAM, "width %zu exceeds a pitch (%zu, %zu)", transfer.width,
                          transfer.source_pitch, transfer.destination_pitch);
    }
    if (kind < ACL_MEMCPY_HOST_TO_DEVICE || kind > ACL_MEMCPY_DEFAULT) {
        fail_unremembered(ACL_ERROR_INVALID_PARAM, "there is no two-dimensional copy of kind %d",
                          static_cast<int>(kind));
    }
    if (transfer.height > kLargestHeight || transfer.width > kLargestWidth) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "%zu rows of %zu bytes are more than a copy can do", transfer.height,
             transfer.width);
    }
    return true;
}

}  // namespace

void aclsim::copy_block(Simulator &sim, Lock &lock, const Transfer &transfer) {
    if (transfer.destination == transfer.source) {
        return;
    }
    sim.machine.capture_modes.require_permitted(require_working_context(sim), ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT);
    require_ranges(sim.memory, transfer);
    copy_now(sim.memory, lock, transfer);
}

void aclsim::copy_block_in_stream(Simulator &sim, Lock &lock, Handle<ContextStream> stream, const Transfer &transfer,
                                  aclrtMemcpyKind kind) {
    require_context(sim);
    const aclrtMemcpyKind corrected = correct_kind(sim.memory, kind, transfer.destination, transfer.source);
    if (corrected == ACL_MEMCPY_HOST_TO_HOST) {
        fail_unremembered(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "an asynchronous copy from host to host is not supported");
    }
    if (transfer.destination == transfer.source) {
        return;
    }
    ContextStream &on = require_own_stream(sim, stream);
    require_ranges(sim.memory, transfer);
    copy_in_stream(sim.memory, lock, on, transfer, corrected);
}

aclError aclrtMemcpy(void *dst, size_t destMax, const void *src, size_t count, aclrtMemcpyKind kind) {
    return entry(Function::aclrtMemcpy, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        if (count == 0) {
            return;
        }
        require_both(dst, src);
        require_transfer_kind(kind);
        require_fits(count, destMax);
        copy_block(sim, lock, Transfer::plain(dst, src, count));
    });
}

aclError aclrtMemcpyAsync(void *dst, size_t destMax, const void *src, size_t count, aclrtMemcpyKind kind,
                          aclrtStream stream) {
    return copy_async(Function::aclrtMemcpyAsync, dst, destMax, src, count, kind, stream);
}

aclError aclrtMemcpyAsyncWithCondition(void *dst, size_t destMax, const void *src, size_t count, aclrtMemcpyKind kind,
                                       aclrtStream stream) {
    return copy_async(Function::aclrtMemcpyAsyncWithCondition, dst, destMax, src, count, kind, stream);
}

aclError aclrtMemcpy2d(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
                       aclrtMemcpyKind kind) {
    return entry(Function::aclrtMemcpy2d, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        const Transfer transfer{dst, dpitch, src, spitch, width, height};
        if (!check_2d(transfer, kind)) {
            return;
        }
        if (kind == ACL_MEMCPY_DEVICE_TO_DEVICE) {
            fail_unremembered(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "a synchronous two-dimensional copy inside the device");
        }
        require_current_device(sim);
        sim.machine.capture_modes.require_permitted(require_context(sim), ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT);
        const aclrtMemcpyKind corrected = correct_kind(sim.memory, kind, dst, src);
        if (corrected != ACL_MEMCPY_HOST_TO_DEVICE && corrected != ACL_MEMCPY_DEVICE_TO_HOST) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "the copy does not cross between host and device");
        }
        require_ranges(sim.memory, transfer);
        copy_now(sim.memory, lock, transfer);
    });
}

aclError aclrtMemcpy2dAsync(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
                            aclrtMemcpyKind kind, aclrtStream stream) {
    return entry(Function::aclrtMemcpy2dAsync, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        const Transfer transfer{dst, dpitch, src, spitch, width, height};
        if (!check_2d(transfer, kind)) {
            return;
        }
        if (stream == nullptr && !config().product->has_control_queue) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "stream is NULL, and %s takes no default stream here",
                 config().product->name);
        }
        ContextStream &on = require_stream(sim, stream);
        const aclrtMemcpyKind corrected = correct_kind(sim.memory, kind, dst, src);
        if (corrected == ACL_MEMCPY_HOST_TO_HOST) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "an asynchronous copy from host to host");
        }
        if (corrected == ACL_MEMCPY_DEVICE_TO_DEVICE && !config().product->has(kCopiesRowsInDevice)) {
            fail_unremembered(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "%s has no two-dimensional copy inside the device",
                              config().product->name);
        }
        require_own(sim, on);
        require_ranges(sim.memory, transfer);
        copy_in_stream(sim.memory, lock, on, transfer, corrected);
    });
}
