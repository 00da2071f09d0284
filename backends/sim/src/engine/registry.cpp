#include "engine/registry.h"

#include <new>
#include <utility>

namespace aclsim {
namespace {

constexpr std::uint64_t kHandleMagic = 0x5a;
constexpr std::uint32_t kLastSlot = (1U << Registry::kSlotBits) - 1;
constexpr std::uint32_t kLastGeneration = (1U << Registry::kGenerationBits) - 1;

std::uint64_t encode(Kind kind, std::uint32_t shard, std::uint32_t generation, std::uint32_t slot) {
    return kHandleMagic << Registry::kMagicShift | static_cast<std::uint64_t>(kind) << Registry::kKindShift |
           static_cast<std::uint64_t>(shard) << Registry::kShardShift |
           static_cast<std::uint64_t>(generation) << Registry::kGenerationShift |
           static_cast<std::uint64_t>(slot) << Registry::kSlotShift;
}

}  // namespace

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
    object->handle_ = reinterpret_cast<void *>(encode(kind, shard, slot.generation + 1, slot.number));
    object->kind_ = kind;
    slots_[slot.number] = std::move(object);
}

void Registry::remove(Object &object) {
    const std::uint32_t number = slot_number(object.handle());
    const std::uint32_t generation = generation_of(object.handle());
    if (generation < kLastGeneration) {
        free_.push_back({number, generation});
    }
    const Ref<Object> last = std::exchange(slots_[number], nullptr);  // destroys the object if nobody else refers to it
}

}  // namespace aclsim
