// SPDX-License-Identifier: Apache-2.0
// Shared ownership with a count inside the object: one word, no control block, and no atomic operation unless the
// objects of a class belong to no device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "support/thread_annotations.h"

namespace aclsim {

// The engine lock guards the count: take and drop references while holding it. A class has kIsShared if the lock may be
// that of any device's shard; its last reference is dropped under the global lock.
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

    static Ref adopt(T *object) {  // takes over a reference that release() returned
        Ref adopted;
        adopted.object_ = object;
        return adopted;
    }
    T *get() const { return object_; }
    T &operator*() const { return *object_; }
    T *operator->() const { return object_; }
    explicit operator bool() const { return object_ != nullptr; }
    void reset() { drop(std::exchange(object_, nullptr)); }
    T *release() { return std::exchange(object_, nullptr); }  // transfers the reference to the caller

    friend bool operator==(const Ref &a, const Ref &b) { return a.object_ == b.object_; }
    friend bool operator!=(const Ref &a, const Ref &b) { return a.object_ != b.object_; }
    friend bool operator==(const Ref &a, const T *b) { return a.object_ == b; }
    friend bool operator!=(const Ref &a, const T *b) { return a.object_ != b; }

  private:
    template <class U, class = void>
    struct IsShared : std::false_type {};
    template <class U>
    struct IsShared<U, std::void_t<decltype(U::kIsShared)>> : std::bool_constant<U::kIsShared> {};

    static std::uint32_t add(T &object, std::uint32_t change) {
        if constexpr (IsShared<T>::value) {
            return __atomic_add_fetch(&object.references_, change, __ATOMIC_RELAXED);
        } else {
            return object.references_ += change;
        }
    }
    void retain() const {
        if (object_ != nullptr) {
            add(*object_, 1);
        }
    }
    static void drop(T *object) {
        if (object != nullptr && add(*object, static_cast<std::uint32_t>(-1)) == 0) {
            delete object;
        }
    }

    T *object_ = nullptr;
};

// Disables the analysis, which cannot see that the caller holds the lock needed by a constructor.
template <class T, class... Arguments>
Ref<T> make_ref(Arguments &&...arguments) NO_THREAD_SAFETY_ANALYSIS {
    return Ref<T>(new T(std::forward<Arguments>(arguments)...));
}

// Creates an object of a class whose objects are in memory of a shard (engine/lock.h).
template <class T, class... Arguments>
Ref<T> make_ref_in(std::uint32_t shard, Arguments &&...arguments) {
    return Ref<T>(new (shard) T(std::forward<Arguments>(arguments)...));
}

}  // namespace aclsim
