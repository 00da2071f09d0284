// Fills (memory_cmo_allocator.md section 3). Each function keeps the order of checks given there.
#include <cstdint>

#include "api/entry.h"
#include "tasks/copy.h"

using namespace aclsim;

namespace {

constexpr std::size_t kWord = sizeof(std::uint32_t);

void fill_now(Engine &engine, Lock &lock, const Pattern &pattern) {
    require_live(engine, pattern.destination, pattern.unit * pattern.count, "dst");
    work_unlocked(engine, lock, [&] { pattern.write(); });
}

// Host memory is filled in the calling thread at once, whatever the stream is doing (aclrtMemsetAsync).
void fill_in_stream(Engine &engine, Lock &lock, Stream &stream, const Pattern &pattern) {
    const Place place = engine.memory().locate(pattern.destination).place;
    if (place == Place::Unregistered || place == Place::Pinned) {
        require_sound(stream.context);
        fill_now(engine, lock, pattern);
        return;
    }
    const std::size_t size = pattern.unit * pattern.count;
    require_live(engine, pattern.destination, size, "dst");
    admit_with(engine, lock, stream, {{pattern.destination, size}});
    engine.submit(stream, FillTask(engine.workers(), pattern));
}

// false when there is nothing to do: no words, or a chip without 32-bit fills. There the runtime layer refuses, which
// the ACL layer turns into success.
bool check_d32(Engine &engine, const void *ptr, std::size_t memSize, std::size_t words) {
    if (words == 0) {
        return false;
    }
    require(ptr, "ptr");
    if (reinterpret_cast<std::uintptr_t>(ptr) % kWord != 0 || memSize / kWord < words) {
        reject(ACL_ERROR_INVALID_PARAM, "%p is not aligned to 4 bytes, or %zu words exceed %zu bytes", ptr, words,
               memSize);
    }
    const Place place = engine.memory().locate(ptr).place;
    if (place != Place::Pinned && place != Place::Device) {
        reject(ACL_ERROR_INVALID_PARAM, "%p is neither device memory nor pinned host memory", ptr);
    }
    return is_documented_for(current_function(), *config().product);
}

}  // namespace

aclError aclrtMemset(void *devPtr, size_t maxCount, int32_t value, size_t count) {
    return entry(__func__, [&](Engine &engine, Lock &lock) {
        if (count == 0) {
            return;
        }
        require(devPtr, "devPtr");
        require_working_context(engine);
        require_fits(count, maxCount);
        fill_now(engine, lock, {devPtr, static_cast<std::uint32_t>(value), 1, count});
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
        Stream &on = require_own_stream(engine, stream);
        fill_in_stream(engine, lock, on, {devPtr, static_cast<std::uint32_t>(value), 1, count});
    });
}

aclError aclrtMemsetD32(void *ptr, size_t memSize, uint32_t value, size_t N) {
    return entry(__func__, [&](Engine &engine, Lock &lock) {
        if (check_d32(engine, ptr, memSize, N)) {
            require_working_context(engine);
            fill_now(engine, lock, {ptr, value, kWord, N});
        }
    });
}

aclError aclrtMemsetD32Async(void *ptr, size_t memSize, uint32_t value, size_t N, aclrtStream stream) {
    return entry(__func__, [&](Engine &engine, Lock &lock) {
        if (check_d32(engine, ptr, memSize, N)) {
            require_context(engine);
            fill_in_stream(engine, lock, require_own_stream(engine, stream), {ptr, value, kWord, N});
        }
    });
}
