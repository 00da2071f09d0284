// SPDX-License-Identifier: Apache-2.0
// Contents of tensors, scalars, arrays and lists.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "aclnn/aclnn_base.h"
#include "live_objects.h"
#include "refusal.h"

struct aclTensor {
    static constexpr const char *kName = "aclTensor";
    std::vector<std::int64_t> dims;
    std::vector<std::int64_t> strides;
    std::vector<std::int64_t> storage_dims;
    aclDataType type;
    std::int64_t offset;
    aclFormat format;
    void *data;
};

struct aclScalar {
    static constexpr const char *kName = "aclScalar";
    aclDataType type;
    std::vector<char> value;
};

struct aclIntArray {
    static constexpr const char *kName = "aclIntArray";
    std::vector<std::int64_t> elements;
};

struct aclFloatArray {
    static constexpr const char *kName = "aclFloatArray";
    std::vector<float> elements;
};

struct aclBoolArray {
    static constexpr const char *kName = "aclBoolArray";
    std::vector<bool> elements;
};

struct aclTensorList {
    static constexpr const char *kName = "aclTensorList";
    std::vector<const aclTensor *> elements;
};

struct aclScalarList {
    static constexpr const char *kName = "aclScalarList";
    std::vector<const aclScalar *> elements;
};

namespace companions {

constexpr aclError kNull = 161001;
constexpr aclError kInvalid = 161002;

template <class Object>
LiveObjects<Object> &live() {
    // Never destroyed, because threads may use it until the process ends.
    static auto *const objects = new LiveObjects<Object>(Object::kName, kInvalid);
    return *objects;
}

inline void require_argument(const void *argument, const char *name) {
    if (argument == nullptr) {
        refuse(kNull, std::string(name) + " is NULL");
    }
}

}  // namespace companions
