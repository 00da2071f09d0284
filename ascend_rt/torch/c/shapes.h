/* SPDX-License-Identifier: Apache-2.0 */
/* The outputs of an operator, before it has run. */
#pragma once

#include <atomic>
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
    bool are_plain = true;                    // false: a result is sparse, nested or quantized
    std::vector<std::vector<Shape>> returns;  // of each return that is new; more than one, or none, of a list
    std::vector<bool> is_list;
    std::vector<std::pair<std::size_t, std::vector<std::int64_t>>> resized;  // arguments that get another size

    // The kernel for the CPU has refused other numbers in the same shapes. The first call with these shapes shows
    // whether it refuses everything: its arguments are wrong then.
    bool is_doubtful() const { return doubt_ != nullptr && doubt_->load(std::memory_order_relaxed); }
    void doubt() { doubt_ = std::make_shared<std::atomic<bool>>(true); }
    void trust() const { doubt_->store(false, std::memory_order_relaxed); }

  private:
    std::shared_ptr<std::atomic<bool>> doubt_;
};

// The result of the operator's meta kernel, after a trial of its kernel for the CPU, remembered for each combination of
// shapes and numbers.
std::shared_ptr<const Shapes> shapes_of(const Operator &op, c10::ArrayRef<IValue> arguments);

}  // namespace ascend_rt
