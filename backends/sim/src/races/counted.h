// SPDX-License-Identifier: Apache-2.0
// Counted references for objects that the mutex of the check guards: without atomic operations.
#pragma once

#include <cstdint>
#include <utility>

namespace aclsim::races {

// Called without references to the object; a type may have an overload.
template <class T>
void dispose_of(T *object) {
    delete object;
}

// T has a member `references`, which may be changed even if the object is constant.
template <class T>
class Counted {
  public:
    Counted() = default;
    explicit Counted(T *object) : object_(object) { ++object_->references; }
    Counted(const Counted &other) : object_(other.object_) {
        if (object_ != nullptr) {
            ++object_->references;
        }
    }
    Counted(Counted &&other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
    Counted &operator=(Counted other) noexcept {
        std::swap(object_, other.object_);
        return *this;
    }
    ~Counted() {
        if (object_ != nullptr && --object_->references == 0) {
            dispose_of(object_);
        }
    }
    T *get() const { return object_; }
    T *operator->() const { return object_; }
    T &operator*() const { return *object_; }
    explicit operator bool() const { return object_ != nullptr; }
    bool operator==(const Counted &other) const { return object_ == other.object_; }
    bool operator!=(const Counted &other) const { return object_ != other.object_; }

  private:
    T *object_ = nullptr;
};

}  // namespace aclsim::races
