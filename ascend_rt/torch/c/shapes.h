/* SPDX-License-Identifier: Apache-2.0 */
/* The outputs of an operator, before it has run. */
#pragma once

#include <memory>
#include <vector>

#include "operator.h"

namespace ascend_rt {

struct Shape {
    bool is_defined;
    at::ScalarType type;
    std::vector<std::int64_t> sizes;
    std::vector<std::int64_t> strides;
};

struct Shapes {
    bool is_known = false;                    // false: they depend on the data, or are not known before
    std::vector<std::vector<Shape>> returns;  // of each return that is new; more than one, or none, of a list
    std::vector<bool> is_list;
    std::vector<std::pair<std::size_t, std::vector<std::int64_t>>> resized;  // arguments that get another size
};

// The result of the operator's meta kernel, remembered for each combination of shapes and numbers.
std::shared_ptr<const Shapes> shapes_of(const Operator &op, c10::ArrayRef<IValue> arguments);

}  // namespace ascend_rt
