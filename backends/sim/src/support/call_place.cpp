// SPDX-License-Identifier: Apache-2.0
#include "support/call_place.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <type_traits>

#include "support/native_frames.h"
#include "support/text.h"

namespace aclsim {
namespace {

std::atomic<aclsimCaptureFrames> g_capture{nullptr};
std::atomic<aclsimNameFrame> g_name{nullptr};
thread_local CallPlace t_forward;
static_assert(std::is_trivially_destructible_v<CallPlace>);

// Returns "file+offset in function" of the call itself, not of its return address.
std::string native_name(const void *return_address) {
    Dl_info info = {};
    if (dladdr(return_address, &info) == 0 || info.dli_fname == nullptr) {
        return "an unknown place";
    }
    char offset[32];
    std::snprintf(offset, sizeof offset, "+%#llx",
                  static_cast<unsigned long long>(as_integer(return_address) - 1 - as_integer(info.dli_fbase)));
    return info.dli_fname + (offset + (info.dli_sname == nullptr ? "" : std::string(" in ") + info.dli_sname));
}

const void *library_of(const void *address) {
    Dl_info info = {};
    return dladdr(address, &info) == 0 ? nullptr : info.dli_fbase;
}

}  // namespace

void set_place_provider(const PlaceProvider &provider) {
    g_capture.store(nullptr, std::memory_order_release);
    g_name.store(provider.name, std::memory_order_release);
    g_capture.store(provider.capture, std::memory_order_release);
}

bool has_place_provider() { return g_capture.load(std::memory_order_relaxed) != nullptr; }

std::int32_t provided_frames(aclsimCallFrame *frames, std::int32_t most) {
    const aclsimCaptureFrames capture = g_capture.load(std::memory_order_acquire);
    return capture == nullptr ? 0 : capture(frames, most);
}

void set_forward_place(const aclsimCallFrame *frames, std::size_t count) {
    t_forward.kind = count == 0 ? CallPlace::Kind::Unknown : CallPlace::Kind::Forward;
    t_forward.count = static_cast<std::uint8_t>(std::min(count, CallPlace::kMostFrames));
    std::copy_n(frames, t_forward.count, t_forward.frames.begin());
}

void find_place(CallPlace &place, const void *return_address) {
    const std::int32_t count = provided_frames(place.frames.data(), CallPlace::kMostFrames);
    if (count <= 0 && t_forward.kind == CallPlace::Kind::Forward) {
        place = t_forward;
        return;
    }
    if (count != 0) {
        place.kind = CallPlace::Kind::Provided;
        place.count = static_cast<std::uint8_t>(std::min<std::size_t>(std::abs(count), CallPlace::kMostFrames));
        return;
    }
    const void *addresses[CallPlace::kMostFrames];
    place.kind = CallPlace::Kind::Native;
    place.count = static_cast<std::uint8_t>(find_native_frames(return_address, addresses, CallPlace::kMostFrames));
    std::transform(addresses, addresses + place.count, place.frames.begin(),
                   [](const void *address) { return aclsimCallFrame{address, 0}; });
}

void leave_library(CallPlace &place) {
    if (place.kind != CallPlace::Kind::Native) {
        return;
    }
    const auto begin = place.frames.begin(), end = begin + place.count;
    const void *const library = library_of(begin->code);
    const auto caller =
        std::find_if(begin, end, [&](const aclsimCallFrame &frame) { return library_of(frame.code) != library; });
    if (caller != end) {
        std::copy(caller, end, begin);
        place.count = static_cast<std::uint8_t>(end - caller);
    }
}

namespace {

std::string name_of(const CallPlace &place, const aclsimCallFrame &frame) {
    if (place.kind == CallPlace::Kind::Native) {
        return native_name(frame.code);
    }
    char text[4352] = "";  // a path of any length, and the function
    const aclsimNameFrame name = g_name.load(std::memory_order_acquire);
    const bool is_named =
        place.kind != CallPlace::Kind::Unknown && name != nullptr && name(&frame, text, sizeof text) == 0;
    return is_named ? text : "an unknown place";
}

}  // namespace

std::string name_of(const CallPlace &place) { return name_of(place, place.frames[0]); }

std::vector<std::string> names_of(const CallPlace &place) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < place.count; ++i) {
        names.push_back(name_of(place, place.frames[i]));
    }
    return names;
}

}  // namespace aclsim
