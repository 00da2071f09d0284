#include "engine/registry.h"

#include <new>
#include <utility>

namespace aclsim {
namespace {

constexpr std::uint64_t kMagic = 0x5a;
constexpr unsigned kSlotShift = 4;
constexpr unsigned kGenerationShift = kSlotShift + Registry::kSlotBits;
constexpr unsigned kKindShift = kGenerationShift + Registry::kGenerationBits;
constexpr unsigned kMagicShift = kKindShift + Registry::kKindBits;
static_assert(kMagicShift + 8 == 64, "the fields of a handle fill 64 bits");
constexpr std::uint32_t kLastSlot = (1U << Registry::kSlotBits) - 1;
constexpr std::uint32_t kLastGeneration = (1U << Registry::kGenerationBits) - 1;

std::uint64_t encode(Kind kind, std::uint32_t generation, std::uint32_t slot) {
    return kMagic << kMagicShift | static_cast<std::uint64_t>(kind) << kKindShift |
           static_cast<std::uint64_t>(generation) << kGenerationShift | static_cast<std::uint64_t>(slot) << kSlotShift;
}

std::uint32_t slot_number(std::uint64_t handle) { return static_cast<std::uint32_t>(handle >> kSlotShift) & kLastSlot; }

}  // namespace

void Registry::insert(Ref<Object> object, Kind kind) {
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
    ++slot.generation;
    object->handle_ = reinterpret_cast<void *>(encode(kind, slot.generation, number));
    object->kind_ = kind;
    slot.object = std::move(object);
}

void Registry::remove(Object &object) {
    const std::uint32_t number = slot_number(reinterpret_cast<std::uint64_t>(object.handle()));
    Slot &slot = slots_[number];
    if (slot.generation < kLastGeneration) {
        free_.push_back(number);
    }
    const Ref<Object> last = std::exchange(slot.object, nullptr);  // destroys the object if this is the last reference
}

Object *Registry::find_object(void *handle, Kind kind) const {
    const std::uint64_t value = reinterpret_cast<std::uint64_t>(handle);
    const std::uint32_t number = slot_number(value);
    if (number >= slots_.size()) {
        return nullptr;
    }
    const Slot &slot = slots_[number];
    return value == encode(kind, slot.generation, number) ? slot.object.get() : nullptr;
}

}  // namespace aclsim
