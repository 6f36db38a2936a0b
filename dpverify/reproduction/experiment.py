"""What an experiment is, what it comes to, and all of them by their names."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any, ClassVar

import numpy as np

import dpverify.reproduction as package
from dpverify.reproduction.embeddings import Embeddings
from dpverify.shown import Drawn, Plain
from protocols.classes.frozen import dataclass

__all__ = ["Experiment", "Finding", "Panel", "Reproduction", "Setting", "experiments", "find_experiments"]

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Setting:
    """What an experiment runs on.

    - data: Points and labels.
    - quick: Whether to take fewer settings and runs: seconds, for a first look.
    - seed: The same seed gives the same numbers.
    - progress: `progress(line)` says what runs now.
    """

    data: Embeddings
    quick: bool = False
    seed: int = 0
    progress: Callable[[str], None] = field(default=lambda line: None, repr=False)

    def generator(self, *stream: int) -> np.random.Generator:
        """Return the generator of one run, apart from those of others."""
        return np.random.default_rng([self.seed, *stream])


@dataclass(frozen=True)
class Finding(Plain):
    """A sentence of the source on its experiment, and whether it is so here.

    - statement: What the source states.
    - holds: Whether these rows agree; None where they cannot tell, as accuracies at chance cannot.
    - evidence: The figures that say so.
    """

    statement: str
    holds: bool | None
    evidence: str

    def __str__(self) -> str:
        said = {True: "Holds here", False: "Does not hold here", None: "Cannot be told here"}[self.holds]
        return f"{said}: {self.statement} ({self.evidence})."


@dataclass(frozen=True)
class Panel:
    """One pair of axes of an experiment's figure.

    - title: Above it.
    - x, y: Keys of the rows: what is drawn against what.
    - by: The key whose values are the lines.
    - rows: The rows that are drawn.
    - x_label, y_label: With units.
    - log: Which axes are logarithmic.
    """

    title: str
    x: str
    y: str
    by: str
    rows: Sequence[Row]
    x_label: str
    y_label: str
    log: str = ""


@dataclass(frozen=True)
class Reproduction(Drawn):
    """What an experiment came to.

    - name, source, what, data: The experiment, where it stands, what it measures, and on what.
    - rows: One per setting; all have the same keys.
    - findings: What the source says of it, judged by these rows.
    - panels: How it is drawn.
    - notes: How it differs from the source's experiment.
    """

    table_by: ClassVar[str] = "dpverify.report.papers.reproductions:reproduction_table"
    figure_by: ClassVar[str] = "dpverify.report.papers.reproductions:reproduction_panel"
    plain_as: ClassVar[str] = "experiment=name source what data rows findings notes"

    name: str
    source: str
    what: str
    data: str
    rows: tuple[Row, ...]
    findings: tuple[Finding, ...]
    panels: tuple[Panel, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Experiment:
    """A figure or a table of a source that can be made again.

    - name: Such as `wagner2025-figure-1`.
    - source, what: Where it stands, and what it measures.
    - run: Takes a `Setting` and returns a `Reproduction`.
    - decodes: Whether it looks words of a vocabulary up.
    """

    name: str
    source: str
    what: str
    run: Callable[[Setting], Reproduction]
    decodes: bool = False


def experiments() -> tuple[Experiment, ...]:
    """Return every experiment that a module of this package has in `EXPERIMENTS`, ordered by name."""
    found: list[Experiment] = []
    for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        found += getattr(importlib.import_module(module.name), "EXPERIMENTS", ())
    return tuple(sorted(found, key=lambda experiment: experiment.name))


def find_experiments(text: str) -> tuple[Experiment, ...]:
    """Return the experiment of this name, or else those whose name or description has all of these words."""
    typed = text.strip().lower()
    exact = tuple(experiment for experiment in experiments() if experiment.name == typed)
    words = typed.split()
    return exact or tuple(
        experiment for experiment in experiments() if words and all(_has(experiment, word) for word in words)
    )


def _has(experiment: Experiment, word: str) -> bool:
    parts = f"{experiment.name.replace('-', ' ')} {experiment.what}".lower()
    return word in (parts.split() if word.isdigit() else parts)
