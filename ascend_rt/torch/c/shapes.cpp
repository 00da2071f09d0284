/* SPDX-License-Identifier: Apache-2.0 */
#include "shapes.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/EmptyTensor.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <ATen/record_function.h>
#include <c10/core/DefaultDtype.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/util/strides.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <numeric>
#include <string>
#include <unordered_map>

#include "forks.h"
#include "layouts.h"
#include "task.h"
#include "tensors.h"

namespace ascend_rt {
namespace {

constexpr std::size_t kMostRemembered = 1 << 15;
constexpr std::size_t kLarge = 1 << 20;  // bytes

// Everything that the shapes of the outputs can depend on.
class Key {
  public:
    Key() { text_.reserve(kUsualSize); }
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
    static constexpr std::size_t kUsualSize = 256;  // to allocate it once
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

// Shapes that were asked for, by their keys.
class Remembered {
  public:
    std::shared_ptr<const Shapes> find(const std::string &key) const {
        const std::lock_guard<std::mutex> lock(held_in_forks);
        const auto found = shapes_.find(key);
        return found != shapes_.end() ? found->second : nullptr;
    }
    void add(std::string key, const std::shared_ptr<const Shapes> &shapes) {
        std::unordered_map<std::string, std::shared_ptr<const Shapes>> dropped;  // deleted without the mutex
        const std::lock_guard<std::mutex> lock(held_in_forks);
        if (shapes_.size() >= kMostRemembered) {
            shapes_.swap(dropped);
        }
        shapes_.emplace(std::move(key), shapes);
    }

  private:
    std::unordered_map<std::string, std::shared_ptr<const Shapes>> shapes_;
};

Remembered &remembered = *new Remembered;  // threads may call operators while the process ends

Shape shape_of(const at::Tensor &tensor) {
    if (!tensor.defined()) {
        return {false, at::kFloat, {}, {}};
    }
    return {true, tensor.scalar_type(), tensor.sizes().vec(), tensor.strides().vec()};
}

Stack stand_ins(const Operator &op, c10::ArrayRef<IValue> arguments) {
    StandIns shapes = StandIns::shapes();
    const bool may_be_on_cpu =
        std::find(op.may_be_on_cpu.begin(), op.may_be_on_cpu.end(), true) != op.may_be_on_cpu.end();
    Stack stack;
    for (const IValue &argument : arguments) {
        if (argument.isDevice()) {
            stack.emplace_back(c10::Device(c10::DeviceType::Meta));
        } else if (argument.isGenerator()) {
            stack.emplace_back();  // it has no part in the shapes
        } else {
            stack.push_back(replace_tensors(argument, [&](const at::Tensor &tensor) {
                return tensor.is_cpu() && tensor.dim() == 0 && !may_be_on_cpu ? tensor : shapes.of(tensor);
            }));
        }
    }
    return stack;
}

template <typename Function>
void for_each_tensor(c10::ArrayRef<IValue> arguments, Function &&function) {
    for (const IValue &argument : arguments) {
        replace_tensors(argument, [&](const at::Tensor &tensor) {
            function(tensor);
            return tensor;
        });
    }
}

// Returns whether another argument has the same memory.
bool is_shared(c10::ArrayRef<IValue> arguments, std::size_t output) {
    const at::Tensor &written = arguments[output].toTensor();
    int uses = 0;
    for_each_tensor(arguments, [&](const at::Tensor &tensor) { uses += tensor.is_alias_of(written); });
    return uses > 1;
}

// false: the meta kernel resizes what is written in place, or read as well. Some do where the operator would refuse.
bool note_resized(const Operator &op, c10::ArrayRef<IValue> arguments, const Stack &given, Shapes &shapes) {
    for (const std::size_t i : op.written) {
        if (arguments[i].isTensor() && arguments[i].toTensor().defined() &&
            given[i].toTensor().sizes() != arguments[i].toTensor().sizes()) {
            if (!op.schema.arguments()[i].is_out() || is_shared(arguments, i)) {
                return false;
            }
            shapes.resized.emplace_back(i, given[i].toTensor().sizes().vec());
        }
    }
    return true;
}

bool has_tensor(const IValue &argument) {
    bool found = false;
    for_each_tensor({argument}, [&](const at::Tensor &) { found = true; });
    return found;
}

// Returns whether a tensor is written that is given as the place of a result: its size is part of the question.
bool writes_given(const Operator &op) { return op.writes_tensor && !op.makes_nothing; }

// Pivots count from 1, as in LAPACK, and kernels use them without a check.
bool are_pivots(const c10::Argument &argument) {
    const std::string &name = argument.name();
    return name.size() >= 6 && name.compare(name.size() - 6, 6, "pivots") == 0;
}

// Memory of zeros. Reading it takes no memory of the host: one page serves all.
at::Tensor zeros(std::int64_t count, at::ScalarType type) {
    const std::size_t bytes = static_cast<std::size_t>(count) * c10::elementSize(type);
    void *memory = bytes < kLarge ? MAP_FAILED
                                  : mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        return at::zeros({count}, at::TensorOptions(type));
    }
    return at::from_blob(memory, {count}, [bytes](void *mapped) { munmap(mapped, bytes); }, at::TensorOptions(type));
}

at::Tensor filled(const at::Tensor &like, c10::IntArrayRef sizes, c10::IntArrayRef strides, std::int64_t number) {
    const auto room = static_cast<std::int64_t>(at::detail::computeStorageNbytes(sizes, strides, /*itemsize=*/1));
    at::Tensor made =
        number == 0 ? zeros(room, like.scalar_type()) : at::full({room}, number, at::TensorOptions(like.scalar_type()));
    made = made.as_strided(sizes, strides);
    if (like.unsafeGetTensorImpl()->is_wrapped_number()) {
        made.unsafeGetTensorImpl()->set_wrapped_number(true);
    }
    return made;
}

// Tensors of the CPU for those of the device, made from each one and the number to fill it with.
template <typename Function>
Stack filled_like(const Operator &op, c10::ArrayRef<IValue> arguments, std::int64_t given, Function &&make) {
    Stack stack;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const IValue &argument = arguments[i];
        const std::int64_t number = are_pivots(op.schema.arguments()[i]) ? 1 : given;
        if (argument.isDevice()) {
            stack.emplace_back(c10::Device(c10::DeviceType::CPU));
            continue;
        }
        stack.push_back(replace_tensors(argument, [&](const at::Tensor &tensor) { return make(tensor, number); }));
    }
    if (op.generator) {
        stack[*op.generator] = IValue(at::make_generator<at::CPUGeneratorImpl>(0));
    }
    return stack;
}

// Smaller sizes for large ones: equal ones stay equal, and the order stays.
class Smaller {
  public:
    explicit Smaller(c10::ArrayRef<IValue> arguments) {
        for_each_tensor(arguments, [&](const at::Tensor &tensor) {
            for (const std::int64_t size : tensor.sizes()) {
                sizes_.emplace(size, size);
            }
        });
        std::int64_t next = 0;
        for (auto &[size, smaller] : sizes_) {
            smaller = size <= kFew ? size : std::max(next, kFew + 1);
            next = smaller + 1;
        }
    }
    // With the same order of the dimensions in memory.
    at::Tensor filled_like(const at::Tensor &tensor, std::int64_t number) const {
        std::vector<std::int64_t> sizes, strides(static_cast<std::size_t>(tensor.dim())), order(strides.size());
        for (const std::int64_t size : tensor.sizes()) {
            sizes.push_back(sizes_.at(size));
        }
        std::iota(order.rbegin(), order.rend(), 0);
        std::stable_sort(order.begin(), order.end(),
                         [&](auto a, auto b) { return tensor.stride(a) < tensor.stride(b); });
        std::int64_t stride = 1;
        for (const std::int64_t place : order) {
            const auto i = static_cast<std::size_t>(place);
            strides[i] = tensor.stride(place) == 0 ? 0 : stride;
            stride *= strides[i] == 0 ? 1 : std::max<std::int64_t>(sizes[i], 1);
        }
        return filled(tensor, sizes, strides, number);
    }
    // Numbers that are sizes as well, for instance of what is normalized.
    void change_numbers(Stack &stack) const {
        for (IValue &value : stack) {
            if (value.isInt()) {
                value = changed(value.toInt());
            } else if (value.isIntList()) {
                std::vector<std::int64_t> numbers = value.toIntVector();
                std::transform(numbers.begin(), numbers.end(), numbers.begin(), [&](auto it) { return changed(it); });
                value = std::move(numbers);
            }
        }
    }

  private:
    static constexpr std::int64_t kFew = 8;
    std::int64_t changed(std::int64_t number) const {
        const auto found = sizes_.find(number);
        return found != sizes_.end() ? found->second : number;
    }
    std::map<std::int64_t, std::int64_t> sizes_;
};

// The results of a call; is_known is false if it fails: the operator itself knows whether its arguments are wrong.
template <typename Function>
Shapes announced(const Operator &op, c10::ArrayRef<IValue> arguments, Stack stack, Function &&call) {
    Shapes shapes;
    const Stack given = stack;
    try {
        call(op.handle, stack);
    } catch (const std::exception &) {
        return shapes;
    }
    const auto note = [&](const at::Tensor &tensor) {
        shapes.are_plain = shapes.are_plain && (!tensor.defined() || is_plain(tensor));
        shapes.returns.back().push_back(shapes.are_plain ? shape_of(tensor) : Shape{});
    };
    for (std::size_t i = 0; i < op.returns.size(); ++i) {
        shapes.returns.emplace_back();
        shapes.is_list.push_back(stack[i].isTensorList());
        if (op.returns[i] == kNew && stack[i].isTensorList()) {
            const auto tensors = stack[i].toTensorVector();
            std::for_each(tensors.begin(), tensors.end(), note);
        } else if (op.returns[i] == kNew) {
            note(stack[i].toTensor());
        }
    }
    shapes.is_known = shapes.are_plain && note_resized(op, arguments, given, shapes);
    return shapes;
}

// Shapes from the kernel for the CPU; sizes must not depend on the data. Zeros are right as indices, but cannot be
// divided by.
Shapes ask_cpu(const Operator &op, c10::ArrayRef<IValue> arguments) {
    const auto make = [](const at::Tensor &tensor, std::int64_t number) {
        return filled(tensor, tensor.sizes(), tensor.strides(), number);
    };
    Shapes shapes = announced(op, arguments, filled_like(op, arguments, 0, make), call_on_cpu);
    return shapes.is_known ? shapes : announced(op, arguments, filled_like(op, arguments, 1, make), call_on_cpu);
}

// Returns whether what the operator reads or makes is large.
bool are_large(c10::ArrayRef<IValue> arguments, const Shapes &made) {
    std::size_t bytes = 0;
    for_each_tensor(arguments, [&](const at::Tensor &tensor) { bytes += tensor.nbytes(); });
    for (const auto &tensors : made.returns) {
        for (const Shape &shape : tensors) {
            bytes += at::detail::computeStorageNbytes(shape.sizes, shape.strides, c10::elementSize(shape.type));
        }
    }
    return bytes >= kLarge;
}

// The dimensions of more than one element, in the order of their strides.
std::vector<std::size_t> order_in_memory(const Shape &shape) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < shape.sizes.size(); ++i) {
        if (shape.sizes[i] > 1) {
            order.push_back(i);
        }
    }
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return shape.strides[a] > shape.strides[b]; });
    return order;
}

// Returns whether two answers have tensors of the same types in the same places, of the same ranks, in the same order.
bool are_alike(const Shapes &a, const Shapes &b) {
    const auto is_alike = [](const Shape &one, const Shape &other) {
        return one.is_defined == other.is_defined && one.type == other.type && one.sizes.size() == other.sizes.size() &&
               order_in_memory(one) == order_in_memory(other);
    };
    return std::equal(
        a.returns.begin(), a.returns.end(), b.returns.begin(), b.returns.end(),
        [&](const auto &x, const auto &y) { return std::equal(x.begin(), x.end(), y.begin(), y.end(), is_alike); });
}

// Returns whether two answers that are alike have the same sizes.
bool have_same_sizes(const Shapes &a, const Shapes &b) {
    for (std::size_t i = 0; i < a.returns.size(); ++i) {
        for (std::size_t j = 0; j < a.returns[i].size(); ++j) {
            if (a.returns[i][j].sizes != b.returns[i][j].sizes) {
                return false;
            }
        }
    }
    return true;
}

// Lets each result have its own elements: the CPU may repeat some, with a stride of 0.
void fill_memory(Shapes &shapes) {
    for (auto &tensors : shapes.returns) {
        for (Shape &shape : tensors) {
            const auto order = order_in_memory(shape);
            if (!order.empty() && shape.strides[order.back()] == 0) {
                const at::DimVector strides = c10::contiguous_strides(shape.sizes);
                shape.strides.assign(strides.begin(), strides.end());
            }
        }
    }
}

// Returns whether the kernel for the CPU takes smaller tensors instead of these, leaves the sizes of all, and returns
// what is announced.
bool takes_smaller(const Operator &op, c10::ArrayRef<IValue> arguments, const Shapes &shapes) {
    const Smaller smaller(arguments);
    Stack stack = filled_like(op, arguments, 1, [&](const at::Tensor &tensor, std::int64_t number) {
        return smaller.filled_like(tensor, number);
    });
    smaller.change_numbers(stack);
    std::vector<std::pair<at::Tensor, std::vector<std::int64_t>>> before;
    for_each_tensor(stack, [&](const at::Tensor &tensor) { before.emplace_back(tensor, tensor.sizes().vec()); });
    const Stack given = stack;
    const Shapes found = announced(op, given, std::move(stack), call_on_cpu);
    return found.is_known && are_alike(found, shapes) &&
           std::all_of(before.begin(), before.end(), [](const auto &it) { return it.first.sizes() == it.second; });
}

// Tries the kernel for the CPU, which may refuse types that the meta kernel takes, or return what only the CPU returns:
// its answer counts then.
Shapes tried(const Operator &op, c10::ArrayRef<IValue> arguments, Shapes shapes) {
    const bool makes_all = arguments.empty() || std::none_of(arguments.begin(), arguments.end(), has_tensor);
    if (makes_all && are_large(arguments, shapes)) {
        return shapes;  // it takes only numbers, which cannot be made smaller
    }
    if (!writes_given(op) && are_large(arguments, shapes) && takes_smaller(op, arguments, shapes)) {
        return shapes;
    }
    Shapes of_cpu = ask_cpu(op, arguments);
    if (!of_cpu.are_plain) {
        return of_cpu;
    }
    if (!of_cpu.is_known) {
        shapes.doubt();
        return shapes;
    }
    if (are_alike(of_cpu, shapes) && have_same_sizes(of_cpu, shapes)) {
        return shapes;
    }
    fill_memory(of_cpu);
    return of_cpu;
}

Shapes ask(const Operator &op, c10::ArrayRef<IValue> arguments) {
    const at::RecordFunctionGuard unrecorded(false);  // the host's profile has the operator, not its trial
    if (!op.is_meta_right) {
        return ask_cpu(op, arguments);
    }
    Shapes shapes = announced(op, arguments, stand_ins(op, arguments),
                              [](const c10::OperatorHandle &handle, Stack &stack) { handle.callBoxed(stack); });
    // Without a meta kernel: operators that only change their arguments have no new sizes.
    if (!shapes.is_known) {
        return op.makes_nothing ? ask_cpu(op, arguments) : shapes;
    }
    return tried(op, arguments, std::move(shapes));
}

}  // namespace

std::shared_ptr<const Shapes> shapes_of(const Operator &op, c10::ArrayRef<IValue> arguments) {
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
    std::shared_ptr<const Shapes> shapes = remembered.find(text);
    if (shapes == nullptr) {
        shapes = std::make_shared<const Shapes>(ask(op, arguments));
        remembered.add(std::move(text), shapes);
    }
    return shapes;
}

}  // namespace ascend_rt
