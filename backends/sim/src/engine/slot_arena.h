// SPDX-License-Identifier: Apache-2.0
// Memory of the objects that hot calls look up. Objects lie in the order of the numbers in their handles, so that
// arithmetic leads from a handle to its object: a table of addresses would cost one more cache line per object, and
// programs have thousands of them.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "engine/lock.h"
#include "engine/object.h"
#include "support/expect.h"
#include "support/pages.h"
#include "support/poison.h"

namespace aclsim {

// Fields that distinguish the objects of one kind in their handles.
constexpr unsigned kNumberBits = 24;
constexpr unsigned kGenerationBits = 18;
constexpr std::uint32_t kLastGeneration = (1U << kGenerationBits) - 1;

// Up to kMost adjacent slots of kSize bytes. Objects use a slot one after another, each with the slot's number and a
// new generation; after the last generation the slot stays vacant. The memory is reused for new objects and kept until
// the process ends, when threads may still look objects up. Slots are divided into parts, one per shard; the shard is
// sufficient to take and return slots of its part, but adding slots requires the global lock.
template <std::size_t kSize, std::uint32_t kMost>
class SlotArena {
    static_assert(kMost <= 1U << kNumberBits, "a number must fit into its field");

  public:
    bool has_vacant(std::uint32_t part) const REQUIRES(engine_lock) { return parts_[part].vacant != nullptr; }
    void *take(std::uint32_t part) REQUIRES(engine_lock) {
        Vacant *&first = parts_[part].vacant;
        if (unlikely(first == nullptr)) {
            add_slots(part);
        }
        Vacant *const slot = std::exchange(first, first->next);
        unpoison(slot, kSize);
        return slot;
    }
    [[gnu::noinline]] void give_back(void *slot) REQUIRES(engine_lock) {
        auto *const vacant = new (slot) Vacant;
        const std::uint32_t its_number = number(*vacant);
        if (generations_[its_number] < kLastGeneration) {
            vacant->next = std::exchange(parts_[part_of_[its_number / kStep]].vacant, vacant);
        }
        poison(vacant + 1, kSize - sizeof(Vacant));
    }

    // Finds the object in the slot with that number, or an object without a handle if the slot is vacant or does not
    // exist. Needs no lock, because slots do not move; accessing the object requires the lock.
    Object *at(std::uint32_t number) {
        return likely(number < count_.load(std::memory_order_acquire)) ? &object(number) : &nobody_;
    }
    // Visits all slots, including vacant ones. Requires the global lock.
    template <class Visitor>
    void for_each(Visitor visit) REQUIRES(engine_lock) {
        const std::uint32_t count = count_.load(std::memory_order_relaxed);
        for (std::uint32_t number = 0; number < count; ++number) {
            visit(object(number));
        }
    }

    std::uint32_t number(const Object &object) const REQUIRES(engine_lock) {
        return static_cast<std::uint32_t>((reinterpret_cast<const std::byte *>(&object) - slots_) / kSize);
    }
    // Generation of the newest object in that slot, or 0.
    std::uint32_t &generation(const Object &object) REQUIRES(engine_lock) { return generations_[number(object)]; }

  private:
    static constexpr std::uint32_t kStep = 64;        // slots added to a part at a time
    static constexpr std::uint32_t kPrepared = 1024;  // slots requested from the host at a time: whole pages of 64 KiB
    static_assert(kPrepared % kStep == 0 && kPrepared * kSize % 65536 == 0);
    struct Vacant final : Object {
        Vacant *next = nullptr;
    };
    static_assert(sizeof(Vacant) <= kSize && kSize % alignof(Vacant) == 0);
    struct alignas(64) Part {      // avoids sharing a cache line between threads of different devices
        Vacant *vacant = nullptr;  // head of the free list
    };

    void *slot(std::uint32_t number) { return slots_ + number * kSize; }
    Object &object(std::uint32_t number) { return *std::launder(static_cast<Object *>(slot(number))); }
    [[gnu::noinline]] void add_slots(std::uint32_t part) REQUIRES(engine_lock) {
        const std::uint32_t begin = count_.load(std::memory_order_relaxed);
        if (begin % kPrepared == 0) {
            prepare(begin);
        }
        part_of_[begin / kStep] = static_cast<std::uint8_t>(part);
        for (std::uint32_t number = begin + kStep; number-- > begin;) {
            give_back(slot(number));
        }
        count_.store(begin + kStep, std::memory_order_release);
    }
    void prepare(std::uint32_t number) REQUIRES(engine_lock) {  // prepares that slot and the following ones
        if (slots_ == nullptr) {
            slots_ = static_cast<std::byte *>(reserve_inaccessible(kMost * kSize));
        }
        if (generations_ == nullptr) {
            generations_ = static_cast<std::uint32_t *>(reserve_addresses(kMost * sizeof(std::uint32_t)));
        }
        const bool are_there = slots_ != nullptr && generations_ != nullptr;
        if (!are_there || number == kMost || !make_accessible(slot(number), kPrepared * kSize)) {
            throw std::bad_alloc();
        }
        announce_pointers(slot(number), kPrepared * kSize);
    }

    static inline Object nobody_;
    std::atomic<std::uint32_t> count_{0};  // changed under the global lock, as are the next three:
    std::byte *slots_ = nullptr;           // address range of kMost slots, of which the first count_ are used
    std::uint32_t *generations_ = nullptr;
    std::array<std::uint8_t, kMost / kStep> part_of_{};
    std::array<Part, Shards::kMost> parts_ GUARDED_BY(engine_lock){};
};

}  // namespace aclsim
