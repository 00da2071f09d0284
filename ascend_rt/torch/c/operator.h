/* SPDX-License-Identifier: Apache-2.0 */
/* An operator of PyTorch: what its schema decides, once for all calls. */
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <array>
#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "abi/acl.h"

namespace ascend_rt {

using c10::IValue;
using torch::jit::Stack;

constexpr int kNew = -1;         // a return that is a new tensor, or a list of them
constexpr int kNotATensor = -2;  // a return that is a number: the host has to wait for it
constexpr int kMostDevices = 64;

struct Operator {
    explicit Operator(c10::OperatorHandle handle, bool is_meta_right = true);

    const c10::OperatorHandle handle;
    const std::string name;  // with the overload: aten::add.Tensor
    const c10::FunctionSchema &schema;
    std::vector<int> returns;          // for each return: kNew, kNotATensor or the index of the argument that it is
    std::vector<std::size_t> written;  // arguments that are written
    std::vector<bool> is_operand;      // of each argument: a number that has no part in the sizes of results
    std::optional<std::size_t> generator;
    const bool is_meta_right;                // false: it announces outputs that the CPU does not give
    bool has_number = false;                 // among the returns
    bool makes_nothing = true;               // all that it writes is there, with its size
    bool writes_tensor = false;              // one that is given, as the place of a result or to be changed
    std::vector<bool> may_be_on_cpu;         // of each argument: tensors of the CPU are right, whatever their sizes
    std::optional<c10::OperatorHandle> out;  // the overload that writes into given outputs, for kNew returns
    mutable std::atomic<bool> is_out_usable{true};

    // Returns whether the argument is a running statistic that a call of batch normalization changes, although the
    // schema does not say so.
    bool updates_statistic(std::size_t argument, const Stack &arguments) const;

    // The kernel of an operator on a device of the simulator, by the operator's name.
    aclrtFuncHandle kernel(std::int8_t device);

  private:
    void find_operands();
    void find_statistics();
    void register_code();

    std::vector<std::size_t> statistics_;
    std::optional<std::size_t> training_;  // the argument that says whether they are changed; without it they are
    std::array<std::atomic<aclrtFuncHandle>, kMostDevices> kernels_{};
    std::atomic<bool> has_code_{false};
};

// The binary with a kernel for each operator.
void set_kernels(const char *object, std::size_t size);

std::string full_name(const c10::OperatorName &name);
c10::OperatorName parse_name(const std::string &name);

// Raises an error with the text of the runtime unless the code is 0.
void require(aclError code, const char *function, const std::string &operation);

// Raises an error in a forked child whose parent had used the runtime, before the operator reaches locks of PyTorch or
// torch_npu that other threads of the parent may have held.
void refuse_in_forked_child(const c10::OperatorHandle &operation);

}  // namespace ascend_rt
