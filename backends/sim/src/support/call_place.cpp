#include "support/call_place.h"

#include <dlfcn.h>
#if defined(__linux__) && defined(__has_include)
#if __has_include(<execinfo.h>)
#include <execinfo.h>
#include <sys/auxv.h>
#define ACLSIM_HAS_BACKTRACE 1
#endif
#endif

#include <algorithm>
#include <cstdio>

#include "support/text.h"

#ifdef ACLSIM_HAS_BACKTRACE
// Symbols made by the linker: begin and end in memory of this library, or of the test that contains it.
extern "C" {
extern const char __ehdr_start[] __attribute__((visibility("hidden")));  // NOLINT: its name
extern const char _end[] __attribute__((visibility("hidden")));          // NOLINT
}
#endif

namespace aclsim {
namespace {

std::atomic<aclsimCaptureFrames> g_capture{nullptr};
std::atomic<aclsimNameFrame> g_name{nullptr};

#ifdef ACLSIM_HAS_BACKTRACE
bool is_here(std::uintptr_t address) {
    return address - as_integer(__ehdr_start) < as_integer(_end) - as_integer(__ehdr_start);
}

// Functions of a family may share an entry; the call then returns to this library first. Native tests contain the
// library and have no inside.
bool is_inside(const void *address) {
    static const bool is_library = !is_here(getauxval(AT_PHDR));
    return is_library && is_here(as_integer(address));
}

// Unwinds the stack, which takes microseconds.
const void *first_outside(const void *otherwise) {
    void *frames[16];
    void **const end = frames + backtrace(frames, 16);
    void **const inside = std::find_if(frames, end, is_inside);  // a sanitizer's own backtrace() comes first
    void **const outside = std::find_if_not(inside, end, is_inside);
    return outside == end ? otherwise : *outside;
}
#else
bool is_inside(const void *) { return false; }
const void *first_outside(const void *otherwise) { return otherwise; }
#endif

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
    place.frames[0] = {is_inside(return_address) ? first_outside(return_address) : return_address, 0};
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
