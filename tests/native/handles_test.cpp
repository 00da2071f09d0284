// SPDX-License-Identifier: Apache-2.0
// A destroyed handle never names another object, however many objects are created after it.
#include <random>
#include <set>
#include <string>

#include "check.h"
#include "concurrent.h"
#include "engine/registry.h"

namespace {

std::uint32_t shard_of(aclrtEvent event) { return aclsim::Registry::shard_of(event); }

// Creates one object at a time, so that a slot is reused until its generations are used up.
[[maybe_unused]] void no_handle_comes_back() {
    constexpr int kCreations = (1 << 24) + 1;
    const aclrtEvent first = new_event();
    CHECK_OK(aclrtDestroyEvent(first));
    for (int i = 0; i < kCreations; ++i) {
        const aclrtEvent event = new_event();
        CHECK(event != first && shard_of(event) == shard_of(first));  // an overflow would change the shard
        CHECK_OK(aclrtDestroyEvent(event));
    }
    CHECK_CODE(ACL_ERROR_RT_INVALID_HANDLE, aclrtDestroyEvent(first));
}

void refuse(aclrtEvent handle) {
    aclrtEventRecordedStatus status;
    CHECK_CODE(ACL_ERROR_RT_INVALID_HANDLE, aclrtQueryEventStatus(handle, &status));
    CHECK_CODE(ACL_ERROR_RT_INVALID_HANDLE, aclrtDestroyEvent(handle));
}

// Each bit of a handle is significant: the handle of the only event is invalid with any one bit changed.
void each_bit_of_a_handle_counts() {
    const aclrtEvent event = new_event();
    for (unsigned bit = 0; bit < 64; ++bit) {
        refuse(reinterpret_cast<aclrtEvent>(reinterpret_cast<std::uintptr_t>(event) ^ std::uintptr_t{1} << bit));
    }
    CHECK_OK(aclrtDestroyEvent(event));
    refuse(event);
}

void a_handle_of_another_type_is_refused() {
    const aclrtStream stream = new_stream();
    const aclrtEvent event = new_event();
    refuse(stream);
    CHECK_CODE(ACL_ERROR_RT_INVALID_HANDLE, aclrtSynchronizeStream(event));
    CHECK_CODE(ACL_ERROR_RT_INVALID_HANDLE, aclrtRecordEvent(stream, event));
    CHECK_OK(aclrtRecordEvent(event, stream));
    CHECK_OK(aclrtDestroyEvent(event));
    CHECK_OK(aclrtDestroyStream(stream));
}

// The event outlives its handle, because a task still needs it.
void the_handle_of_an_event_in_use_is_gone_at_once() {
    const aclrtStream stream = new_stream();
    aclrtEvent gate = nullptr;
    CHECK_OK(aclrtCreateEventWithFlag(&gate, ACL_EVENT_SYNC));  // streams can wait for it before it is recorded
    const aclrtEvent event = new_event();
    CHECK_OK(aclrtStreamWaitEvent(stream, gate));
    CHECK_OK(aclrtRecordEvent(event, stream));
    CHECK_OK(aclrtDestroyEvent(event));
    refuse(event);
    const aclrtEvent next = new_event();
    CHECK(next != event);
    CHECK_OK(aclrtDestroyEvent(next));
    CHECK_OK(aclrtDestroyStreamForce(stream));
    CHECK_OK(aclrtDestroyEvent(gate));
}

// Destroys and creates events in random order. All other handles stay valid.
void thousands_of_handles_are_reported_apart() {
    constexpr std::size_t kEvents = 3000;
    std::vector<aclrtEvent> events(kEvents);
    std::mt19937 random(1);
    std::set<aclrtEvent> seen;
    for (aclrtEvent &event : events) {
        event = new_event();
        CHECK(seen.insert(event).second);
    }
    for (std::size_t change = 0; change < 10 * kEvents; ++change) {
        aclrtEvent &event = events[random() % kEvents];
        CHECK_OK(aclrtDestroyEvent(event));
        refuse(event);
        event = new_event();
        CHECK(seen.insert(event).second);
    }
    for (const aclrtEvent event : events) {
        CHECK_OK(aclrtDestroyEvent(event));
    }
}

void require_in(const std::string &part, const std::string &text) {
    if (text.find(part) == std::string::npos) {
        std::fprintf(stderr, "no \"%s\" in: %s\n", part.c_str(), text.c_str());
        std::abort();
    }
}

// The error text for a stream that is used in the wrong context names both contexts and the function to call.
void both_contexts_are_named() {
    aclrtContext other = nullptr;
    aclrtStream there = nullptr;
    aclrtStream here = nullptr;
    CHECK_OK(aclrtCreateStream(&here));
    CHECK_OK(aclrtCreateContext(&other, 1));
    CHECK_OK(aclrtCreateStream(&there));
    const aclrtEvent event = new_event();
    CHECK_CODE(ACL_ERROR_RT_STREAM_CONTEXT, aclrtRecordEvent(event, here));
    const std::string text = recent_text();
    require_in("belongs to the primary context of device 0, but the calling thread works in context 0x", text);
    require_in(" of device 1; call aclrtSetDevice(0) first", text);
    CHECK_OK(aclrtSetDevice(0));
    CHECK_CODE(ACL_ERROR_RT_STREAM_CONTEXT, aclrtRecordEvent(event, there));
    require_in(
        " of device 1, but the calling thread works in the primary context of device 0; call aclrtSetCurrentContext",
        recent_text());
    // This attribute may be set in any context.
    aclrtStreamAttrValue value{};
    value.cacheOpInfoSwitch = 1;
    CHECK_OK(aclrtSetStreamAttribute(there, ACL_STREAM_ATTR_CACHE_OP_INFO, &value));
    CHECK_OK(aclrtGetStreamAttribute(there, ACL_STREAM_ATTR_CACHE_OP_INFO, &value));
    CHECK_OK(aclrtDestroyEvent(event));
    CHECK_OK(aclrtDestroyStream(here));
    CHECK_OK(aclrtDestroyContext(other));
}

}  // namespace

int main() {
    CHECK_OK(aclrtSetDevice(0));
    each_bit_of_a_handle_counts();
    a_handle_of_another_type_is_refused();
    the_handle_of_an_event_in_use_is_gone_at_once();
    thousands_of_handles_are_reported_apart();
#ifndef __SANITIZE_THREAD__  // takes minutes with it, and uses one thread only
    no_handle_comes_back();
#endif
    both_contexts_are_named();
    CHECK_OK(aclrtResetDevice(0));
    return 0;
}
