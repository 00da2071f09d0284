# SPDX-License-Identifier: Apache-2.0
"""Draw the diagrams of the guide: ``python docs/diagrams`` writes one SVG file for each function of pictures.py."""

from __future__ import annotations

from pathlib import Path

import pictures

for name, text in pictures.all_of_them().items():
    Path(__file__).with_name(f"{name}.svg").write_text(text)
