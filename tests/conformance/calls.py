# SPDX-License-Identifier: Apache-2.0
"""Make the calls of standard input as ``ascend_rt_measure.verify.player`` does, without the facade: it takes time."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import support.raw  # noqa: F401  (first: what is imported after it has no facade)

from ascend_rt_measure.verify import player

player.main()
