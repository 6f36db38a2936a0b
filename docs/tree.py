"""Write the tree of docs/architecture.md anew: every folder, and the question that its docstring answers.

Run as `python docs/tree.py`; a test tells when it must be.
"""

from __future__ import annotations

import ast
import re
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/architecture.md"
_BETWEEN = re.compile(r"(?<=<!-- tree: python docs/tree.py -->\n\n```\n).*?(?=```\n)", re.DOTALL)
_INDENT, _COLUMN, _WIDTH = 2, 26, 120


def folders() -> dict[Path, str]:
    """Return the first line of the docstring of every folder of both packages, by its path."""
    found = {}
    for package in ("protocols", "dpverify"):
        for file in sorted((ROOT / package).rglob("__init__.py")):
            said = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
            found[file.parent.relative_to(ROOT)] = said.partition("\n")[0]
    return found


def tree() -> str:
    """Return the tree as text."""
    lines = []
    for folder, said in folders().items():
        name = " " * _INDENT * (len(folder.parts) - 1) + f"{folder.name}/"
        lines += textwrap.wrap(said, _WIDTH, initial_indent=f"{name:{_COLUMN}} ", subsequent_indent=" " * (_COLUMN + 1))
    return "\n".join(lines) + "\n"


def page(text: str) -> str:
    """Return the page with today's tree in it."""
    found, count = _BETWEEN.subn(lambda _: tree(), text)
    if count != 1:
        raise ValueError(f"{PAGE.name} must have one tree, and has {count}.")
    return found


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
