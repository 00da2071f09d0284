// SPDX-License-Identifier: Apache-2.0
// Objects of one type that a program has created and not destroyed. The vendor's libraries dereference any pointer;
// here a pointer that does not refer to a live object is an invalid argument.
#pragma once

#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "refusal.h"

namespace companions {

template <class Object>
class LiveObjects {
  public:
    // Refuses pointers to no live object with the code.
    explicit LiveObjects(const char *kind, aclError code = ACL_ERROR_INVALID_PARAM) : kind_(kind), code_(code) {}

    Object *add(std::unique_ptr<Object> object) {
        const std::lock_guard<std::mutex> guard(mutex_);
        Object *const handle = object.get();
        objects_.emplace(handle, std::move(object));
        return handle;
    }

    std::unique_ptr<Object> remove(const Object *handle) {
        const std::lock_guard<std::mutex> guard(mutex_);
        auto node = objects_.extract(handle);
        if (node.empty()) {
            refuse_unknown(handle);
        }
        return std::move(node.mapped());
    }

    // Another thread may destroy the object as soon as this returns.
    Object &at(const Object *handle, const char *argument) const {
        require(handle, argument);
        const std::lock_guard<std::mutex> guard(mutex_);
        return found(handle);
    }

    // The object lives as long as the body takes, which must not use other objects of the kind.
    template <class Body>
    void use(const Object *handle, Body body) const {
        const std::lock_guard<std::mutex> guard(mutex_);
        body(found(handle));
    }

  private:
    Object &found(const Object *handle) const {
        const auto found = objects_.find(handle);
        if (found == objects_.end()) {
            refuse_unknown(handle);
        }
        return *found->second;
    }

    [[noreturn]] void refuse_unknown(const Object *handle) const {
        char address[2 * sizeof(void *) + 3];
        std::snprintf(address, sizeof address, "%p", static_cast<const void *>(handle));
        refuse(code_, std::string(address) + " is not a live " + kind_);
    }

    const char *const kind_;
    const aclError code_;
    mutable std::mutex mutex_;
    std::unordered_map<const Object *, std::unique_ptr<Object>> objects_;
};

}  // namespace companions
