/* SPDX-License-Identifier: Apache-2.0 */
#include "random.h"

#include <ATen/CPUGeneratorImpl.h>

namespace ascend_rt {

// SplitMix64: neighbouring offsets give unrelated seeds.
static std::uint64_t mixed(std::uint64_t seed, std::uint64_t offset) {
    std::uint64_t z = seed + 0x9e3779b97f4a7c15ULL * (offset + 1);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

at::Generator generator_of(const RandomState &state) {
    const bool is_replayed = state.replayed_seed != nullptr;
    const std::uint64_t seed = is_replayed ? static_cast<std::uint64_t>(*state.replayed_seed) : state.seed;
    const std::uint64_t begin = is_replayed ? static_cast<std::uint64_t>(*state.replayed_offset) : 0;
    return at::make_generator<at::CPUGeneratorImpl>(mixed(seed, begin + state.offset));
}

}  // namespace ascend_rt
