# SPDX-License-Identifier: Apache-2.0
"""Description of the library in use."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ascend_rt.backends.cann import Attempt


class Library(NamedTuple):
    """The library in use and how it was found.

    Attributes
    ----------
    backend : str
        ``"cann"`` or ``"sim"``.
    paths : tuple of str
        The files; a function is taken from the first file that has it. CANN 8.5 and newer have two.
    reason : str
        The reason for the choice.
    attempts : tuple of Attempt
        The places that were searched, with the result for each.

    Examples
    --------
    >>> found = library()
    >>> found.backend
    'sim'
    >>> found.path.endswith("libascendcl.so")
    True
    """

    backend: str
    paths: tuple[str, ...]
    reason: str
    attempts: tuple[Attempt, ...]

    @property
    def path(self) -> str:
        """The first of the files."""
        return self.paths[0]
