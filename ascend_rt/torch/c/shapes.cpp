/* SPDX-License-Identifier: Apache-2.0 */
#include "shapes.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/EmptyTensor.h>
#include <ATen/ops/full.h>
#include <c10/core/DefaultDtype.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <cstring>
#include <mutex>
#include <string>
#include <unordered_map>

#include "task.h"
#include "tensors.h"

namespace ascend_rt {
namespace {

constexpr std::size_t kMostRemembered = 1 << 15;

// Everything that the shapes of the outputs can depend on.
class Key {
  public:
    // Only the type of a number counts for an operand. false: an argument has a type that is not compared; its shapes
    // are not remembered.
    bool add(const IValue &value, bool is_operand) {
        if (value.isTensor()) {
            add_tensor(value.toTensor());
        } else if (value.isInt()) {
            put('i', is_operand ? 0 : value.toInt());
        } else if (value.isDouble()) {
            put('d', is_operand ? 0.0 : value.toDouble());
        } else if (value.isBool()) {
            put('b', value.toBool());
        } else if (value.isNone()) {
            put('n', 0);
        } else if (value.isIntList()) {
            add_numbers(value.toIntVector());
        } else if (value.isString()) {
            put('s', value.toStringRef().size());
            text_ += value.toStringRef();
        } else if (value.isDevice()) {
            put('D', value.toDevice());
        } else if (value.isGenerator()) {
            put('g', 0);
        } else if (value.isComplexDouble()) {
            put('c', is_operand ? c10::complex<double>() : value.toComplexDouble());
        } else if (value.isTensorList() || value.isList()) {
            return add_list(value, is_operand);
        } else {
            return false;
        }
        return true;
    }
    template <typename T>
    void put(char tag, T item) {
        text_ += tag;
        text_.append(reinterpret_cast<const char *>(&item), sizeof item);
    }
    std::string &&text() { return std::move(text_); }

  private:
    void add_tensor(const at::Tensor &tensor) {
        if (!tensor.defined()) {
            return put('u', 0);
        }
        const c10::TensorImpl *impl = tensor.unsafeGetTensorImpl();
        const int flags = impl->is_wrapped_number() | tensor.is_conj() << 1 | tensor.is_neg() << 2;
        put('t', static_cast<std::uint32_t>(tensor.scalar_type()) << 16 |
                     static_cast<std::uint32_t>(tensor.device().type()) << 8 | static_cast<std::uint32_t>(flags));
        add_numbers(tensor.sizes());
        add_numbers(tensor.strides());
    }
    void add_numbers(c10::IntArrayRef numbers) {
        put('l', numbers.size());
        text_.append(reinterpret_cast<const char *>(numbers.data()), numbers.size() * sizeof(std::int64_t));
    }
    bool add_list(const IValue &value, bool is_operand) {
        const auto items = value.toListRef();
        put('L', items.size());
        for (const IValue &item : items) {
            if (!add(item, is_operand)) {
                return false;
            }
        }
        return true;
    }

    std::string text_;
};

Shape shape_of(const at::Tensor &tensor) {
    if (!tensor.defined()) {
        return {false, at::kFloat, {}, {}};
    }
    return {true, tensor.scalar_type(), tensor.sizes().vec(), tensor.strides().vec()};
}

Stack stand_ins(const Operator &op, c10::ArrayRef<IValue> arguments) {
    StandIns shapes = StandIns::shapes();
    Stack stack;
    for (const IValue &argument : arguments) {
        if (argument.isDevice()) {
            stack.emplace_back(c10::Device(c10::DeviceType::Meta));
        } else if (argument.isGenerator()) {
            stack.emplace_back();  // it has no part in the shapes
        } else {
            stack.push_back(replace_tensors(argument, [&](const at::Tensor &tensor) {
                return tensor.is_cpu() && tensor.dim() == 0 && !op.indices ? tensor : shapes.of(tensor);
            }));
        }
    }
    return stack;
}

// false: the meta kernel resizes what is written in place. Some do where the operator would refuse.
bool note_resized(const Operator &op, c10::ArrayRef<IValue> arguments, const Stack &given, Shapes &shapes) {
    for (const std::size_t i : op.written) {
        if (arguments[i].isTensor() && arguments[i].toTensor().defined() &&
            given[i].toTensor().sizes() != arguments[i].toTensor().sizes()) {
            if (!op.schema.arguments()[i].is_out()) {
                return false;
            }
            shapes.resized.emplace_back(i, given[i].toTensor().sizes().vec());
        }
    }
    return true;
}

bool has_reduced(c10::ArrayRef<IValue> arguments) {
    bool found = false;
    for (const IValue &argument : arguments) {
        replace_tensors(argument, [&](const at::Tensor &tensor) {
            found |= at::isReducedFloatingType(tensor.scalar_type());
            return tensor;
        });
    }
    return found;
}

// Pivots count from 1, as in LAPACK, and kernels use them without a check.
bool are_pivots(const c10::Argument &argument) {
    const std::string &name = argument.name();
    return name.size() >= 6 && name.compare(name.size() - 6, 6, "pivots") == 0;
}

// Tensors of the CPU that look like those of the device, full of a number.
Stack filled_like(const Operator &op, c10::ArrayRef<IValue> arguments, std::int64_t given) {
    Stack stack;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const IValue &argument = arguments[i];
        const std::int64_t number = are_pivots(op.schema.arguments()[i]) ? 1 : given;
        if (argument.isDevice()) {
            stack.emplace_back(c10::Device(c10::DeviceType::CPU));
            continue;
        }
        stack.push_back(replace_tensors(argument, [&](const at::Tensor &tensor) {
            const auto room = static_cast<std::int64_t>(
                at::detail::computeStorageNbytes(tensor.sizes(), tensor.strides(), /*itemsize=*/1));
            at::Tensor filled = at::full({room}, number, at::TensorOptions(tensor.scalar_type()));
            filled = filled.as_strided(tensor.sizes(), tensor.strides());
            if (tensor.unsafeGetTensorImpl()->is_wrapped_number()) {
                filled.unsafeGetTensorImpl()->set_wrapped_number(true);
            }
            return filled;
        }));
    }
    if (op.generator) {
        stack[*op.generator] = IValue(at::make_generator<at::CPUGeneratorImpl>(0));
    }
    return stack;
}

// What a call returns; is_known is false if it fails: the operator itself knows whether its arguments are wrong.
template <typename Function>
Shapes announced(const Operator &op, c10::ArrayRef<IValue> arguments, Stack stack, Function &&call) {
    Shapes shapes;
    const Stack given = stack;
    try {
        call(op.handle, stack);
    } catch (const std::exception &) {
        return shapes;
    }
    for (std::size_t i = 0; i < op.returns.size(); ++i) {
        shapes.returns.emplace_back();
        shapes.is_list.push_back(stack[i].isTensorList());
        if (op.returns[i] != kNew) {
            continue;
        }
        if (stack[i].isTensorList()) {
            for (const at::Tensor &tensor : stack[i].toTensorVector()) {
                shapes.returns.back().push_back(shape_of(tensor));
            }
        } else {
            shapes.returns.back().push_back(shape_of(stack[i].toTensor()));
        }
    }
    shapes.is_known = note_resized(op, arguments, given, shapes);
    return shapes;
}

// Of the kernel for the CPU; sizes must not depend on the data. Zeros are right as indices, but cannot be divided by.
Shapes ask_cpu(const Operator &op, c10::ArrayRef<IValue> arguments) {
    Shapes shapes = announced(op, arguments, filled_like(op, arguments, 0), call_on_cpu);
    return shapes.is_known ? shapes : announced(op, arguments, filled_like(op, arguments, 1), call_on_cpu);
}

Shapes ask(const Operator &op, c10::ArrayRef<IValue> arguments) {
    if (!op.is_meta_right) {
        return ask_cpu(op, arguments);
    }
    Shapes shapes = announced(op, arguments, stand_ins(op, arguments),
                              [](const c10::OperatorHandle &handle, Stack &stack) { handle.callBoxed(stack); });
    if (!shapes.is_known) {
        return shapes;
    }
    // Not all meta kernels look at the types of what is written, which would be an error of the task then.
    if (op.writes_tensor) {
        return ask_cpu(op, arguments);
    }
    // With reduced precision the meta kernels give statistics the type that other devices give them; on the CPU it
    // depends on the types of all arguments.
    if (op.returns.size() > 1 && has_reduced(arguments)) {
        Shapes of_cpu = ask_cpu(op, arguments);
        return of_cpu.is_known ? of_cpu : shapes;
    }
    return shapes;
}

}  // namespace

std::shared_ptr<const Shapes> shapes_of(const Operator &op, c10::ArrayRef<IValue> arguments) {
    static std::mutex mutex;
    static auto *remembered = new std::unordered_map<std::string, std::shared_ptr<const Shapes>>;
    Key key;
    key.put('o', &op);
    key.put('f', at::get_default_dtype().id());
    bool is_comparable = true;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        is_comparable = is_comparable && key.add(arguments[i], op.is_operand[i]);
    }
    if (!is_comparable) {
        return std::make_shared<Shapes>(ask(op, arguments));
    }
    std::string text = key.text();
    {
        const std::lock_guard<std::mutex> lock(mutex);
        const auto found = remembered->find(text);
        if (found != remembered->end()) {
            return found->second;
        }
    }
    auto shapes = std::make_shared<const Shapes>(ask(op, arguments));
    const std::lock_guard<std::mutex> lock(mutex);
    if (remembered->size() >= kMostRemembered) {
        remembered->clear();
    }
    remembered->emplace(std::move(text), shapes);
    return shapes;
}

}  // namespace ascend_rt
