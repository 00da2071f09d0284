"""Arguments that few give: each result, or refusal, is that of the CPU, and no output has undefined content."""

import json

import torch
import torch_npu  # noqa: F401  (registers the device)

torch.npu.set_device(0)


def outcome(function, place):
    """Return the results, or the first words of the error."""
    try:
        results = function(place)
        torch.npu.synchronize()  # a wrong argument is an error of the call, not of the operator's task
    except RuntimeError as error:
        return "late" if "failed on npu" in str(error) else str(error).split()[:4]
    results = results if isinstance(results, (tuple, list)) else [results]
    return [each.cpu() for each in results]


def same(function):
    """Compare what comes of a function of the place of tensors."""
    # The next outputs reuse the memory that is freed here.
    del [torch.full((1 << 12,), float("nan"), device="npu") for _ in range(4)][:]
    expected, found = outcome(function, "cpu"), outcome(function, "npu")
    assert len(expected) == len(found), (expected, found)
    for a, b in zip(expected, found, strict=True):
        if isinstance(a, str):
            assert a.removeprefix("aten::") == b.removeprefix("aten::"), (expected, found)
        else:
            assert (a.dtype, a.shape) == (b.dtype, b.shape), (a, b)
            torch.testing.assert_close(b, a, rtol=0, atol=0)


def batch_norm(training, kind):
    def call(place):
        x = torch.arange(24.0, device=place, dtype=kind).reshape(3, 2, 4)
        ones, zeros = torch.ones(2, device=place, dtype=kind), torch.zeros(2, device=place, dtype=kind)
        return torch.native_batch_norm(x, ones, zeros, zeros.clone(), ones.clone(), training, 0.1, 1e-5)

    return call


for training in (False, True):
    for kind in (torch.float32, torch.bfloat16):
        same(batch_norm(training, kind))


def embedding_bag(place):
    weight = torch.arange(6.0, device=place).reshape(3, 2)
    indices, offsets = torch.tensor([0, 2, 1], device=place), torch.tensor([0, 2], device=place)
    return torch._embedding_bag(weight, indices, offsets, mode=1)


same(embedding_bag)


def batch_norm_of_a_transposed(place):
    x = torch.arange(24.0, device=place).reshape(4, 2, 3).transpose(0, 2)
    ones, zeros = torch.ones(2, device=place), torch.zeros(2, device=place)
    return torch.native_batch_norm(x, ones, zeros, None, None, True, 0.1, 1e-5)


def group_norm_of_a_transposed(place):
    x = torch.arange(24.0, device=place).reshape(4, 2, 3).transpose(0, 2)
    return torch.native_group_norm(x, None, None, 3, 2, 4, 1, 1e-5)


def scatter_by_a_larger_mask(place):
    return torch.zeros(3, device=place).masked_scatter_(
        torch.ones(3, 3, dtype=torch.bool, device=place), torch.ones(9, device=place)
    )


def logit_of_integers_in_place(place):
    return torch.ones(3, dtype=torch.int8, device=place).logit_()


def divide_integers_in_place(place):
    x = torch.tensor([7, 8, 9], device=place)
    return x.floor_divide_(torch.tensor([2, 3, 4], device=place))


def degrees_of_integers(place):
    return torch.rad2deg(torch.arange(-128, 128, dtype=torch.int8, device=place))


def unpack_into(place):
    factors = torch.eye(40).repeat(8, 1, 1) + torch.arange(40.0)
    pivots = torch.full((8, 40), 40, dtype=torch.int32)
    out = [torch.empty(0, device=place) for _ in range(3)]
    return torch.lu_unpack(factors.to(place), pivots.to(place), out=tuple(out))


def solve_into(place):
    factors, pivots = torch.linalg.lu_factor(torch.eye(40) + torch.arange(40.0))
    b, out = torch.ones(40, 2, device=place), torch.empty(0, device=place)
    return torch.linalg.lu_solve(factors.to(place), pivots.to(place), b, out=out)


def mode_into(place):
    out = torch.empty(0, device=place), torch.empty(0, dtype=torch.int64, device=place)
    return torch.mode(torch.tensor([1.0, 2, 2], device=place), out=out)


same(unpack_into)
same(solve_into)
same(mode_into)
same(logit_of_integers_in_place)
same(divide_integers_in_place)
same(degrees_of_integers)
same(batch_norm_of_a_transposed)
same(group_norm_of_a_transposed)
same(scatter_by_a_larger_mask)


def matrix(place):
    return torch.arange(12.0, device=place).reshape(3, 4)


def sort_into_other_types(place):
    return torch.sort(
        matrix(place), out=(torch.empty(3, 4, device=place, dtype=torch.float64), torch.empty(3, 4, device=place))
    )


def add_into_itself(place):
    x = torch.ones(3, 1, device=place)
    return torch.add(x, torch.ones(3, 3, device=place), out=x)


def add_into_wrong_type(place):
    return torch.add(matrix(place), 1, out=torch.empty(3, 4, dtype=torch.int32, device=place))


def add_into_overlapping(place):
    return torch.add(matrix(place), 1, out=torch.empty(4, device=place).expand(3, 4))


def add_into_a_transposed_part(place):
    out = torch.zeros(8, 6, device=place)[::2, ::2].t()
    return torch.add(matrix(place), 1, out=out)


def product_into_its_own_factor(place):
    x = torch.arange(9.0, device=place).reshape(3, 3)
    return torch.mm(x, x, out=x)


def grow_in_place_without_elements(place):
    x = torch.ones(0, 1, 3, device=place)
    return x.atan2_(torch.ones(0, 4, 3, device=place)), x


def conjugate_in_place(place):
    return torch.tensor([1 + 2j, 3j], device=place).conj_physical_()


def in_place_on_overlapping(place):
    return torch.zeros(1, 4, device=place).expand(3, 4).add_(1)


def in_place_on_its_neighbours(place):
    x = torch.arange(6.0, device=place)
    return x[1:].add_(x[:-1]), x


def in_place_on_its_other_half(place):
    x = torch.arange(6.0, device=place)
    return x[3:].add_(x[:3]), x


def without_elements(place):
    x = torch.ones(0, 3, device=place)
    return x.sum(0), x @ torch.ones(3, 2, device=place), torch.cat([x, x]), x.prod()


def without_dimensions(place):
    x = torch.tensor(2.5, device=place)
    return x.sort(dim=0).values, x.softmax(0), x.max(0).values, x.clone().add_(x), x.expand(3).cumsum(0)


def other_numbers_in_place(place):
    x, y = torch.zeros(3, device=place), torch.tensor([1.0, 2.0, 4.0], device=place)
    for step in (1, 2, 0.5):
        x.add_(step).addcdiv_(y, y, value=-step)
        torch._foreach_addcmul_([x], [y], [y], [step])
    return x.clone(), torch.arange(0, step * 10, step, device=place)


def a_number_of_another_type_in_place(place):
    return torch.zeros(3, dtype=torch.int64, device=place).add_(1).add_(2).add_(0.5)


for each in (
    other_numbers_in_place,
    a_number_of_another_type_in_place,
    sort_into_other_types,
    add_into_itself,
    add_into_wrong_type,
    add_into_overlapping,
    add_into_a_transposed_part,
    product_into_its_own_factor,
    grow_in_place_without_elements,
    conjugate_in_place,
    in_place_on_overlapping,
    in_place_on_its_neighbours,
    in_place_on_its_other_half,
    without_elements,
    without_dimensions,
):
    same(each)
print("answer:", json.dumps("arguments"))
