// SPDX-License-Identifier: Apache-2.0
// Handles: every object that a user can name is in one registry, which validates a handle before any other use.
//
// A handle is not an address. It holds the number of a slot, or of an entry in a table, and a generation, so that a
// destroyed handle never finds the next object there, and garbage is never followed:
//
//    63      56 55  50 49   46 45          28 27            4 3  0
//   [   0x5a   | kind | shard |  generation  |     number    | 0 ]
//
// A slot or entry whose generations are used up is never used again: no handle ever names two objects.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "engine/ended_handles.h"
#include "engine/lock.h"
#include "engine/object.h"
#include "engine/slot_arena.h"
#include "support/expect.h"
#include "support/ref.h"

namespace aclsim {

template <class T>
class Handle;

// Guarded by the engine lock.
class Registry {
  public:
    static constexpr unsigned kKindBits = 6;
    static constexpr unsigned kShardBits = 4;
    static_assert(Shards::kMost <= 1U << kShardBits, "a shard must fit into its field");
    static_assert(static_cast<unsigned>(Kind::Count) <= 1U << kKindBits, "a kind must fit into its field");
    static constexpr unsigned kNumberShift = 4;
    static constexpr unsigned kGenerationShift = kNumberShift + kNumberBits;
    static constexpr unsigned kShardShift = kGenerationShift + kGenerationBits;
    static constexpr unsigned kKindShift = kShardShift + kShardBits;
    static constexpr unsigned kMagicShift = kKindShift + kKindBits;
    static_assert(kMagicShift + 8 == 64, "the fields of a handle fill 64 bits");

    // Adds an object; T::kKind is the kind in its handle. The registry keeps the object alive until remove(). The shard
    // is that of the object's device if the shard is sufficient for calls that use the object.
    template <class T>
    void add(const Ref<T> &object, std::uint32_t shard = 0) REQUIRES(engine_lock) {
        if constexpr (is_in_arena<T>) {
            name(*object, T::kKind, shard, ++T::kSlots->generation(*object), T::kSlots->number(*object));
            Ref<T>(object).release();  // the registry's reference, until remove()
        } else {
            insert(object, T::kKind, shard);
        }
    }
    // Adds an object and does the rest of its creation, such as entering it in its owner's list. If that fails, the
    // object is not there either.
    template <class T, class Rest>
    void add_with(const Ref<T> &object, Rest rest, std::uint32_t shard = 0) REQUIRES(engine_lock) {
        add(object, shard);
        try {
            rest();
        } catch (...) {
            remove(*object);
            throw;
        }
    }
    template <class T>
    void remove(T &object) REQUIRES(engine_lock) {
        if (unlikely(ended_ != nullptr)) {
            ended_->note(object.handle());
        }
        if constexpr (is_in_arena<T>) {
            const Ref<T> last(object);  // destroys the object if this is the last reference
            object.kind_ = Kind::Count;
            --object.references_;
        } else {
            vacate(object);
        }
    }

    // Notes the ends of handles from now on.
    void note_ends(EndedHandles &ended) REQUIRES(engine_lock) { ended_ = &ended; }

    // Fields of any value, valid handle or not.
    static bool is_handle(const void *value) { return field(value, kMagicShift, 8) == kMagic; }
    static Kind kind_of(const void *handle) { return static_cast<Kind>(field(handle, kKindShift, kKindBits)); }
    static std::uint32_t shard_of(const void *handle) { return field(handle, kShardShift, kShardBits); }
    static std::uint32_t number_of(const void *handle) { return field(handle, kNumberShift, kNumberBits); }

    // Returns the live object of that handle and type, or nullptr for NULL, garbage, destroyed and foreign handles.
    template <class T>
    T *find(void *handle) const REQUIRES(engine_lock) {
        if constexpr (is_in_arena<T>) {
            return Handle<T>(handle).find();
        } else {
            const std::uint32_t number = number_of(handle);
            Object *const object = number < slots_.size() ? slots_[number].object.get() : nullptr;
            return object != nullptr && object->is_named(handle, T::kKind) ? static_cast<T *>(object) : nullptr;
        }
    }

    // Returns all live objects of that type.
    template <class T>
    std::vector<Ref<T>> all() const REQUIRES(engine_lock) {
        std::vector<Ref<T>> found;
        const auto add = [&](Object &object) {
            if (object.kind() == T::kKind) {
                found.emplace_back(static_cast<T &>(object));
            }
        };
        if constexpr (is_in_arena<T>) {
            T::kSlots->for_each(add);
        } else {
            for (const Slot &slot : slots_) {
                if (slot.object) {
                    add(*slot.object);
                }
            }
        }
        return found;
    }

  private:
    static constexpr std::uint32_t kNone = 1U << kNumberBits;
    struct Slot {
        Ref<Object> object;
        std::uint32_t generation = 0;     // generation of the newest object in this slot, or 0
        std::uint32_t next_free = kNone;  // next slot in the free list
    };
    void add_free(std::uint32_t number) REQUIRES(engine_lock);  // allocates nothing: destruction cannot fail
    template <class T>
    static constexpr bool is_in_arena = !std::is_same_v<decltype(T::kSlots), const std::nullptr_t>;
    static void name(Object &object, Kind kind, std::uint32_t shard, std::uint32_t generation, std::uint32_t number);
    void insert(Ref<Object> object, Kind kind, std::uint32_t shard) REQUIRES(engine_lock);
    void vacate(Object &object) REQUIRES(engine_lock);
    // Extracts a field of any value, valid handle or not.
    static std::uint32_t field(const void *handle, unsigned shift, unsigned bits) {
        return static_cast<std::uint32_t>(reinterpret_cast<std::uint64_t>(handle) >> shift) & ((1U << bits) - 1);
    }

    static constexpr std::uint32_t kMagic = 0x5a;

    EndedHandles *ended_ GUARDED_BY(engine_lock) = nullptr;
    // Table of the objects that do not lie in slots.
    std::vector<Slot> slots_ GUARDED_BY(engine_lock);
    // First in, first out, to keep a slot unused as long as possible.
    std::uint32_t first_free_ GUARDED_BY(engine_lock) = kNone;
    std::uint32_t last_free_ GUARDED_BY(engine_lock) = kNone;
};

// Handle given by the program, for an object in a slot. Constructed before the call takes the lock, it prefetches the
// object's cache line.
template <class T>
class Handle {
  public:
    Handle(void *value) : value_(value), object_(T::kSlots->at(Registry::number_of(value))) {  // NOLINT: as a void *
        __builtin_prefetch(object_);
    }
    void *value() const { return value_; }
    // Returns the live object, or nullptr for NULL, garbage, destroyed and foreign handles.
    T *find() const REQUIRES(engine_lock) {
        return object_->is_named(value_, T::kKind) ? static_cast<T *>(object_) : nullptr;
    }

  private:
    void *value_;
    Object *object_;
};

}  // namespace aclsim
