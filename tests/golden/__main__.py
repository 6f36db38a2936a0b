"""Make the files anew."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path

from tests.golden import GOLDEN, prepare, text

with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
    prepare(Path())
    for path in sorted(GOLDEN.glob("*.txt")):
        path.write_text(text(path), encoding="utf-8")
