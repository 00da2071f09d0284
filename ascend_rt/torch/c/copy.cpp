/* SPDX-License-Identifier: Apache-2.0 */
#include "copy.h"

#include <ATen/ops/empty.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <array>
#include <atomic>

#include "adapter.h"
#include "checks.h"
#include "failure.h"
#include "places.h"

namespace ascend_rt {
namespace {

bool has_bytes_of(const at::Tensor &a, const at::Tensor &b) {
    return a.scalar_type() == b.scalar_type() && a.sizes() == b.sizes() && a.is_contiguous() && b.is_contiguous() &&
           a.is_conj() == b.is_conj() && a.is_neg() == b.is_neg();
}

at::Tensor room_like(const at::Tensor &tensor, at::ScalarType type, c10::Device device) {
    return at::empty(tensor.sizes(), at::TensorOptions(type).device(device));
}

// A copy of the runtime in the current stream of the source's device.
void move_in_stream(const at::Tensor &to, const at::Tensor &from) {
    const c10::DeviceGuard guard(from.device());
    raise_failure(from.device().index());
    const std::size_t size = to.nbytes();
    if (size > 0 && !to.is_same(from)) {
        name_memory(to);
        name_memory(from);
        require(aclrtMemcpyAsync(to.mutable_data_ptr(), size, from.const_data_ptr(), size, ACL_MEMCPY_DEVICE_TO_DEVICE,
                                 current_stream(from.device().index())),
                "aclrtMemcpyAsync", "aten::copy_");
    }
}

void let_wait(c10::Device waiting, c10::Device device) {
    const c10::impl::VirtualGuardImpl streams(c10::DeviceType::PrivateUse1);
    c10::Event event(c10::DeviceType::PrivateUse1);
    event.record(streams.getStream(device));
    event.block(streams.getStream(waiting));
}

constinit std::array<std::array<std::atomic<bool>, kMostDevices>, kMostDevices> has_allowed{};

// Once for each pair; two threads may do it at the same time, which leaves the same as once. Where that is refused the
// copy is refused as well, and says why.
void allow_copies(std::int8_t from, std::int8_t to) {
    std::atomic<bool> &is_done = has_allowed.at(static_cast<std::size_t>(from)).at(static_cast<std::size_t>(to));
    if (!is_done.load(std::memory_order_acquire)) {
        const c10::DeviceGuard guard(c10::Device(c10::DeviceType::PrivateUse1, from));
        if (aclrtDeviceEnablePeerAccess(to, 0) != ACL_SUCCESS) {
            aclGetRecentErrMsg();
        }
        is_done.store(true, std::memory_order_release);
    }
}

// The devices' own order: after what either has in its current stream, and before what comes next there.
void move_between_devices(const at::Tensor &to, const at::Tensor &from) {
    allow_copies(from.device().index(), to.device().index());
    let_wait(from.device(), to.device());
    move_in_stream(to, from);
    let_wait(to.device(), from.device());
}

}  // namespace

Copy::Copy(c10::OperatorHandle handle) : theirs_(handle), on_device_(handle) {}

void Copy::operator()(const c10::OperatorHandle &handle, c10::DispatchKeySet keys, Stack *stack) {
    refuse_in_forked_child(handle);
    const at::Tensor to = torch::jit::peek(*stack, 0, 3).toTensor();
    const at::Tensor from = torch::jit::peek(*stack, 1, 3).toTensor();
    const ForwardPlace place;
    const bool is_within_device = to.device() == from.device();
    // A group of tasks in a graph takes kernels alone.
    if (is_within_device && (!has_bytes_of(to, from) || is_captured(to.device().index(), "aten::copy_"))) {
        return on_device_(handle, keys, stack);
    }
    if (is_within_device) {
        move_in_stream(to, from);
    } else {
        copy(to, from, torch::jit::peek(*stack, 2, 3).toBool());
    }
    torch::jit::drop(*stack, 3);
    stack->emplace_back(to);
}

void Copy::move_bytes(const at::Tensor &to, const at::Tensor &from, bool non_blocking) const {
    if (to.is_privateuseone() && from.is_privateuseone()) {
        return move_between_devices(to, from);
    }
    name_memory(to);
    name_memory(from);
    Stack stack{to, from, non_blocking};
    const c10::Device device = from.is_privateuseone() ? from.device() : to.device();
    non_blocking ? theirs_.call(device, stack) : theirs_.wait_and_call(device, stack);
}

// Between host and device, or two devices: both sides are brought into the same form first, on the side where they are.
void Copy::copy(const at::Tensor &to, const at::Tensor &from, bool non_blocking) {
    if (has_bytes_of(to, from)) {
        return move_bytes(to, from, non_blocking);
    }
    at::Tensor sent = from.expand(to.sizes());
    if (from.scalar_type() != to.scalar_type() || !sent.is_contiguous() || sent.is_conj() || sent.is_neg()) {
        const at::Tensor plain = room_like(to, to.scalar_type(), from.device());
        plain.copy_(sent);
        sent = plain;
    }
    // The copy is waited for: temporary memory of the host must last until it is done. Where only the device needs such
    // memory, the adapter does not wait, unless it converts.
    if (to.is_contiguous() && !to.is_conj() && !to.is_neg()) {
        const bool is_without_wait = from.is_privateuseone() && from.scalar_type() == to.scalar_type();
        return move_bytes(to, sent, non_blocking && is_without_wait);
    }
    const at::Tensor received = room_like(to, to.scalar_type(), to.device());
    move_bytes(received, sent, /*non_blocking=*/false);
    to.copy_(received);
}

}  // namespace ascend_rt
