# SPDX-License-Identifier: Apache-2.0
"""pyACL, the vendor's module ``acl``: its functions with the same names, arguments, results and error messages.

``import ascend_rt.pyacl as acl``. Handles and addresses are ints, and a call returns its outputs and the error code.
Check the code: a call that fails does not raise an exception. The functions are in the extension module ``_pyacl``,
which calls through the same table as the rest of ``ascend_rt``; the first call loads the library. A function that does
not belong to the runtime raises :class:`~ascend_rt.errors.NotSupported` when it is called.
"""

import atexit as _atexit
import sys as _sys
from types import ModuleType as _ModuleType

from ascend_rt._runtime import lifecycle
from ascend_rt.pyacl import _outside, _pyacl, _submodules

_MODULES = ("rt", "mdl", "media", "op", "blas", "util", "prof", "himpi", "fv")

for _name, _value in vars(_pyacl).items():
    if not _name.startswith("_"):
        globals()[_name] = _value
for _name in _MODULES:
    _module = globals().setdefault(_name, _ModuleType(f"acl.{_name}"))
    _sys.modules[f"{__name__}.{_name}"] = _outside.complete(_module, f"acl.{_name}")
_outside.complete(_sys.modules[__name__], "acl")
_sys.meta_path.append(_submodules.Finder(_sys.modules[__name__]))

_atexit.register(lifecycle.end_program)
