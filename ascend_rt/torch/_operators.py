# SPDX-License-Identifier: Apache-2.0
"""The kernel of each operator on a device of the simulator."""

from __future__ import annotations

import torch

from ascend_rt.torch import _device_operators, decompositions

# Kernels of torch_npu that stay: they allocate, inspect tensors, or make views, and do not call operators of CANN.
KEPT = frozenset(
    f"aten::{name}"
    for name in (
        "_copy_from_and_resize",
        "_pin_memory",
        "_reshape_alias",
        "as_strided",
        "as_strided_",
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
        "npu_format_cast_",
        "npu_reshape",
        "npu_reshape.out",
        "unsafe_empty_with_format",
    )
)

# Operators that PyTorch composes of others, which are called here with the tensors of the device.
_COMPOSED = frozenset(
    f"aten::{name}"
    for name in (
        "_nested_view_from_buffer",
        "_pack_padded_sequence",
        "_to_copy",
        "contiguous",
        "convolution",  # which a trace does not record: PyTorch records what it is composed of
        "empty_like",
        "new_empty_strided",
        "resize_as_",
    )
)

# Kernels of this package; the others are PyTorch's.
_OWN = {
    "aten::_fused_sdp_choice": "attention_choice",
    "aten::_lazy_clone": "clone",
    "aten::_local_scalar_dense": "watched",
    "aten::copy_": "copy",
    "aten::empty.memory_format": "empty",
    "aten::histc": "histogram",
    "aten::histc.out": "histogram",
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

# PyTorch's kernel for all devices calls a kernel that only some have.
_ON_CPU = frozenset(("aten::conj_physical_", "aten::mode.values"))

_OWN_AUTOGRAD = {"aten::scaled_dot_product_attention": "attention"}

# Kinds whose kernels enqueue tasks.
AS_TASKS = frozenset(("cpu", "cpu_sized", "copy", "histogram", "sparse", "sparse_csr", "nested", "quantized"))

# Tensors that are not dense: the kind of their kernels, by the CPU's key and the device's.
_LAYOUTS = {
    "sparse": ("SparseCPU", "SparsePrivateUse1"),
    "sparse_csr": ("SparseCsrCPU", "SparseCsrPrivateUse1"),
    "nested": ("NestedTensorCPU", "NestedTensorPrivateUse1"),
    "quantized": ("QuantizedCPU", "QuantizedPrivateUse1"),
}

# Kernels for them that make, copy or inspect such tensors, and call operators of dense ones; their part is not to
# compute.
_OF_ALL_LAYOUTS = frozenset(
    f"aten::{name}"
    for name in (
        "_coalesced_",
        "_copy_from",
        "_dimI",
        "_dimV",
        "_nested_tensor_size",
        "_nested_tensor_storage_offsets",
        "_nested_tensor_strides",
        "_nnz",
        "_pin_memory",
        "_sparse_coo_tensor_with_dims",
        "_sparse_coo_tensor_with_dims_and_tensors",
        "_to_copy",
        "clone",
        "copy_",
        "copy_sparse_to_sparse_",
        "dense_dim",
        "detach",
        "empty.memory_format",
        "empty_like",
        "empty_quantized",
        "empty_strided",
        "is_coalesced",
        "is_pinned",
        "q_per_channel_axis",
        "q_per_channel_scales",
        "q_per_channel_zero_points",
        "q_scale",
        "q_zero_point",
        "qscheme",
        "resize_",
        "resize_as_sparse_",
        "sparse_dim",
        "sparse_resize_",
        "sparse_resize_and_clear_",
        "values",
        "zeros.out",
    )
)


def kinds() -> list[tuple[str, str]]:
    """Return the kind of kernel, and the name, of every operator that gets one; some have several."""
    # torch_npu registers kernels for some names that it never declares.
    schemas = {
        f"{schema.name}.{schema.overload_name}".rstrip("."): schema for schema in torch._C._jit_get_all_schemas()
    }
    theirs = _registered("PrivateUse1")
    with_autograd = _registered("AutogradPrivateUse1")
    found = []
    for name in sorted(schemas.keys() & set(torch._C._dispatch_get_all_op_names())):
        if not name.startswith(("aten::", "npu::", "atb::")):
            continue
        kind = "" if name in KEPT else _kind(name, theirs)
        if kind:
            found.append((kind, name))
        has_autograd = name in with_autograd or (name in theirs and _is_composed_with_gradients(name))
        if has_autograd and name not in KEPT and name not in decompositions.TABLE:
            autograd = _OWN_AUTOGRAD.get(name, "autograd")
            found.append(("refused_autograd" if kind == "refused" else autograd, name))
    return [*found, *_kinds_of_layouts(schemas)]


def _is_composed_with_gradients(name: str) -> bool:
    """Return whether the CPU composes an operator, of which others have a gradient, as matmul in torch_npu 2.8."""
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    keys = {key: has_kernel(name, key) for key in ("Autograd", "CompositeImplicitAutograd", "CPU")}
    return keys["Autograd"] and keys["CompositeImplicitAutograd"] and not keys["CPU"]


def _registered(key: str) -> set[str]:
    return set(torch._C._dispatch_get_registrations_for_dispatch_key(key))


def _kind(name: str, theirs: set[str]) -> str:
    """Return the kind of an operator's kernel for dense tensors; "" for those that PyTorch composes of others."""
    if name in decompositions.TABLE or name in _device_operators.NAMES:
        return "formula"
    for names, kind in ((_SIZED_BY_CPU, "cpu_sized"), (_COMPOSED, "composed"), (_ON_CPU, "cpu")):
        if name in names:
            return kind
    if name in _OWN:
        return _OWN[name]
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    explicit = ("CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional")
    is_composite = any(has_kernel(name, key) for key in (*explicit, "CompositeImplicitAutograd"))
    on_cpu = has_kernel(name, "CPU")
    if name in theirs:
        return "cpu" if on_cpu or is_composite else "refused"
    return "cpu" if on_cpu and not is_composite else ""


def _kinds_of_layouts(schemas: dict[str, torch.FunctionSchema]) -> list[tuple[str, str]]:
    found = []
    for kind, (on_cpu, on_device) in _LAYOUTS.items():
        theirs = _registered(on_device)
        for name in sorted(schemas.keys() & _registered(on_cpu)):
            if not name.startswith("aten::"):
                continue
            if name not in _OF_ALL_LAYOUTS and not _makes_view(schemas[name]):
                found.append((kind, name))
            elif kind in ("nested", "quantized") and name not in theirs:
                found.append((f"{kind}_composed", name))
    made = ("_sparse_coo_tensor_with_dims", "_sparse_coo_tensor_with_dims_and_tensors", "empty.memory_format")
    return [*found, ("quantized_copy", "aten::copy_"), *(("sparse_made", f"aten::{name}") for name in made)]


def _makes_view(schema: torch.FunctionSchema) -> bool:
    return any(each.alias_info is not None and not each.alias_info.is_write for each in schema.returns)
