#include "engine/registry.h"

#include <new>

namespace aclsim {
namespace {

constexpr std::uint64_t kMagic = 0x5a;
constexpr std::uint32_t kFieldMask = 0xffffff;  // 24 bits of slot number, 24 bits of generation
const std::shared_ptr<Object> kNone;

std::uint64_t encode(Kind kind, std::uint32_t generation, std::uint32_t slot) {
    return kMagic << 56 | static_cast<std::uint64_t>(kind) << 52 | static_cast<std::uint64_t>(generation) << 28 |
           static_cast<std::uint64_t>(slot) << 4;
}

std::uint32_t slot_number(std::uint64_t handle) { return static_cast<std::uint32_t>(handle >> 4) & kFieldMask; }

}  // namespace

void Registry::insert(std::shared_ptr<Object> object, Kind kind) {
    if (free_.empty()) {
        if (slots_.size() > kFieldMask) {
            throw std::bad_alloc();
        }
        free_.push_back(static_cast<std::uint32_t>(slots_.size()));
        slots_.emplace_back();
    }
    const std::uint32_t number = free_.front();
    free_.pop_front();
    Slot &slot = slots_[number];
    slot.generation = (slot.generation + 1) & kFieldMask;
    object->handle_ = reinterpret_cast<void *>(encode(kind, slot.generation, number));
    slot.object = std::move(object);
}

void Registry::remove(Object &object) {
    const std::uint32_t number = slot_number(reinterpret_cast<std::uint64_t>(object.handle()));
    slots_[number].object.reset();  // may destroy the object
    free_.push_back(number);
}

const std::shared_ptr<Object> &Registry::find_slot(void *handle, Kind kind) const {
    const std::uint64_t value = reinterpret_cast<std::uint64_t>(handle);
    const std::uint32_t number = slot_number(value);
    if (number >= slots_.size()) {
        return kNone;
    }
    const Slot &slot = slots_[number];
    return value == encode(kind, slot.generation, number) ? slot.object : kNone;
}

}  // namespace aclsim
