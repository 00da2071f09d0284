// SPDX-License-Identifier: Apache-2.0
// Fills (memory_cmo_allocator.md section 3). Each function keeps the order of checks given there.
#include <cstdint>

#include "api/shard_entry.h"
#include "memory/memory.h"
#include "tasks/copy.h"

using namespace aclsim;

namespace {

constexpr std::size_t kWord = sizeof(std::uint32_t);

void fill_live(Simulator &sim, Lock &lock, const Pattern &pattern) REQUIRES(engine_lock) {
    require_live(sim.memory, pattern.destination, pattern.unit * pattern.count, AccessMode::Write, "dst");
    fill_now(sim.memory, lock, pattern);
}

// Fills memory in stream order. Host memory is filled at once in the calling thread, regardless of the state of the
// stream (aclrtMemsetAsync).
void fill_in_stream(Simulator &sim, Lock &lock, ContextStream &stream, const Pattern &pattern) REQUIRES(engine_lock) {
    const Place place = sim.memory.space().locate(pattern.destination).place;
    if (place == Place::Unregistered || place == Place::Pinned) {
        require_healthy(context_of(stream));
        fill_live(sim, lock, pattern);
        return;
    }
    const std::size_t size = pattern.unit * pattern.count;
    require_live(sim.memory, pattern.destination, size, AccessMode::Write, "dst");
    admit_with(sim.memory, lock, stream, {{pattern.destination, size}});
    sim.core.submit(stream, FillTask(pattern));
}

// Returns false if there is nothing to do: no words, or a chip without 32-bit fills. On such a chip the runtime layer
// refuses the fill, and the ACL layer turns the refusal into success.
bool check_d32(Simulator &sim, const void *ptr, std::size_t memSize, std::size_t words) REQUIRES(engine_lock) {
    if (words == 0) {
        return false;
    }
    require(ptr, "ptr");
    if (reinterpret_cast<std::uintptr_t>(ptr) % kWord != 0 || memSize / kWord < words) {
        fail_unremembered(ACL_ERROR_INVALID_PARAM, "%p is not aligned to 4 bytes, or %zu words exceed %zu bytes", ptr,
                          words, memSize);
    }
    const Place place = sim.memory.space().locate(ptr).place;
    if (place != Place::Pinned && place != Place::Device) {
        fail_unremembered(ACL_ERROR_INVALID_PARAM, "%p is neither device memory nor pinned host memory", ptr);
    }
    return is_documented_for(current_call()->function, *config().product);
}

}  // namespace

aclError aclrtMemset(void *devPtr, size_t maxCount, int32_t value, size_t count) {
    return entry(Function::aclrtMemset, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        if (count == 0) {
            return;
        }
        require(devPtr, "devPtr");
        sim.machine.capture_modes.require_permitted(require_working_context(sim),
                                                    ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT);
        require_fits(count, maxCount);
        fill_live(sim, lock, {devPtr, static_cast<std::uint32_t>(value), 1, count});
    });
}

aclError aclrtMemsetAsync(void *devPtr, size_t maxCount, int32_t value, size_t count, aclrtStream stream) {
    const Handle<ContextStream> named(stream);
    const auto stays = [&](Simulator &sim) REQUIRES(engine_lock) {
        return stream_in_shard(named) != nullptr && sim.memory.is_on_device(devPtr);
    };
    return shard_entry(Function::aclrtMemsetAsync, stream, stays,
                       [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
                           if (count == 0) {
                               return;
                           }
                           require(devPtr, "devPtr");
                           if (stream != nullptr) {
                               require_handle(sim, named, "stream");
                           }
                           require_fits(count, maxCount);
                           ContextStream &on = require_own_stream(sim, named);
                           fill_in_stream(sim, lock, on, {devPtr, static_cast<std::uint32_t>(value), 1, count});
                       });
}

aclError aclrtMemsetD32(void *ptr, size_t memSize, uint32_t value, size_t N) {
    return entry(Function::aclrtMemsetD32, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        if (check_d32(sim, ptr, memSize, N)) {
            require_working_context(sim);
            fill_live(sim, lock, {ptr, value, kWord, N});
        }
    });
}

aclError aclrtMemsetD32Async(void *ptr, size_t memSize, uint32_t value, size_t N, aclrtStream stream) {
    return entry(Function::aclrtMemsetD32Async, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        if (check_d32(sim, ptr, memSize, N)) {
            require_context(sim);
            fill_in_stream(sim, lock, require_own_stream(sim, stream), {ptr, value, kWord, N});
        }
    });
}
