// Places of calls in the program: noted raw by every call, while somebody wants them, and named when they are shown.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "abi/aclsim.h"

namespace aclsim {

struct CallPlace {
    static constexpr std::size_t kMostFrames = 8;
    enum class Kind : std::uint8_t {
        Unknown,
        Native,    // the return address of the call
        Provided,  // frames of the program's own runtime, the innermost first
    };
    Kind kind = Kind::Unknown;
    std::uint8_t count = 0;                           // of frames
    std::array<aclsimCallFrame, kMostFrames> frames;  // the others are left as they are
};

// Functions of the program that know places; nullptr: none does.
struct PlaceProvider {
    aclsimCaptureFrames capture = nullptr;
    aclsimNameFrame name = nullptr;
};
void set_place_provider(const PlaceProvider &provider);

// Finds the place of the call that returns to that address. Without the engine's lock, because the provider may wait
// for one of its own.
void find_place(CallPlace &place, const void *return_address);
// "train.py:12", or "program+0x12ab in main". May be called with the engine's lock.
std::string name_of(const CallPlace &place);

// Calls that note their places.
enum class WantedPlaces : std::uint8_t { None, OfMemory, All };
inline std::atomic<WantedPlaces> g_wanted_places{WantedPlaces::None};

}  // namespace aclsim
