// SPDX-License-Identifier: Apache-2.0
// Places of calls in the program. Each call records its raw place while places are wanted; names are resolved for
// display.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "abi/acl.h"

namespace aclsim {

struct CallPlace {
    static constexpr std::size_t kMostFrames = 8;
    enum class Kind : std::uint8_t {
        Unknown,
        Native,    // return addresses
        Provided,  // frames of the program's own runtime
        Forward,   // those of the operation whose gradient the thread computes
    };
    Kind kind = Kind::Unknown;
    std::uint8_t count = 0;                           // number of frames, innermost first
    std::array<aclsimCallFrame, kMostFrames> frames;  // elements beyond count are uninitialized
};

// Functions of the program that provide places; nullptr if there are none.
struct PlaceProvider {
    aclsimCaptureFrames capture = nullptr;
    aclsimNameFrame name = nullptr;
};
void set_place_provider(const PlaceProvider &provider);
bool has_place_provider();
// Writes the frames that the provider knows of the calling thread, and returns their number; it is negative if all are
// of libraries.
std::int32_t provided_frames(aclsimCallFrame *frames, std::int32_t most);
// Sets the place of calls of the thread for which the provider knows no frames of the program.
void set_forward_place(const aclsimCallFrame *frames, std::size_t count);

// Finds the place of the call that returns to the address. Call without holding the engine lock, because the provider
// may wait for a lock.
void find_place(CallPlace &place, const void *return_address);
// Leaves out the innermost frames, those of the library that made the call, unless there are no others.
void leave_library(CallPlace &place);
// Return "train.py:12", or "program+0x12ab in main": the innermost frame, or all of them. May be called while holding
// the engine lock.
std::string name_of(const CallPlace &place);
std::vector<std::string> names_of(const CallPlace &place);

// Calls that record their places.
enum class WantedPlaces : std::uint8_t { None, OfMemory, All };
inline std::atomic<WantedPlaces> g_wanted_places{WantedPlaces::None};

}  // namespace aclsim
