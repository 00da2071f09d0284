// Copies and sets (memory_cmo_allocator.md section 3). Each function keeps the order of checks given there.
#include "copy.h"

#include <cstdint>

#include "entry.h"

using namespace aclsim;

namespace {

constexpr std::size_t kLargestHeight = 5242880;
constexpr std::size_t kLargestWidth = 5000000;

void require_both(const void *dst, const void *src) {
    require(dst, "dst");
    require(src, "src");
}

void require_fits(std::size_t count, std::size_t limit) {
    if (count > limit) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "%zu bytes do not fit into a destination of %zu", count, limit);
    }
}

void require_transfer_kind(aclrtMemcpyKind kind) {
    if (kind < ACL_MEMCPY_HOST_TO_HOST || kind > ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE) {
        reject(ACL_ERROR_INVALID_PARAM, "there is no copy kind %d here", static_cast<int>(kind));
    }
}

void move_unlocked(Engine &engine, Lock &lock, const Transfer &transfer) {
    lock.unlock();
    transfer.move();
    lock = engine.acquire();
}

// The buffered kind reads the source before the call returns.
class BufferedCopyTask final : public Task {
  public:
    BufferedCopyTask(Executor &workers, void *destination, const void *source, std::size_t count)
        : workers_(&workers),
          destination_(destination),
          buffer_(static_cast<const char *>(source), static_cast<const char *>(source) + count) {}
    TaskKind kind() const override { return TaskKind::Copy; }
    Start start(Stream &) override { return Start::Run; }
    void run() override { Transfer::plain(destination_, buffer_.data(), buffer_.size()).move(); }
    Executor *executor() override { return workers_; }

  private:
    Executor *workers_;
    void *destination_;
    std::vector<char> buffer_;
};

void copy_buffered(Engine &engine, Lock &lock, aclrtStream stream, void *dst, const void *src, std::size_t count) {
    require_context(engine);
    const bool to_device = engine.memory().locate(dst).place == Place::Device;
    if (!to_device || engine.memory().locate(src).place == Place::Device) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "the buffered copy goes from host to device only");
    }
    require_live(engine, dst, count, "dst");
    Stream &on = require_own_stream(engine, stream);
    engine.admit(lock, on);
    engine.submit(on, BufferedCopyTask(engine.workers(), dst, src, count));
}

aclError copy_async(const char *function, void *dst, std::size_t destMax, const void *src, std::size_t count,
                    aclrtMemcpyKind kind, aclrtStream stream) {
    return entry(function, [&](Engine &engine, Lock &lock) {
        if (count == 0) {
            return;
        }
        require_both(dst, src);
        require_transfer_kind(kind);
        if (stream != nullptr) {
            require_handle<Stream>(engine, stream, "stream");
        }
        require_fits(count, destMax);
        if (kind == ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE) {
            copy_buffered(engine, lock, stream, dst, src, count);
            return;
        }
        require_context(engine);
        const aclrtMemcpyKind corrected = correct_kind(engine, kind, dst, src);
        if (corrected == ACL_MEMCPY_HOST_TO_HOST) {
            refuse(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "an asynchronous copy from host to host is not supported");
        }
        if (dst == src) {
            return;
        }
        require_live(engine, dst, count, "dst");
        require_live(engine, src, count, "src");
        copy_in_stream(engine, lock, require_own_stream(engine, stream), Transfer::plain(dst, src, count), corrected);
    });
}

// Shared by the synchronous and the asynchronous two-dimensional copy; false when there is nothing to do.
bool check_2d(const Transfer &transfer, aclrtMemcpyKind kind) {
    if (transfer.width == 0 || transfer.height == 0) {
        return false;
    }
    require_both(transfer.destination, transfer.source);
    if (transfer.width > transfer.source_pitch || transfer.width > transfer.destination_pitch) {
        reject(ACL_ERROR_INVALID_PARAM, "width %zu exceeds a pitch (%zu, %zu)", transfer.width, transfer.source_pitch,
               transfer.destination_pitch);
    }
    if (kind < ACL_MEMCPY_HOST_TO_DEVICE || kind > ACL_MEMCPY_DEFAULT) {
        reject(ACL_ERROR_INVALID_PARAM, "there is no two-dimensional copy of kind %d", static_cast<int>(kind));
    }
    if (transfer.height > kLargestHeight || transfer.width > kLargestWidth) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "%zu rows of %zu bytes are more than a copy can do", transfer.height,
             transfer.width);
    }
    return true;
}

void require_live_2d(Engine &engine, const Transfer &transfer) {
    const std::size_t rows = transfer.height - 1;
    require_live(engine, transfer.destination, rows * transfer.destination_pitch + transfer.width, "dst");
    require_live(engine, transfer.source, rows * transfer.source_pitch + transfer.width, "src");
}

void set_now(Engine &engine, Lock &lock, const Pattern &pattern) {
    require_context(engine);
    require_live(engine, pattern.destination, pattern.unit * pattern.count, "dst");
    lock.unlock();
    pattern.write();
    lock = engine.acquire();
}

// Host memory is filled in the calling thread at once, whatever the stream is doing (aclrtMemsetAsync).
void set_in_stream(Engine &engine, Lock &lock, aclrtStream stream, const Pattern &pattern) {
    Stream &on = require_own_stream(engine, stream);
    require_live(engine, pattern.destination, pattern.unit * pattern.count, "dst");
    if (engine.memory().locate(pattern.destination).place != Place::Device) {
        set_now(engine, lock, pattern);
        return;
    }
    engine.admit(lock, on);
    engine.submit(on, FillTask(engine.workers(), pattern));
}

void check_d32(const void *ptr, std::size_t memSize, std::size_t words) {
    require(ptr, "ptr");
    if (reinterpret_cast<std::uintptr_t>(ptr) % sizeof(std::uint32_t) != 0 || memSize / sizeof(std::uint32_t) < words) {
        reject(ACL_ERROR_INVALID_PARAM, "%p is not aligned to 4 bytes, or %zu words exceed %zu bytes", ptr, words,
               memSize);
    }
}

// 32-bit fills exist where the chip has a control queue; elsewhere the runtime answers success without writing.
bool has_d32() { return config().product->has_control_queue; }

}  // namespace

aclError aclrtMemcpy(void *dst, size_t destMax, const void *src, size_t count, aclrtMemcpyKind kind) {
    return entry(__func__, [&](Engine &engine, Lock &lock) {
        if (count == 0) {
            return;
        }
        require_both(dst, src);
        require_transfer_kind(kind);
        require_fits(count, destMax);
        if (dst == src) {
            return;
        }
        require_context(engine);
        require_live(engine, dst, count, "dst");
        require_live(engine, src, count, "src");
        move_unlocked(engine, lock, Transfer::plain(dst, src, count));
    });
}

aclError aclrtMemcpyAsync(void *dst, size_t destMax, const void *src, size_t count, aclrtMemcpyKind kind,
                          aclrtStream stream) {
    return copy_async(__func__, dst, destMax, src, count, kind, stream);
}

aclError aclrtMemcpyAsyncWithCondition(void *dst, size_t destMax, const void *src, size_t count, aclrtMemcpyKind kind,
                                       aclrtStream stream) {
    return copy_async(__func__, dst, destMax, src, count, kind, stream);
}

aclError aclrtMemcpy2d(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
                       aclrtMemcpyKind kind) {
    return entry(__func__, [&](Engine &engine, Lock &lock) {
        const Transfer transfer{dst, dpitch, src, spitch, width, height};
        if (!check_2d(transfer, kind)) {
            return;
        }
        if (kind == ACL_MEMCPY_DEVICE_TO_DEVICE) {
            refuse(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "a synchronous two-dimensional copy inside the device");
        }
        require_context(engine);
        const aclrtMemcpyKind corrected = correct_kind(engine, kind, dst, src);
        if (corrected != ACL_MEMCPY_HOST_TO_DEVICE && corrected != ACL_MEMCPY_DEVICE_TO_HOST) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "the copy does not cross between host and device");
        }
        require_live_2d(engine, transfer);
        move_unlocked(engine, lock, transfer);
    });
}

aclError aclrtMemcpy2dAsync(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
                            aclrtMemcpyKind kind, aclrtStream stream) {
    return entry(__func__, [&](Engine &engine, Lock &lock) {
        const Transfer transfer{dst, dpitch, src, spitch, width, height};
        if (!check_2d(transfer, kind)) {
            return;
        }
        if (stream == nullptr && !config().product->has_control_queue) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "stream is NULL, and %s takes no default stream here",
                 config().product->name);
        }
        Stream &on = require_stream(engine, stream);
        const aclrtMemcpyKind corrected = correct_kind(engine, kind, dst, src);
        if (corrected == ACL_MEMCPY_HOST_TO_HOST) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "an asynchronous copy from host to host");
        }
        require_live_2d(engine, transfer);
        copy_in_stream(engine, lock, require_own(engine, on), transfer, corrected);
    });
}

aclError aclrtMemset(void *devPtr, size_t maxCount, int32_t value, size_t count) {
    return entry(__func__, [&](Engine &engine, Lock &lock) {
        if (count == 0) {
            return;
        }
        require(devPtr, "devPtr");
        require_context(engine);
        require_fits(count, maxCount);
        set_now(engine, lock, {devPtr, static_cast<std::uint32_t>(value), 1, count});
    });
}

aclError aclrtMemsetAsync(void *devPtr, size_t maxCount, int32_t value, size_t count, aclrtStream stream) {
    return entry(__func__, [&](Engine &engine, Lock &lock) {
        if (count == 0) {
            return;
        }
        require(devPtr, "devPtr");
        if (stream != nullptr) {
            require_handle<Stream>(engine, stream, "stream");
        }
        require_fits(count, maxCount);
        set_in_stream(engine, lock, stream, {devPtr, static_cast<std::uint32_t>(value), 1, count});
    });
}

aclError aclrtMemsetD32(void *ptr, size_t memSize, uint32_t value, size_t N) {
    return entry(__func__, [&](Engine &engine, Lock &lock) {
        if (N == 0) {
            return;
        }
        check_d32(ptr, memSize, N);
        if (has_d32()) {
            set_now(engine, lock, {ptr, value, sizeof value, N});
        }
    });
}

aclError aclrtMemsetD32Async(void *ptr, size_t memSize, uint32_t value, size_t N, aclrtStream stream) {
    return entry(__func__, [&](Engine &engine, Lock &lock) {
        if (N == 0) {
            return;
        }
        check_d32(ptr, memSize, N);
        if (has_d32()) {
            set_in_stream(engine, lock, stream, {ptr, value, sizeof value, N});
        }
    });
}
