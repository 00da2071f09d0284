// SPDX-License-Identifier: Apache-2.0
// Objects named by handles.
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
    Stamp,
    StepInfo,
    SubscribeConfig,
    BinaryDescription,
    Binary,
    KernelFunction,
    ArgumentList,
    DataItem,
    Dataset,
    TensorChannel,
    SharedBuffer,
    QueueRoute,
    QueueRouteList,
    QueueRouteQuery,
    Count,
};

// Base of objects with handles. Counts references as RefCounted does, but stores the count behind the handle, which
// leaves three bytes of the same word to derived classes.
class Object {
  public:
    Object() = default;
    Object(const Object &) = delete;
    Object &operator=(const Object &) = delete;
    virtual ~Object() = default;
    void *handle() const { return handle_; }  // also after it stopped naming the object
    Kind kind() const { return kind_; }       // Count: no handle names the object
    bool is_named(const void *handle, Kind kind) const { return handle_ == handle && kind_ == kind; }
    std::uint32_t references() const { return references_; }

    // Overridden with the address of the arena by classes whose objects lie in slots (engine/slot_arena.h).
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
