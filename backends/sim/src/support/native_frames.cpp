// SPDX-License-Identifier: Apache-2.0
#include "support/native_frames.h"

#if defined(__linux__) && defined(__has_include)
#if __has_include(<unwind.h>)
#include <dlfcn.h>
#include <sys/auxv.h>
#include <unwind.h>
#define ACLSIM_UNWINDS 1
#endif
#endif

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#include "support/text.h"

#ifdef ACLSIM_UNWINDS
extern "C" {
// Symbols made by the linker: begin and end in memory of this library, or of the test that contains it.
extern const char __ehdr_start[] __attribute__((visibility("hidden")));  // NOLINT: its name
extern const char _end[] __attribute__((visibility("hidden")));          // NOLINT
}
#endif

namespace aclsim {

#ifdef ACLSIM_UNWINDS
namespace {

bool is_here(std::uintptr_t address) {
    return address - as_integer(__ehdr_start) < as_integer(_end) - as_integer(__ehdr_start);
}

// The native test of frames contains the library and has no inside.
bool is_inside(std::uintptr_t address) {
    static const bool is_library = !is_here(getauxval(AT_PHDR));
    return is_library && is_here(address);
}

// Sizes of frames by return address. An entry is one word, so that no reader sees a part; a later one replaces it. If a
// library was closed and another one has its addresses, a wrong size mostly leads to an address without entry, and is
// replaced then.
class FrameSizes {
  public:
    static constexpr std::uintptr_t kLast = 0xFFFF * 8;  // mark of the outermost frame, where unwinding ends
    std::uintptr_t find(std::uintptr_t address) const {  // 0: unknown
        const std::uint64_t entry = entries_[slot(address)].load(std::memory_order_relaxed);
        return entry >> kSizeBits == address ? (entry & kMostUnits) * kUnit : 0;
    }
    void note(std::uintptr_t address, std::uintptr_t size) {
        if (size <= kLast && size % kUnit == 0 && address >> (64 - kSizeBits) == 0) {
            entries_[slot(address)].store(address << kSizeBits | size / kUnit, std::memory_order_relaxed);
        }
    }

  private:
    static constexpr unsigned kSlotBits = 12, kSizeBits = 16;
    static constexpr std::uintptr_t kUnit = 8, kMostUnits = kLast / kUnit;
    static std::size_t slot(std::uint64_t address) { return address * 0x9E3779B97F4A7C15 >> (64 - kSlotBits); }

    std::array<std::atomic<std::uint64_t>, 1U << kSlotBits> entries_{};
};

FrameSizes g_sizes;
// Without this function of the host the unwinder takes a lock, which the thread may have if a signal interrupted it. It
// is used nevertheless if nothing else finds the program.
const bool g_takes_no_lock = dlsym(RTLD_DEFAULT, "_dl_find_object") != nullptr;
thread_local std::uintptr_t t_known_end = 0;  // end of the stack, as far as it was unwound

struct Frames {
    const std::uintptr_t first;  // address of the innermost one
    const void **const list;
    const std::size_t most;
    std::size_t count = 0;
    bool has_begun = false;

    // Returns true if no more are wanted.
    bool add(std::uintptr_t address) {
        has_begun = has_begun || address == first;
        if (has_begun && !is_inside(address)) {
            list[count++] = reinterpret_cast<const void *>(address);
        }
        return count == most;
    }
};

#ifdef __x86_64__
constexpr bool kIsWalkable = true;  // a return address is the last word of its frame
constexpr int kFramePointer = 6;    // number of the register
#else
constexpr bool kIsWalkable = false;
constexpr int kFramePointer = 29;
#endif

// Reads a word of the stack, of which sanitizers do not know that it may be read.
[[gnu::no_sanitize("address", "thread", "undefined")]] std::uintptr_t load(std::uintptr_t address) {
    return *reinterpret_cast<const std::uintptr_t *>(address);
}

// Goes from one return address to the next, from the one below that address of the stack on. Returns false at one whose
// frame has no known size. Reads no memory outside the stack.
bool walk(Frames &frames, std::uintptr_t end) {
    for (;;) {
        const std::uintptr_t address = load(end - sizeof address);
        const std::uintptr_t size = g_sizes.find(address);
        if (frames.add(address) || size == FrameSizes::kLast) {
            return true;
        }
        end += size;
        if (size == 0 || end > t_known_end) {
            return false;
        }
    }
}

struct Unwinding {
    Frames &frames;
    std::uintptr_t address = 0, begin = 0, frame_pointer = 0;  // values of the frame before
    bool is_plain = false;                                     // the frame before was not interrupted by a signal

    _Unwind_Reason_Code step(_Unwind_Context *context) {
        int is_interrupted = 0;
        const std::uintptr_t at = _Unwind_GetIPInfo(context, &is_interrupted);
        const std::uintptr_t now = at + (is_interrupted != 0 ? 1 : 0);
        const std::uintptr_t end = _Unwind_GetCFA(context);
        if (is_plain && is_interrupted == 0 && end - begin < FrameSizes::kLast && !has_frame_pointer(now, end)) {
            g_sizes.note(address, end - begin);
        }
        address = now;
        begin = end;
        frame_pointer = _Unwind_GetGR(context, kFramePointer);
        is_plain = is_interrupted == 0;
        t_known_end = std::max(t_known_end, end);
        return frames.add(now) ? _URC_NORMAL_STOP : _URC_NO_REASON;
    }

    // Returns whether the register is used as a frame pointer, as in every frame of variable size: behind what it
    // points to is the return address.
    bool has_frame_pointer(std::uintptr_t next, std::uintptr_t end) const {
        const bool is_in_frame = frame_pointer >= begin && frame_pointer < end && end - frame_pointer >= 2 * sizeof end;
        return is_in_frame && frame_pointer % sizeof end == 0 && load(frame_pointer + sizeof end) == next;
    }
};

_Unwind_Reason_Code step(_Unwind_Context *context, void *unwinding) {
    return static_cast<Unwinding *>(unwinding)->step(context);
}

}  // namespace

[[gnu::noinline]] std::size_t find_native_frames(const void *return_address, const void **list, std::size_t most) {
    Frames frames{as_integer(return_address), list, most};
    const bool is_walked = kIsWalkable && walk(frames, as_integer(__builtin_dwarf_cfa()));
    if (!is_walked && (g_takes_no_lock || is_inside(frames.first))) {
        frames.count = 0;
        frames.has_begun = false;
        Unwinding unwinding{frames};
        _Unwind_Backtrace(step, &unwinding);
        if (frames.count < most && unwinding.is_plain) {
            g_sizes.note(unwinding.address, FrameSizes::kLast);
        }
    }
    if (frames.count == 0) {
        list[frames.count++] = return_address;
    }
    return frames.count;
}
#else
std::size_t find_native_frames(const void *return_address, const void **list, std::size_t) {
    list[0] = return_address;
    return 1;
}
#endif

}  // namespace aclsim
