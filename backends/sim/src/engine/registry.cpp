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
        free_.push_back(static_cast<std::uint32_t>(slots_.size() - 1));
    }
    const std::uint32_t number = free_.front();
    free_.pop_front();
    Slot &slot = slots_[number];
    slot.handle = reinterpret_cast<void *>(encode(kind, shard, generation_of(slot.handle) + 1, number));
    object->handle_ = slot.handle;
    object->kind_ = kind;
    slot.object = std::move(object);
}

void Registry::remove(Object &object) {
    const std::uint32_t number = slot_number(object.handle());
    Slot &slot = slots_[number];
    if (generation_of(slot.handle) < kLastGeneration) {
        free_.push_back(number);
    }
    const Ref<Object> last = std::exchange(slot.object, nullptr);  // destroys the object if this is the last reference
}

}  // namespace aclsim
