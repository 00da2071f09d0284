// Shared ownership with a count inside the object: one word, no control block, no atomic operation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace aclsim {

// The count is guarded by the engine's lock: references are taken and given back with it held.
class RefCounted {
  public:
    RefCounted() = default;
    RefCounted(const RefCounted &) = delete;
    RefCounted &operator=(const RefCounted &) = delete;
    virtual ~RefCounted() = default;
    std::uint32_t references() const { return references_; }

  private:
    template <class T>
    friend class Ref;
    mutable std::uint32_t references_ = 0;
};

template <class T>
class Ref {
  public:
    Ref() = default;
    Ref(std::nullptr_t) {}  // NOLINT: as of a pointer
    explicit Ref(T *object) : object_(object) { retain(); }
    explicit Ref(T &object) : Ref(&object) {}
    Ref(const Ref &other) : Ref(other.object_) {}
    Ref(Ref &&other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
    template <class Derived>
    Ref(const Ref<Derived> &other) : Ref(other.get()) {}  // NOLINT: as of a pointer
    template <class Derived>
    Ref(Ref<Derived> &&other) noexcept : object_(other.release()) {}  // NOLINT: as of a pointer
    ~Ref() { drop(object_); }
    Ref &operator=(Ref other) noexcept {
        std::swap(object_, other.object_);
        return *this;
    }

    T *get() const { return object_; }
    T &operator*() const { return *object_; }
    T *operator->() const { return object_; }
    explicit operator bool() const { return object_ != nullptr; }
    void reset() { drop(std::exchange(object_, nullptr)); }
    T *release() { return std::exchange(object_, nullptr); }  // the caller owns the reference now

    friend bool operator==(const Ref &a, const Ref &b) { return a.object_ == b.object_; }
    friend bool operator!=(const Ref &a, const Ref &b) { return a.object_ != b.object_; }
    friend bool operator==(const Ref &a, const T *b) { return a.object_ == b; }
    friend bool operator!=(const Ref &a, const T *b) { return a.object_ != b; }

  private:
    void retain() const {
        if (object_ != nullptr) {
            ++object_->references_;
        }
    }
    static void drop(T *object) {
        if (object != nullptr && --object->references_ == 0) {
            delete object;
        }
    }

    T *object_ = nullptr;
};

template <class T, class... Arguments>
Ref<T> make_ref(Arguments &&...arguments) {
    return Ref<T>(new T(std::forward<Arguments>(arguments)...));
}

}  // namespace aclsim
