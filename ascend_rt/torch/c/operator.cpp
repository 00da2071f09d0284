/* SPDX-License-Identifier: Apache-2.0 */
#include "operator.h"

#include <algorithm>
#include <map>

#include "abi/acl.h"
#include "abi/aclsim.h"
#include "first_made.h"
#include "forks.h"
#include "task.h"

namespace ascend_rt {
namespace {

using Overloads = std::multimap<std::string, c10::OperatorHandle>;

std::string object;  // file of kernels without code
constinit std::atomic<aclrtBinHandle> binary{nullptr};

std::vector<int> find_returns(const c10::FunctionSchema &schema) {
    std::vector<int> found;
    for (const c10::Argument &result : schema.returns()) {
        const c10::AliasInfo *alias = result.alias_info();
        int source = kNew;
        if (alias != nullptr && alias->isWrite()) {
            for (std::size_t i = 0; i < schema.arguments().size(); ++i) {
                const c10::AliasInfo *other = schema.arguments()[i].alias_info();
                if (other != nullptr && other->beforeSets() == alias->beforeSets()) {
                    source = static_cast<int>(i);
                }
            }
        }
        const c10::TypeKind kind = result.type()->kind();
        if (source == kNew && kind != c10::TypeKind::TensorType && kind != c10::TypeKind::ListType) {
            source = kNotATensor;
        }
        if (source == kNew && kind == c10::TypeKind::ListType &&
            result.type()->containedType(0)->kind() != c10::TypeKind::TensorType) {
            source = kNotATensor;
        }
        found.push_back(source);
    }
    return found;
}

// Lists of indices, numbers for a list of tensors, one for each, and sizes.
bool is_of_any_device(const std::string &argument, bool is_list) {
    if (is_list) {
        return argument == "indices";
    }
    return argument == "scalars" || argument == "cpu_nested_shape_example";
}

// Returns whether a schema has the arguments of the other, and after them outputs, one for each of its returns.
bool writes_returns_of(const c10::FunctionSchema &out, const c10::FunctionSchema &schema) {
    const auto &given = schema.arguments();
    const auto &taken = out.arguments();
    if (taken.size() != given.size() + schema.returns().size()) {
        return false;
    }
    for (std::size_t i = 0; i < taken.size(); ++i) {
        if (i >= given.size()) {
            if (!taken[i].is_out() || *taken[i].type() != *schema.returns()[i - given.size()].type()) {
                return false;
            }
        } else if (taken[i].name() != given[i].name() || *taken[i].type() != *given[i].type()) {
            return false;
        }
    }
    return true;
}

Overloads find_overloads() {
    Overloads all;
    c10::Dispatcher &dispatcher = c10::Dispatcher::singleton();
    for (const c10::OperatorName &name : dispatcher.getAllOpNames()) {
        if (const auto handle = dispatcher.findSchema(name)) {
            all.emplace(name.name, *handle);
        }
    }
    return all;
}

std::optional<c10::OperatorHandle> find_out(const c10::FunctionSchema &schema) {
    static constinit FirstMade<Overloads> overloads;
    const auto [first, last] = overloads.get(find_overloads).equal_range(schema.name());
    for (auto it = first; it != last; ++it) {
        // A kernel that only calls the operator itself and copies saves nothing.
        if (writes_returns_of(it->second.schema(), schema) &&
            it->second.hasKernelForDispatchKey(c10::DispatchKey::CPU)) {
            return it->second;
        }
    }
    return std::nullopt;
}

// Threads that come at the same time all load it; the first one's stays.
aclrtBinHandle loaded_binary(const std::string &name) {
    aclrtBinHandle found = binary.load(std::memory_order_acquire);
    if (found == nullptr) {
        aclrtBinaryLoadOption lazy{ACL_RT_BINARY_LOAD_OPT_LAZY_LOAD, {1}};
        const aclrtBinaryLoadOptions options{&lazy, 1};
        aclrtBinHandle fresh = nullptr;
        require(aclrtBinaryLoadFromData(object.data(), object.size(), &options, &fresh), "aclrtBinaryLoadFromData",
                name);
        if (binary.compare_exchange_strong(found, fresh, std::memory_order_acq_rel)) {
            return fresh;
        }
        require(aclrtBinaryUnLoad(fresh), "aclrtBinaryUnLoad", name);
    }
    return found;
}

}  // namespace

Operator::Operator(c10::OperatorHandle given, bool meta)
    : handle(given),
      name(full_name(given.operator_name())),
      schema(given.schema()),
      returns(find_returns(schema)),
      is_meta_right(meta) {
    for (std::size_t i = 0; i < schema.arguments().size(); ++i) {
        const c10::Argument &argument = schema.arguments()[i];
        if (argument.alias_info() != nullptr && argument.alias_info()->isWrite()) {
            written.push_back(i);
            writes_tensor |= argument.type()->kind() == c10::TypeKind::TensorType;
        }
        const c10::TypePtr type = argument.type()->kind() == c10::TypeKind::OptionalType
                                      ? argument.type()->containedType(0)
                                      : argument.type();
        if (type->kind() == c10::TypeKind::GeneratorType) {
            generator = i;
        }
        may_be_on_cpu.push_back(is_of_any_device(argument.name(), type->kind() == c10::TypeKind::ListType));
    }
    find_operands();
    find_statistics();
    bool only_new = !returns.empty();
    for (std::size_t i = 0; i < returns.size(); ++i) {
        has_number |= returns[i] == kNotATensor;
        only_new &= returns[i] == kNew && schema.returns()[i].type()->kind() == c10::TypeKind::TensorType;
    }
    // Batch normalization's overload for given outputs is wrong, on the CPU too, for inputs that are not contiguous.
    if (only_new && is_meta_right) {
        out = find_out(schema);
    }
}

// If only existing tensors are changed, numbers decide no size: a program may pass another one each time, such as the
// step of an optimizer.
void Operator::find_operands() {
    for (const int source : returns) {
        makes_nothing &= source >= 0;
    }
    for (const c10::Argument &argument : schema.arguments()) {
        makes_nothing &= !argument.is_out();
    }
    for (const c10::Argument &argument : schema.arguments()) {
        const c10::TypePtr type = argument.type();
        const c10::TypeKind kind =
            type->kind() == c10::TypeKind::ListType ? type->containedType(0)->kind() : type->kind();
        is_operand.push_back(makes_nothing && kind == c10::TypeKind::NumberType);
    }
}

void Operator::find_statistics() {
    if (schema.name() != "aten::native_batch_norm" && schema.name() != "aten::batch_norm_update_stats") {
        return;
    }
    for (std::size_t i = 0; i < schema.arguments().size(); ++i) {
        const std::string &argument = schema.arguments()[i].name();
        if (argument == "running_mean" || argument == "running_var") {
            statistics_.push_back(i);
        } else if (argument == "training") {
            training_ = i;
        }
    }
}

bool Operator::updates_statistic(std::size_t argument, const Stack &arguments) const {
    return std::find(statistics_.begin(), statistics_.end(), argument) != statistics_.end() &&
           (!training_ || arguments[*training_].toBool());
}

aclrtFuncHandle Operator::kernel(std::int8_t device) {
    std::atomic<aclrtFuncHandle> &slot = kernels_.at(static_cast<std::size_t>(device));
    aclrtFuncHandle found = slot.load(std::memory_order_acquire);
    if (found == nullptr) {
        require(aclrtBinaryGetFunction(loaded_binary(name), name.c_str(), &found), "aclrtBinaryGetFunction", name);
        register_code();
        slot.store(found, std::memory_order_release);
    }
    return found;
}

// Once for all devices. Two threads may do it at the same time, which leaves the same as once.
void Operator::register_code() {
    if (!has_code_.load(std::memory_order_acquire)) {
        // Waits that Ctrl-C ends have a time limit: they run operators as others do.
        const aclsimKernel stand_in{run_task, nullptr, nullptr, 0, /*isBrief=*/1};
        require(aclsimRegisterKernel(name.c_str(), &stand_in), "aclsimRegisterKernel", name);
        has_code_.store(true, std::memory_order_release);
    }
}

void set_kernels(const char *given, std::size_t size) { object.assign(given, size); }

std::string full_name(const c10::OperatorName &name) {
    return name.overload_name.empty() ? name.name : name.name + "." + name.overload_name;
}

c10::OperatorName parse_name(const std::string &name) {
    const std::size_t dot = name.find('.');
    return dot == std::string::npos ? c10::OperatorName(name, "")
                                    : c10::OperatorName(name.substr(0, dot), name.substr(dot + 1));
}

void require(aclError code, const char *function, const std::string &operation) {
    if (code != ACL_SUCCESS) {
        const char *text = aclGetRecentErrMsg();
        TORCH_CHECK(false, operation, ": ", function, " failed with ", code, ": ", text != nullptr ? text : "");
    }
}

// The runtime knows whether it was used before the fork.
void refuse_in_forked_child(const c10::OperatorHandle &operation) {
    if (is_new_child.load(std::memory_order_relaxed)) {
        std::uint32_t count = 0;
        require(aclrtGetDeviceCount(&count), "aclrtGetDeviceCount", full_name(operation.operator_name()));
        is_new_child.store(false, std::memory_order_relaxed);
    }
}

}  // namespace ascend_rt
