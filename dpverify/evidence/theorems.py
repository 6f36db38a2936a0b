"""Every theorem of the sources, with what was found about it; how to find one, and to check them again."""

from __future__ import annotations

import importlib
import math
import re
import time
from collections.abc import Callable, Iterable, Iterator
from typing import ClassVar

from dpverify.papers.entries import every
from dpverify.papers.figures import Figure, recorded
from dpverify.papers.statements import number_elsewhere
from dpverify.papers.theorem import Evidence, Theorem
from dpverify.shown import Plain
from protocols.classes.frozen import dataclass

__all__ = ["Checked", "check", "find", "rerun", "theorems"]

_NEAR = 1e-4
"""How far a figure may move before it is told, relatively: an end of an interval moves as the engine narrows it."""


def theorems() -> tuple[Theorem, ...]:
    """Return every theorem that a file of `dpverify.papers` states, ordered by name.

    Returns
    -------
    tuple of Theorem
        All of them, by name.

    Raises
    ------
    ValueError
        If two theorems have one name.

    Examples
    --------
    >>> found = {theorem.name: theorem for theorem in theorems()}
    >>> found["wagner2025-a2-per-user-shape"].verdict.value
    'fails'
    """
    found: dict[str, Theorem] = {}
    for theorem in every():
        if found.setdefault(theorem.name, theorem) is not theorem:
            raise ValueError(f"two theorems are named {theorem.name!r}.")
    return tuple(found[name] for name in sorted(found))


_SHORT = {
    "alg": "algorithm",
    "app": "appendix",
    "cor": "corollary",
    "def": "definition",
    "eq": "equation",
    "fig": "figure",
    "lem": "lemma",
    "sec": "section",
    "thm": "theorem",
}
"""Words as they are shortened where a numbered statement is cited: Thm. 3.2."""


def _words(text: str) -> str:
    """Return a text as lower case words and numbers: `Theorem 3.2,` and `theorem-3.2` alike, each word in spaces."""
    return f" {' '.join(re.findall(r'[a-z0-9]+(?:[.][a-z0-9]+)*', text.lower()))} "


def find(name: str) -> tuple[Theorem, ...]:
    """Return the theorems that a name stands for: as it is, or as words of what is known about them.

    Case, hyphens and the order of words do not matter, and numbers of any version of a document serve. The first of
    these that is true of any counts: it is the name; it is part of the name, or its words stand in name, source or
    statement; its words stand anywhere; they are parts of words.

    Raises ValueError if there is none.

    >>> [theorem.name for theorem in find("Theorem 39")]
    ['ghazi2021-theorem-39']
    """
    known = theorems()
    sought = [_SHORT.get(word, word) for word in _words(name).split()]
    heads, texts = {}, {}
    for t in known:
        heads[t.name] = _words(" ".join((t.name.replace("-", " "), t.source, number_elsewhere(t), t.statement)))
        texts[t.name] = heads[t.name] + _words(f"{t.finding} {t.repair}")
    readings: tuple[Callable[[Theorem], bool], ...] = (
        lambda t: name.lower() == t.name,
        lambda t: name.lower() in t.name or all(f" {word} " in heads[t.name] for word in sought),
        lambda t: all(f" {word} " in texts[t.name] for word in sought),
        lambda t: all(word in texts[t.name] for word in sought),
    )
    for reading in readings if sought else ():
        if found := tuple(theorem for theorem in known if reading(theorem)):
            # Those first whose name or source has it: others only mention it.
            cited = f" {' '.join(sought)} "
            return tuple(sorted(found, key=lambda t: [cited not in _words(text) for text in (t.name, t.source)]))
    raise ValueError(f"NAME={name!r} must be part of a theorem's name, source or text; `dpverify theorems` lists all.")


@dataclass(frozen=True)
class Checked(Plain):
    """One computation that was run again.

    - evidence: Which.
    - theorems: Whose verdicts it backs.
    - figures: What it computed, by name.
    - trouble: What contradicts an entry; empty if nothing does.
    - seconds: How long it took.
    """

    plain_as: ClassVar[str] = (
        "check=evidence.check method=evidence.method shows=evidence.shows theorems figures "
        "agrees trouble seconds=_hundredths"
    )

    evidence: Evidence
    theorems: tuple[str, ...]
    figures: dict[str, Figure]
    trouble: str
    seconds: float

    @property
    def agrees(self) -> bool:
        """Whether nothing contradicts an entry."""
        return not self.trouble

    @property
    def _hundredths(self) -> float:
        return round(self.seconds, 2)


def check(
    chosen: Iterable[Theorem],
    *,
    quick: bool = False,
    anew: bool = False,
    progress: Callable[[int, int, Evidence], None] | None = None,
) -> Iterator[Checked]:
    """Run the evidence of these theorems again, each computation once, and yield what it came to.

    - chosen: Whose.
    - quick: Only what takes a second or less.
    - anew: Do not compare with the figures that were recorded: these are to replace them.
    - progress: Told before each one: how many are done, of how many, and which is next.
    """
    backing: dict[str, tuple[Evidence, list[str]]] = {}
    for theorem in chosen:
        for each in theorem.checked_by:
            if each.runs and (each.quick or not quick):
                backing.setdefault(each.check, (each, []))[1].append(theorem.name)
    for done, (evidence, names) in enumerate(backing.values()):
        if progress is not None:
            progress(done, len(backing), evidence)
        started = time.perf_counter()
        figures, trouble = rerun(evidence.check, anew)
        yield Checked(evidence, tuple(names), figures, trouble, time.perf_counter() - started)


def rerun(name: str, anew: bool = False) -> tuple[dict[str, Figure], str]:
    """Run one check, and return what it computes and what contradicts an entry: the check itself, or the record.

    - name: `module:function`.
    - anew: Do not compare with the record.
    """
    from dpverify.evidence import ContradictedError

    module, _, function = name.partition(":")
    try:
        figures = dict(getattr(importlib.import_module(f"dpverify.evidence.{module}"), function)())
    except ContradictedError as contradiction:
        return {}, str(contradiction)
    before = figures if anew else recorded(name)
    changed = sorted(key for key in before.keys() | figures.keys() if not _same(before.get(key), figures.get(key)))
    told = "; ".join(f"{key} was {before.get(key)} and is {figures.get(key)}" for key in changed)
    return figures, f"Recorded otherwise: {told}." if told else ""


def _same(a: Figure | None, b: Figure | None) -> bool:
    if isinstance(a, int | float) and isinstance(b, int | float):
        return math.isclose(a, b, rel_tol=_NEAR)
    return a == b
