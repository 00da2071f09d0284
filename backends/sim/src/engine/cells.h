// Memory of the objects that hot calls look up. They lie in the order of the numbers in their handles, so that
// arithmetic leads from a handle to its object: a table of their addresses would be one more cache line to fetch for
// each, and programs have thousands of them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#include "engine/lock.h"
#include "engine/object.h"
#include "support/pages.h"
#include "support/poison.h"

namespace aclsim {

// What tells the objects of a kind apart in their handles.
constexpr unsigned kNumberBits = 24;
constexpr unsigned kGenerationBits = 18;
constexpr std::uint32_t kLastGeneration = (1U << kGenerationBits) - 1;

// At most kMost cells of kSize bytes, side by side. One object after another lies in a cell, with the cell's number and
// a generation of its own; after the last generation the cell stays vacant. The memory is kept for new objects, and
// stays until the process ends, when threads may still look objects up.
template <std::size_t kSize, std::uint32_t kMost>
class Cells {
    static_assert(kMost <= 1U << kNumberBits, "a number must fit into its field");

  public:
    void *take() REQUIRES(engine_lock) {
        if (vacant_ == nullptr) {
            return add_cell();
        }
        Vacant *const cell = vacant_;
        vacant_ = cell->next;
        unpoison(cell, kSize);
        return cell;
    }
    [[gnu::noinline]] void give_back(void *cell) REQUIRES(engine_lock) {
        auto *const vacant = new (cell) Vacant(vacant_);
        if (generation(*vacant) < kLastGeneration) {
            vacant_ = vacant;
        }
        poison(vacant + 1, kSize - sizeof(Vacant));
    }

    // What is in the cell of that number; an object that no handle names, if the cell is vacant or there is none. To
    // find it needs no lock, because cells stay where they are; to look at it does.
    Object *at(std::uint32_t number) {
        return __builtin_expect(number < count_.load(std::memory_order_acquire), 1) ? &object(number) : &nobody_;
    }
    // Also of what is in vacant cells.
    template <class Visitor>
    void for_each(Visitor visit) REQUIRES(engine_lock) {
        const std::uint32_t count = count_.load(std::memory_order_relaxed);
        for (std::uint32_t number = 0; number < count; ++number) {
            visit(object(number));
        }
    }

    std::uint32_t number(const Object &object) const REQUIRES(engine_lock) {
        return static_cast<std::uint32_t>((reinterpret_cast<const std::byte *>(&object) - cells_) / kSize);
    }
    // Of the newest object that got a handle there, or 0.
    std::uint32_t &generation(const Object &object) REQUIRES(engine_lock) { return generations_[number(object)]; }

  private:
    static constexpr std::uint32_t kStep = 1024;  // cells that the host is asked for at a time: whole pages of 64 KiB
    static_assert(kStep * kSize % 65536 == 0);
    struct Vacant final : Object {
        explicit Vacant(Vacant *following) : next(following) {}
        Vacant *next;
    };
    static_assert(sizeof(Vacant) <= kSize && kSize % alignof(Vacant) == 0);

    void *cell(std::uint32_t number) { return cells_ + number * kSize; }
    Object &object(std::uint32_t number) { return *std::launder(static_cast<Object *>(cell(number))); }
    [[gnu::noinline]] void *add_cell() REQUIRES(engine_lock) {
        const std::uint32_t number = count_.load(std::memory_order_relaxed);
        if (number % kStep == 0) {
            prepare(number);
        }
        count_.store(number + 1, std::memory_order_release);
        return cell(number);
    }

    void prepare(std::uint32_t number) REQUIRES(engine_lock) {  // that cell and those of its step
        if (cells_ == nullptr) {
            cells_ = static_cast<std::byte *>(reserve_inaccessible(kMost * kSize));
        }
        if (generations_ == nullptr) {
            generations_ = static_cast<std::uint32_t *>(reserve_addresses(kMost * sizeof(std::uint32_t)));
        }
        const bool are_there = cells_ != nullptr && generations_ != nullptr;
        if (!are_there || number == kMost || !make_accessible(cell(number), kStep * kSize)) {
            throw std::bad_alloc();
        }
        announce_pointers(cell(number), kStep * kSize);
    }

    static inline Object nobody_;
    std::atomic<std::uint32_t> count_{0};  // of cells that have been taken; changed with the lock, as what follows
    std::byte *cells_ = nullptr;           // addresses of kMost of them
    std::uint32_t *generations_ GUARDED_BY(engine_lock) = nullptr;
    Vacant *vacant_ GUARDED_BY(engine_lock) = nullptr;  // the first of them
};

}  // namespace aclsim
