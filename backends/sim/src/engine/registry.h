// Handles: every object that a user can name is in one registry, and a handle is checked there before anything else.
//
// A handle is not an address. It holds a slot number and the slot's generation, so that a destroyed handle never finds
// the slot's next owner and garbage is never followed:
//
//    63      56 55  50 49   46 45          28 27            4 3  0
//   [   0x5a   | kind | shard |  generation  |  slot number  | 0 ]
//
// A slot whose generations are used up is never used again: no handle ever names two objects.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "engine/lock.h"
#include "support/ref.h"

namespace aclsim {

enum class Kind : std::uint8_t {
    Context = 1,
    Stream,
    Event,
    Notify,
    CntNotify,
    Label,
    LabelList,
    GroupList,
    DataBuffer,
    PhysicalMemory,
    Model,
    ModelTask,
    TaskGroup,
    Condition,
    AllocatorDesc,
    MemoryPool,
    ProfileConfig,
    BinaryDescription,
    Binary,
    KernelFunction,
    ArgumentList,
    Count,
};

// Counts its references as RefCounted does, but behind the handle: in the same word a derived class has three bytes.
class Object {
  public:
    Object() = default;
    Object(const Object &) = delete;
    Object &operator=(const Object &) = delete;
    virtual ~Object() = default;
    void *handle() const { return handle_; }
    Kind kind() const { return kind_; }
    std::uint32_t references() const { return references_; }

  private:
    friend class Registry;
    template <class T>
    friend class Ref;
    void *handle_ = nullptr;
    mutable std::uint32_t references_ = 0;
    Kind kind_ = Kind::Count;
};

// Guarded by the engine's lock.
class Registry {
  public:
    static constexpr unsigned kKindBits = 6;
    static constexpr unsigned kShardBits = 4;
    static_assert(Shards::kMost <= 1U << kShardBits, "a shard must fit into its field");
    static constexpr unsigned kGenerationBits = 18;
    static constexpr unsigned kSlotBits = 24;
    static_assert(static_cast<unsigned>(Kind::Count) <= 1U << kKindBits, "a kind must fit into its field");
    static constexpr unsigned kSlotShift = 4;
    static constexpr unsigned kGenerationShift = kSlotShift + kSlotBits;
    static constexpr unsigned kShardShift = kGenerationShift + kGenerationBits;
    static constexpr unsigned kKindShift = kShardShift + kShardBits;
    static constexpr unsigned kMagicShift = kKindShift + kKindBits;
    static_assert(kMagicShift + 8 == 64, "the fields of a handle fill 64 bits");

    // T::kKind tells what the handle names. The registry keeps the object alive until remove(). The shard is that of
    // the object's device, if calls for the object may have it alone.
    template <class T>
    void add(const Ref<T> &object, std::uint32_t shard = 0) REQUIRES(engine_lock) {
        insert(object, T::kKind, shard);
    }
    void remove(Object &object) REQUIRES(engine_lock);

    // What the handle says, whether it is one or not.
    static std::uint32_t shard_of(const void *handle) { return field(handle, kShardShift, kShardBits); }

    // The live object of that handle and type, or nullptr for NULL, garbage, destroyed and foreign handles.
    template <class T>
    T *find(void *handle) const REQUIRES(engine_lock) {
        const std::uint32_t number = slot_number(handle);
        Object *const object = number < slots_.size() ? slots_[number].get() : nullptr;
        const bool is_it = object != nullptr && object->handle_ == handle && object->kind_ == T::kKind;
        return is_it ? static_cast<T *>(object) : nullptr;
    }

    // All live objects of that type.
    template <class T>
    std::vector<Ref<T>> all() const REQUIRES(engine_lock) {
        std::vector<Ref<T>> found;
        for (const Ref<Object> &object : slots_) {
            if (object && object->kind() == T::kKind) {
                found.emplace_back(static_cast<T *>(object.get()));
            }
        }
        return found;
    }

  private:
    struct FreeSlot {
        std::uint32_t number;
        std::uint32_t generation;  // of the newest object that was there, or 0
    };
    void insert(Ref<Object> object, Kind kind, std::uint32_t shard) REQUIRES(engine_lock);
    // A field of what a handle says, whether it is one or not.
    static std::uint32_t field(const void *handle, unsigned shift, unsigned bits) {
        return static_cast<std::uint32_t>(reinterpret_cast<std::uint64_t>(handle) >> shift) & ((1U << bits) - 1);
    }
    static std::uint32_t slot_number(const void *handle) { return field(handle, kSlotShift, kSlotBits); }
    static std::uint32_t generation_of(const void *handle) { return field(handle, kGenerationShift, kGenerationBits); }

    // No more than a pointer each: every call looks at some, at random, and programs have thousands of objects.
    std::vector<Ref<Object>> slots_ GUARDED_BY(engine_lock);
    // First in, first out: a slot rests as long as possible before it is reused.
    std::deque<FreeSlot> free_ GUARDED_BY(engine_lock);
};

}  // namespace aclsim
