"""scott2022, Figures 1 to 3: the error of a vector sum by t, k, d, n and epsilon, and the powers that fit it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.claims.vector_sum.privacy import VectorSumClaims
from dpverify.formulas import FormulaRangeError
from dpverify.guarantee import InfeasibleBudgetError
from dpverify.reproduction.experiment import Experiment, Finding, Panel, Reproduction, Row, Setting
from protocols.vector_sum import VectorSum

__all__ = ["EXPERIMENTS"]

_DEFAULT: dict[str, Any] = {"d": 100, "k": 3, "n": 50_000, "t": 1, "epsilon": 0.95}
_DELTA = 0.5
_SMALL_DELTA = 1e-6
_CLAIMS = VectorSumClaims()


def _protocol(way: str, d: int, k: int, n: int, t: int, epsilon: float) -> VectorSum | None:
    try:
        if way == "published":
            return _CLAIMS.published(n, d, k, epsilon, _DELTA, sampled=t)
        delta = _DELTA if way == "exact" else _SMALL_DELTA
        return _CLAIMS.least_blanket(n, d, k, (epsilon, delta), sampled=t)
    except (FormulaRangeError, InfeasibleBudgetError):
        return None


def _values(setting: Setting, d: int) -> NDArray[np.float64]:
    """Return the data as values in [0, 1], shape (n, d): coordinates are repeated where there are fewer."""
    points = (1.0 + setting.data.points) / 2.0
    return np.asarray(points[:, np.arange(d) % points.shape[1]])


def _errors(setting: Setting, protocol: VectorSum) -> tuple[float, float]:
    """Return the normalized error with the sampling of coordinates left out, as the source has it, and with it."""
    values = _values(setting, protocol.dimension)
    stated = _CLAIMS.sampled_mse(protocol, values.ravel())
    # As if the data were repeated: the error of a sum is one term for each user.
    whole = float(_CLAIMS.mse(protocol, values).sum()) * protocol.users / len(values)
    return stated, whole * (protocol.dimension / protocol.users) ** 2


def _series(setting: Setting, name: str, values: Sequence[Any], ways: Sequence[str]) -> list[Row]:
    rows: list[Row] = []
    for way in ways:
        for value in values:
            setting.progress(f"{way} parameters, {name} = {value}")
            protocol = _protocol(way, **(_DEFAULT | {name: value}))
            stated, whole = (None, None) if protocol is None else _errors(setting, protocol)
            rows.append(
                {
                    "varied": name,
                    "value": value,
                    "accounting": way,
                    "gamma": None if protocol is None else protocol.blanket_probability,
                    "error": stated,
                    "with_sampling": whole,
                }
            )
    return rows


def _of(rows: Sequence[Row], name: str, way: str, key: str = "error") -> list[tuple[float, float]]:
    return [
        (row["value"], row[key])
        for row in rows
        if row["varied"] == name and row["accounting"] == way and row[key] is not None
    ]


def _power(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return the power that fits best on logarithms, and its standard error."""
    x, y = np.log(np.array(points, dtype=np.float64)).T
    (slope, _), residuals, *_ = np.polyfit(x, y, 1, full=True)
    spread = float(residuals[0]) / max(len(x) - 2, 1) if len(residuals) else 0.0
    return float(slope), math.sqrt(spread / float(((x - x.mean()) ** 2).sum()))


_WAYS = ("published", "exact", "exact, 1e-6")
_NOTES = (
    "published and exact: delta = 0.5, as in the source, at which almost nothing is promised; exact, 1e-6: delta 1e-6.",
    "error leaves out that only sampled coordinates are seen, as the source does; with_sampling is the whole error of "
    "the mean.",
)


def _notes(setting: Setting) -> tuple[str, ...]:
    return (
        *_NOTES,
        "In the source: the ECG Heartbeat data, n = 50,000, d = 100, k = 3, t = 1, (0.95, 0.5), or one of them varied. "
        f"Here: the same n, d, k, t, epsilon and delta, with values (1 + x) / 2 of {setting.data.name}: "
        f"{len(setting.data.points):,} unit vectors x, counted as n users, whose {setting.data.dimension} coordinates "
        "are repeated up to d.",
    )


def _panel(rows: Sequence[Row], name: str, label: str, title: str, log: str) -> Panel:
    shown = [row for row in rows if row["varied"] == name]
    return Panel(title, "value", "error", "accounting", shown, label, "normalized MSE", log)


def _best(setting: Setting, name: str, source: str, what: str) -> Reproduction:
    ts = (1, 2, 4) if setting.quick else (1, 2, 3, 4, 6)
    ks = (1, 2, 3, 4) if setting.quick else (1, 2, 3, 4, 5, 6, 8)
    rows = _series(setting, "t", ts, _WAYS) + _series(setting, "k", ks, _WAYS)
    findings = []
    for way in _WAYS:
        for key, label in (("error", "the source's error"), ("with_sampling", "the whole error")):
            for varied, stated in (("t", 1), ("k", 3)):
                points = _of(rows, varied, way, key)
                if not points:
                    continue
                least = min(points, key=lambda point: point[1])[0]
                findings.append(
                    Finding(f"{varied} = {stated} is best ({way} parameters, {label})", least == stated,
                            f"the least is at {varied} = {least}, of {', '.join(str(value) for value, _ in points)}")
                )  # fmt: skip
    panels = (
        _panel(rows, "t", "coordinates reported, t", "Figure 1 (a)", "y"),
        _panel(rows, "k", "levels, k", "Figure 1 (b)", "y"),
    )
    return Reproduction(name, source, what, setting.data.name, tuple(rows), tuple(findings), panels, _notes(setting))


def _powers(varied: Sequence[tuple[str, str, str, Sequence[Any], float]]) -> Callable[..., Reproduction]:
    def run(setting: Setting, name: str, source: str, what: str) -> Reproduction:
        rows: list[Row] = []
        findings, panels = [], []
        for key, label, title, values, stated in varied:
            chosen = values[:: max(len(values) // 3, 1)] if setting.quick else values
            rows += _series(setting, key, chosen, _WAYS)
            for way in _WAYS:
                points = [point for point in _of(rows, key, way) if point[0] in chosen]
                if len(points) < 3:
                    continue
                power, error = _power(points)
                findings.append(
                    Finding(f"the error is of order {key}^({stated:.2f}) ({way} parameters, k = 3)",
                            abs(power - stated) <= max(2.0 * error, 0.1),
                            f"the best power is {power:.2f} +- {error:.2f} over {points[0][0]} to {points[-1][0]}")
                )  # fmt: skip
            panels.append(_panel([row for row in rows if row["value"] in chosen], key, label, title, "xy"))
        found = tuple(findings)
        return Reproduction(name, source, what, setting.data.name, tuple(rows), found, tuple(panels), _notes(setting))

    return run


_FIGURE_2 = _powers(
    [
        ("d", "coordinates, d", "Figure 2 (a)", (30, 40, 60, 80, 110, 150, 200), 8 / 3),
        ("n", "users, n", "Figure 2 (b)", (20_000, 30_000, 50_000, 80_000, 120_000, 200_000), -5 / 3),
    ]
)
_FIGURE_3 = _powers(
    [
        ("epsilon", "ε below 1 (nats)", "Figure 3 (a)", (0.4, 0.5, 0.6, 0.7, 0.8, 0.95), -4 / 3),
        ("epsilon", "ε from 1 (nats)", "Figure 3 (b)", (1.0, 1.5, 2.0, 3.0, 4.0, 5.5), -4 / 3),
    ]
)


def _experiment(number: int, what: str, run: Callable[..., Reproduction]) -> Experiment:
    name, source = f"scott2022-figure-{number}", f"scott2022, Figure {number}"
    return Experiment(name, source, what, lambda setting: run(setting, name, source, what))


EXPERIMENTS = (
    _experiment(1, "error of a vector sum by reported coordinates and by levels", _best),
    _experiment(2, "error of a vector sum by coordinates and by users, with fitted powers", _FIGURE_2),
    _experiment(3, "error of a vector sum by epsilon, with fitted powers", _FIGURE_3),
)
