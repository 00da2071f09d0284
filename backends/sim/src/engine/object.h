// What handles name.
#pragma once

#include <cstddef>
#include <cstdint>

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
    void *handle() const { return handle_; }  // also when it names the object no more
    Kind kind() const { return kind_; }       // Count: no handle names the object
    bool is_named(const void *handle, Kind kind) const { return handle_ == handle && kind_ == kind; }
    std::uint32_t references() const { return references_; }

    // A class whose objects lie in slots (engine/slot_arena.h) has their address instead.
    static constexpr std::nullptr_t kSlots = nullptr;

  private:
    friend class Registry;
    template <class T>
    friend class Ref;
    void *handle_ = nullptr;
    mutable std::uint32_t references_ = 0;
    Kind kind_ = Kind::Count;
};

}  // namespace aclsim
