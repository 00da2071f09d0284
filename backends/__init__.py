# SPDX-License-Identifier: Apache-2.0
"""What can stand behind the table of functions: the vendor's library (``cann``) and the simulator (``sim``)."""

# What a user may ask for; "auto" is the vendor's library where CANN is installed, and else the simulator.
BACKENDS = ("auto", "cann", "sim")


def check_backend(backend: str, source: str) -> None:
    """Raise ValueError if there is no such backend; ``source`` tells where the name comes from."""
    if backend not in BACKENDS:
        raise ValueError(f"{source}: unknown backend {backend!r}; it is one of {', '.join(BACKENDS)}")
