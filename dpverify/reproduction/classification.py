"""wagner2025, Figures 1 and 4 to 8 and Tables 2 to 5: accuracy by budget, kernel, bitsum and label budget."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from dpverify.reproduction.accuracy import (
    DELTA,
    KERNELS,
    SOURCES,
    Way,
    above_chance,
    accuracies,
    central,
    differences,
    planned,
)
from dpverify.reproduction.experiment import Experiment, Finding, Panel, Reproduction, Row, Setting

__all__ = ["EXPERIMENTS"]

BITSUMS = ("rr", "3nb", "pure")
_EPSILONS = ("1", "2", "4", "7", "10")
_NOTES = (
    f"delta = {DELTA}; each class runs with parameters for the smallest reported class, d bits per user.",
    "published: the source's features and formulas, 3NB with c = 0.2; exact: these features, each bit charged "
    "in full by the protocol's own law; joint: a rotation with a small range (IP), or Fourier pairs (Gaussian), and "
    "what one point can change of all bits together.",
)


def _row(
    kernel: str, bitsum: str, way: str, epsilon: str, label_epsilon: float | None, runs: list[float] | None
) -> Row:
    return {
        "kernel": kernel,
        "bitsum": bitsum,
        "accounting": way,
        "epsilon": float(epsilon),
        "label_epsilon": float("inf") if label_epsilon is None else label_epsilon,
        "accuracy": None if runs is None else float(np.mean(runs)),
        "deviation": None if runs is None else float(np.std(runs)),
    }


def _private(
    setting: Setting,
    bitsums: Iterable[str],
    ways: Iterable[Way],
    epsilons: Sequence[str],
    label_epsilon: float | None,
    kernels: Iterable[str] = KERNELS,
) -> list[Row]:
    runs, dimension = 2 if setting.quick else 5, setting.data.dimension
    rows = []
    for kernel in kernels:
        for bitsum in bitsums:
            for way in ways:
                for epsilon in epsilons:
                    setting.progress(f"{kernel} kernel, {bitsum}, {way.value} parameters, epsilon {epsilon}")
                    choose = functools.partial(planned, bitsum, way, kernel, dimension, epsilon)
                    found = accuracies(setting, kernel, way, label_epsilon, runs, choose)
                    rows.append(_row(kernel, bitsum, way.value, epsilon, label_epsilon, found))
    return rows


def _references(setting: Setting, epsilons: Sequence[str], label_epsilon: float | None) -> list[Row]:
    runs, rows = 2 if setting.quick else 5, []
    for kernel in KERNELS:
        setting.progress(f"{kernel} kernel, no privacy and a trusted curator")
        for name, way in (("no privacy", Way.PUBLISHED), ("no privacy, joint features", Way.JOINT)):
            found = accuracies(setting, kernel, way, label_epsilon, runs, None)
            rows += [_row(kernel, name, "none", epsilon, label_epsilon, found) for epsilon in epsilons]
        for epsilon in epsilons:
            found = central(setting, kernel, label_epsilon, epsilon, runs)
            rows.append(_row(kernel, "central", "joint", epsilon, label_epsilon, found))
    return rows


def _value(rows: Sequence[Row], **wanted: Any) -> list[float]:
    """Return the accuracies of the rows that match, by rising epsilon; 0, below chance, where there are none."""
    return [
        row["accuracy"] if row["accuracy"] is not None else 0.0
        for row in rows
        if all(row[key] == value for key, value in wanted.items())
    ]


def _telling(setting: Setting, *columns: Sequence[float]) -> list[tuple[float, ...]]:
    """Return the settings in which at least one of the accuracies compared is above chance: the others tell nothing."""
    rows = zip(*columns, strict=True)
    return [row for row in rows if any(above_chance(setting.data, value) for value in row)]


def _budgets(label_epsilon: float, setting: Setting, name: str, source: str, what: str) -> Reproduction:
    epsilons = ("2",) if setting.quick else _EPSILONS
    bitsums = ("rr", "3nb") if setting.quick else BITSUMS
    rows = _private(setting, bitsums, Way, epsilons, label_epsilon) + _references(setting, epsilons, label_epsilon)
    least = float(epsilons[0])
    free = {kernel: _value(rows, kernel=kernel, bitsum="no privacy")[0] for kernel in KERNELS}
    curator = {kernel: _value(rows, kernel=kernel, bitsum="central")[0] for kernel in KERNELS}
    findings = [
        Finding(
            "without privacy the inner product kernel outperforms the Gaussian kernel",
            free["IP"] > free["Gaussian"] if _telling(setting, *([value] for value in free.values())) else None,
            f"{free['IP']:.3f} against {free['Gaussian']:.3f}",
        ),
        Finding(
            "central DP closely matches the accuracy without privacy already at small epsilon",
            all(curator[kernel] > free[kernel] - 0.03 for kernel in KERNELS)
            if all(above_chance(setting.data, free[kernel]) for kernel in KERNELS)
            else None,
            f"at epsilon {least:g}: "
            + ", ".join(f"{kernel} {curator[kernel]:.3f} of {free[kernel]:.3f}" for kernel in KERNELS),
        ),
    ]
    for way in Way:
        gaussian, inner = (_value(rows, kernel=kernel, bitsum="rr", accounting=way.value)[0] for kernel in KERNELS)
        findings.append(
            Finding(
                f"with randomized response and a small budget the Gaussian kernel is ahead ({way} parameters)",
                gaussian > inner if _telling(setting, [gaussian], [inner]) else None,
                f"at epsilon {least:g}: Gaussian {gaussian:.3f}, inner product {inner:.3f}",
            )
        )
        three, response = (_value(rows, bitsum=bitsum, accounting=way.value) for bitsum in ("3nb", "rr"))
        better = [noisy >= other - 0.02 for noisy, other in _telling(setting, three, response)]
        findings.append(
            Finding(
                f"3NB is at least as accurate as randomized response ({way} parameters)",
                all(better) if better else None,
                f"{sum(better)} of {len(better)} settings; both at chance in {len(three) - len(better)}",
            )
        )
    shown = [row for row in rows if row["bitsum"] in ("rr", "no privacy, joint features")]
    panels = tuple(
        Panel(
            f"{kernel} kernel, randomized response",
            "epsilon",
            "accuracy",
            "accounting",
            [row for row in shown if row["kernel"] == kernel],
            "ε of the densities (nats)",
            "accuracy",
            "x",
        )
        for kernel in KERNELS
    )
    notes = (*_NOTES, differences(setting.data))
    return Reproduction(name, source, what, setting.data.name, tuple(rows), tuple(findings), panels, notes)


def _local(setting: Setting, name: str, source: str, what: str) -> Reproduction:
    epsilons = ("2",) if setting.quick else _EPSILONS
    rows = _private(setting, ("rr",), Way, epsilons, 5.0) + _private(
        setting, ("local-rr",), (Way.EXACT,), epsilons, 5.0
    )
    findings = []
    for way in Way:
        shuffled, local = _value(rows, bitsum="rr", accounting=way.value), _value(rows, bitsum="local-rr")
        gains = [ours - theirs for ours, theirs in _telling(setting, shuffled, local)]
        rest = f"both at chance in {len(shuffled) - len(gains)} of {len(shuffled)} settings"
        findings.append(
            Finding(
                f"shuffled DP attains considerably higher accuracy than local DP ({way} parameters)",
                float(np.mean(gains)) > 0.05 if gains else None,
                f"by {np.mean(gains):.3f} on average, from {min(gains):.3f} to {max(gains):.3f}; {rest}"
                if gains
                else rest,
            )
        )
    panels = tuple(
        Panel(
            f"{kernel} kernel",
            "epsilon",
            "accuracy",
            "accounting",
            [
                {**row, "accounting": "local DP" if row["bitsum"] == "local-rr" else row["accounting"]}
                for row in rows
                if row["kernel"] == kernel
            ],
            "ε of the densities (nats)",
            "accuracy",
            "x",
        )
        for kernel in KERNELS
    )
    by_law = "Local DP composes randomized response by its exact law, as nothing is published for it."
    notes = (*_NOTES, by_law, differences(setting.data))
    return Reproduction(name, source, what, setting.data.name, tuple(rows), tuple(findings), panels, notes)


def _labels(data: str, setting: Setting, name: str, source: str, what: str) -> Reproduction:
    label_epsilons = (None, 5.0, 1.0) if setting.quick else (None, 7.0, 5.0, 3.0, 1.0)
    epsilons = ("2",) if setting.quick else ("2", "4.5", "7")
    bitsums = ("rr",) if setting.quick else ("rr", "3nb")
    rows = [row for label_epsilon in label_epsilons for row in _private(setting, bitsums, Way, epsilons, label_epsilon)]
    findings = []
    for way in Way:
        columns = [
            _value(rows, accounting=way.value, label_epsilon=float("inf") if value is None else value)
            for value in (None, 5.0, 1.0)
        ]
        told = _telling(setting, *columns)
        rest = f"at chance in {len(columns[0]) - len(told)} of {len(columns[0])} settings"
        drop, fall = (float(np.mean([row[0] - row[place] for row in told] or [0.0])) for place in (1, 2))
        findings.append(
            Finding(
                f"accuracy hardly changes from labels in the clear to a label budget of 5 ({way} parameters)",
                drop < 0.03 if told else None,
                f"{drop:.3f} lower on average; at a label budget of 1 {fall:.3f} lower; {rest}" if told else rest,
            )
        )
    panels = tuple(
        Panel(
            f"{kernel} kernel, randomized response, ε = {epsilons[0]}",
            "label_epsilon",
            "accuracy",
            "accounting",
            [
                row
                for row in rows
                if row["kernel"] == kernel
                and row["bitsum"] == "rr"
                and row["epsilon"] == float(epsilons[0])
                and np.isfinite(row["label_epsilon"])
            ],
            "ε of the label (nats)",
            "accuracy",
        )
        for kernel in KERNELS
    )
    notes = (*_NOTES, differences(setting.data, data))
    return Reproduction(name, source, what, setting.data.name, tuple(rows), tuple(findings), panels, notes)


def _made() -> Iterable[Experiment]:
    for number, label_epsilon in ((1, 5.0), (5, 10.0), (6, 7.0), (7, 5.0), (8, 3.0)):
        name, source = f"wagner2025-figure-{number}", f"wagner2025, Figure {number}"
        what = f"accuracy by budget, kernel and bitsum, at a label budget of {label_epsilon:g}"
        yield Experiment(
            name, source, what, functools.partial(_budgets, label_epsilon, name=name, source=source, what=what)
        )
    name, source, what = "wagner2025-figure-4", "wagner2025, Figure 4", "accuracy against a local DP baseline"
    yield Experiment(name, source, what, functools.partial(_local, name=name, source=source, what=what))
    for number in (2, 3, 4, 5):
        name, source = f"wagner2025-table-{number}", f"wagner2025, Table {number}"
        what, data = "accuracy by label budget", list(SOURCES)[number - 2]
        yield Experiment(name, source, what, functools.partial(_labels, data, name=name, source=source, what=what))


EXPERIMENTS = tuple(_made())
