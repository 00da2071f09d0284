// Handles: every object that a user can name is in one registry, and a handle is checked there before anything else.
//
// A handle is not an address. It holds a slot number and the slot's generation, so that a destroyed handle never finds
// the slot's next owner and garbage is never followed:
//
//    63      56 55  52 51          28 27            4 3  0
//   [   0x5a   | kind |  generation  |  slot number  | 0 ]
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

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
    AllocatorDesc,
    MemoryPool,
};

class Object {
  public:
    virtual ~Object() = default;
    void *handle() const { return handle_; }

  private:
    friend class Registry;
    void *handle_ = nullptr;
};

// Guarded by the engine's lock.
class Registry {
  public:
    // T::kKind tells what the handle names. The registry keeps the object alive until remove().
    template <class T>
    void add(std::shared_ptr<T> object) {
        insert(std::move(object), T::kKind);
    }
    void remove(Object &object);

    // The live object of that handle and type, or nullptr for NULL, garbage, destroyed and foreign handles.
    template <class T>
    T *find(void *handle) const {
        return static_cast<T *>(find_slot(handle, T::kKind).get());
    }
    template <class T>
    std::shared_ptr<T> share(void *handle) const {
        return std::static_pointer_cast<T>(find_slot(handle, T::kKind));
    }

    // All live objects of that type.
    template <class T>
    std::vector<std::shared_ptr<T>> all() const {
        std::vector<std::shared_ptr<T>> found;
        for (const Slot &slot : slots_) {
            if (auto object = std::dynamic_pointer_cast<T>(slot.object)) {
                found.push_back(std::move(object));
            }
        }
        return found;
    }

  private:
    struct Slot {
        std::shared_ptr<Object> object;
        std::uint32_t generation = 0;
    };
    void insert(std::shared_ptr<Object> object, Kind kind);
    const std::shared_ptr<Object> &find_slot(void *handle, Kind kind) const;

    std::vector<Slot> slots_;
    std::deque<std::uint32_t> free_;  // first in, first out: a slot rests as long as possible before it is reused
};

}  // namespace aclsim
