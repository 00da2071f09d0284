"""Gradients of operators, for samples of torch's own database of operators: those of the CPU."""

import json
import warnings

import torch
import torch_npu  # noqa: F401  (registers the device)
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_leaves, tree_map

SAMPLES = 2
EVERY = 3  # the database would take a minute
RANDOM = ("attention", "bernoulli", "cauchy", "dropout", "exponential", "fractional", "geometric", "log_normal",
          "multinomial", "normal", "rand", "rrelu", "uniform")  # fmt: skip

warnings.simplefilter("ignore")
torch.npu.set_device(0)


def placed(sample, place):
    """Return the arguments there, and those that have gradients."""

    def move(leaf):
        if isinstance(leaf, torch.Tensor):
            return leaf.detach().clone().to(place).requires_grad_(leaf.requires_grad)
        return place if isinstance(leaf, torch.device) or leaf == "cpu" else leaf

    arguments = tree_map(move, (sample.input, sample.args, sample.kwargs))
    return arguments, [leaf for leaf in tree_leaves(arguments) if isinstance(leaf, torch.Tensor) and leaf.requires_grad]


def gradients(operator, sample, place):
    """Return those of the sum of all results; None if nothing has any."""
    (first, others, named), wanted = placed(sample, place)
    results = [
        leaf
        for leaf in tree_leaves(operator(first, *others, **named))
        if isinstance(leaf, torch.Tensor) and leaf.requires_grad
    ]
    if not results or not wanted:
        return None
    found = torch.autograd.grad(results, wanted, [torch.ones_like(each) for each in results], allow_unused=True)
    return [None if each is None else each.cpu() for each in found]


def compare(operator, sample):
    """Return whether there was something to compare."""
    try:
        expected = gradients(operator, sample, "cpu")
    except RuntimeError:  # a sample without derivatives
        return False
    if expected is None:
        return False
    try:
        found = gradients(operator, sample, "npu")
    except RuntimeError as error:  # refused by its name, or an argument must be on the CPU
        if "failed on npu" in str(error):
            raise
        return False
    for a, b in zip(expected, found, strict=True):
        assert (a is None) == (b is None), operator.name
        if a is not None:
            torch.testing.assert_close(
                b, a, rtol=1e-4, atol=1e-5, equal_nan=True, msg=lambda m: f"{operator.name}: {m}"
            )
    return True


compared = 0
for operator in op_db[::EVERY]:
    if (
        operator.supports_autograd
        and torch.float32 in operator.dtypes
        and not any(word in operator.name for word in RANDOM)
    ):
        samples = operator.sample_inputs("cpu", torch.float32, requires_grad=True)
        compared += sum(compare(operator, sample) for _, sample in zip(range(SAMPLES), samples, strict=False))
assert compared > 200, compared
print("answer:", json.dumps("gradients"))
