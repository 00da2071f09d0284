/* SPDX-License-Identifier: Apache-2.0 */
#include "call.h"

#include <ATen/MemoryOverlap.h>
#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>
#include <c10/core/DeviceGuard.h>

#include <algorithm>

#include "checks.h"
#include "failure.h"
#include "layouts.h"
#include "places.h"
#include "shapes.h"
#include "task.h"
#include "tensors.h"
#include "waits.h"

namespace ascend_rt {
namespace {

c10::impl::VirtualGuardImpl devices() { return c10::impl::VirtualGuardImpl(c10::DeviceType::PrivateUse1); }

// One call of an operator.
class Call {
  public:
    Call(Operator &op, Stack *stack)
        : op_(op), stack_(*stack), arguments_(torch::jit::last(*stack, op.schema.arguments().size())) {}

    void run() {
        refuse_in_forked_child(op_.handle);
        const c10::Device device = find_device();
        c10::OptionalDeviceGuard guard;
        if (device != devices().getDevice()) {  // the guard asks the runtime, also when it changes nothing
            guard.reset_device(device);
        }
        device_ = device.index();
        raise_failure(device_);
        const ForwardPlace forward;
        place_ = place_here();
        std::vector<IValue> results = compute();
        note_forward_place(arguments_, results, place_);
        torch::jit::drop(stack_, arguments_.size());
        for (IValue &result : results) {
            stack_.push_back(std::move(result));
        }
    }

  private:
    std::vector<IValue> compute() {
        if (op_.has_number || !are_plain_ || begins_statistics()) {
            return run_now();
        }
        const std::shared_ptr<const Shapes> shapes = shapes_of(op_, arguments_);
        if (!shapes->is_known) {
            return run_now();
        }
        if (!shapes->is_doubtful() || is_captured(device_, op_.name)) {
            return enqueue(*shapes);
        }
        std::vector<IValue> results = run_now();
        shapes->trust();
        return results;
    }

    // A number may be a tensor of the CPU, and so may indices; all others are on one device.
    void look_at(const at::Tensor &tensor, bool may_be_on_cpu, std::optional<c10::Device> &found) const {
        if (tensor.is_privateuseone() && !found) {
            found = tensor.device();
        }
        const bool is_there = tensor.is_cpu() ? tensor.dim() == 0 || may_be_on_cpu : tensor.device() == found;
        TORCH_CHECK(is_there, op_.name, ": Expected all tensors to be on the same device, but found at least two ",
                    "devices, ", found ? *found : devices().getDevice(), " and ", tensor.device(), "!");
    }

    c10::Device find_device() {
        std::optional<c10::Device> found;
        for (std::size_t i = 0; i < arguments_.size(); ++i) {
            const IValue &argument = arguments_[i];
            if (argument.isDevice() && argument.toDevice().has_index()) {
                found = argument.toDevice();
            }
            replace_tensors(argument, [&](const at::Tensor &tensor) {
                look_at(tensor, op_.may_be_on_cpu[i], found);
                are_plain_ = are_plain_ && is_plain(tensor);
                return tensor;
            });
        }
        return found ? *found : devices().getDevice();
    }

    // The arguments with tensors of the CPU in the memory of those of the device. A tensor that is on the CPU is
    // copied: the program may write to it before the task runs.
    Stack cpu_arguments() {
        Stack stack;
        stack.reserve(arguments_.size());
        for (const IValue &argument : arguments_) {
            if (argument.isDevice()) {
                stack.emplace_back(c10::Device(c10::DeviceType::CPU));
            } else {
                stack.push_back(replace_tensors(argument, [&](const at::Tensor &tensor) {
                    if (tensor.is_view()) {  // the operator may be the first that uses the memory
                        name_memory(tensor);
                    }
                    return tensor.is_cpu() ? copied(tensor) : aliases_.of(tensor);
                }));
            }
        }
        return stack;
    }

    // A number that the program has written stays one: it does not decide the type of the result.
    static at::Tensor copied(const at::Tensor &tensor) {
        at::Tensor copy = tensor.clone();
        if (tensor.unsafeGetTensorImpl()->is_wrapped_number()) {
            copy.unsafeGetTensorImpl()->set_wrapped_number(true);
        }
        return copy;
    }

    std::optional<RandomState> random_state() const {
        if (!op_.generator) {
            return std::nullopt;
        }
        return advance(arguments_[*op_.generator].toOptional<at::Generator>(), device_);
    }

    at::Tensor allocate(const Shape &shape) const {
        if (!shape.is_defined) {
            return {};
        }
        return at::empty_strided(shape.sizes, shape.strides,
                                 at::TensorOptions(shape.type).device(c10::DeviceType::PrivateUse1, device_));
    }

    // If there is no memory, the tensor stays what it is: resize_ leaves it with the new sizes and the old memory.
    static void resize(const at::Tensor &tensor, c10::IntArrayRef sizes) {
        const at::DimVector old_sizes(tensor.sizes()), old_strides(tensor.strides());
        try {
            tensor.resize_(sizes);
        } catch (...) {
            tensor.unsafeGetTensorImpl()->set_sizes_and_strides(old_sizes, old_strides);
            throw;
        }
    }

    // Allocates the outputs, and lets the stream fill them.
    std::vector<IValue> enqueue(const Shapes &shapes) {
        for (const auto &[argument, sizes] : shapes.resized) {
            resize(arguments_[argument].toTensor(), sizes);
        }
        Stack stack = cpu_arguments();
        if (writes_overlap(stack)) {
            return run_now();
        }
        std::vector<IValue> results;
        results.reserve(op_.returns.size());
        Outputs outputs(op_.returns.size());
        for (std::size_t i = 0; i < op_.returns.size(); ++i) {
            if (op_.returns[i] != kNew) {
                results.push_back(arguments_[static_cast<std::size_t>(op_.returns[i])]);
                continue;
            }
            std::vector<at::Tensor> made;
            made.reserve(shapes.returns[i].size());
            for (const Shape &shape : shapes.returns[i]) {
                made.push_back(allocate(shape));
                outputs[i].push_back(shape.is_defined ? aliases_.of(made.back()) : at::Tensor());
            }
            results.push_back(shapes.is_list[i] ? IValue(std::move(made)) : IValue(std::move(made.at(0))));
        }
        submit(op_,
               std::unique_ptr<Task>(new Task{op_, device_, std::move(stack), std::move(outputs), random_state(),
                                              at::get_num_threads(), place_}),
               device_);
        return results;
    }

    // Returns whether elements that are written share memory with others. Most operators refuse that, but not their
    // meta kernels: the call has to wait for the answer.
    bool writes_overlap(const Stack &stack) const {
        for (const std::size_t i : op_.written) {
            if (!stack[i].isTensor() || !stack[i].toTensor().defined()) {
                continue;
            }
            const at::Tensor &output = stack[i].toTensor();
            if (at::has_internal_overlap(output) == at::MemOverlap::Yes) {
                return true;
            }
            for (const IValue &other : stack) {
                if (other.isTensor() && other.toTensor().defined() && !other.toTensor().is_same(output) &&
                    at::get_overlap_status(output, other.toTensor()) == at::MemOverlapStatus::Partial) {
                    return true;
                }
            }
        }
        return false;
    }

    // Lets the stream run the operator, and waits for it: the sizes of its results are in the data.
    std::vector<IValue> run_now() {
        Stack stack = cpu_arguments();
        std::vector<bool> is_replaced(stack.size());  // cannot be resized otherwise: its memory is the device's
        const bool begins = begins_statistics();
        if (begins) {  // numbers of earlier tasks are copied
            require(aclrtSynchronizeStream(current_stream(device_)), "aclrtSynchronizeStream", op_.name);
        }
        for (const std::size_t i : op_.written) {
            is_replaced[i] =
                stack[i].isTensor() && (op_.schema.arguments()[i].is_out() || (begins && is_for_statistics(i)));
            if (is_replaced[i] && is_plain(stack[i].toTensor()) && !is_input(stack, i)) {
                const at::Tensor &output = stack[i].toTensor();
                stack[i] =
                    begins ? output.clone() : at::empty_strided(output.sizes(), output.strides(), output.options());
            }
        }
        const Stack given = stack;
        stack = submit_and_wait(op_,
                                std::unique_ptr<Task>(new Task{op_,
                                                               device_,
                                                               std::move(stack),
                                                               {},
                                                               random_state(),
                                                               at::get_num_threads(),
                                                               place_,
                                                               std::make_shared<Answer>()}),
                                device_);
        for (const std::size_t i : op_.written) {
            if (!given[i].isTensor() || !given[i].toTensor().defined()) {
                continue;
            }
            const at::Tensor &output = arguments_[i].toTensor();
            if (!is_plain(output)) {
                take_elements(output, given[i].toTensor());
                continue;
            }
            if (is_replaced[i]) {
                resize(output, given[i].toTensor().sizes());
                output.copy_(given[i].toTensor());
            }
            TORCH_CHECK(output.sizes() == given[i].toTensor().sizes(), op_.name, ": the size of ",
                        op_.schema.arguments()[i].name(), " cannot be changed");
        }
        std::vector<IValue> results;
        for (std::size_t i = 0; i < op_.returns.size(); ++i) {
            if (op_.returns[i] >= 0) {
                results.push_back(arguments_[static_cast<std::size_t>(op_.returns[i])]);
            } else {
                results.push_back(replace_tensors(stack[i], [&](const at::Tensor &result) { return moved(result); }));
            }
        }
        return results;
    }

    // Returns whether the argument is written but no result: statistics that the kernel collects, and their scale.
    bool is_for_statistics(std::size_t argument) const {
        const bool is_result =
            std::find(op_.returns.begin(), op_.returns.end(), static_cast<int>(argument)) != op_.returns.end();
        return !op_.schema.arguments()[argument].is_out() && !is_result && arguments_[argument].isTensor() &&
               arguments_[argument].toTensor().defined();
    }

    // Returns whether the statistics are empty, so that the kernel gives all of them their sizes.
    bool begins_statistics() const {
        return std::any_of(op_.written.begin(), op_.written.end(), [this](std::size_t argument) {
            return is_for_statistics(argument) && arguments_[argument].toTensor().numel() == 0;
        });
    }

    // Returns whether an output shares its memory with another argument.
    static bool is_input(const Stack &stack, std::size_t output) {
        for (std::size_t i = 0; i < stack.size(); ++i) {
            if (i != output && stack[i].isTensor() && stack[i].toTensor().has_storage() &&
                stack[i].toTensor().storage().is_alias_of(stack[output].toTensor().storage())) {
                return true;
            }
        }
        return false;
    }

    at::Tensor moved(const at::Tensor &result) {
        if (!is_plain(result)) {
            return rebuilt(result, false, [&](const at::Tensor &part) { return moved(part); });
        }
        TORCH_CHECK_NOT_IMPLEMENTED(result.layout() == at::kStrided, op_.name, ": the result is not a dense tensor");
        const at::Tensor made = allocate({true, result.scalar_type(), result.sizes().vec(), result.strides().vec()});
        // In the order of the stream: the memory may be that of a tensor that earlier tasks use.
        made.copy_(result);
        return made;
    }

    // Takes over what the operator has left in the stand-in of a tensor that it writes.
    void take_elements(const at::Tensor &output, const at::Tensor &stand_in) {
        const std::vector<at::Tensor> parts = parts_of(output);
        adopt(output, stand_in, [&](const at::Tensor &part) {
            const auto same = std::find_if(parts.begin(), parts.end(), [&](const at::Tensor &own) {
                return own.const_data_ptr() == part.const_data_ptr() && own.sizes() == part.sizes();
            });
            return same != parts.end() ? *same : moved(part);
        });
    }

    Operator &op_;
    Stack &stack_;
    const c10::ArrayRef<IValue> arguments_;
    Place place_;
    bool are_plain_ = true;
    StandIns aliases_ = StandIns::aliases();
    c10::DeviceIndex device_ = 0;
};

}  // namespace

void RunOnCpu::operator()(const c10::OperatorHandle &, c10::DispatchKeySet, Stack *stack) { Call(op_, stack).run(); }

void Theirs::wait_and_call(c10::Device device, Stack &stack) const {
    refuse_in_forked_child(handle_);
    raise_failure(device.index());
    wait_interruptibly(device.index());
    call(device, stack);
}

void Theirs::call(c10::Device device, Stack &stack) const {
    refuse_in_forked_child(handle_);
    raise_failure(device.index());
    try {
        kernel_.callBoxed(handle_, c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), &stack);
    } catch (const std::exception &error) {
        raise_cause(device.index(), full_name(handle_.operator_name()), error);
        throw;
    }
}

void Theirs::operator()(const c10::OperatorHandle &handle, c10::DispatchKeySet, Stack *stack) {
    const std::size_t count = handle.schema().arguments().size();
    const at::Tensor self = torch::jit::peek(*stack, 0, count).toTensor();
    name_memory(self);
    wait_and_call(self.device(), *stack);
}

void refuse(const c10::OperatorHandle &handle, c10::DispatchKeySet, Stack *) {
    TORCH_CHECK_NOT_IMPLEMENTED(false, full_name(handle.operator_name()),
                                " has no counterpart on the CPU, so it does not run on the simulator");
}

}  // namespace ascend_rt
