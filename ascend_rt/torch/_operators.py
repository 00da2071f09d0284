# SPDX-License-Identifier: Apache-2.0
"""The kernel of each operator on a device of the simulator."""

from __future__ import annotations

import torch

from ascend_rt.torch import decompositions

# Kernels of torch_npu that stay: they allocate, inspect tensors, or make views, and do not call operators of CANN.
KEPT = frozenset(
    f"aten::{name}"
    for name in (
        "_copy_from_and_resize",
        "_pin_memory",
        "_reshape_alias",
        "as_strided",
        "as_strided_",
        "empty.memory_format",
        "empty_strided",
        "is_pinned",
        "is_set_to",
        "record_stream",
        "resize_",
        "set_",
        "set_.source_Storage",
        "set_.source_Storage_storage_offset",
        "set_.source_Tensor",
        "squeeze",
        "squeeze.dim",
        "unfold",
        "unsqueeze",
        "view",
        "view_as_complex",
        "view_as_real",
    )
) | frozenset(
    f"npu::{name}"
    for name in (
        "empty_with_format",
        "empty_with_format.names",
        "empty_with_swapped_memory",
        "get_npu_format",
        "get_storage_size",
        "npu_change_data_ptr",
        "npu_format_cast",
        "npu_format_cast_",
        "npu_format_cast_.acl_format",
        "npu_reshape",
        "npu_reshape.out",
        "unsafe_empty_with_format",
    )
)

# Operators that PyTorch composes of others, which are called here with the tensors of the device.
_COMPOSED = frozenset(
    f"aten::{name}" for name in ("_to_copy", "contiguous", "empty_like", "new_empty_strided", "resize_as_")
)

# Kernels of this package; the others are PyTorch's.
_OWN = {
    "aten::_fused_sdp_choice": "attention_choice",
    "aten::_lazy_clone": "clone",
    "aten::_local_scalar_dense": "watched",
    "aten::copy_": "copy",
    "aten::native_dropout": "dropout",
}

# Their meta kernels announce what other devices return, for instance statistics in evaluation, or do not see wrong
# arguments, which are errors of the call; or there is none.
_SIZED_BY_CPU = frozenset(
    f"aten::{name}"
    for name in (
        "_batch_norm_no_update",
        "_batch_norm_with_update",
        "_embedding_bag",
        "_embedding_bag_forward_only",
        "_histogramdd_bin_edges",
        "_histogramdd_from_bin_cts",
        "_histogramdd_from_bin_tensors",
        "_logcumsumexp",
        "_native_batch_norm_legit",
        "_native_batch_norm_legit.out",
        "_native_batch_norm_legit.no_stats",
        "_native_batch_norm_legit.no_stats_out",
        "geqrf",
        "histogram.bin_ct",
        "histogram.bins_tensor",
        "masked_scatter_",
        "native_batch_norm",
        "native_batch_norm.out",
        "native_group_norm",
    )
)

# A view that only the CPU can make: its result would be a copy.
_VIEWS = frozenset(("aten::_nested_view_from_buffer",))

# PyTorch's kernel for all devices calls a kernel that only some have.
_ON_CPU = frozenset(("aten::conj_physical_", "aten::mode.values"))

_OWN_AUTOGRAD = {"aten::scaled_dot_product_attention": "attention"}

# Kinds whose kernels enqueue tasks.
AS_TASKS = frozenset(("cpu", "cpu_sized", "copy"))


def kinds() -> list[tuple[str, str]]:
    """Return the kind of kernel, and the name, of every operator that gets one."""
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    theirs = set(torch._C._dispatch_get_registrations_for_dispatch_key("PrivateUse1"))
    with_autograd = set(torch._C._dispatch_get_registrations_for_dispatch_key("AutogradPrivateUse1"))
    found = []
    # torch_npu registers kernels for some names that it never declares.
    declared = {f"{schema.name}.{schema.overload_name}".rstrip(".") for schema in torch._C._jit_get_all_schemas()}
    for name in sorted(declared.intersection(torch._C._dispatch_get_all_op_names())):
        if not name.startswith(("aten::", "npu::")) or name in KEPT:
            continue
        implicit = has_kernel(name, "CompositeImplicitAutograd")
        explicit = has_kernel(name, "CompositeExplicitAutograd") or has_kernel(
            name, "CompositeExplicitAutogradNonFunctional"
        )
        on_cpu = has_kernel(name, "CPU")
        if name in decompositions.TABLE:
            found.append(("formula", name))
            continue
        if name in _VIEWS:
            kind = "refused"
        elif name in _OWN:
            kind = _OWN[name]
        elif name in _SIZED_BY_CPU:
            kind = "cpu_sized"
        elif name in _COMPOSED:
            kind = "composed"
        elif (
            name in _ON_CPU
            or (name in theirs and (on_cpu or explicit or implicit))
            or (on_cpu and not explicit and not implicit)
        ):
            kind = "cpu"
        elif name in theirs:
            kind = "refused"
        else:
            kind = ""
        if kind:
            found.append((kind, name))
        if name in with_autograd:
            autograd = _OWN_AUTOGRAD.get(name, "autograd")
            found.append(("refused_autograd" if kind == "refused" else autograd, name))
    return found
