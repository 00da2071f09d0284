// Memory of the objects that hot calls look up. They lie in the order of the numbers in their handles, so that
// arithmetic leads from a handle to its object: a table of their addresses would be one more cache line to fetch for
// each, and programs have thousands of them.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#include "engine/lock.h"
#include "engine/object.h"
#include "support/poison.h"

namespace aclsim {

// What tells the objects of a kind apart in their handles.
constexpr unsigned kNumberBits = 24;
constexpr unsigned kGenerationBits = 18;
constexpr std::uint32_t kLastGeneration = (1U << kGenerationBits) - 1;

// Cells of kSize bytes. One object after another lies in a cell, with the cell's number and a generation of its own;
// after the last generation the cell stays vacant. The memory is kept for new objects, and stays until the process
// ends, when threads may still look objects up.
template <std::size_t kSize>
class Cells {
  public:
    void *take() REQUIRES(engine_lock) {
        if (vacant_ == nullptr) {
            add_chunk();
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
        Chunk *const chunk = chunks_[number / kPerChunk].load(std::memory_order_relaxed);
        return __builtin_expect(chunk != nullptr, 1) ? &chunk->object(number % kPerChunk) : &nobody_;
    }
    // Also of what is in vacant cells.
    template <class Visitor>
    void for_each(Visitor visit) REQUIRES(engine_lock) {
        for (std::uint32_t number = 0; number < count_ * kPerChunk; ++number) {
            visit(*at(number));
        }
    }

    std::uint32_t number(const Object &object) const REQUIRES(engine_lock) {
        const Chunk &chunk = chunk_of(object);
        return chunk.number * kPerChunk + chunk.index(object);
    }
    // Of the newest object that got a handle there, or 0.
    std::uint32_t &generation(const Object &object) REQUIRES(engine_lock) {
        Chunk &chunk = chunk_of(object);
        return chunk.generations[chunk.index(object)];
    }

  private:
    static constexpr std::uint32_t kPerChunk = 256;
    static constexpr std::uint32_t kMostChunks = (1U << kNumberBits) / kPerChunk;
    struct Vacant final : Object {
        explicit Vacant(Vacant *following) : next(following) {}
        Vacant *next;
    };
    static_assert(sizeof(Vacant) <= kSize);
    struct Chunk {
        explicit Chunk(std::uint32_t its_number) : number(its_number) {}
        void *cell(std::uint32_t index) { return cells.data() + index * kSize; }
        Object &object(std::uint32_t index) { return *std::launder(static_cast<Object *>(cell(index))); }
        std::uint32_t index(const Object &object) const {
            return static_cast<std::uint32_t>(reinterpret_cast<const std::byte *>(&object) - cells.data()) / kSize;
        }
        alignas(64) std::array<std::byte, kPerChunk * kSize> cells;
        std::array<std::uint32_t, kPerChunk> generations{};
        const std::uint32_t number;
    };
    // Of a chunk, so that the address of a cell tells that of its chunk.
    static constexpr std::size_t alignment() {
        std::size_t alignment = 1;
        while (alignment < sizeof(Chunk)) {
            alignment *= 2;
        }
        return alignment;
    }
    static Chunk &chunk_of(const Object &object) {
        return *reinterpret_cast<Chunk *>(reinterpret_cast<std::uintptr_t>(&object) & ~(alignment() - 1));
    }
    [[gnu::noinline]] void add_chunk() REQUIRES(engine_lock) {
        if (count_ == kMostChunks) {
            throw std::bad_alloc();
        }
        auto *const chunk = new (::operator new(sizeof(Chunk), std::align_val_t(alignment()))) Chunk(count_);
        chunks_[count_++] = chunk;
        for (std::uint32_t index = kPerChunk; index-- > 0;) {
            give_back(chunk->cell(index));
        }
    }

    static inline Object nobody_;
    std::array<std::atomic<Chunk *>, kMostChunks> chunks_{};  // changed with the lock
    std::uint32_t count_ GUARDED_BY(engine_lock) = 0;
    Vacant *vacant_ GUARDED_BY(engine_lock) = nullptr;  // the first of them
};

}  // namespace aclsim
