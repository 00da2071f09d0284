// SPDX-License-Identifier: Apache-2.0
#include "engine/registry.h"

#include <new>
#include <utility>

namespace aclsim {
namespace {

constexpr std::uint32_t kLastSlot = (1U << kNumberBits) - 1;

}  // namespace

void Registry::name(Object &object, Kind kind, std::uint32_t shard, std::uint32_t generation, std::uint32_t number) {
    const std::uint64_t handle = std::uint64_t{kMagic} << kMagicShift | static_cast<std::uint64_t>(kind) << kKindShift |
                                 static_cast<std::uint64_t>(shard) << kShardShift |
                                 static_cast<std::uint64_t>(generation) << kGenerationShift |
                                 static_cast<std::uint64_t>(number) << kNumberShift;
    object.handle_ = reinterpret_cast<void *>(handle);
    object.kind_ = kind;
}

void Registry::insert(Ref<Object> object, Kind kind, std::uint32_t shard) {
    if (first_free_ == kNone) {
        if (slots_.size() > kLastSlot) {
            throw std::bad_alloc();
        }
        slots_.emplace_back();
        add_free(static_cast<std::uint32_t>(slots_.size() - 1));
    }
    const std::uint32_t number = first_free_;
    Slot &slot = slots_[number];
    first_free_ = std::exchange(slot.next_free, kNone);
    name(*object, kind, shard, ++slot.generation, number);
    slot.object = std::move(object);
}

void Registry::add_free(std::uint32_t number) {
    (first_free_ == kNone ? first_free_ : slots_[last_free_].next_free) = number;
    last_free_ = number;
}

void Registry::vacate(Object &object) {
    const std::uint32_t number = number_of(object.handle());
    if (slots_[number].generation < kLastGeneration) {
        add_free(number);
    }
    object.kind_ = Kind::Count;
    const Ref<Object> last =
        std::exchange(slots_[number].object, nullptr);  // destroys the object if this was the last reference
}

}  // namespace aclsim
