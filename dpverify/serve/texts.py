"""Texts that are pasted into the second page: a design or days, told by how they begin, and what is asked of them."""

from __future__ import annotations

import codecs
import hashlib
import json
import shlex
from collections.abc import Iterable
from functools import cached_property
from typing import Any

from dpverify.serve.state import CONTROLS, BadState, Control, read_value
from protocols.classes.frozen import dataclass

__all__ = ["FIELDS", "LONGEST", "Text"]

LONGEST = 2**18
"""Bytes of a text."""
FIELDS = {
    "delta": CONTROLS["delta"],
    "at_most": Control("", "", "1", "1e9", (), "", whole=True, optional=True),
}
"""What is asked of days besides; a design has it in its text."""


@dataclass(frozen=True)
class Text:
    """What is asked.

    - written: The text, in UTF-8.
    - delta, at_most: As typed; of days alone.
    """

    written: bytes
    delta: str
    at_most: int | None

    @classmethod
    def read(cls, written: bytes, query: Iterable[tuple[str, str]]) -> Text:
        """Return it; what a query leaves out has its first value.

        Raises BadState if a value is out of range, or something else is named.
        """
        typed, values, errors = dict(query), dict[str, Any](), dict[str, str]()
        for name, control in FIELDS.items():
            try:
                values[name] = read_value(name, control, typed.pop(name, control.first).strip())
            except ValueError as error:
                errors[name] = str(error)
        if typed:
            errors["text"] = f"The link must have text, {' and '.join(FIELDS)} alone."
        if errors:
            raise BadState(errors)
        return cls(written, **values)

    @cached_property
    def name(self) -> str:
        """What a file of it is called: the ending says how it is read."""
        lines = map(bytes.strip, self.written.removeprefix(codecs.BOM_UTF8).split(b"\n"))
        first = next((line for line in lines if line and not line.startswith(b"#")), b"")
        if first.startswith(b"{") or (first.startswith(b"[") and first[1:].lstrip()[:1] in (b"", b"{", b"]")):
            return "days.json"
        # In TOML this line has a bracket or an equals sign, and in a header nothing has.
        table = b"=" not in first and not first.startswith(b"[") and any(mark in first for mark in (b",", b";", b"\t"))
        return "days.csv" if table else "collection.toml"

    @property
    def designs(self) -> bool:
        """Whether it asks for a design, and does not list days."""
        return self.name == "collection.toml"

    @cached_property
    def key(self) -> tuple[object, ...]:
        """What tells it from others, in little memory."""
        asked = () if self.designs else (self.delta, self.at_most)
        return ("text", hashlib.sha256(self.written).digest(), *asked)

    @property
    def shell(self) -> str:
        """The command that prints what the page shows, of the file of its name."""
        if self.designs:
            return shlex.join(["dpverify", "design", self.name])
        most = [] if self.at_most is None else ["--at-most", str(self.at_most)]
        return shlex.join(["dpverify", "account", "days", self.name, "--delta", self.delta, *most, "--curve"])

    def python(self, ends: dict[str, int]) -> str:
        """Return a program that does.

        - ends: Of a design, the longest period for each delta.
        """
        where, name = ("collection.file", "read_design") if self.designs else ("planning.schedules.days", "read_days")
        most = "" if self.at_most is None else f", at_most={self.at_most}"
        read = f"{name}(Path({json.dumps(self.name)}))"
        lines = ["from pathlib import Path", "", "import dpverify", f"from dpverify.{where} import {name}", ""]
        if not self.designs:
            lines.append(f"found = dpverify.account({read}, delta={json.dumps(self.delta)}{most})")
            return "\n".join([*lines, "print(found)", "print(found.cumulative())"])
        lines += [f"found = {read}", "print(found)", "# What the last mark of a figure says, and more sharply."]
        for days, delta in ((days, json.dumps(delta)) for delta, days in ends.items()):
            lines.append(f"print(dpverify.account(found.days({days}), delta={delta}).epsilon)")
        return "\n".join(lines)
