#include "support/call_place.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>

#include "support/text.h"

namespace aclsim {
namespace {

std::atomic<aclsimCaptureFrames> g_capture{nullptr};
std::atomic<aclsimNameFrame> g_name{nullptr};

// "file+offset in function", of the call itself and not of where it returns to.
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

}  // namespace

void set_place_provider(const PlaceProvider &provider) {
    g_capture.store(nullptr, std::memory_order_release);
    g_name.store(provider.name, std::memory_order_release);
    g_capture.store(provider.capture, std::memory_order_release);
}

void find_place(CallPlace &place, const void *return_address) {
    const aclsimCaptureFrames capture = g_capture.load(std::memory_order_acquire);
    const std::int32_t count = capture == nullptr ? 0 : capture(place.frames.data(), CallPlace::kMostFrames);
    if (count > 0) {
        place.kind = CallPlace::Kind::Provided;
        place.count = static_cast<std::uint8_t>(std::min<std::size_t>(count, CallPlace::kMostFrames));
        return;
    }
    place.kind = CallPlace::Kind::Native;
    place.count = 1;
    place.frames[0] = {return_address, 0};
}

std::string name_of(const CallPlace &place) {
    if (place.kind == CallPlace::Kind::Native) {
        return native_name(place.frames[0].code);
    }
    char text[256] = "";
    const aclsimNameFrame name = g_name.load(std::memory_order_acquire);
    const bool is_named =
        place.kind == CallPlace::Kind::Provided && name != nullptr && name(&place.frames[0], text, sizeof text) == 0;
    return is_named ? text : "an unknown place";
}

}  // namespace aclsim
