// Objects of one type that a program has created and not destroyed. The vendor's libraries dereference any pointer;
// here a pointer that does not refer to a live object is an invalid argument.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "refusal.h"

namespace companions {

template <class Object>
class LiveObjects {
  public:
    explicit LiveObjects(const char *kind) : kind_(kind) {}

    Object *add(std::unique_ptr<Object> object) {
        const std::lock_guard<std::mutex> guard(mutex_);
        Object *const handle = object.get();
        objects_.emplace(handle, std::move(object));
        return handle;
    }

    void remove(const Object *handle) {
        const std::lock_guard<std::mutex> guard(mutex_);
        if (objects_.erase(handle) == 0) {
            refuse_unknown(handle);
        }
    }

    Object &at(const Object *handle, const char *argument) const {
        require(handle, argument);
        const std::lock_guard<std::mutex> guard(mutex_);
        const auto found = objects_.find(handle);
        if (found == objects_.end()) {
            refuse_unknown(handle);
        }
        return *found->second;
    }

  private:
    [[noreturn]] void refuse_unknown(const Object *handle) const {
        char address[2 * sizeof(void *) + 3];
        std::snprintf(address, sizeof address, "%p", static_cast<const void *>(handle));
        refuse(ACL_ERROR_INVALID_PARAM, std::string(address) + " is not a live " + kind_);
    }

    const char *const kind_;
    mutable std::mutex mutex_;
    std::unordered_map<const Object *, std::unique_ptr<Object>> objects_;
};

}  // namespace companions
