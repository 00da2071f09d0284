#include "engine/registry.h"

#include <new>
#include <utility>

namespace aclsim {
namespace {

constexpr std::uint64_t kHandleMagic = 0x5a;
constexpr std::uint32_t kLastSlot = (1U << kNumberBits) - 1;

}  // namespace

void Registry::name(Object &object, Kind kind, std::uint32_t shard, std::uint32_t generation, std::uint32_t number) {
    const std::uint64_t handle = kHandleMagic << kMagicShift | static_cast<std::uint64_t>(kind) << kKindShift |
                                 static_cast<std::uint64_t>(shard) << kShardShift |
                                 static_cast<std::uint64_t>(generation) << kGenerationShift |
                                 static_cast<std::uint64_t>(number) << kNumberShift;
    object.handle_ = reinterpret_cast<void *>(handle);
    object.kind_ = kind;
}

void Registry::insert(Ref<Object> object, Kind kind, std::uint32_t shard) {
    if (free_.empty()) {
        if (slots_.size() > kLastSlot) {
            throw std::bad_alloc();
        }
        slots_.emplace_back();
        free_.push_back({static_cast<std::uint32_t>(slots_.size() - 1), 0});
    }
    const FreeSlot slot = free_.front();
    free_.pop_front();
    name(*object, kind, shard, slot.generation + 1, slot.number);
    slots_[slot.number] = std::move(object);
}

void Registry::vacate(Object &object) {
    const std::uint32_t number = number_of(object.handle());
    const std::uint32_t generation = generation_of(object.handle());
    if (generation < kLastGeneration) {
        free_.push_back({number, generation});
    }
    object.kind_ = Kind::Count;
    const Ref<Object> last = std::exchange(slots_[number], nullptr);  // destroys the object if nobody else refers to it
}

}  // namespace aclsim
