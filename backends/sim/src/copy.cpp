#include "copy.h"

#include <algorithm>
#include <cstring>

#include "engine.h"
#include "error.h"

namespace aclsim {
namespace {

// Pinned and device memory on both sides: the true direction, whatever the caller said.
constexpr aclrtMemcpyKind kTrueKind[2][2] = {
    {ACL_MEMCPY_HOST_TO_HOST, ACL_MEMCPY_HOST_TO_DEVICE},
    {ACL_MEMCPY_DEVICE_TO_HOST, ACL_MEMCPY_DEVICE_TO_DEVICE},
};

// Pageable memory on at least one side: what ACL_MEMCPY_DEFAULT becomes, and which kinds are kept as they are.
struct PageableRule {
    Place source;
    Place destination;
    aclrtMemcpyKind by_default;
    std::uint32_t kept;  // bit mask of kinds
};
constexpr std::uint32_t bit(aclrtMemcpyKind kind) { return 1U << kind; }
constexpr std::uint32_t kHostToHost = bit(ACL_MEMCPY_HOST_TO_HOST);
constexpr std::uint32_t kHostToDevice = bit(ACL_MEMCPY_HOST_TO_DEVICE);
constexpr std::uint32_t kDeviceToHost = bit(ACL_MEMCPY_DEVICE_TO_HOST);
constexpr std::uint32_t kDeviceToDevice = bit(ACL_MEMCPY_DEVICE_TO_DEVICE);
constexpr PageableRule kPageableRules[] = {
    {Place::Unregistered, Place::Device, ACL_MEMCPY_HOST_TO_DEVICE, kHostToDevice | kDeviceToDevice},
    {Place::Device, Place::Unregistered, ACL_MEMCPY_DEVICE_TO_HOST, kDeviceToHost | kDeviceToDevice},
    {Place::Pinned, Place::Unregistered, ACL_MEMCPY_HOST_TO_HOST, kHostToHost | kHostToDevice},
    {Place::Unregistered, Place::Pinned, ACL_MEMCPY_HOST_TO_HOST, kHostToHost | kDeviceToHost},
    {Place::Unregistered, Place::Unregistered, ACL_MEMCPY_HOST_TO_HOST,
     kHostToHost | kHostToDevice | kDeviceToHost | kDeviceToDevice},
};

bool is_pageable(Engine &engine, const void *address) {
    return engine.memory().locate(address).place == Place::Unregistered;
}

}  // namespace

void Transfer::move() const {
    auto *to = static_cast<unsigned char *>(destination);
    const auto *from = static_cast<const unsigned char *>(source);
    for (std::size_t row = 0; row < height; ++row) {
        std::memmove(to + row * destination_pitch, from + row * source_pitch, width);
    }
}

void Pattern::write() const {
    if (unit == 1) {
        std::memset(destination, static_cast<int>(value & 0xFF), count);
    } else {
        std::fill_n(static_cast<std::uint32_t *>(destination), count, value);
    }
}

aclrtMemcpyKind correct_kind(Engine &engine, aclrtMemcpyKind kind, const void *destination, const void *source) {
    const Place from = engine.memory().locate(source).place;
    const Place to = engine.memory().locate(destination).place;
    if (from != Place::Unregistered && to != Place::Unregistered) {
        return kTrueKind[from == Place::Device][to == Place::Device];
    }
    for (const PageableRule &rule : kPageableRules) {
        if (rule.source != from || rule.destination != to) {
            continue;
        }
        if (kind == ACL_MEMCPY_DEFAULT) {
            return rule.by_default;
        }
        if ((rule.kept & bit(kind)) != 0) {
            return kind;
        }
    }
    fail(ACL_ERROR_RT_PARAM_INVALID, "copy kind %d does not fit the places of the two addresses",
         static_cast<int>(kind));
}

void require_live(Engine &engine, const void *address, std::size_t size, const char *name) {
    if (!engine.memory().is_live(address, size)) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "%s: %zu bytes at %p are not inside one live allocation", name, size, address);
    }
}

void copy_in_stream(Engine &engine, Lock &lock, Stream &stream, const Transfer &transfer, aclrtMemcpyKind corrected) {
    const bool crosses = corrected == ACL_MEMCPY_HOST_TO_DEVICE || corrected == ACL_MEMCPY_DEVICE_TO_HOST;
    engine.admit(lock, stream);
    if (!crosses || !(is_pageable(engine, transfer.source) || is_pageable(engine, transfer.destination))) {
        engine.submit(stream, CopyTask(engine.workers(), transfer));
        return;
    }
    const Engine::Waited waited =
        engine.wait_for(lock, stream.shared_from_this(), stream.submitted, Clock::time_point::max());
    if (waited == Engine::Waited::Aborted) {
        fail_aborted(stream);
    }
    lock.unlock();
    transfer.move();
    lock = engine.acquire();
}

}  // namespace aclsim
