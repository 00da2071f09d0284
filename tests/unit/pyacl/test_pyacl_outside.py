# SPDX-License-Identifier: Apache-2.0
"""The functions of ``acl`` outside of the runtime: listed, found, and refused when they are called."""

from __future__ import annotations

import pytest

from ascend_rt import NotSupported, pyacl
from ascend_rt.errors import AclError
from ascend_rt.pyacl import _outside

MODULES = {
    "acl": pyacl,
    **{f"acl.{name}": getattr(pyacl, name) for name in ("mdl", "op", "blas", "media", "himpi", "fv")},
}
NUMBERS = {"acl": 26, "acl.mdl": 81, "acl.op": 30, "acl.blas": 12, "acl.media": 175, "acl.himpi": 130, "acl.fv": 22}


def test_there_are_all_modules_of_the_vendors() -> None:
    assert set(_outside.NAMES) == set(MODULES)
    assert {name: len(names) for name, names in _outside.NAMES.items()} == NUMBERS
    assert [MODULES[name].__name__ for name in NUMBERS if name != "acl"] == [n for n in NUMBERS if n != "acl"]


@pytest.mark.parametrize("name", sorted(MODULES))
def test_each_is_listed_and_refuses_to_be_called(name: str) -> None:
    module = MODULES[name]
    for function_name in _outside.NAMES[name]:
        assert function_name in dir(module)
        function = getattr(module, function_name)
        assert (function.__name__, function.__module__) == (function_name, name)
        assert getattr(module, function_name) is function
        for arguments, keywords in (((), {}), ((1, "x", None), {}), ((), {"model_id": 1})):
            with pytest.raises(NotSupported) as caught:
                function(*arguments, **keywords)
            assert (caught.value.code, caught.value.function) == (207000, f"{name}.{function_name}")


def test_the_error_says_what_is_missing_and_where_it_is() -> None:
    with pytest.raises(NotImplementedError) as caught:
        pyacl.mdl.load_from_file("model.om")
    assert isinstance(caught.value, AclError)
    assert "acl.mdl.load_from_file" in str(caught.value)
    assert "functions for models do not belong to the runtime; only the vendor's acl has them" in str(caught.value)


def test_a_name_that_is_nowhere_is_an_attribute_error() -> None:
    for name, module in MODULES.items():
        with pytest.raises(AttributeError, match=rf"module '{name}' has no attribute 'no_such_function'"):
            module.no_such_function  # noqa: B018
        assert not hasattr(module, "__path_of_nothing__")


def test_no_function_of_the_runtime_is_among_them() -> None:
    for name, module in MODULES.items():
        native = {key for key, value in vars(module).items() if type(value).__name__ == "builtin_function_or_method"}
        assert not native & _outside.NAMES[name]


def test_lists_are_sorted_and_have_no_machinery() -> None:
    for module in MODULES.values():
        assert dir(module) == sorted(dir(module))
        assert not {"__getattr__", "__dir__"} & set(dir(module))
