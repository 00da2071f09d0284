// SPDX-License-Identifier: Apache-2.0
#include "tasks/argument_list.h"

#include <cstring>

#include "support/error.h"

namespace aclsim {
namespace {

constexpr std::size_t kPointer = 8;
// Parameter handle: the number of the list and the number of the parameter, counted from 1.
constexpr unsigned kParameterBits = 8;

std::uint64_t number_of_new_list() REQUIRES(engine_lock) {
    static std::uint64_t last GUARDED_BY(engine_lock) = 0;
    return ++last;
}

}  // namespace

std::size_t declared_parameters(const KernelFunction &function) {
    const KernelDescription &description = function.description;
    if (description.parameters) {
        return description.parameters->size();
    }
    return description.has_metadata ? 0 : ArgumentList::kMostParameters;
}

void ArgumentList::reset(const KernelFunction &function) {
    function_ = function.handle();
    used_ = 0;
    alignment_ = function.is_cpu() ? 1 : kPointer;
    phase_ = Phase::Open;
    number_ = number_of_new_list();
    parameters_.clear();
}

void ArgumentList::begin(const KernelFunction &function) {
    if (!own_) {
        own_.reset(new unsigned char[kMostBytes]);  // left uninitialized
    }
    reset(function);
    bytes_ = own_.get();
    room_ = kMostBytes;
    lacks_room_ = false;
    most_parameters_ = kMostParameters;
}

void ArgumentList::begin_in(const KernelFunction &function, void *memory, std::size_t size) {
    reset(function);
    const std::size_t hidden = function.is_cpu() ? 0 : kHiddenBytes;
    bytes_ = static_cast<unsigned char *>(memory);
    room_ = size > hidden ? size - hidden : 0;
    most_parameters_ = function.is_cpu() ? kMostParameters : declared_parameters(function);
    lacks_room_ =
        size < hidden && most_parameters_ > 0;  // a function without parameters has none of the runtime either
}

void ArgumentList::require_open() const {
    if (phase_ != Phase::Open) {
        fail_unremembered(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
                          "the list takes no more parameters: it has data of a placeholder, or was finalized");
    }
}

std::size_t ArgumentList::take(std::size_t size, std::size_t alignment) {
    const std::size_t begin = (used_ + alignment - 1) / alignment * alignment;
    if (begin > room_ || size > room_ - begin) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "%zu bytes more do not fit: %zu of the list's %zu bytes are used", size, used_,
             room_);
    }
    std::memset(bytes_ + used_, 0, begin - used_);
    used_ = begin + size;
    return begin;
}

ArgumentList::Parameter &ArgumentList::add(std::size_t size, bool is_place_holder) {
    require_open();
    if (parameters_.size() >= most_parameters_) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "the list has all of the %zu parameters that it takes", most_parameters_);
    }
    parameters_.push_back({take(size, alignment_), size, is_place_holder});
    return parameters_.back();
}

aclrtParamHandle ArgumentList::append(const void *value, std::size_t size) {
    std::memcpy(bytes_ + add(size, /*is_place_holder=*/false).offset, value, size);
    return handle_of(parameters_.size() - 1);
}

aclrtParamHandle ArgumentList::append_place_holder() {
    std::memset(bytes_ + add(kPointer, /*is_place_holder=*/true).offset, 0, kPointer);
    return handle_of(parameters_.size() - 1);
}

void *ArgumentList::place_holder_buffer(aclrtParamHandle parameter, std::size_t size) {
    if (phase_ != Phase::Open && phase_ != Phase::Data) {
        fail_unremembered(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "the list was finalized: placeholders get no more data");
    }
    Parameter &found = find(parameter);
    if (!found.is_place_holder) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "the parameter is not a placeholder");
    }
    found.data = take(size, kPointer);
    phase_ = Phase::Data;
    return bytes_ + found.data;
}

void ArgumentList::update(aclrtParamHandle parameter, const void *value, std::size_t size) {
    const Parameter &found = find(parameter);
    if (found.is_place_holder || found.size != size) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "the parameter is %s of %zu bytes, and the new value has %zu",
             found.is_place_holder ? "a placeholder" : "a value", found.size, size);
    }
    std::memcpy(bytes_ + found.offset, value, size);
    phase_ = phase_ == Phase::Final ? Phase::Updating : phase_;
}

void ArgumentList::finalize() {
    if (lacks_room_) {
        fail(ACL_ERROR_RT_PARAM_INVALID,
             "the memory of the list has no room for the %zu bytes of the runtime's own parameters; "
             "aclrtKernelArgsGetMemSize returns the size it needs",
             kHiddenBytes);
    }
    phase_ = Phase::Final;
}

void ArgumentList::require_final() const {
    if (phase_ != Phase::Final) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "the list was not finalized since it changed: aclrtKernelArgsFinalize");
    }
}

std::vector<PlaceHolder> ArgumentList::place_holders() const {
    std::vector<PlaceHolder> found;
    for (const Parameter &parameter : parameters_) {
        if (parameter.data != 0) {
            found.push_back({static_cast<std::uint32_t>(parameter.offset), static_cast<std::uint32_t>(parameter.data)});
        }
    }
    return found;
}

aclrtParamHandle ArgumentList::handle_of(std::size_t index) const {
    return reinterpret_cast<aclrtParamHandle>(number_ << kParameterBits | (index + 1));
}

ArgumentList::Parameter &ArgumentList::find(aclrtParamHandle parameter) {
    const auto value = reinterpret_cast<std::uint64_t>(parameter);
    const std::uint64_t index = (value & ((1U << kParameterBits) - 1)) - 1;
    if (value >> kParameterBits != number_ || index >= parameters_.size()) {
        fail(ACL_ERROR_RT_INVALID_HANDLE, "%p is not a parameter of the list", parameter);
    }
    return parameters_[index];
}

}  // namespace aclsim
